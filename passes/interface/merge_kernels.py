"""Make one function of kernels that differ in constants and sizes only: these become its parameters.

For code that is to be small: layers of one kind have kernels that are alike. Constants that differ are arguments of the
calls, integers and floats; so are the extents of buffers, which are then of one axis. What decides what a loop costs
(its stride, divisors, distances of shifts) must be equal, and so must be all else. Kernels stay apart where passing the
arguments would take more instructions than a body has, and where something else than a call refers to them. Where
kernels have forms of their own (`aot.forms`), those that are neither small nor shared stay apart, too.

Before:
```mlir
%0 = func.call @scale_0(%a) : (!aot.ptr<i8>) -> i32
%1 = func.call @scale_1(%b) : (!aot.ptr<i8>) -> i32
func.func private @scale_0(%x: !aot.ptr<i8>) -> i32 {
  %x_1 = aot.buffer %x : !aot.ptr<i8> to memref<2x8xi8>
  %0 = memref.load %x_1[%i, %j] : memref<2x8xi8>      // @scale_1 has memref<3x20xi8>
```
After:
```mlir
%0 = func.call @scale_0(%a, %c8) : (!aot.ptr<i8>, index) -> i32
%1 = func.call @scale_0(%b, %c20) : (!aot.ptr<i8>, index) -> i32
func.func private @scale_0(%x: !aot.ptr<i8>, %size: index) -> i32 {
  %x_1 = aot.buffer %x : !aot.ptr<i8> to memref<?xi8>
  %0 = arith.muli %i, %size : index
  %1 = arith.addi %0, %j : index
  %2 = memref.load %x_1[%1] : memref<?xi8>
```
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.builder import Builder, ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, builtin, memref, scf
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot import BufferOp, WordLoadOp, WordStoreOp
from aotc.dialects.aot.contract import (
    FORMS,
    NOTES,
    PARAMETERS,
    Argument,
    Sizes,
    append_argument,
    form_of,
    kernels,
    set_sizes,
    sizes_of,
)
from aotc.dialects.attributes import nested
from aotc.model.locations import fuse_locations, node_names

_Column: TypeAlias = tuple[Attribute, ...]
"""A constant in each of several functions."""

_DIVISIONS = (
    *(arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp),
    *(arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp),
)
_FIXED: dict[type[Operation], tuple[int, ...]] = {
    scf.ForOp: (2,),
    **dict.fromkeys((*_DIVISIONS, arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp), (1,)),
}
"""Operands that stay constants: of loops the stride, divisors, distances of shifts."""


@dataclass(frozen=True)
class MergeKernelsPass(ModulePass):
    name = "merge-kernels"

    most_parameters: int = 24
    """Constants that a function gets at most: they take stack, and a load at each use."""
    per_parameter: int = 3
    """Instructions of a call for a constant, and in the function instead of one in an instruction."""

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        calls: defaultdict[str, list[CallOp]] = defaultdict(list)
        for each in op.walk():
            if isinstance(each, CallOp):
                calls[each.callee.string_value()].append(each)
        given = (value for each in op.walk() for value in (*each.properties.values(), *each.attributes.values()))
        symbols = (each for value in given for each in nested(value) if isinstance(each, builtin.SymbolRefAttr))
        mentioned = Counter(symbol.string_value() for symbol in symbols)
        groups: defaultdict[Hashable, list[_Form]] = defaultdict(list)
        forms = FORMS.get(op)
        for function in kernels(op):
            name = function.sym_name.data
            is_private = function.sym_visibility == builtin.StringAttr("private")
            if forms is not None and not form_of(forms, node_names(function.location)):
                continue
            if is_private and not function.is_declaration and mentioned[name] == len(calls[name]):
                form = _Form(function, calls[name])
                groups[form.key].append(form)
        for forms in groups.values():
            columns = list(zip(*(form.values for form in forms), strict=True))
            different = [column for column in dict.fromkeys(columns) if len(set(column)) > 1]
            saved = forms[0].operations * (len(forms) - 1)
            added = self.per_parameter * len(different) * len(forms)
            if len(forms) > 1 and len(different) <= self.most_parameters and added <= saved:
                _merge(forms, columns, different)


# --- what kernels have in common -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Use:
    """Where a constant stands: an operand, or, with `axis`, an extent of the buffer that an operation reads."""

    op: Operation
    position: int
    axis: int | None = None


@dataclass
class _Form:
    """A kernel, apart from constants and extents: equal `key`s say that it has the form of another one."""

    function: FuncOp
    calls: list[CallOp]
    uses: list[_Use] = field(default_factory=list[_Use])
    values: list[Attribute] = field(default_factory=list[Attribute])
    """The constant at each of `uses`."""
    buffers: list[SSAValue] = field(default_factory=list[SSAValue])
    """Those that may be of other extents."""
    operations: int = 0

    def __post_init__(self) -> None:
        self._numbers: dict[SSAValue, int] = {}
        self._key: list[Hashable] = []
        alike = self.function.clone_without_regions()
        set_sizes(alike, Sizes())
        PARAMETERS.set(alike, None)
        NOTES.set(alike, None)
        self._attributes(alike, ["sym_name"])
        self._block(self.function.body.block)
        self.key = tuple(self._key)

    def _attributes(self, op: Operation, but: Collection[str] = ()) -> None:
        named = sorted({**op.properties, **op.attributes}.items())
        self._key += [(name, value) for name, value in named if name not in but]

    def _block(self, block: Block) -> None:
        for argument in block.args:
            self._numbers[argument] = len(self._numbers)
            self._key.append(argument.type)
        for op in block.ops:
            if _constant(op) is None:
                self._operation(op)

    def _operation(self, op: Operation) -> None:
        self.operations += 1
        self._key.append((op.name, len(op.operands), len(op.regions), len(op.successors)))
        self._attributes(op)
        places = _places(op)
        for position, operand in enumerate(op.operands):
            value = _constant(operand.owner)
            if value is None:
                self._key.append(self._numbers[operand])
            elif position in _FIXED.get(type(op), ()) or (places and isinstance(operand.type, builtin.IndexType)):
                self._key.append(value)
            else:
                self._key.append(operand.type)
                self._add(_Use(op, position), value)
        if (buffer := _buffer(op)) is not None:
            shape = cast(builtin.MemRefType[Attribute], buffer.type).get_shape()
            for axis in range(_zeros(places) + 1, len(shape)):
                self._add(_Use(op, 0, axis), builtin.IntegerAttr.from_index_int_value(shape[axis]))
        for result in op.results:
            self._numbers[result] = len(self._numbers)
            if _is_plain(result):
                kind = cast(builtin.MemRefType[Attribute], result.type)
                self._key.append((len(kind.get_shape()), kind.get_element_type()))
                self.buffers.append(result)
            else:
                self._key.append(result.type)
        for region in op.regions:
            for block in region.blocks:
                self._key.append("block")
                self._block(block)
        self._key.append("end")

    def _add(self, use: _Use, value: Attribute) -> None:
        self.uses.append(use)
        self.values.append(value)


def _constant(owner: Operation | Block) -> Attribute | None:
    """The value of a constant that is a number."""
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, builtin.IntegerAttr | builtin.FloatAttr):
        return cast(Attribute, owner.value)
    return None


def _buffer(op: Operation) -> SSAValue | None:
    """The buffer that an operation reads or writes one place of."""
    match op:
        case memref.LoadOp() | memref.StoreOp():
            return op.memref
        case WordLoadOp() | WordStoreOp():
            return op.buffer
        case _:
            return None


def _places(op: Operation) -> Sequence[SSAValue]:
    """The indices at which an operation reads or writes."""
    return op.indices if isinstance(op, memref.LoadOp | memref.StoreOp | WordLoadOp | WordStoreOp) else ()


def _zeros(indices: Sequence[SSAValue]) -> int:
    """How many of the first indices are 0: the extents of the axes that follow these do not matter."""
    zero = builtin.IntegerAttr.from_index_int_value(0)
    return next((count for count, index in enumerate(indices) if _constant(index.owner) != zero), len(indices))


def _is_plain(value: SSAValue) -> bool:
    """Whether a value is a buffer, all that is behind an argument, and only such operations have to do with it."""
    if not isinstance(value.owner, BufferOp) or not isinstance(value.owner.pointer, BlockArgument):
        return False
    return all(_buffer(use.operation) is value for use in value.uses)


# --- merging ---------------------------------------------------------------------------------------------------------


def _merge(forms: Sequence[_Form], columns: Sequence[_Column], different: Sequence[_Column]) -> None:
    """Replace functions of one form by the first of them, to which the constants that are `different` are given."""
    first, *others = forms
    parameters: dict[_Column, SSAValue] = {}
    for column in different:
        kind = cast("builtin.IntegerAttr | builtin.FloatAttr", column[0]).type
        parameters[column] = append_argument(
            first.function, kind, Argument(), "size" if isinstance(kind, builtin.IndexType) else "value"
        )
    kinds = zip(*([buffer.type for buffer in form.buffers] for form in forms), strict=True)
    flat = {buffer for buffer, each in zip(first.buffers, kinds, strict=True) if len(set(each)) > 1}
    _parametrize(first, columns, parameters, flat)
    for number, form in enumerate(forms):
        for call in form.calls:
            _pass(call, first.function, [column[number] for column in parameters])
    largest = [sizes_of(form.function) for form in forms]
    set_sizes(first.function, Sizes(*map(max, *((each.workspace, each.io, each.constant) for each in largest))))
    PARAMETERS.set(first.function, None)  # each call has shapes of its own
    notes = dict.fromkeys(note for form in forms for note in NOTES.get(form.function) or ())
    NOTES.set(first.function, list(notes) or None)
    first.function.location = fuse_locations(form.function.location for form in forms)
    for form in others:
        Rewriter.erase_op(form.function)


def _parametrize(
    form: _Form,
    columns: Sequence[_Column],
    parameters: dict[_Column, SSAValue],
    flat: Collection[SSAValue],
) -> None:
    """Put parameters where constants differ; the buffers `flat` get one axis."""
    extents: defaultdict[Operation, dict[int, SSAValue | Attribute]] = defaultdict(dict)
    for use, column in zip(form.uses, columns, strict=True):
        if use.axis is not None:
            extents[use.op][use.axis] = parameters.get(column, column[0])
        elif column in parameters:
            use.op.operands[use.position] = parameters[column]
    for buffer in flat:
        for op in [use.operation for use in buffer.uses]:
            _linearize(op, buffer, extents[op])
        op, kind = cast(BufferOp, buffer.owner), cast(builtin.MemRefType[Attribute], buffer.type)
        Rewriter.replace_op(op, BufferOp(op.pointer, builtin.MemRefType(kind.element_type, [builtin.DYNAMIC_INDEX])))


def _linearize(op: Operation, buffer: SSAValue, axes: dict[int, SSAValue | Attribute]) -> None:
    """One index of an element, row-major, instead of one for each axis."""
    indices = _places(op)
    zeros = min(_zeros(indices), len(indices) - 1)
    index = indices[zeros]
    with ImplicitBuilder(Builder(InsertPoint.before(op))):
        for axis in range(zeros + 1, len(indices)):
            extent = axes[axis]
            size = arith.ConstantOp(cast(builtin.IntegerAttr, extent)) if isinstance(extent, Attribute) else extent
            index = arith.AddiOp(arith.MuliOp(index, size), indices[axis]).result
    op.operands = [*op.operands[: len(op.operands) - len(indices)], index]


def _pass(call: CallOp, function: FuncOp, values: Sequence[Attribute]) -> None:
    """Let a call pass constants, too."""
    constants = [arith.ConstantOp(cast("builtin.IntegerAttr | builtin.FloatAttr", value)) for value in values]
    new = CallOp(
        function.sym_name.data,
        [*call.arguments, *(constant.result for constant in constants)],
        [result.type for result in call.results],
    )
    new.location = call.location
    new.attributes |= call.attributes
    Rewriter.insert_op(constants, InsertPoint.before(call))
    Rewriter.replace_op(call, new)
