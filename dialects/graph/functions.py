"""Functions of one real variable: the exponential, trigonometric and hyperbolic ones, rounding, activations."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.elementwise import Domain, UnaryOp


def sigmoid(b: Builder, x: Scalar) -> Scalar:
    """1 / (1 + exp(-x)), as `SigmoidOp` says."""
    power = b.exp_of_nonpositive(-b.abs(x))
    return b.select(b.compare("lt", x, 0), power, b.const(1, x.dtype)) / (1 + power)


def softplus(b: Builder, x: Scalar) -> Scalar:
    """log(1 + exp(x)), as `SoftplusOp` says."""
    return b.max(x, 0.0) + b.math("log1p", b.exp_of_nonpositive(-b.abs(x)))


class FunctionOp(UnaryOp, ABC):
    """A function of the math dialect on floats."""

    DOMAIN: ClassVar = Domain.FLOAT

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.math(self.name.removeprefix("graph."), operands[0])


@irdl_op_definition
class ExpOp(FunctionOp):
    """e to the power x."""

    name = "graph.exp"


@irdl_op_definition
class LogOp(FunctionOp):
    """The natural logarithm."""

    name = "graph.log"


@irdl_op_definition
class SqrtOp(FunctionOp):
    """The square root."""

    name = "graph.sqrt"


@irdl_op_definition
class SinOp(FunctionOp):
    """The sine of x in radians."""

    name = "graph.sin"


@irdl_op_definition
class CosOp(FunctionOp):
    """The cosine of x in radians."""

    name = "graph.cos"


@irdl_op_definition
class TanOp(FunctionOp):
    """The tangent of x in radians."""

    name = "graph.tan"


@irdl_op_definition
class AsinOp(FunctionOp):
    """The arc sine, in radians."""

    name = "graph.asin"


@irdl_op_definition
class AcosOp(FunctionOp):
    """The arc cosine, in radians."""

    name = "graph.acos"


@irdl_op_definition
class AtanOp(FunctionOp):
    """The arc tangent, in radians."""

    name = "graph.atan"


@irdl_op_definition
class SinhOp(FunctionOp):
    """The hyperbolic sine."""

    name = "graph.sinh"


@irdl_op_definition
class CoshOp(FunctionOp):
    """The hyperbolic cosine."""

    name = "graph.cosh"


@irdl_op_definition
class TanhOp(FunctionOp):
    """The hyperbolic tangent."""

    name = "graph.tanh"


@irdl_op_definition
class AsinhOp(FunctionOp):
    """The inverse hyperbolic sine."""

    name = "graph.asinh"


@irdl_op_definition
class AcoshOp(FunctionOp):
    """The inverse hyperbolic cosine."""

    name = "graph.acosh"


@irdl_op_definition
class AtanhOp(FunctionOp):
    """The inverse hyperbolic tangent."""

    name = "graph.atanh"


@irdl_op_definition
class ErfOp(FunctionOp):
    """The error function."""

    name = "graph.erf"


@irdl_op_definition
class FloorOp(FunctionOp):
    """The greatest integer not above x."""

    name = "graph.floor"


@irdl_op_definition
class CeilOp(FunctionOp):
    """The least integer not below x."""

    name = "graph.ceil"


@irdl_op_definition
class RoundOp(FunctionOp):
    """The nearest integer, ties to even."""

    name = "graph.round"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.math("roundeven", operands[0])


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x)), as exp(x) / (1 + exp(x)) where x is negative: no power is greater than 1."""

    name = "graph.sigmoid"
    DOMAIN: ClassVar = Domain.FLOAT

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return sigmoid(b, operands[0])


@irdl_op_definition
class SoftplusOp(UnaryOp):
    """log(1 + exp(x)), computed so that nothing overflows and small results are as accurate as large ones.

    In f32 to 2 ulp; what is no normal number may be 0."""

    name = "graph.softplus"
    DOMAIN: ClassVar = Domain.FLOAT

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return softplus(b, operands[0])


@irdl_op_definition
class MishOp(UnaryOp):
    """x tanh(log(1 + exp(x))), which is x n / (n + 2) with n = exp(x) (exp(x) + 2): one exponential and one quotient.

    In f32 to 4 ulp from -87 on, where exp(x) is a normal number, and to 2^-142 below; of -inf, as of NaN, it is NaN.
    D. Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019.
    """

    name = "graph.mish"
    DOMAIN: ClassVar = Domain.FLOAT
    LARGE: ClassVar = 20.0
    """From here on the quotient is 1 in every type."""

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x = operands[0]
        power = b.math("exp", b.min(x, self.LARGE))
        numerator = power * (power + 2.0)
        return x * (numerator / (numerator + 2.0))
