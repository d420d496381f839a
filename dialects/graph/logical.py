"""Booleans and bits: comparison, logic, shifts, selection."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, cast, get_args

from xdsl.dialects.builtin import IntegerType, StringAttr, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.builder import Builder, Comparison, Scalar
from aotc.dialects.dtypes import is_unsigned
from aotc.dialects.graph.checks import expect_choice
from aotc.dialects.graph.elementwise import BinaryOp, BroadcastOp, Domain, UnaryOp, operator
from aotc.dialects.graph.interfaces import common_element_type, element_type_of


@irdl_op_definition
class CompareOp(BinaryOp):
    """lhs `how` rhs as i1, `how` one of eq ne lt le gt ge; with NaN only `ne` holds."""

    name = "graph.compare"
    how = prop_def(StringAttr)
    DOMAIN: ClassVar = Domain.ANY

    def infer_types(self) -> Sequence[TensorType]:
        expect_choice(self, "how", get_args(Comparison))
        return super().infer_types()

    def result_element_type(self) -> Attribute:
        return i1

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.compare(cast(Comparison, self.how.data), *operands)


AndOp = operator(BinaryOp, "graph.and", "Bitwise and; logical on i1.", lambda b, x, y: x & y, Domain.BITS)
OrOp = operator(BinaryOp, "graph.or", "Bitwise or; logical on i1.", lambda b, x, y: x | y, Domain.BITS)
XorOp = operator(BinaryOp, "graph.xor", "Bitwise exclusive or; logical on i1.", lambda b, x, y: x ^ y, Domain.BITS)
NotOp = operator(UnaryOp, "graph.not", "Every bit inverted; the negation of a boolean.", lambda b, x: ~x, Domain.BITS)


class ShiftOp(BinaryOp, ABC):
    """A shift by rhs bits, which counts as unsigned: every amount of the width or more shifts all bits out."""

    DOMAIN: ClassVar = Domain.INTEGER

    def _limit(self) -> int:
        """The greatest amount the machine's shift takes."""
        kind = element_type_of(self.lhs)
        assert isinstance(kind, IntegerType)
        return kind.width.data - 1


@irdl_op_definition
class ShiftLeftOp(ShiftOp):
    """lhs << rhs, zero where rhs is negative or not below the width."""

    name = "graph.shift_left"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x, by = operands
        inside = b.compare("ge", by, 0) & b.compare("le", by, self._limit())
        return b.select(inside, b.shift_left(x, by & self._limit()), 0)


@irdl_op_definition
class ShiftRightOp(ShiftOp):
    """lhs >> rhs, filling with the sign (of a signed lhs), also where rhs is negative or not below the width."""

    name = "graph.shift_right"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x, by = operands
        limit = b.const(self._limit(), by.dtype)
        inside = b.compare("ge", by, 0) & b.compare("le", by, limit)
        shifted = b.shift_right(x, b.select(inside, by, limit))
        return b.select(inside, shifted, 0) if is_unsigned(x.dtype) else shifted


@irdl_op_definition
class WhereOp(BroadcastOp):
    """x where the condition (i1) holds, else y."""

    name = "graph.where"
    condition = operand_def(TensorType)
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    MOVES: ClassVar[bool] = True

    def infer_types(self) -> Sequence[TensorType]:
        Domain.BOOL.require(element_type_of(self.condition), "the condition")
        common_element_type(self.x, self.y)
        return super().infer_types()

    def result_element_type(self) -> Attribute:
        return element_type_of(self.x)

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.select(*operands)
