"""Memory in C: buffers as typed pointers, elements, views of an arena, argument structures, and what may alias what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.contract import Argument, argument_of
from aotc.emit.c.placement import Expr, Level, binary, cast_expr, integer_expr, name_expr
from aotc.emit.c.text import string_literal
from aotc.emit.c.types import BOOL, UNSIGNED, VOID, CType, ctype_of, pointer_to

if TYPE_CHECKING:
    from aotc.emit.c.scope import FunctionScope

_BYTE = UNSIGNED[8]
VIEW = (memref.ViewOp,)
"""Operations that take a buffer as bytes."""
_UNSIGNED_FIELDS = {
    "dtype.code": UNSIGNED[8],
    "dtype.bits": UNSIGNED[8],
    "dtype.lanes": UNSIGNED[16],
    "byte_offset": UNSIGNED[64],
}
"""Fields of DLTensor that are unsigned in C."""
_STRUCT_NAMES = {"DLTensor": "tensor", "AOTCValue": "values"}

# --- aliasing --------------------------------------------------------------------------------------------------------


def root(value: SSAValue) -> SSAValue:
    """What a buffer or pointer was derived from: an argument, a weight, the arena, a stack array."""
    while not isinstance(value, BlockArgument):
        op = cast(Operation, value.owner)
        match op:
            case memref.ViewOp() | memref.ReinterpretCastOp() | memref.CastOp():
                value = op.source
            case aot.BufferOp() | aot.PtrCastOp() | aot.AddressOp() | aot.ElementOp() | aot.FieldOp():
                value = op.pointer
            case aot.DataOp():
                value = op.buffer
            case _:
                return value
    return value


def is_mutable(base: SSAValue) -> bool:
    """Whether memory behind this root may change while the function runs."""
    if isinstance(base.owner, aot.WeightOp | aot.WeightsOp):
        return False
    return not (_argument(base).readonly and _argument(base).noalias)


def may_alias(a: SSAValue, b: SSAValue) -> bool:
    """Whether memory behind two roots may overlap."""
    return a is b or not (_argument(a).noalias or _argument(b).noalias)


def _argument(value: SSAValue) -> Argument:
    return argument_of(value) if isinstance(value, BlockArgument) else Argument()


# --- signedness ------------------------------------------------------------------------------------------------------

_UNSIGNED_USES = (
    arith.ExtUIOp,
    arith.UIToFPOp,
    arith.FPToUIOp,
    arith.DivUIOp,
    arith.RemUIOp,
    arith.ShRUIOp,
    arith.MinUIOp,
    arith.MaxUIOp,
)


def is_unsigned_buffer(buffer: SSAValue) -> bool:
    """Whether what the function does with the elements says that they are unsigned: only unsigned operations do."""
    evidence = False
    pending = [buffer]
    while pending:
        for use in pending.pop().uses:
            match use.operation:
                case memref.LoadOp() as load:
                    users = [each.operation for each in load.res.uses]
                    unsigned = [isinstance(each, _UNSIGNED_USES) or _compares_unsigned(each) for each in users]
                    if not all(unsigned):
                        return False
                    evidence = evidence or bool(unsigned)
                case memref.StoreOp() as store if use.index == 1:
                    if isinstance(store.value.owner, _UNSIGNED_USES):
                        evidence = True
                    elif not isinstance(store.value.owner, arith.TruncIOp):
                        return False
                case memref.ReinterpretCastOp() as view:
                    pending.append(view.result)
                case memref.CastOp() as view:
                    pending.append(view.dest)
                case _:
                    pass
    return evidence


def _compares_unsigned(op: Operation) -> bool:
    return isinstance(op, arith.CmpiOp) and op.predicate.value.data >= 6


# --- expressions -----------------------------------------------------------------------------------------------------


def element(scope: FunctionScope, buffer: SSAValue, indices: Sequence[SSAValue], offset: int = 0) -> Expr:
    """`buffer[index + offset]`, row-major."""
    base = scope.atom(buffer)
    assert base.ctype.pointee is not None
    shape = cast(MemRefType[Attribute], buffer.type).get_shape()
    position = integer_expr(0)
    for size, index in zip(shape, indices, strict=True):
        position = _plus(_times(position, size), scope.expressions.signed(index), scope.index)
    position = _plus(position, integer_expr(offset), scope.index)
    ctype = base.ctype.pointee
    return Expr(f"{base.text}[{position.text}]", Level.PRIMARY, ctype, unsigned=ctype.kind == "unsigned")


def _times(e: Expr, size: int) -> Expr:
    if e.literal is not None:
        return integer_expr(int(e.literal) * size, e.ctype)
    return e if size == 1 else binary("*", e, integer_expr(size), e.ctype)


def _plus(a: Expr, b: Expr, index: CType) -> Expr:
    if a.literal is not None and b.literal is not None:
        return integer_expr(int(a.literal) + int(b.literal), index)
    if a.literal == 0:
        return b
    if b.literal == 0:
        return a
    return binary("+", b, a, index, True) if a.literal is not None else binary("+", a, b, index, True)


def member(scope: FunctionScope, op: aot.FieldOp | aot.SetFieldOp | aot.ElementOp | aot.SetElementOp) -> Expr:
    """`p[2]` or `p[2].field` as a place to read or write."""
    pointer = scope.atom(op.pointer)
    position = op.position.value.data
    value = op.value if isinstance(op, aot.SetFieldOp | aot.SetElementOp) else op.result
    ctype = ctype_of(value.type, scope.index)
    if isinstance(op, aot.ElementOp | aot.SetElementOp):
        return Expr(f"{pointer.text}[{position}]", Level.PRIMARY, ctype)
    is_array = isinstance(op.pointer.owner, aot.AllocaOp) or position != 0
    text = f"{pointer.text}[{position}]." if is_array else f"{pointer.text}->"
    ctype = _UNSIGNED_FIELDS.get(op.field.data, ctype)
    return Expr(text + op.field.data, Level.PRIMARY, ctype, unsigned=ctype.kind == "unsigned")


OPERATIONS = (
    *(memref.LoadOp, memref.ViewOp, memref.ReinterpretCastOp, memref.CastOp),
    *(aot.WeightOp, aot.WorkspaceOp, aot.WeightsOp, aot.BufferOp, aot.DataOp, aot.PtrCastOp, aot.AddressOp),
    *(aot.ElementOp, aot.FieldOp, aot.NullOp, aot.IsNullOp, aot.SymbolOp, aot.StringOp),
)
"""What `expression` takes."""


def expression(scope: FunctionScope, op: Operation) -> Expr:
    """The expression of a memory operation."""
    match op:
        case memref.LoadOp():
            e = element(scope, op.memref, op.indices)
            scope.note_read(root(op.memref))
            return e
        case aot.ElementOp() | aot.FieldOp():
            scope.note_read(root(op.pointer))
            return member(scope, op)
        case aot.WeightOp():
            return scope.unit.weight(op)
        case aot.WorkspaceOp():
            return scope.unit.workspace(op)
        case aot.WeightsOp():
            return scope.unit.weights(op)
        case aot.BufferOp():
            return _buffer(scope, op)
        case memref.ViewOp():
            return _view(scope, op)
        case memref.ReinterpretCastOp():
            return _shifted(scope, op)
        case memref.CastOp():
            return scope.operand(op.source)
        case aot.DataOp():
            return scope.operand(op.buffer)
        case aot.PtrCastOp():
            e = scope.operand(op.pointer)
            target = pointer_to(cast(CType, ctype_of(op.result.type, scope.index).pointee), e.ctype.const)
            scope.unit.struct(op.result.type.pointee)
            if target.pointee == VOID:
                return replace(e, ctype=target)
            return convert_pointer(e, target, explicit=True)
        case aot.AddressOp():
            e = scope.operand(op.pointer)
            position = op.position.value.data
            return e if position == 0 else binary("+", e, integer_expr(position), e.ctype)
        case aot.NullOp():
            scope.include("stddef.h")
            return name_expr("NULL", ctype_of(op.result.type, scope.index))
        case aot.IsNullOp():
            scope.include("stddef.h")
            return binary("==", scope.operand(op.pointer), name_expr("NULL", pointer_to(VOID)), BOOL)
        case aot.SymbolOp():
            return scope.unit.table(op.symbol.string_value())
        case aot.StringOp():
            return Expr(string_literal(op.value.data), Level.PRIMARY, pointer_to(VOID))
        case _:
            raise AssertionError(f"{op.name} is no memory operation")


def name_hint(value: SSAValue) -> str | None:
    """What to call a pointer or a member that needs a name and has none."""
    match value.owner:
        case aot.FieldOp() as op:
            return op.field.data.rpartition(".")[2]
        case aot.PtrCastOp() as op if isinstance(op.result.type.pointee, aot.StructType):
            return _STRUCT_NAMES.get(op.result.type.pointee.struct.data)
        case _:
            return None


def _element_ctype(scope: FunctionScope, buffer: SSAValue) -> CType:
    """The C type of a buffer's elements: unsigned where its uses, or the function that it is passed to, say so."""
    kind = cast(MemRefType[Attribute], buffer.type).get_element_type()
    for use in buffer.uses:
        if isinstance(data := use.operation, aot.DataOp):
            for call_use in data.result.uses:
                if isinstance(callee := call_use.operation, func.CallOp):
                    parameter = scope.unit.parameters(callee.callee.string_value())[call_use.index]
                    assert parameter.pointee is not None
                    if parameter.pointee != VOID:
                        return parameter.pointee
    return ctype_of(kind, scope.index, is_unsigned_buffer(buffer))


def _buffer(scope: FunctionScope, op: aot.BufferOp) -> Expr:
    """A pointer as a buffer: the pointer itself where it has the type already."""
    e = scope.operand(op.pointer)
    kind = op.result.type.get_element_type()
    pointee = e.ctype.pointee
    assert pointee is not None
    if pointee.is_integer and isinstance(kind, IntegerType) and pointee.bits == kind.width.data:
        return e
    wanted = ctype_of(kind, scope.index) if pointee != VOID else _BYTE
    if pointee == VOID and not all(isinstance(use.operation, memref.ViewOp) for use in op.result.uses):
        wanted = _element_ctype(scope, op.result)
    return convert_pointer(e, pointer_to(wanted, e.ctype.const), explicit=True)


def _view(scope: FunctionScope, op: memref.ViewOp) -> Expr:
    """`(float *)(arena + 64)`."""
    base = scope.operand(op.source)
    offset = op.byte_shift.owner
    assert isinstance(offset, arith.ConstantOp) and isinstance(offset.value, IntegerAttr)
    shift = offset.value.value.data
    bytes_ = convert_pointer(base, pointer_to(_BYTE, base.ctype.const), explicit=True)
    place = bytes_ if shift == 0 else binary("+", bytes_, integer_expr(shift), bytes_.ctype)
    wanted = pointer_to(_element_ctype(scope, op.result), base.ctype.const)
    return replace(convert_pointer(place, wanted), origin=place)


def _shifted(scope: FunctionScope, op: memref.ReinterpretCastOp) -> Expr:
    """The same pointer, moved on by a static number of elements."""
    e = scope.operand(op.source)
    offsets = [int(offset) for offset in op.static_offsets.get_values()]
    shift = sum(offsets)
    return e if shift == 0 else binary("+", e, integer_expr(shift), e.ctype)


def convert_pointer(e: Expr, target: CType, explicit: bool = False) -> Expr:
    """A pointer as an argument or initial value of type `target`; `explicit` also casts what C converts by itself."""
    source = e.ctype
    if source.kind != "pointer" or target.kind != "pointer" or source.pointee is None or target.pointee is None:
        return e
    drops_const = source.const and not target.const
    same = source.pointee == target.pointee
    implicit = not explicit and VOID in (source.pointee, target.pointee)
    if (same or implicit) and not drops_const:
        return e
    plain = e.origin or e
    if plain.ctype.pointee == target.pointee and plain.ctype.const == target.const:
        return plain
    return cast_expr(plain, target)
