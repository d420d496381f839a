"""Elementwise arithmetic with numpy broadcasting, and the bases of everything elementwise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Flag, auto
from types import new_class
from typing import Any, ClassVar, TypeAlias, TypeVar

from xdsl.dialects.builtin import TensorType, f32, f64, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import is_float, is_unsigned
from aotc.dialects.graph.interfaces import ElementOp, ShapeError, common_element_type, element_type_of, shape_of
from aotc.dialects.graph.shapes import broadcast, broadcast_index

Formula: TypeAlias = "Callable[..., Scalar]"
"""Emits the element of a result, given the builder and the operands' elements."""


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


Broadcasting = TypeVar("Broadcasting", bound=BroadcastOp)


class UnaryOp(BroadcastOp, ABC):
    """One operand, a result of its type."""

    x = operand_def(TensorType)

    DOMAIN: ClassVar[Domain] = Domain.NUMBER

    def infer_types(self) -> Sequence[TensorType]:
        self.DOMAIN.require(element_type_of(self.x), "the operand")
        return super().infer_types()


class BinaryOp(BroadcastOp, ABC):
    """Two operands of one element type."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)

    DOMAIN: ClassVar[Domain] = Domain.NUMBER

    def infer_types(self) -> Sequence[TensorType]:
        self.DOMAIN.require(common_element_type(self.lhs, self.rhs), "the left operand")
        return super().infer_types()


def operator(
    base: type[Broadcasting], name: str, meaning: str, formula: Formula, domain: Domain | None = None
) -> type[Broadcasting]:
    """The operation `name` of a family: its docstring, and the element of its result for those of its operands."""
    fields: dict[str, Any] = {"name": name, "__doc__": meaning, "__module__": formula.__module__}
    fields["scalar"] = lambda self, b, *operands: formula(b, *operands)
    if domain is not None:
        fields |= {"DOMAIN": domain, "__annotations__": {"DOMAIN": ClassVar[Domain]}}
    title = "".join(part.capitalize() for part in name.removeprefix("graph.").split("_"))
    return irdl_op_definition(new_class(f"{title}Op", (base,), exec_body=lambda body: body.update(fields)))


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


def _quotient(b: Builder, lhs: Scalar, rhs: Scalar) -> Scalar:
    return lhs / rhs if is_float(lhs.dtype) else integer_quotient(b, lhs, rhs)


def _modulo(b: Builder, lhs: Scalar, rhs: Scalar) -> Scalar:
    rest = remainder(b, lhs, rhs)
    opposite = b.compare("ne", b.compare("lt", rest, 0), b.compare("lt", rhs, 0))
    return b.select(b.compare("ne", rest, 0) & opposite, rest + rhs, rest)


def _sign(b: Builder, x: Scalar) -> Scalar:
    negative = b.select(b.compare("lt", x, 0), b.const(-1, x.dtype), x)
    return b.select(b.compare("gt", x, 0), b.const(1, x.dtype), negative)


AddOp = operator(BinaryOp, "graph.add", "lhs + rhs; integers wrap.", lambda b, x, y: x + y)
SubOp = operator(BinaryOp, "graph.sub", "lhs - rhs; integers wrap.", lambda b, x, y: x - y)
MulOp = operator(BinaryOp, "graph.mul", "lhs * rhs; integers wrap.", lambda b, x, y: x * y)
DivOp = operator(
    BinaryOp, "graph.div", "lhs / rhs; integers truncate towards zero and wrap, by zero they are zero.", _quotient
)
RemOp = operator(
    BinaryOp,
    "graph.rem",
    "lhs - trunc(lhs / rhs) * rhs, with the sign of lhs: the `%` and `fmod` of C; lhs for the integer rhs 0.",
    remainder,
)
ModOp = operator(
    BinaryOp,
    "graph.mod",
    "lhs - floor(lhs / rhs) * rhs, with the sign of rhs: the `%` of Python; lhs for the integer rhs 0.",
    _modulo,
)
MaxOp = operator(BinaryOp, "graph.max", "The greater of lhs and rhs; NaN if either is.", lambda b, x, y: b.max(x, y))
MinOp = operator(BinaryOp, "graph.min", "The lesser of lhs and rhs; NaN if either is.", lambda b, x, y: b.min(x, y))
NegOp = operator(UnaryOp, "graph.neg", "-x; integers wrap.", lambda b, x: -x)
AbsOp = operator(UnaryOp, "graph.abs", "|x|; the least integer stays itself.", lambda b, x: b.abs(x))
SignOp = operator(UnaryOp, "graph.sign", "-1, 0 or 1 with the sign of x; zeros and NaN stay themselves.", _sign)
ReluOp = operator(UnaryOp, "graph.relu", "max(x, 0).", lambda b, x: b.max(x, 0))


@irdl_op_definition
class PowOp(BroadcastOp):
    """lhs ** rhs in the type of lhs; the exponent may have another type. Integers go through f64 and truncate."""

    name = "graph.pow"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        Domain.NUMBER.require(element_type_of(self.lhs), "the base")
        Domain.NUMBER.require(element_type_of(self.rhs), "the exponent")
        return super().infer_types()

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        base, exponent = element_type_of(self.lhs), element_type_of(self.rhs)
        kind = f64 if f64 in (base, exponent) or not is_float(base) else f32
        power = b.pow(b.cast(operands[0], kind), b.cast(operands[1], kind))
        return b.convert(power, operands[0].dtype)
