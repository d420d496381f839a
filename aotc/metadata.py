"""What a compiled model says about itself: one structure, the same in the header, the JSON report and Python."""

from __future__ import annotations

from dataclasses import dataclass

METADATA_VERSION = 1


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
