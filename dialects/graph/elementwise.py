"""Elementwise arithmetic with numpy broadcasting, and the bases of everything elementwise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Flag, auto
from typing import ClassVar

from xdsl.dialects.builtin import Float64Type, TensorType, f32, f64, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import is_float, is_unsigned
from aotc.dialects.graph.interfaces import ElementOp, ShapeError, common_element_type, element_type_of, shape_of
from aotc.dialects.graph.shapes import broadcast, broadcast_index


class Domain(Flag):
    """The element types an operation is defined on."""

    FLOAT = auto()
    INTEGER = auto()
    BOOL = auto()
    NUMBER = FLOAT | INTEGER
    BITS = INTEGER | BOOL
    ANY = FLOAT | INTEGER | BOOL

    def require(self, element_type: Attribute, what: str) -> None:
        """Raise ShapeError where `element_type` is not of this domain; `what` names the operand."""
        kind = Domain.FLOAT if is_float(element_type) else Domain.BOOL if element_type == i1 else Domain.INTEGER
        if kind not in self:
            names = " or ".join(str(member.name).lower() for member in self)
            raise ShapeError(f"{what} has element type {element_type}, expected {names}")


class BroadcastOp(ElementOp, ABC):
    """An operation whose result element depends on the operands' elements at the same (broadcast) index."""

    BROADCASTS: ClassVar[bool] = True

    @abstractmethod
    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        """Emit the result element from the operands' elements."""

    def result_element_type(self) -> Attribute:
        """The result's element type; that of the first operand unless overridden."""
        return element_type_of(self.operands[0])

    def infer_types(self) -> Sequence[TensorType]:
        return [TensorType(self.result_element_type(), broadcast(*(shape_of(value) for value in self.operands)))]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        values = [
            read(broadcast_index(b, index, shape_of(value))) for read, value in zip(reads, self.operands, strict=True)
        ]
        return self.scalar(b, *values)


class UnaryOp(BroadcastOp, ABC):
    """One operand, a result of its type."""

    x = operand_def(TensorType)
    result = result_def(TensorType)

    DOMAIN: ClassVar[Domain] = Domain.NUMBER

    def infer_types(self) -> Sequence[TensorType]:
        self.DOMAIN.require(element_type_of(self.x), "the operand")
        return super().infer_types()


class BinaryOp(BroadcastOp, ABC):
    """Two operands of one element type."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    DOMAIN: ClassVar[Domain] = Domain.NUMBER

    def infer_types(self) -> Sequence[TensorType]:
        self.DOMAIN.require(common_element_type(self.lhs, self.rhs), "the left operand")
        return super().infer_types()


def integer_quotient(b: Builder, lhs: Scalar, rhs: Scalar) -> Scalar:
    """trunc(lhs / rhs) of integers, whatever they are: 0 for the divisor 0, and the least integer by -1 wraps.

    No processor is asked for a quotient that it may trap on; a constant divisor costs nothing more than its division.
    """
    if rhs.constant is not None:
        return b.const(0, lhs.dtype) if rhs.constant == 0 else -lhs if rhs.constant == -1 else lhs / rhs
    awkward = _is_awkward(b, rhs)
    # By 0 and by -1 the quotient is the product.
    return b.select(awkward, lhs * rhs, lhs / b.select(awkward, b.const(1, rhs.dtype), rhs))


def remainder(b: Builder, lhs: Scalar, rhs: Scalar) -> Scalar:
    """lhs - trunc(lhs / rhs) * rhs exactly; of integers with `integer_quotient`: lhs for the divisor 0."""
    if is_float(lhs.dtype):
        return b.rem(lhs, rhs)
    if rhs.constant is not None:
        return lhs if rhs.constant == 0 else b.const(0, lhs.dtype) if rhs.constant == -1 else b.rem(lhs, rhs)
    rest = b.rem(lhs, b.select(_is_awkward(b, rhs), b.const(1, rhs.dtype), rhs))
    return b.select(b.compare("eq", rhs, 0), lhs, rest)


def _is_awkward(b: Builder, divisor: Scalar) -> Scalar:
    """Whether processors may trap on a division by `divisor`, or C leaves it undefined."""
    zero = b.compare("eq", divisor, 0)
    return zero if is_unsigned(divisor.dtype) else zero | b.compare("eq", divisor, -1)


@irdl_op_definition
class AddOp(BinaryOp):
    """lhs + rhs; integers wrap."""

    name = "graph.add"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return operands[0] + operands[1]


@irdl_op_definition
class SubOp(BinaryOp):
    """lhs - rhs; integers wrap."""

    name = "graph.sub"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return operands[0] - operands[1]


@irdl_op_definition
class MulOp(BinaryOp):
    """lhs * rhs; integers wrap."""

    name = "graph.mul"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return operands[0] * operands[1]


@irdl_op_definition
class DivOp(BinaryOp):
    """lhs / rhs; integers truncate towards zero and wrap, by zero they are zero."""

    name = "graph.div"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        lhs, rhs = operands
        return lhs / rhs if is_float(lhs.dtype) else integer_quotient(b, lhs, rhs)


@irdl_op_definition
class RemOp(BinaryOp):
    """lhs - trunc(lhs / rhs) * rhs, with the sign of lhs: the `%` and `fmod` of C; lhs for the integer rhs 0."""

    name = "graph.rem"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return remainder(b, *operands)


@irdl_op_definition
class ModOp(BinaryOp):
    """lhs - floor(lhs / rhs) * rhs, with the sign of rhs: the `%` of Python; lhs for the integer rhs 0."""

    name = "graph.mod"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        lhs, rhs = operands
        rest = remainder(b, lhs, rhs)
        opposite = b.compare("ne", b.compare("lt", rest, 0), b.compare("lt", rhs, 0))
        return b.select(b.compare("ne", rest, 0) & opposite, rest + rhs, rest)


@irdl_op_definition
class PowOp(BroadcastOp):
    """lhs ** rhs in the type of lhs; the exponent may have another type. Integers go through f64 and truncate."""

    name = "graph.pow"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        Domain.NUMBER.require(element_type_of(self.lhs), "the base")
        Domain.NUMBER.require(element_type_of(self.rhs), "the exponent")
        return super().infer_types()

    def _computes_in_f64(self) -> bool:
        base, exponent = element_type_of(self.lhs), element_type_of(self.rhs)
        return not is_float(base) or isinstance(base, Float64Type) or isinstance(exponent, Float64Type)

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        kind = f64 if self._computes_in_f64() else f32
        power = b.pow(b.cast(operands[0], kind), b.cast(operands[1], kind))
        return b.convert(power, operands[0].dtype)


@irdl_op_definition
class MaxOp(BinaryOp):
    """The greater of lhs and rhs; NaN if either is."""

    name = "graph.max"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.max(*operands)


@irdl_op_definition
class MinOp(BinaryOp):
    """The lesser of lhs and rhs; NaN if either is."""

    name = "graph.min"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.min(*operands)


@irdl_op_definition
class NegOp(UnaryOp):
    """-x; integers wrap."""

    name = "graph.neg"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return -operands[0]


@irdl_op_definition
class AbsOp(UnaryOp):
    """|x|; the least integer stays itself."""

    name = "graph.abs"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.abs(operands[0])


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1 with the sign of x; zeros and NaN stay themselves."""

    name = "graph.sign"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x = operands[0]
        negative = b.select(b.compare("lt", x, 0), b.const(-1, x.dtype), x)
        return b.select(b.compare("gt", x, 0), b.const(1, x.dtype), negative)


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(x, 0)."""

    name = "graph.relu"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.max(operands[0], 0)
