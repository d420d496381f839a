"""A compiled model on the page of a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from aotc.model.metadata import ModelInfo

_Rows = Iterable[tuple[str, str, Sequence[object] | None]]
"""Name, dtype and extents of tensors; None is what is not known before a model is compiled."""


def as_html(info: ModelInfo) -> str:
    """A table of the tensors, and a line of sizes."""
    sizes = f"workspace {info.workspace_bytes:,} bytes, weights {info.weights_bytes:,} bytes"
    kernels = f"{len(info.kernels)} kernel{'' if len(info.kernels) == 1 else 's'}"
    inputs, outputs = ([(t.name, t.dtype, t.shape) for t in side] for side in (info.inputs, info.outputs))
    return table("CompiledModel", info.name, inputs, outputs, f"{kernels}, {sizes}")


def table(kind: str, name: str, inputs: _Rows, outputs: _Rows, note: str) -> str:
    """A table of tensors under the model's name, and a line below."""
    rows = "".join(_row(side, *each) for side, tensors in (("input", inputs), ("output", outputs)) for each in tensors)
    head = "".join(f"<th>{title}</th>" for title in ("", "name", "dtype", "shape"))
    return (
        f"<table><caption>{kind} <b>{escape(name)}</b></caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{escape(note)}</p>"
    )


def _row(side: str, name: str, dtype: str, extents: Sequence[object] | None) -> str:
    known = ["..."] if extents is None else ["?" if each is None else str(each) for each in extents]
    cells = (side, name, dtype, " x ".join(known) or "scalar")
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
