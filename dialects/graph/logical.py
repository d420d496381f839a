"""Booleans and bits: comparison, logic, shifts, selection."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from typing import ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import IntegerType, StringAttr, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.builder import Builder, Comparison, Scalar
from aotc.dialects.dtypes import is_unsigned
from aotc.dialects.graph.elementwise import BinaryOp, BroadcastOp, Domain, UnaryOp
from aotc.dialects.graph.interfaces import Array, ShapeError, common_element_type, element_type_of

_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@irdl_op_definition
class CompareOp(BinaryOp):
    """lhs `how` rhs as i1, `how` one of eq ne lt le gt ge; with NaN only `ne` holds."""

    name = "graph.compare"
    how = prop_def(StringAttr)
    DOMAIN: ClassVar = Domain.ANY

    def infer_types(self) -> Sequence[TensorType]:
        if self.how.data not in _COMPARISONS:
            raise ShapeError(f"how is {self.how.data!r}, expected one of {', '.join(_COMPARISONS)}")
        return super().infer_types()

    def result_element_type(self) -> Attribute:
        return i1

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.compare(cast(Comparison, self.how.data), *operands)

    def compute(self, *operands: Array) -> Array:
        return _COMPARISONS[self.how.data](*operands)


@irdl_op_definition
class AndOp(BinaryOp):
    """Bitwise and; logical on i1."""

    name = "graph.and"
    NUMPY: ClassVar = np.bitwise_and
    DOMAIN: ClassVar = Domain.BITS

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return operands[0] & operands[1]


@irdl_op_definition
class OrOp(BinaryOp):
    """Bitwise or; logical on i1."""

    name = "graph.or"
    NUMPY: ClassVar = np.bitwise_or
    DOMAIN: ClassVar = Domain.BITS

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return operands[0] | operands[1]


@irdl_op_definition
class XorOp(BinaryOp):
    """Bitwise exclusive or; logical on i1."""

    name = "graph.xor"
    NUMPY: ClassVar = np.bitwise_xor
    DOMAIN: ClassVar = Domain.BITS

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return operands[0] ^ operands[1]


@irdl_op_definition
class NotOp(UnaryOp):
    """Every bit inverted; the negation of a boolean."""

    name = "graph.not"
    NUMPY: ClassVar = np.invert
    DOMAIN: ClassVar = Domain.BITS

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return ~operands[0]


class ShiftOp(BinaryOp, ABC):
    """A shift by rhs bits, which counts as unsigned: every amount of the width or more shifts all bits out."""

    DOMAIN: ClassVar = Domain.INTEGER
    SHIFT: ClassVar[Callable[[Array, Array], Array]]
    """The shift by amounts in range, on arrays."""

    def _limit(self) -> int:
        """The greatest amount the machine's shift takes."""
        kind = element_type_of(self.lhs)
        assert isinstance(kind, IntegerType)
        return kind.width.data - 1

    def compute(self, *operands: Array) -> Array:
        x, by = operands
        limit = self._limit()
        outside = (by < 0) | (by > limit)
        shifted = type(self).SHIFT(x, np.where(outside, limit, by).astype(x.dtype))
        return np.where(outside, self._all_out(x, shifted), shifted)

    def _all_out(self, x: Array, shifted: Array) -> Array:
        return np.zeros((), x.dtype)


@irdl_op_definition
class ShiftLeftOp(ShiftOp):
    """lhs << rhs, zero where rhs is negative or not below the width."""

    name = "graph.shift_left"
    SHIFT: ClassVar = np.left_shift

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x, by = operands
        inside = b.compare("ge", by, 0) & b.compare("le", by, self._limit())
        return b.select(inside, b.shift_left(x, by & self._limit()), 0)


@irdl_op_definition
class ShiftRightOp(ShiftOp):
    """lhs >> rhs, filling with the sign (of a signed lhs), also where rhs is negative or not below the width."""

    name = "graph.shift_right"
    SHIFT: ClassVar = np.right_shift

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x, by = operands
        limit = b.const(self._limit(), by.dtype)
        inside = b.compare("ge", by, 0) & b.compare("le", by, limit)
        shifted = b.shift_right(x, b.select(inside, by, limit))
        return b.select(inside, shifted, 0) if is_unsigned(x.dtype) else shifted

    def _all_out(self, x: Array, shifted: Array) -> Array:
        return shifted if x.dtype.kind == "i" else super()._all_out(x, shifted)


@irdl_op_definition
class WhereOp(BroadcastOp):
    """x where the condition (i1) holds, else y."""

    name = "graph.where"
    NUMPY: ClassVar = np.where
    condition = operand_def(TensorType)
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    result = result_def(TensorType)
    MOVES: ClassVar[bool] = True

    def infer_types(self) -> Sequence[TensorType]:
        Domain.BOOL.require(element_type_of(self.condition), "the condition")
        common_element_type(self.x, self.y)
        return super().infer_types()

    def result_element_type(self) -> Attribute:
        return element_type_of(self.x)

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.select(*operands)
