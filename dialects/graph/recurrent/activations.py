"""The activations that recurrent cells may have, as functions of one number with up to two parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.functions import sigmoid, softplus

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
