"""A compiled model on the page of a notebook."""

from __future__ import annotations

from html import escape

from aotc.model.metadata import ModelInfo, TensorInfo


def as_html(info: ModelInfo) -> str:
    """A table of the tensors, and a line of sizes."""
    rows = "".join(
        _row(side, tensor) for side, tensors in (("input", info.inputs), ("output", info.outputs)) for tensor in tensors
    )
    sizes = f"workspace {info.workspace_bytes:,} bytes, weights {info.weights_bytes:,} bytes"
    head = "".join(f"<th>{title}</th>" for title in ("", "name", "dtype", "shape"))
    kernels = f"{len(info.kernels)} kernel{'' if len(info.kernels) == 1 else 's'}"
    return (
        f"<table><caption>CompiledModel <b>{escape(info.name)}</b></caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{kernels}, {sizes}</p>"
    )


def _row(side: str, tensor: TensorInfo) -> str:
    shape = " x ".join(map(str, tensor.shape)) or "scalar"
    cells = (side, tensor.name, tensor.dtype, shape)
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
