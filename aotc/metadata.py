"""What a compiled model says about itself: one structure, the same in the header, the JSON report and Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

METADATA_VERSION = 1

_T = TypeVar("_T")


@dataclass(frozen=True)
class TensorInfo:
    """One input or output: ONNX name, C identifier, dtype name, static shape, affine quantisation if there is one."""

    name: str
    symbol: str
    dtype: str
    shape: tuple[int, ...]
    scale: float | None = None
    zero_point: int | None = None


@dataclass(frozen=True)
class KernelInfo:
    """One kernel function: its C symbol, the ONNX nodes it computes (of every call), and how often it is called."""

    symbol: str
    nodes: tuple[str, ...]
    calls: int


@dataclass(frozen=True)
class BufferInfo:
    """One planned buffer: bytes, offset in the arena, first and last step it lives in (inclusive), nodes."""

    name: str
    offset: int
    size: int
    first: int
    last: int
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class PlanInfo:
    """The static memory plan of the arena, in bytes."""

    peak_bytes: int
    lower_bound_bytes: int
    optimal: bool
    alignment: int
    order: tuple[str, ...]
    buffers: tuple[BufferInfo, ...]


@dataclass(frozen=True)
class ModelInfo:
    """A compiled model: its name as a C identifier, interface, sizes in bytes, kernels and plan."""

    name: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    interface_api: str
    operator_api: str
    workspace: str
    weights: str
    workspace_bytes: int
    workspace_alignment: int
    weights_bytes: int
    io_bytes: int
    kernels: tuple[KernelInfo, ...]
    plan: PlanInfo
    version: int = METADATA_VERSION


def to_json(info: ModelInfo) -> str:
    """The metadata as one JSON object, ASCII, keys in the order of the classes; ends in a newline."""
    return json.dumps(asdict(info), indent=2) + "\n"


def from_json(text: str) -> ModelInfo:
    """What `to_json` wrote; members it does not know are ignored. Raises ValueError on anything else."""
    try:
        members = json.loads(text)
        if (version := members["version"]) != METADATA_VERSION:
            raise ValueError(f"the metadata has version {version}, this is aotc for version {METADATA_VERSION}")
        plan = members["plan"]
        return _build(
            ModelInfo,
            members,
            inputs=tuple(_build(TensorInfo, item) for item in members["inputs"]),
            outputs=tuple(_build(TensorInfo, item) for item in members["outputs"]),
            kernels=tuple(_build(KernelInfo, item) for item in members["kernels"]),
            plan=_build(PlanInfo, plan, buffers=tuple(_build(BufferInfo, item) for item in plan["buffers"])),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"this is no metadata of a compiled model: {error!r}") from error


def _build(kind: type[_T], members: Mapping[str, Any], **parts: object) -> _T:
    """An instance of dataclass `kind` from JSON members, arrays as tuples; `parts` are ready."""
    names = [item.name for item in fields(kind)]  # pyright: ignore[reportArgumentType]
    values = {name: members[name] for name in names if name in members and name not in parts}
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}, **parts)
