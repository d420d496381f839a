"""The description of a compiled model: one structure, the same in the header, the JSON report and Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from aotc.model.conventions import entry_symbol
from aotc.model.labels import Labels
from aotc.model.limits import Pool

METADATA_VERSION = 1

_T = TypeVar("_T")


def row_axis(shape: Sequence[int]) -> int:
    """The axis of the rows of an input that comes by rows: the first one of more than one position."""
    return next((axis for axis, extent in enumerate(shape) if extent > 1), len(shape) - 1)


@dataclass(frozen=True)
class RowsInfo:
    """How callers hand over an input by rows: their `count` along an `axis`, of which at most `most` come at once, and
    the `bytes` of one."""

    axis: int
    count: int
    most: int
    bytes: int


@dataclass(frozen=True)
class TensorInfo:
    """One input or output: ONNX name, C identifier, dtype name, static shape, affine quantisation if there is one, and
    where it is in bytes from the start of the workspace, or of its pool, if it is there.

    The extent of an output along its `counted_axis` is data-dependent: `shape` has the greatest possible, and the
    output NAME_count says how much of it is valid.

    An output with `labels` is text or maps in the ONNX model: of integers each element is a position in them, the
    columns of floats have them for keys.

    A `layout`, as "nhwc", says in which order callers have the axes, where the model has another one.

    Of an input that comes by `rows`, there is never more than some of them at once; `shape` is that of the whole."""

    name: str
    symbol: str
    dtype: str
    shape: tuple[int, ...]
    scale: float | None = None
    zero_point: int | None = None
    offset: int | None = None
    counted_axis: int | None = None
    labels: Labels = ()
    layout: str = ""
    rows: RowsInfo | None = None
    pool: str = ""

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class StateInfo(TensorInfo):
    """A state that the workspace keeps between calls, an input of the ONNX model; `output` is its next value."""

    output: str = ""


@dataclass(frozen=True)
class FoldedChannels:
    """How many channels of a node's result, `of` so many, are not computed: always the same, or read by nothing."""

    node: str
    channels: int
    of: int


@dataclass(frozen=True)
class KernelForms:
    """The ONNX nodes of kernels that are `small`, which share functions, and of fast ones that are `shared`; all others
    are fast, with functions of their own."""

    small: tuple[str, ...]
    shared: tuple[str, ...]


@dataclass(frozen=True)
class FlashGoal:
    """A budget of flash by which forms of kernels were chosen: bytes that are `allowed`, that the model takes with fast
    kernels, and with the smallest; instructions, by an estimate, as multiples of those of fast kernels."""

    allowed: int
    fast_bytes: int
    least_bytes: int
    instructions: float
    least_instructions: float


@dataclass(frozen=True)
class RamGoal:
    """A budget of RAM that was not met by the least that was found: bytes that are `allowed`, that the model takes
    without a budget, and instructions of the least, by an estimate, as a multiple of those without a budget."""

    allowed: int
    whole_bytes: int
    instructions: float


@dataclass(frozen=True)
class BufferArgument:
    """A buffer that a kernel is called with: its name in C, dtype name, shape; an extent of the run time is -1."""

    name: str
    dtype: str
    shape: tuple[int, ...]


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
    inputs: tuple[BufferArgument, ...] = ()
    """The values it reads, in the order of its arguments; nothing where one function serves calls of several shapes."""
    outputs: tuple[BufferArgument, ...] = ()
    """The arguments that follow, which it writes: its results, then its scratch memory."""
    form: str = ""
    """In a budget of flash: "small", or "shared", where it is fast; empty: fast, and its own (`KernelForms`)."""


@dataclass(frozen=True)
class ConstantInfo:
    """One array of weights: its name, numpy's and ml_dtypes' name of its elements, shape, and where it is in the blob
    `NAME.weights.bin`, in bytes; that is a file of the model's, or of its archive where weights are embedded."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class BufferInfo:
    """One planned buffer: offset in the arena, or in its pool, bytes, first and last task it lives in, nodes."""

    name: str
    offset: int
    size: int
    first: int
    last: int
    nodes: tuple[str, ...]
    kept: bool = False
    """Whether it is a state, which the workspace keeps from one call to the next."""
    output: str = ""
    """The output of the model in whose memory it is, the caller's; empty: it is in the arena."""
    pool: str = ""


@dataclass(frozen=True)
class PoolInfo(Pool):
    """A pool, and how many bytes of it the model takes; nothing could take less than the bound."""

    peak_bytes: int = 0
    lower_bound_bytes: int = 0


@dataclass(frozen=True)
class ValueInfo:
    """A value that tasks write and read: the number of its buffer, of those in the arena, then those in outputs; its
    bytes. Values of one buffer are there one after the other."""

    buffer: int
    size: int


@dataclass(frozen=True)
class AccessInfo:
    """The bytes from `start` to before `end` of a value, by number, which a task may read or write."""

    value: int
    start: int
    end: int


@dataclass(frozen=True)
class TrailInfo:
    """A value that a task writes, by its number among `writes`, may overlap one that it reads, where it begins so many
    bytes or more below that: it is written only where that has been read."""

    write: int
    read: int
    below: int


@dataclass(frozen=True)
class TaskInfo:
    """The bytes of values that a task reads, and then writes, in the order of the kernel's arguments."""

    reads: tuple[AccessInfo, ...] = ()
    writes: tuple[AccessInfo, ...] = ()
    in_place: tuple[int, ...] = ()
    """The numbers among `writes` of those that are written over what the task reads, element by element."""
    trails: tuple[TrailInfo, ...] = ()
    kind: str = "call"
    """A "call" of a kernel; "if" or "loop", whose conditions it reads; "load" of what ends a region; "store"
    of the number of an iteration."""
    regions: tuple[int, ...] = ()
    """Of "if" and "loop", how many of the tasks that follow each region has."""


@dataclass(frozen=True)
class RingInfo:
    """A ring of rows in the place of a whole tensor: the node that computes it, rows in memory and in all, bytes of
    one, and its buffer, which rings have together whose rows are never there at the same time."""

    node: str
    rows: int
    of: int
    row_bytes: int
    buffer: str


@dataclass(frozen=True)
class RollInfo:
    """Layers that one task computes together row by row: the last node of each, and the rings between them."""

    task: int
    layers: tuple[str, ...]
    rings: tuple[RingInfo, ...]


@dataclass(frozen=True)
class PlanInfo:
    """The static memory plan of the arena, in bytes, or of pools together; offsets are in each."""

    peak_bytes: int
    lower_bound_bytes: int
    optimal: bool
    alignment: int
    order: tuple[str, ...]
    """The nodes of each task."""
    buffers: tuple[BufferInfo, ...]
    reordered: bool = False
    """Whether tasks are in another order than in the model, which takes less memory."""
    outputs: tuple[BufferInfo, ...] = ()
    """Buffers in the memory of outputs that is the caller's: these, and before them what has room there."""
    values: tuple[ValueInfo, ...] = ()
    tasks: tuple[TaskInfo, ...] = ()
    rolls: tuple[RollInfo, ...] = ()
    pools: tuple[PoolInfo, ...] = ()
    """The memories that buffers are in; nothing where there is one arena."""

    @property
    def arenas(self) -> dict[str, int]:
        """The bytes of each pool that are needed, by name; those of the arena, "", where there are none."""
        return {each.name: each.peak_bytes for each in self.pools} or {"": self.peak_bytes}


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
    """Costs of a model on a machine, in bytes.

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
    """Stack that an estimate may take beyond `stack_bytes`."""
    compiler: str | None = None
    """Who compiled what was measured, as it says itself, where that was not LLVM."""

    @property
    def most_stack_bytes(self) -> int | None:
        """The stack with its margin."""
        return None if self.stack_bytes is None else self.stack_bytes + self.stack_margin_bytes


@dataclass(frozen=True)
class Origin:
    """The version of the compiler of a model, for which `--target`, with which options that decide its code and are not
    as by default, as on the command line, and the SHA-256 of the model file, external data apart; None for IR that does
    not say of which model it is."""

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
    executor: str = "aot"
    """Whether the entry is code, or bytecode which a machine runs: "aot" or "vm"."""
    threads: int = 1
    """How many threads run a call together."""
    footprint: Footprint | None = None
    """None where no machine code was made."""
    features: tuple[str, ...] = ()
    """Features that the processor must have beyond the base of its architecture, by LLVM's names
    (`aotc.machines.features`)."""
    in_floats: tuple[str, ...] = ()
    """The nodes of a quantised model that compute with dequantised numbers."""
    folded_channels: tuple[FoldedChannels, ...] = ()
    """The sums of a quantised model of which some channels are not computed."""
    constants: tuple[ConstantInfo, ...] = ()
    """The arrays of weights; only in files."""
    states: tuple[StateInfo, ...] = ()
    """States that the workspace keeps: inputs and outputs of the ONNX model that callers do not see."""
    origin: Origin | None = None
    """None where it is not known: of a module that was not compiled from a model."""
    weight_offsets: tuple[int, ...] = ()
    """Where in the blob of weights each begins, where the entry is given a table of their addresses in this order."""
    flash_goal: FlashGoal | None = None
    """None where no forms of kernels were chosen."""
    ram_goal: RamGoal | None = None
    """None where the budget is met."""
    weights_pool: str = ""
    """The memory that embedded weights are meant to be in."""
    version: int = METADATA_VERSION

    @property
    def tensors(self) -> tuple[TensorInfo, ...]:
        """Inputs, then outputs."""
        return *self.inputs, *self.outputs

    @property
    def streamed(self) -> TensorInfo | None:
        """The input that callers hand over by rows."""
        return next((tensor for tensor in self.inputs if tensor.rows is not None), None)

    def entry(self, interface_api: str = "") -> str:
        """The symbol of the entry, of that of another interface if it has one."""
        streamed = "" if self.streamed is None else self.streamed.name
        return entry_symbol(self.name, interface_api or self.interface_api, streamed)

    @property
    def is_stateful(self) -> bool:
        """Whether the workspace keeps anything from one call to the next: states, or rows of an input."""
        return bool(self.states) or self.streamed is not None

    @property
    def ram_bytes(self) -> int:
        """The arena, and inputs and outputs unless they are in it."""
        return self.workspace_bytes + (self.io_bytes if self.io == "caller" else 0)


_UNSAID = {
    "codegen": "",
    "constants": (),
    "counted_axis": None,
    "executor": "aot",
    "features": (),
    "flash_goal": None,
    "folded_channels": (),
    "form": "",
    "in_floats": (),
    "in_place": (),
    "kept": False,
    "kind": "call",
    "labels": (),
    "layout": "",
    "origin": None,
    "output": "",
    "pool": "",
    "pools": (),
    "ram_goal": None,
    "reads": (),
    "regions": (),
    "reordered": False,
    "rolls": (),
    "rows": None,
    "states": (),
    "threads": 1,
    "weight_offsets": (),
    "weights_pool": "",
    "writes": (),
}
"""Members that JSON has only where they are not these."""


def to_json(info: ModelInfo, artifacts: Sequence[Mapping[str, Any]] = (), *, indent: int | None = 2) -> str:
    """The metadata as one JSON object, ASCII, keys in the order of the classes; ends in a newline.

    `artifacts` are what there is of the model, each as `Artifact.listed` has it.
    """

    def said(fields: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in fields if name not in _UNSAID or value != _UNSAID[name]}

    members = asdict(info, dict_factory=said)
    if artifacts:
        members["artifacts"] = list(artifacts)
    return json.dumps(members, indent=indent) + "\n"


def from_json(text: str) -> ModelInfo:
    """The value that `to_json` wrote; members it does not know are ignored. Raises ValueError on anything else: members
    of other types, a name that is no C identifier."""
    try:
        members = json.loads(text)
        if (version := members["version"]) != METADATA_VERSION:
            raise ValueError(f"the metadata has version {version}, this is aotc for version {METADATA_VERSION}")
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", members["name"]):
            raise ValueError(f"the name {members['name']!r} is no C identifier")
        return _instance(ModelInfo, members)
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"this is not the metadata of a compiled model: {error!r}") from error


_hints = cache(get_type_hints)


def _instance(kind: type[_T], members: Mapping[str, Any]) -> _T:
    """An instance of a dataclass. Raises as `_value`."""
    hints = _hints(kind).items()
    where = f"of {kind.__name__}"
    return kind(**{name: _value(hint, members[name], f"{name} {where}") for name, hint in hints if name in members})


def _value(hint: Any, given: Any, what: str) -> Any:
    """The value of a type that JSON is: a plain one, a dataclass, a tuple of any length, a union. Raises TypeError,
    which says `what` it is for; KeyError."""
    if isinstance(hint, type) and is_dataclass(hint):
        return _instance(hint, given)
    kinds = get_args(hint)
    if get_origin(hint) is tuple:
        if isinstance(given, list):
            return tuple(_value(kinds[0], each, what) for each in given)
    elif kinds:
        if given is None and type(None) in kinds:
            return None
        *others, last = (kind for kind in kinds if kind is not type(None))
        for kind in others:
            with suppress(TypeError, ValueError):
                return _value(kind, given, what)
        return _value(last, given, what)
    elif isinstance(given, int | float if hint is float else hint) and (hint is bool or not isinstance(given, bool)):
        return given
    raise TypeError(f"{what} is {given!r}")
