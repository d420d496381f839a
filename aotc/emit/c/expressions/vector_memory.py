"""Vectors as C reads them, their loads and stores, and statements that keep them in registers.

Integers are unsigned vectors, so that arithmetic wraps, and are read as signed ones where the operation says so.
Booleans are masks: integers of the width of what was compared, all ones or all zeros.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from aotc.dialects import aot
from aotc.emit.c.analyses.values import is_vector, root
from aotc.emit.c.contents.unit import Scope
from aotc.emit.c.definitions.instructions import macro_name, moving_name
from aotc.emit.c.expressions.memory import Memory
from aotc.emit.c.syntax.c_types import (
    SIGNED,
    UNSIGNED,
    VOID,
    VectorCType,
    ctype_of,
    mask_ctype,
    pointer_to,
    vector_ctype,
)
from aotc.emit.c.syntax.expr import Expr, Level, binary, call, cast_expr, converted


class VectorMemory:
    """Readings, loads and stores of vectors within a function, and what keeps accumulators in registers."""

    def __init__(self, scope: Scope, memory: Memory) -> None:
        self.scope = scope
        self._memory = memory

    def ctype(self, value: SSAValue) -> VectorCType:
        """The C type of a vector."""
        return cast(VectorCType, ctype_of(value.type, self.scope.index))

    def signed(self, e: Expr) -> Expr:
        """Integers as their signed readings."""
        return cast_expr(e, vector_ctype(SIGNED[e.ctype.bits], e.vector.lanes))

    def unsigned(self, e: Expr) -> Expr:
        """Integers as their unsigned readings, which arithmetic is done on."""
        return cast_expr(e, vector_ctype(UNSIGNED[e.ctype.bits], e.vector.lanes))

    def mask(self, e: Expr, bits: int) -> Expr:
        """A mask as one of another width."""
        return converted(e, mask_ctype(bits, e.vector.lanes))

    def macro(self, name: str, ctype: VectorCType, *arguments: Expr) -> Expr:
        """`aotc_name_f32x16(arguments)`."""
        return call(ctype.operation(name), *arguments, ctype=ctype)

    def mask_bits(self, mask: Expr, bits: int) -> Expr:
        """Booleans as the integers 0 and 1."""
        e = self.unsigned(self.mask(mask, bits))
        return binary("&", e, self.macro("splat", e.vector, number_expr(1)), e.ctype)

    # Memory

    def address(self, op: aot.TileLoadOp | aot.TileStoreOp | aot.PrefetchOp) -> Expr:
        """Where the first lane is."""
        offset = 0 if isinstance(op, aot.PrefetchOp) else op.displacement()
        e = self._memory.element(op.buffer, op.indices, offset)
        pointer = pointer_to(e.ctype)
        return Expr(e.text.removesuffix("[0]") if e.text.endswith("[0]") else f"&{e.text}", Level.UNARY, pointer)

    def load(self, op: aot.TileLoadOp) -> Expr:
        """Contiguous lanes, one element for all of them, or a gather."""
        self.scope.note_read(root(op.buffer))
        ctype = self.ctype(op.result)
        memory = vector_ctype(UNSIGNED[8], ctype.lanes) if ctype.kind == "mask" else ctype
        (stride,) = op.element_strides()
        if op.row is not None:
            return self.macro(moving_name(op.row, _part(op.count(), ctype)), ctype, self.address(op))
        if op.group is not None:
            e = self.macro(f"repeat{op.count() or op.repeated()}", memory, self.address(op))
        elif stride == 0:
            item = self._memory.element(op.buffer, op.indices, op.displacement())
            e = self.macro("splat", memory, item)
        elif stride == 1:
            e = self.macro("load" + _part(op.count(), ctype), memory, self.address(op))
        else:
            e = self.macro("gather" + _part(op.count(), ctype), memory, self.address(op), number_expr(stride))
        if ctype.kind == "mask":
            return cast_expr(
                binary("!=", e, self.macro("splat", memory, number_expr(0)), memory), mask_ctype(8, ctype.lanes)
            )
        return e

    def stays(self, value: SSAValue) -> bool:
        """Whether a vector is one that compilers would make again for every use: loaded to be multiplied by several
        others, or a difference that is taken from another, too, to which GCC would add the opposite difference."""
        op, users = value.owner, [use.operation for use in value.uses]
        if isinstance(op, aot.TileLoadOp):
            return op.element_strides() == (1,) and self._is_factor(value)
        is_taken = any(isinstance(user, arith.SubiOp) and user.rhs is value for user in users)
        return is_vector(value) and isinstance(op, arith.SubiOp) and is_taken and len(users) > 1

    def _is_factor(self, value: SSAValue) -> bool:
        users = [use.operation for use in value.uses]
        return len(users) > 1 and all(_multiplies(user) and _accumulator(user) is not value for user in users)

    def accumulation(self, op: Operation, total: SSAValue) -> Expr | None:
        """The statement that adds to the variable of `total`: a product that an instruction makes, of which compilers
        would add up several first, or one whose factors are used again."""
        others = [value for value in op.operands if value is not total]
        if isinstance(op, arith.AddiOp):
            if not all(map(_is_product, others)):
                return None
            return self.macro("add_to", self.ctype(total), *map(self.scope.operand, (total, *others)))
        if _accumulator(op) is not total or not all(map(self._is_factor, others)):
            return None
        operands = [self.scope.operand(value) for value in op.operands]
        if not all(each.text.isidentifier() for each in operands):
            return None
        if isinstance(op, aot.InstructionOp):
            return call(macro_name(op.row, accumulates=True), *operands, ctype=VOID)
        a, b, c = operands
        return self.macro("accumulate", self.ctype(op.results[0]), c, a, b)

    def keep_in_register(self, value: SSAValue, name: str) -> str:
        """The statement that keeps a vector in a register: compilers would load it again for every use."""
        e = Expr(name, Level.PRIMARY, self.ctype(value))
        return f"{self.macro('keep_in_register', self.ctype(value), e).text};"

    def store(self, op: aot.TileStoreOp) -> Expr:
        """The statement, without its semicolon."""
        ctype = self.ctype(op.tile)
        (stride,) = op.element_strides()
        e = self.scope.operand(op.tile) if stride == 1 else self.scope.atom(op.tile)
        if ctype.kind == "mask":
            ctype = vector_ctype(UNSIGNED[8], ctype.lanes)
            e = self.mask_bits(e, 8)
        address, part = self.address(op), _part(op.count(), ctype)
        if op.row is not None:
            return self.macro(moving_name(op.row), ctype, address, e)
        if stride == 1:
            return self.macro("store" + part, ctype, address, e)
        return self.macro("scatter" + part, ctype, address, number_expr(stride), e)

    def prefetch(self, op: aot.PrefetchOp) -> Expr:
        """The statement, without its semicolon: for reading, into L2, as in LLVM IR."""
        return call("__builtin_prefetch", self.address(op), number_expr(0), number_expr(2), ctype=VOID)


def adds_product(op: Operation) -> bool:
    """Whether it adds a product that an instruction makes."""
    return isinstance(op, arith.AddiOp) and any(map(_is_product, op.operands))


def number_expr(value: int) -> Expr:
    """A small integer as an argument of a macro."""
    return Expr(str(value), Level.UNARY, SIGNED[32], literal=value)


def _multiplies(op: Operation) -> bool:
    return isinstance(op, math.FmaOp) or any(map(_is_product, op.results))


def _is_product(value: SSAValue) -> bool:
    return isinstance(value.owner, aot.InstructionOp) and value.owner.row.is_product


def _accumulator(op: Operation) -> SSAValue | None:
    """The addend of a product, in whose register the operation leaves the sum."""
    if isinstance(op, math.FmaOp):
        return op.c
    place = op.row.accumulator if isinstance(op, aot.InstructionOp) else None
    return None if place is None else op.operands[place]


def _part(count: int | None, ctype: VectorCType) -> str:
    return "" if count is None or count == ctype.lanes else str(count)
