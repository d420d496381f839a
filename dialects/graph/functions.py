"""Functions of one real variable: the exponential, trigonometric and hyperbolic ones, rounding, activations."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.elementwise import Domain, UnaryOp, operator


def sigmoid(b: Builder, x: Scalar) -> Scalar:
    """1 / (1 + exp(-x)), as `SigmoidOp` says."""
    power = b.exp_of_nonpositive(-b.abs(x))
    return b.select(b.compare("lt", x, 0), power, b.const(1, x.dtype)) / (1 + power)


def softplus(b: Builder, x: Scalar) -> Scalar:
    """log(1 + exp(x)), as `SoftplusOp` says."""
    return b.max(x, 0.0) + b.math("log1p", b.exp_of_nonpositive(-b.abs(x)))


class FunctionOp(UnaryOp, ABC):
    """A function of floats."""

    DOMAIN: ClassVar[Domain] = Domain.FLOAT


def _function(name: str, meaning: str, math: str | None = None) -> type[FunctionOp]:
    """One of the math dialect: of the same name as the operation, or `math`."""
    called = name.removeprefix("graph.") if math is None else math
    return operator(FunctionOp, name, meaning, lambda b, x: b.math(called, x))


ExpOp = _function("graph.exp", "e to the power x.")
LogOp = _function("graph.log", "The natural logarithm.")
SqrtOp = _function("graph.sqrt", "The square root.")
SinOp = _function("graph.sin", "The sine of x in radians.")
CosOp = _function("graph.cos", "The cosine of x in radians.")
TanOp = _function("graph.tan", "The tangent of x in radians.")
AsinOp = _function("graph.asin", "The arc sine, in radians.")
AcosOp = _function("graph.acos", "The arc cosine, in radians.")
AtanOp = _function("graph.atan", "The arc tangent, in radians.")
SinhOp = _function("graph.sinh", "The hyperbolic sine.")
CoshOp = _function("graph.cosh", "The hyperbolic cosine.")
TanhOp = _function("graph.tanh", "The hyperbolic tangent.")
AsinhOp = _function("graph.asinh", "The inverse hyperbolic sine.")
AcoshOp = _function("graph.acosh", "The inverse hyperbolic cosine.")
AtanhOp = _function("graph.atanh", "The inverse hyperbolic tangent.")
ErfOp = _function("graph.erf", "The error function.")
FloorOp = _function("graph.floor", "The greatest integer not above x.")
CeilOp = _function("graph.ceil", "The least integer not below x.")
RoundOp = _function("graph.round", "The nearest integer, ties to even.", "roundeven")
SigmoidOp = operator(
    FunctionOp,
    "graph.sigmoid",
    "1 / (1 + exp(-x)), as exp(x) / (1 + exp(x)) where x is negative: no power is greater than 1.",
    sigmoid,
)
SoftplusOp = operator(
    FunctionOp,
    "graph.softplus",
    """log(1 + exp(x)), computed so that nothing overflows and small results are as accurate as large ones.

    In f32 to 2 ulp; what is no normal number may be 0.""",
    softplus,
)


_LARGE = 20.0
"""From here on the quotient of `MishOp` is 1 in every type."""


def _mish(b: Builder, x: Scalar) -> Scalar:
    power = b.math("exp", b.min(x, _LARGE))
    numerator = power * (power + 2.0)
    return x * (numerator / (numerator + 2.0))


MishOp = operator(
    FunctionOp,
    "graph.mish",
    """x tanh(log(1 + exp(x))), which is x n / (n + 2) with n = exp(x) (exp(x) + 2): one exponential and one quotient.

    In f32 to 4 ulp from -87 on, where exp(x) is a normal number, and to 2^-142 below; of -inf, as of NaN, it is NaN.
    D. Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019.""",
    _mish,
)

# --- activations of recurrent cells ----------------------------------------------------------------------------------

Formula: TypeAlias = Callable[[Builder, Scalar, float, float], Scalar]
"""Emits the activation of a number, given alpha and beta."""


def _leaky_relu(b: Builder, x: Scalar, alpha: float, beta: float) -> Scalar:
    return b.select(b.compare("lt", x, 0), x * alpha, x)


def _thresholded_relu(b: Builder, x: Scalar, alpha: float, beta: float) -> Scalar:
    return b.select(b.compare("gt", x, alpha), x, 0)


def _hard_sigmoid(b: Builder, x: Scalar, alpha: float, beta: float) -> Scalar:
    return b.max(b.min(x * alpha + beta, 1), 0)


def _elu(b: Builder, x: Scalar, alpha: float, beta: float) -> Scalar:
    return b.select(b.compare("lt", x, 0), (b.math("exp", b.min(x, 0)) - 1) * alpha, x)


@dataclass(frozen=True)
class Activation:
    """One row of the table: the formula, how many of alpha and beta it has, and the values of those left out."""

    formula: Formula
    parameters: int = 0
    defaults: tuple[float, ...] = ()
    """Those of the ONNX operator of that name, in f32; there are none where it has none."""


ACTIVATIONS: Mapping[str, Activation] = {
    "relu": Activation(lambda b, x, alpha, beta: b.max(x, 0)),
    "tanh": Activation(lambda b, x, alpha, beta: b.math("tanh", x)),
    "sigmoid": Activation(lambda b, x, alpha, beta: sigmoid(b, x)),
    "softsign": Activation(lambda b, x, alpha, beta: x / (b.abs(x) + 1)),
    "softplus": Activation(lambda b, x, alpha, beta: softplus(b, x)),
    "affine": Activation(lambda b, x, alpha, beta: x * alpha + beta, 2),
    "leaky_relu": Activation(_leaky_relu, 1, (float(np.float32(0.01)),)),
    "thresholded_relu": Activation(_thresholded_relu, 1, (1.0,)),
    "scaled_tanh": Activation(lambda b, x, alpha, beta: b.math("tanh", x * beta) * alpha, 2),
    "hard_sigmoid": Activation(_hard_sigmoid, 2, (float(np.float32(0.2)), 0.5)),
    "elu": Activation(_elu, 1, (1.0,)),
}
"""By name."""
