"""Facts about functions that phases tell each other: which are the entry and the kernels, and what is known of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation

from aotc.dialects.aot.contract.fields import Field, Mark
from aotc.dialects.aot.types import Convention, ConventionAttr
from aotc.errors import CompileError

ENTRY: Final = Mark("aot.entry")
"""On the function that a model is entered by."""
_KERNEL: Final = Mark("aot.kernel")

# --- the entry -------------------------------------------------------------------------------------------------------


def entries(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions that a model is entered by, in order; a model has one, from `import` on. Raises CompileError for
    one that is a kernel as well."""
    for op in module.ops:
        if isinstance(op, FuncOp) and ENTRY.on(op):
            if is_kernel(op):
                what = f"@{op.sym_name.data} has {ENTRY.name} and {_KERNEL.name}; it can be one of them"
                raise CompileError("invalid-contract", what)
            yield op


def entry(module: ModuleOp) -> FuncOp:
    """The one function that a model is entered by. Raises CompileError where there is not exactly one."""
    found = list(entries(module))
    if len(found) != 1:
        what = f"the module has {len(found)} functions with {ENTRY.name}; it must have one"
        raise CompileError("invalid-contract", what)
    return found[0]


RESOURCE_HANDLE: Final = Mark("aot.resource_handle")
"""On the entry while `interface` runs: it takes a last argument that reaches every unpacked kernel."""


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """All functions, in order."""
    return (op for op in module.ops if isinstance(op, FuncOp))


# --- kernels ---------------------------------------------------------------------------------------------------------


def kernels(module: ModuleOp) -> Iterator[FuncOp]:
    """The kernels, from `outline` on, in order."""
    return filter(is_kernel, functions(module))


def is_kernel(op: Operation) -> bool:
    """Whether a function is a kernel: called by the entry, private to the model, one for all calls that are alike."""
    return _KERNEL.on(op)


def mark_kernel(function: FuncOp, in_place: InPlace) -> None:
    """Say that a function is a kernel, whose results may take over buffers as in `in_place`."""
    _KERNEL.set(function)
    IN_PLACE.set(function, in_place)


def first_output(kernel: FuncOp) -> int:
    """The position of the first argument that a kernel writes to: its results and scratch buffers are the last."""
    return len(kernel.function_type.inputs) - len(IN_PLACE.get(kernel) or ())


def kernel_calls(module: ModuleOp) -> list[CallOp]:
    """The calls of kernels by the entry, in order, in regions of control flow, too."""
    symbols = {kernel.sym_name.data for kernel in kernels(module)}
    return [op for op in entry(module).walk() if isinstance(op, CallOp) and op.callee.string_value() in symbols]


def is_in_region(call: CallOp) -> bool:
    """Whether a call of the entry is in control flow: made any number of times, while others are made once."""
    return not isinstance(call.parent_op(), FuncOp)


InPlace = Sequence[Sequence[int]]
"""For each result of a kernel, the positions of operands."""

IN_PLACE: Final = Field[InPlace]("aot.in_place")
"""On a kernel, from `outline` on: for each result, the operands whose buffer it may take over, because every read of
the operand is at the index written, before the write."""


TRAILS: Final = Field[Sequence[Sequence[int]]]("aot.trails")
"""On a kernel, from `outline` on: for each result and each operand how many bytes or more below the operand the result
may begin, and overlap it, because it is written only where the operand has been read; -1: the two are apart."""

WITHIN: Final = Field[Sequence[Sequence[int]]]("aot.within")
"""On a kernel, and the `graph.fused` that becomes it, in `outline`: for each result that is part of a larger tensor the
axis along which it is, where it begins and the extent of all; nothing for the others."""


@dataclass(frozen=True)
class External:
    """Who makes a kernel that is only declared, and what he is to make."""

    codegen: str
    kernel: str
    settings: DictionaryAttr
    by_name: bool = False
    """Whether it is not linked with the model, and found by its name when it is called."""
    scratch_bytes: int = 0
    """Of the buffer that it may use while it runs, its last one."""


EXTERNAL: Final = Field[External]("aot.external")
"""On a kernel without a body, from `outline` on: the code generator that defines it (`aotc.model.codegens`)."""

BRANCHES: Final = Mark("aot.branches")
"""On a kernel, from `outline` on: it takes few of many branches, so that its code is to be small, and nothing behind a
branch is to be computed before it."""

OPERATION_COUNT: Final = Field[int]("aot.operations")
"""On a kernel, from `outline` on and only for a profile: how many arithmetic operations it is about."""

OPERATION_TYPE: Final = Field[str]("aot.operation_type")
"""As `OPERATION_COUNT`: the element type, as users see it, of what most of these read; none where there are none."""

NOTES: Final = Field[Sequence[str]]("aot.notes")
"""On a kernel, from `loops` on: what numbers in its code are, for readers of C."""

SCALAR_FALLBACK: Final = Field[str]("aot.scalar_fallback")
"""On a kernel, from `loops` on: why it is computed by scalar loops though it has a schedule."""

SCHEDULE: Final = "aot.schedule"
"""On a kernel without an anchor, from `outline` on: how it is computed on vectors (`dialects/graph/schedules.py`)."""

# --- operations in kernels -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowRing:
    """A ring of rows: which group gives them, how many there are in memory and in all, bytes from one to the next, and
    which scratch buffer has them."""

    stage: int
    rows: int
    of: int
    row_bytes: int
    buffer: int


RINGS: Final = Field[Sequence[RowRing]]("aot.rings")
"""On a `graph.rolled`, from `fuse` on: its rings, which the memory plan reports."""

NONPOSITIVE: Final = Mark("aot.nonpositive")
"""On a `math.exp` in `loops`: its operand is at most 0, and its result may be 0 instead of a subnormal number."""

# --- how functions are called ----------------------------------------------------------------------------------------


class _ConventionField(Field[Convention]):
    def read(self, attribute: Attribute) -> Convention | None:
        return attribute.data if isinstance(attribute, ConventionAttr) else None

    def write(self, value: Convention) -> Attribute:
        return ConventionAttr(value)


CONVENTION: Final = _ConventionField("aot.convention")
"""On a function, from `interface` on: how it takes its arguments."""

# --- sizes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Bytes of the buffers of a function: of the entry in total, of a kernel in its largest call."""

    workspace: int = 0
    """Of the workspace; of a kernel its scratch buffers."""
    io: int = 0
    """Of inputs and outputs."""
    constant: int = 0
    """Of weights."""


_WORKSPACE_BYTES: Final = Field[int]("aot.workspace_bytes")
_IO_BYTES: Final = Field[int]("aot.io_bytes")
_CONSTANT_BYTES: Final = Field[int]("aot.constant_bytes")


def sizes_of(function: FuncOp) -> Sizes:
    """The sizes of the entry or of a kernel after `interface`; 0 where nothing is said."""
    return Sizes(*(field.get(function) or 0 for field in (_WORKSPACE_BYTES, _IO_BYTES, _CONSTANT_BYTES)))


def set_sizes(function: FuncOp, sizes: Sizes) -> None:
    """Record the sizes of the entry or of a kernel."""
    _WORKSPACE_BYTES.set(function, sizes.workspace)
    _IO_BYTES.set(function, sizes.io)
    _CONSTANT_BYTES.set(function, sizes.constant)
