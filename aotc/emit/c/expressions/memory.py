"""Memory operations as C expressions: buffers as typed pointers, their elements, views of the workspace, structures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.dialects import aot
from aotc.emit.c.analyses.values import is_unsigned_buffer, root
from aotc.emit.c.contents.unit import Scope
from aotc.emit.c.expressions.integers import Integers
from aotc.emit.c.syntax.c_types import BOOL, SIGNED, UINTPTR, UNSIGNED, VOID, CType, ctype_of, pointer_to
from aotc.emit.c.syntax.expr import Expr, Level, binary, call, cast_expr, integer_expr, name_expr
from aotc.emit.c.syntax.text import string_literal

_BYTE = UNSIGNED[8]
_UNSIGNED_FIELDS = {
    "dtype.code": UNSIGNED[8],
    "dtype.bits": UNSIGNED[8],
    "dtype.lanes": UNSIGNED[16],
    "byte_offset": UNSIGNED[64],
}
"""Fields of DLTensor that are unsigned in C."""
OPERATIONS = (
    *(memref.LoadOp, memref.ViewOp, memref.ReinterpretCastOp, memref.CastOp, aot.WordLoadOp),
    *(aot.WeightOp, aot.WorkspaceOp, aot.WeightsOp, aot.BufferOp, aot.DataOp, aot.PtrCastOp, aot.AddressOp),
    *(aot.ElementOp, aot.FieldOp, aot.NullOp, aot.IsNullOp, aot.IsAlignedOp, aot.SymbolOp, aot.StringOp),
)
"""The arguments of `Memory.expression`."""


class Memory:
    """Memory operations as expressions within a function."""

    def __init__(self, scope: Scope, integers: Integers) -> None:
        self._scope = scope
        self._integers = integers

    def element(self, buffer: SSAValue, indices: Sequence[SSAValue], offset: int = 0) -> Expr:
        """`buffer[index + offset]`, row-major."""
        base = self._scope.atom(buffer)
        assert base.ctype.pointee is not None
        shape = cast(MemRefType[Attribute], buffer.type).get_shape()
        position = integer_expr(0)
        for size, index in zip(shape, indices, strict=True):
            position = _plus(_times(position, size), self._integers.signed(index), self._scope.index)
        position = _plus(position, integer_expr(offset), self._scope.index)
        ctype = base.ctype.pointee
        return Expr(f"{base.text}[{position.text}]", Level.PRIMARY, ctype, unsigned=ctype.kind == "unsigned")

    def member(self, op: aot.FieldOp | aot.SetFieldOp | aot.ElementOp | aot.SetElementOp) -> Expr:
        """`p[2]` or `p[2].field` as a place to read or write."""
        pointer = self._scope.atom(op.pointer)
        position = op.position
        value = op.value if isinstance(op, aot.SetFieldOp | aot.SetElementOp) else op.result
        ctype = ctype_of(value.type, self._scope.index)
        if isinstance(op, aot.ElementOp | aot.SetElementOp):
            return Expr(f"{pointer.text}[{position}]", Level.PRIMARY, ctype)
        is_array = isinstance(op.pointer.owner, aot.AllocaOp) or position != 0
        text = f"{pointer.text}[{position}]." if is_array else f"{pointer.text}->"
        ctype = _UNSIGNED_FIELDS.get(op.field.data, ctype)
        return Expr(text + op.field.data, Level.PRIMARY, ctype, unsigned=ctype.kind == "unsigned")

    def store(self, op: aot.WordStoreOp) -> Expr:
        """The call that writes a word."""
        place = self._place(op.buffer, op.indices, const=False)
        return call(self._scope.helper("aotc_set_word"), place, self._scope.operand(op.value), ctype=VOID)

    def _place(self, buffer: SSAValue, indices: Sequence[SSAValue], *, const: bool = True) -> Expr:
        """The address of an element."""
        e = self.element(buffer, indices)
        return replace(e, text=f"&{e.text}", level=Level.UNARY, ctype=pointer_to(e.ctype, const))

    def expression(self, op: Operation) -> Expr:
        """The expression of a memory operation."""
        match op:
            case memref.LoadOp():
                e = self.element(op.memref, op.indices)
                self._scope.note_read(root(op.memref))
                return e
            case aot.WordLoadOp():
                self._scope.note_read(root(op.buffer))
                helper = self._scope.helper("aotc_word" if op.aligned is None else "aotc_aligned_word")
                return call(helper, self._place(op.buffer, op.indices), ctype=SIGNED[32])
            case aot.ElementOp() | aot.FieldOp():
                self._scope.note_read(root(op.pointer))
                return self.member(op)
            case aot.WeightOp():
                return self._scope.unit.weight(op)
            case aot.WorkspaceOp():
                return self._scope.unit.workspace(op)
            case aot.WeightsOp():
                return self._scope.unit.weights(op)
            case aot.BufferOp():
                return self._buffer(op)
            case memref.ViewOp():
                return self._view(op)
            case memref.ReinterpretCastOp():
                return self._shifted(op)
            case memref.CastOp() | aot.DataOp():
                return self._scope.operand(op.operands[0])
            case aot.PtrCastOp():
                e = self._scope.operand(op.pointer)
                target = pointer_to(cast(CType, ctype_of(op.result.type, self._scope.index).pointee), e.ctype.const)
                self._scope.unit.struct(op.result.type.pointee)
                if target.pointee == VOID:
                    return replace(e, ctype=target)
                return convert_pointer(e, target, explicit=True)
            case aot.AddressOp():
                e = self._scope.operand(op.pointer)
                position = op.position
                return _moved_on(e, integer_expr(position))
            case aot.NullOp():
                self._scope.include("stddef.h")
                return name_expr("NULL", ctype_of(op.result.type, self._scope.index))
            case aot.IsNullOp():
                self._scope.include("stddef.h")
                return binary("==", self._scope.operand(op.pointer), name_expr("NULL", pointer_to(VOID)), BOOL)
            case aot.IsAlignedOp():
                address = cast_expr(self._scope.operand(op.pointer), UINTPTR)
                rest = binary("%", address, integer_expr(op.alignment), UINTPTR)
                return binary("==", rest, integer_expr(0), BOOL)
            case aot.SymbolOp():
                return self._scope.unit.table(op.symbol.string_value())
            case aot.StringOp():
                return Expr(string_literal(op.value.data), Level.PRIMARY, pointer_to(VOID))
            case _:
                raise AssertionError(f"{op.name} is not a memory operation")

    def _buffer(self, op: aot.BufferOp) -> Expr:
        """A pointer as a buffer: the pointer itself where it has the type already."""
        e = self._scope.operand(op.pointer)
        kind = op.result.type.get_element_type()
        pointee = e.ctype.pointee
        assert pointee is not None
        if pointee.is_integer and isinstance(kind, IntegerType) and pointee.bits == kind.width.data:
            return e
        wanted = ctype_of(kind, self._scope.index) if pointee != VOID else _BYTE
        if pointee == VOID and not all(isinstance(use.operation, memref.ViewOp) for use in op.result.uses):
            wanted = self._element_ctype(op.result)
        return convert_pointer(e, pointer_to(wanted, e.ctype.const), explicit=True)

    def _view(self, op: memref.ViewOp) -> Expr:
        """`(float *)&workspace[64]`."""
        base = self._scope.operand(op.source)
        offset = op.byte_shift.owner
        assert isinstance(offset, arith.ConstantOp) and isinstance(offset.value, IntegerAttr)
        shift = offset.value.value.data
        bytes_ = convert_pointer(base, pointer_to(_BYTE, base.ctype.const), explicit=True)
        place = _moved_on(bytes_, integer_expr(shift))
        wanted = pointer_to(self._element_ctype(op.result), base.ctype.const)
        return replace(convert_pointer(place, wanted), origin=place)

    def _shifted(self, op: memref.ReinterpretCastOp) -> Expr:
        """The same pointer, moved on by a number of elements."""
        e = self._scope.operand(op.source)
        if op.offsets:
            return _moved_on(e, self._integers.signed(op.offsets[0]))
        return _moved_on(e, integer_expr(sum(int(offset) for offset in op.static_offsets.get_values())))

    def _element_ctype(self, buffer: SSAValue) -> CType:
        """The C type of a buffer's elements: unsigned where its uses, or the function that it is passed to, say so."""
        kind = cast(MemRefType[Attribute], buffer.type).get_element_type()
        for use in buffer.uses:
            if isinstance(data := use.operation, aot.DataOp):
                for call_use in data.result.uses:
                    if isinstance(callee := call_use.operation, func.CallOp):
                        parameter = self._scope.unit.parameters(callee.callee.string_value())[call_use.index]
                        assert parameter.pointee is not None
                        if parameter.pointee != VOID:
                            return parameter.pointee
        return ctype_of(kind, self._scope.index, is_unsigned_buffer(buffer))


def _moved_on(e: Expr, count: Expr) -> Expr:
    """The pointer `&e[count]`: MISRA's rule 18.4 has no sums of pointers."""
    if count.literal == 0:
        return e
    base = e.text if e.level == Level.PRIMARY else f"({e.text})"
    return Expr(f"&{base}[{count.text}]", Level.UNARY, e.ctype)


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
    return cast_expr(_through(plain, target), target)


def _through(e: Expr, target: CType) -> Expr:
    """`e` as what casts to `target` say no more of: a number where `const` is dropped, as in DLTensor, whose data are
    not; no type where the elements are wider, in a place whose alignment is known (the plan's)."""
    source, pointee = e.ctype, target.pointee
    assert source.pointee is not None and pointee is not None
    if source.const and not target.const:
        return cast_expr(e, UINTPTR)
    wider = pointee.kind == "struct" or pointee.bits > source.pointee.bits
    return cast_expr(e, pointer_to(VOID, source.const)) if wider and source.pointee != VOID else e
