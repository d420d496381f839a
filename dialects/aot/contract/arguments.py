"""Facts about arguments of the entry and of kernels that phases tell each other (attributes of arguments, results)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument

from aotc.dialects.aot.contract.fields import Field, Mark
from aotc.dialects.aot.contract.module import has_plan, plan_of, workspace_alignment
from aotc.dialects.attributes import value_of
from aotc.errors import CompileError
from aotc.model.metadata import row_axis

Io: TypeAlias = Literal["input", "output", "state", "pushed", "workspace", "weights", "resource_handle"]
"""The role of an argument of the entry. A state is read and written, and leaves the signature in `plan`; so does
`pushed`, which says how many rows of an input have come."""


RETAINED: Final[Sequence[Io]] = ("state", "pushed")
"""The roles of arguments that the workspace keeps from one call to the next."""


class Argument:
    """The attributes of one argument, free to change; `set_arguments` and `set_signature` write them back."""

    name: Field[str] = Field[str]("aot.name")
    """Of the entry from `import` on: the ONNX name, any string. Of what `interface` adds: the identifier in C."""
    dtype: Field[str] = Field[str]("aot.dtype")
    """Of the entry's tensors, from `import` on: the element type as users see it, "float32" or "uint8". Of a kernel's
    buffers from `bufferize` on where the type in memory does not say it, as of unsigned integers, and of all that a
    kernel from outside is given."""
    scratch = Mark("aot.scratch")
    """Of a kernel, from `bufferize` on: memory that holds nothing before and after a call."""
    scale = Field[float]("aot.scale")
    """Of a quantised input or output, from `graph` on."""
    zero_point = Field[int]("aot.zero_point")
    """As `scale`."""
    io: Field[Io] = Field[Io]("aot.io")
    """Of the entry, from `bufferize` on: what the argument is for. `interface` adds those that are no tensors."""
    state_of = Field[int]("aot.state_of")
    """Of a result of the entry, from `import` to `bufferize`: the argument that has its value at the next call."""
    next_name = Field[str]("aot.next")
    """Of a state, from `bufferize` on: the ONNX name of the output that is its next value."""
    initial = Field[str]("aot.initial")
    """Of an argument that is a state, from `import` on: the key of its first value; zeros where there is none."""
    may_alias = Mark("aot.may_alias")
    """Of a kernel, after `plan`: it is called with one buffer here and as another argument. `interface` removes it."""
    counted_axis = Field[int]("aot.counted_axis")
    """Of an output whose extent along this axis is data-dependent, from `import` on: it has the greatest possible, and
    the output NAME_count says how much of it is valid."""
    labels = Field[tuple[str, ...] | tuple[int, ...]]("aot.labels")
    """Of an output of class labels, from `import` on: the text that each element is a position in, or for floats the
    keys of the maps that its rows are."""
    layout = Field[str]("aot.layout")
    """Of an input or output, from `import` on: the layout that callers have it in, where the model has another one."""
    rows = Field[int]("aot.rows")
    """Of an input that callers hand over by rows, from `import` on: how many at once at most."""
    offset = Field[int]("aot.offset")
    """Of a tensor in the workspace, as every state is, from `plan` on: where it is, in bytes."""
    pool = Field[str]("aot.pool")
    """Of what has an offset, and of a workspace that is the caller's: the pool, where there are several."""
    shape = Field[tuple[int, ...]]("aot.shape")
    """Of the entry's tensors, when a pointer no longer says it: after `interface`, and of tensors in the workspace from
    `plan` on."""
    readonly = Mark("aot.readonly")
    """After `interface`: nothing is written through the pointer."""
    noalias = Mark("aot.noalias")
    """After `interface`: what is behind the pointer overlaps nothing that another argument is for."""
    align = Field[int]("aot.align")
    """After `interface`: the pointer is a multiple of so many bytes."""
    dimension = Field[int]("aot.dim")
    """After `interface`, of an i32 that follows its pointer: which extent of that buffer it is."""

    def __init__(
        self,
        attributes: DictionaryAttr | None = None,
        *,
        name: str | None = None,
        dtype: str | None = None,
        io: Io | None = None,
    ) -> None:
        self.attributes: dict[str, Attribute] = {} if attributes is None else dict(attributes.data)
        if name is not None:
            self.name = name
        if dtype is not None:
            self.dtype = dtype
        if io is not None:
            self.io = io

    def dictionary(self) -> DictionaryAttr:
        """The attributes as the IR has them."""
        return DictionaryAttr(self.attributes)

    def tensor(self) -> Tensor:
        """The description of an input or output. Raises CompileError where its attributes are incomplete."""
        name = Argument.name.require(self, "an input or output")
        where = f"the input or output {name}"
        io = Argument.io.require(self, where)
        if io not in ("input", "output"):
            raise CompileError("invalid-contract", f"{name} is not an input or output")
        dtype = Argument.dtype.require(self, where)
        shape = Argument.shape.require(self, where)
        more = self.scale, self.zero_point, self.offset, self.counted_axis, self.labels or (), self.layout or ""
        return Tensor(name, dtype, io, shape, *more, rows=self.rows, pool=self.pool or "")


@dataclass(frozen=True)
class Tensor:
    """One input or output of the entry after `interface`."""

    name: str
    dtype: str
    io: Literal["input", "output"]
    shape: tuple[int, ...]
    scale: float | None
    """Of its affine quantisation, None where it has none."""
    zero_point: int | None
    offset: int | None
    """Bytes from the start of the workspace; None where it is no part of that."""
    counted_axis: int | None = None
    """Of an output of which only a part counts: the axis along which the output NAME_count says how much."""
    labels: tuple[str, ...] | tuple[int, ...] = ()
    """Of an output of class labels: what its elements, or of floats its columns, stand for."""
    layout: str = ""
    """Where callers have another one than the model."""
    rows: int | None = None
    """Where callers hand it over by rows: how many at once at most."""
    pool: str = ""
    """The pool whose start the offset is counted from; empty: there is one arena."""

    @property
    def row_axis(self) -> int:
        """Along which there are rows."""
        return row_axis(self.shape)

    @property
    def row_count(self) -> int:
        """How many rows there are in all."""
        return self.shape[self.row_axis]


@dataclass(frozen=True)
class State:
    """State that the entry keeps in the workspace from one call to the next, from `plan` on."""

    name: str
    """Of the input that it was in the model."""
    output: str
    """The name of the output that is its next value."""
    dtype: str
    shape: tuple[int, ...]
    offset: int
    """Bytes from the start of the workspace."""
    initial: str | None
    """The key of its first value in the WeightStore; None for zeros."""
    scale: float | None
    """Of its affine quantisation, None where it has none."""
    zero_point: int | None
    """As `scale`."""
    pool: str = ""
    """The pool whose start the offset is counted from; empty: there is one arena."""


@dataclass(frozen=True)
class WorkspacePlace:
    """So many bytes from the start of the workspace, or of a pool of it."""

    offset: int
    pool: str = ""


# --- signatures ------------------------------------------------------------------------------------------------------


class _Arguments(Field[Sequence[Argument]]):
    """The attributes of several arguments."""

    def read(self, attribute: Attribute) -> Sequence[Argument] | None:
        found = value_of(attribute, tuple[DictionaryAttr, ...])
        return None if found is None else tuple(map(Argument, found))

    def write(self, value: Iterable[Argument]) -> Attribute:
        return ArrayAttr([each.dictionary() for each in value])


_DECLARED: Final = _Arguments("aot.arguments")


def arguments_of(function: FuncOp) -> list[Argument]:
    """The attributes of each argument, in order."""
    if function.is_declaration and (declared := _DECLARED.get(function)) is not None:
        return list(declared)
    if function.arg_attrs is None:
        return [Argument() for _ in function.function_type.inputs]
    return [Argument(attributes) for attributes in function.arg_attrs]


def results_of(function: FuncOp) -> list[Argument]:
    """The attributes of each result, in order: of the entry before `bufferize`, those of its outputs."""
    if function.res_attrs is None:
        return [Argument() for _ in function.function_type.outputs]
    return [Argument(attributes) for attributes in function.res_attrs]


def set_arguments(function: FuncOp, arguments: Iterable[Argument]) -> None:
    """Write the attributes of all arguments; of a function without a body where they are printed, too."""
    if function.is_declaration:
        _DECLARED.set(function, list(arguments))
        return
    function.properties["arg_attrs"] = ArrayAttr([each.dictionary() for each in arguments])


def set_results(function: FuncOp, results: Iterable[Argument]) -> None:
    """Write the attributes of all results."""
    function.properties["res_attrs"] = ArrayAttr([each.dictionary() for each in results])


def set_signature(function: FuncOp, arguments: Iterable[Argument], results: Sequence[Attribute]) -> None:
    """Make the function's type what its block arguments and `results` are, with these attributes of arguments."""
    function.properties["function_type"] = FunctionType.from_lists([arg.type for arg in function.args], results)
    set_arguments(function, arguments)
    function.properties.pop("res_attrs", None)


def insert_argument(function: FuncOp, place: int, kind: Attribute, given: Argument, hint: str) -> BlockArgument:
    """A new argument before the one at `place`; its attributes are recorded at once, results stay as they are."""
    attributes = arguments_of(function)
    argument = function.body.block.insert_arg(kind, place)
    argument.name_hint = hint
    set_signature(function, [*attributes[:place], given, *attributes[place:]], function.function_type.outputs.data)
    return argument


def append_argument(function: FuncOp, kind: Attribute, given: Argument, hint: str) -> BlockArgument:
    """A new last argument, as `insert_argument` makes it."""
    return insert_argument(function, len(function.body.block.args), kind, given, hint)


def workspace_arguments(module: ModuleOp) -> list[Argument]:
    """The attributes of the pointers by which a caller supplies the workspace: one, or one for each pool."""
    found: list[Argument] = []
    for pool in plan_of(module).arenas if has_plan(module) else [""]:
        given = Argument(io="workspace")
        given.align, given.noalias, given.pool = workspace_alignment(module), True, pool or None
        found.append(given)
    return found


def argument_of(value: BlockArgument) -> Argument:
    """The attributes of an argument of a function; none for those of other blocks."""
    function = value.block.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return Argument()
    return Argument(function.arg_attrs.data[value.index])


# --- parameters of kernels -------------------------------------------------------------------------------------------

PARAMETERS: Final = _Arguments("aot.parameters")
"""Of a kernel, after `interface`: what it is called with, whatever its arguments become, each with `name`, `dtype`,
`io`, `shape`."""


def parameters_of(kernel: FuncOp) -> list[Tensor] | None:
    """The arguments of a kernel, in order, after `interface`: its operands ("input"), then what it writes
    ("output"), scratch memory last; named as in C, an extent of the run time is -1. None where one function serves
    calls of several shapes."""
    found = PARAMETERS.get(kernel)
    return None if found is None else [each.tensor() for each in found]


# --- inputs and outputs ----------------------------------------------------------------------------------------------

TENSORS: Final = _Arguments("aot.tensors")
"""Of an entry, from `plan` on, whose inputs and outputs are in the workspace and no arguments: these, with `shape` and
`offset`."""
STATES: Final = _Arguments("aot.states")
"""States of the entry, from `plan` on: with `shape` and `offset` in the workspace; absent where there are none."""


PUSHED: Final = Field[WorkspacePlace]("aot.pushed")
"""Of an entry, from `plan` on, that is given an input by rows: where in the workspace three integers of 32 bits are,
the number of rows that had come before the call at hand, and with it; and at `CAME` how many the next one goes on from,
none where this one fails."""
CAME: Final = 2
"""The place among the integers of `PUSHED` of how many rows have come when no call is at hand."""


def streamed_of(main: FuncOp) -> str:
    """The name of the input that callers hand over by rows; empty where there is none."""
    return next((each.name or "" for each in arguments_of(main) if each.rows is not None), "")


def is_stateful(main: FuncOp) -> bool:
    """Whether the workspace keeps anything from one call to the next, from `plan` on."""
    return bool(STATES.get(main)) or PUSHED.get(main) is not None


def has_tensors_in_workspace(main: FuncOp) -> bool:
    """Whether the entry's inputs and outputs are in the workspace, from `plan` on, and no arguments."""
    return TENSORS.get(main) is not None


def tensors_of(main: FuncOp) -> list[Tensor]:
    """The inputs, then the outputs of the entry after `interface`, be they arguments or in the workspace."""
    inside = TENSORS.get(main)
    given = arguments_of(main) if inside is None else inside
    return [each.tensor() for each in given if each.io in ("input", "output")]


def states_of(main: FuncOp) -> list[State]:
    """The states of the entry, in the order of the inputs that they were; from `plan` on."""
    return list(map(_state, STATES.get(main) or ()))


def _state(given: Argument) -> State:
    name = Argument.name.require(given, "a state")
    where = f"the state {name}"
    return State(
        name,
        Argument.next_name.require(given, where),
        Argument.dtype.require(given, where),
        Argument.shape.require(given, where),
        Argument.offset.require(given, where),
        given.initial,
        given.scale,
        given.zero_point,
        given.pool or "",
    )


def carried_by_entry(main: FuncOp, position: int) -> BlockArgument | None:
    """The argument of the entry that has the value of the result at `position` at the next call, before `bufferize`."""
    place = results_of(main)[position].state_of
    return None if place is None else main.args[place]


def shares_workspace(module: ModuleOp) -> bool:
    """Whether the application reaches into the model's own workspace, because inputs and outputs are there."""
    return any(has_tensors_in_workspace(op) for op in module.ops if isinstance(op, FuncOp))
