"""Functions of one real variable: the exponential, trigonometric and hyperbolic ones, rounding, activations."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

import numpy as np
from xdsl.irdl import irdl_op_definition

from aotc.dialects import arrays
from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.elementwise import Domain, UnaryOp
from aotc.dialects.graph.interfaces import Array


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
    NUMPY: ClassVar = np.exp


@irdl_op_definition
class LogOp(FunctionOp):
    """The natural logarithm."""

    name = "graph.log"
    NUMPY: ClassVar = np.log


@irdl_op_definition
class SqrtOp(FunctionOp):
    """The square root."""

    name = "graph.sqrt"
    NUMPY: ClassVar = np.sqrt


@irdl_op_definition
class SinOp(FunctionOp):
    """The sine of x in radians."""

    name = "graph.sin"
    NUMPY: ClassVar = np.sin


@irdl_op_definition
class CosOp(FunctionOp):
    """The cosine of x in radians."""

    name = "graph.cos"
    NUMPY: ClassVar = np.cos


@irdl_op_definition
class TanOp(FunctionOp):
    """The tangent of x in radians."""

    name = "graph.tan"
    NUMPY: ClassVar = np.tan


@irdl_op_definition
class AsinOp(FunctionOp):
    """The arc sine, in radians."""

    name = "graph.asin"
    NUMPY: ClassVar = np.arcsin


@irdl_op_definition
class AcosOp(FunctionOp):
    """The arc cosine, in radians."""

    name = "graph.acos"
    NUMPY: ClassVar = np.arccos


@irdl_op_definition
class AtanOp(FunctionOp):
    """The arc tangent, in radians."""

    name = "graph.atan"
    NUMPY: ClassVar = np.arctan


@irdl_op_definition
class SinhOp(FunctionOp):
    """The hyperbolic sine."""

    name = "graph.sinh"
    NUMPY: ClassVar = np.sinh


@irdl_op_definition
class CoshOp(FunctionOp):
    """The hyperbolic cosine."""

    name = "graph.cosh"
    NUMPY: ClassVar = np.cosh


@irdl_op_definition
class TanhOp(FunctionOp):
    """The hyperbolic tangent."""

    name = "graph.tanh"
    NUMPY: ClassVar = np.tanh


@irdl_op_definition
class AsinhOp(FunctionOp):
    """The inverse hyperbolic sine."""

    name = "graph.asinh"
    NUMPY: ClassVar = np.arcsinh


@irdl_op_definition
class AcoshOp(FunctionOp):
    """The inverse hyperbolic cosine."""

    name = "graph.acosh"
    NUMPY: ClassVar = np.arccosh


@irdl_op_definition
class AtanhOp(FunctionOp):
    """The inverse hyperbolic tangent."""

    name = "graph.atanh"
    NUMPY: ClassVar = np.arctanh


@irdl_op_definition
class ErfOp(FunctionOp):
    """The error function."""

    name = "graph.erf"
    NUMPY: ClassVar = arrays.erf


@irdl_op_definition
class FloorOp(FunctionOp):
    """The greatest integer not above x."""

    name = "graph.floor"
    NUMPY: ClassVar = np.floor


@irdl_op_definition
class CeilOp(FunctionOp):
    """The least integer not below x."""

    name = "graph.ceil"
    NUMPY: ClassVar = np.ceil


@irdl_op_definition
class RoundOp(FunctionOp):
    """The nearest integer, ties to even."""

    name = "graph.round"
    NUMPY: ClassVar = np.rint

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.math("roundeven", operands[0])


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x)), as exp(x) / (1 + exp(x)) where x is negative: no power is greater than 1."""

    name = "graph.sigmoid"
    DOMAIN: ClassVar = Domain.FLOAT

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return sigmoid(b, operands[0])

    def compute(self, *operands: Array) -> Array:
        one = operands[0].dtype.type(1)
        return one / (one + np.exp(-operands[0]))


@irdl_op_definition
class SoftplusOp(UnaryOp):
    """log(1 + exp(x)), computed so that nothing overflows and small results are as accurate as large ones.

    In f32 to 2 ulp; what is no normal number may be 0."""

    name = "graph.softplus"
    DOMAIN: ClassVar = Domain.FLOAT

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return softplus(b, operands[0])

    def compute(self, *operands: Array) -> Array:
        x = operands[0].astype(np.float64)
        return (np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))).astype(operands[0].dtype)


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

    def compute(self, *operands: Array) -> Array:
        x = operands[0].astype(np.float64)
        power = np.exp(np.minimum(x, self.LARGE))
        numerator = power * (power + 2)
        return (x * (numerator / (numerator + 2))).astype(operands[0].dtype)
