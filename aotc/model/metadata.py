"""What a compiled model says about itself: one structure, the same in the header, the JSON report and Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

METADATA_VERSION = 1

_T = TypeVar("_T")


@dataclass(frozen=True)
class TensorInfo:
    """One input or output: ONNX name, C identifier, dtype name, static shape, affine quantisation if there is one, and
    where it is in bytes from the start of the workspace if it is there.

    An output with a `counted_axis` is as long along it as it may become; the output NAME_count says how much of it
    there is."""

    name: str
    symbol: str
    dtype: str
    shape: tuple[int, ...]
    scale: float | None = None
    zero_point: int | None = None
    offset: int | None = None
    counted_axis: int | None = None

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class KernelInfo:
    """One kernel function: its C symbol, the ONNX nodes it computes (of every call), how often it is called, and the
    bytes of its own workspace, its inputs and outputs, and the constants it is given, of its largest call."""

    symbol: str
    nodes: tuple[str, ...]
    calls: int
    workspace_bytes: int = 0
    io_bytes: int = 0
    constant_bytes: int = 0
    codegen: str = ""
    """The code generator from outside that made it; empty: it was compiled with the model."""


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
class FunctionFootprint:
    """One function of the machine code: bytes of code, its own stack frame, the stack of it and what it calls, and whom
    it calls, in the object and out of it. None is not known."""

    symbol: str
    text_bytes: int | None
    frame_bytes: int | None
    stack_bytes: int | None
    calls: tuple[str, ...]
    library_calls: tuple[str, ...]


@dataclass(frozen=True)
class Footprint:
    """What a model costs on a machine, in bytes.

    `flash_bytes` are code, constants, initial values, and the weights unless the caller has them. `stack_bytes` bounds
    the stack below the entry's caller, along `stack_path`, which may end in a helper of the compiler's library; what
    the other `library_calls` use comes on top. None is not known, or not measured (then there are no `functions`).
    """

    target: str
    estimate: bool
    """The sizes are those of LLVM's code for the target, while C was asked for: another compiler makes others."""
    text_bytes: int
    constants_bytes: int
    """Embedded weights and tables."""
    data_bytes: int
    flash_bytes: int
    ram_bytes: int
    """Arena, variables, and inputs and outputs unless they are in the arena."""
    stack_bytes: int | None
    stack_path: tuple[str, ...]
    library_calls: tuple[str, ...]
    functions: tuple[FunctionFootprint, ...]
    stack_margin_bytes: int = 0
    """What the stack of an estimate may take beyond `stack_bytes`."""
    compiler: str | None = None
    """Who compiled what was measured, as it says itself, where that was not LLVM."""

    @property
    def most_stack_bytes(self) -> int | None:
        """The stack with its margin."""
        return None if self.stack_bytes is None else self.stack_bytes + self.stack_margin_bytes


@dataclass(frozen=True)
class Origin:
    """What a model was compiled by, for which `--target`, with which options that decide its code and are not as by
    default, as on the command line, and the SHA-256 of the model file, external data apart; None for IR that does not
    say of which model it is."""

    compiler: str
    target: str
    options: tuple[str, ...]
    model_sha256: str | None


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
    io: str = "caller"
    """Where inputs and outputs are: "caller" or "workspace"."""
    threads: int = 1
    """How many threads run a call together."""
    footprint: Footprint | None = None
    """None where no machine code was made."""
    features: tuple[str, ...] = ()
    """What the processor must have beyond the base of its architecture, in LLVM's words (`aotc.machines.features`)."""
    in_floats: tuple[str, ...] = ()
    """The nodes of a quantised model that compute with dequantised numbers."""
    origin: Origin | None = None
    """None where it is not known: of a module that was not compiled from a model."""
    weight_offsets: tuple[int, ...] = ()
    """Where in the blob of weights each begins, where the entry is given a table of their addresses in this order."""
    version: int = METADATA_VERSION

    @property
    def tensors(self) -> tuple[TensorInfo, ...]:
        """Inputs, then outputs."""
        return *self.inputs, *self.outputs

    @property
    def ram_bytes(self) -> int:
        """The arena, and inputs and outputs unless they are in it."""
        return self.workspace_bytes + (self.io_bytes if self.io == "caller" else 0)


def to_json(info: ModelInfo, artifacts: Sequence[Mapping[str, Any]] = ()) -> str:
    """The metadata as one JSON object, ASCII, keys in the order of the classes; ends in a newline.

    `artifacts` are what there is of the model, each as `Artifact.described` has it.
    """
    members = asdict(info)
    if artifacts:
        members["artifacts"] = list(artifacts)
    for kernel in members["kernels"]:  # what goes without saying
        if not kernel["codegen"]:
            del kernel["codegen"]
    for tensor in (*members["inputs"], *members["outputs"]):
        if tensor["counted_axis"] is None:
            del tensor["counted_axis"]
    if info.threads == 1:
        del members["threads"]
    if not info.features:
        del members["features"]
    if not info.in_floats:
        del members["in_floats"]
    if info.origin is None:
        del members["origin"]
    if not info.weight_offsets:
        del members["weight_offsets"]
    return json.dumps(members, indent=2) + "\n"


def from_json(text: str) -> ModelInfo:
    """What `to_json` wrote; members it does not know are ignored. Raises ValueError on anything else."""
    try:
        members = json.loads(text)
        if (version := members["version"]) != METADATA_VERSION:
            raise ValueError(f"the metadata has version {version}, this is aotc for version {METADATA_VERSION}")
        plan, footprint, origin = members["plan"], members.get("footprint"), members.get("origin")
        return _build(
            ModelInfo,
            members,
            inputs=tuple(_build(TensorInfo, item) for item in members["inputs"]),
            outputs=tuple(_build(TensorInfo, item) for item in members["outputs"]),
            kernels=tuple(_build(KernelInfo, item) for item in members["kernels"]),
            plan=_build(PlanInfo, plan, buffers=tuple(_build(BufferInfo, item) for item in plan["buffers"])),
            footprint=None if footprint is None else _footprint(footprint),
            origin=None if origin is None else _build(Origin, origin),
        )
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"this is no metadata of a compiled model: {error!r}") from error


def _footprint(members: Mapping[str, Any]) -> Footprint:
    functions = tuple(_build(FunctionFootprint, item) for item in members["functions"])
    return _build(Footprint, members, functions=functions)


def _build(kind: type[_T], members: Mapping[str, Any], **parts: object) -> _T:
    """An instance of dataclass `kind` from JSON members, arrays as tuples; `parts` are ready."""
    names = [item.name for item in fields(kind)]  # pyright: ignore[reportArgumentType]
    values = {name: members[name] for name in names if name in members and name not in parts}
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}, **parts)
