"""Optimizers: one step of training for each tensor. The first two inputs are the learning rate and the step's number.

Tensors come in groups: all values, then all gradients, then the states of each; the results without the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i64

from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op

_DOMAIN = "ai.onnx.preview.training"


def _updates(node: Node, group: int, update: Callable[..., Sequence[Tensor]]) -> list[Tensor]:
    """`update` for each tensor, with its value, gradient and states, of which there are `group` in all."""
    count, rest = divmod(len(node.inputs) - 2, group)
    if rest:
        node.fail("missing-input", f"{len(node.inputs)} inputs are not the rate, the step and {group} of each tensor")
    found = [update(*(node.tensor(2 + part * count + number) for part in range(group))) for number in range(count)]
    return [results[part] for part in range(group - 1) for results in found]


def _regularized(x: Tensor, gradient: Tensor) -> Tensor:
    return x * x.node.attr("norm_coefficient", 0.0) + gradient


def _rate(x: Tensor) -> Tensor:
    return x.node.tensor(0).cast(x.kind)


def _number(x: Tensor) -> Tensor:
    return x.node.tensor(1).cast(x.kind)


def _is_first(node: Node) -> Tensor:
    return node.tensor(1).cast(i64) <= 0


@onnx_op("Adagrad", domain=_DOMAIN)
def adagrad(node: Node) -> list[Tensor]:
    def update(x: Tensor, gradient: Tensor, squares: Tensor) -> Sequence[Tensor]:
        decay = x.scalar(1) + _number(x) * node.attr("decay_factor", 0.0)
        rate = _rate(x) / decay
        gradient = _regularized(x, gradient)
        squares += gradient * gradient
        scale = squares.sqrt() + node.attr("epsilon", 1e-6)
        return [x - rate * gradient / scale, squares]

    return _updates(node, 3, update)


@onnx_op("Momentum", domain=_DOMAIN)
def momentum(node: Node) -> list[Tensor]:
    mode, alpha, beta = node.attr("mode"), node.attr("alpha"), node.attr("beta")
    node.require_choice("mode", mode, ("standard", "nesterov"))

    def update(x: Tensor, gradient: Tensor, velocity: Tensor) -> Sequence[Tensor]:
        gradient = _regularized(x, gradient)
        factor = _is_first(node).choose(x.scalar(1), beta)
        velocity = velocity * alpha + factor * gradient
        change = gradient + velocity * alpha if mode == "nesterov" else velocity
        return [x - _rate(x) * change, velocity]

    return _updates(node, 3, update)


@onnx_op("Adam", domain=_DOMAIN)
def adam(node: Node) -> list[Tensor]:
    alpha, beta = node.attr("alpha", 0.9), node.attr("beta", 0.999)

    def left(factor: float, like: Tensor) -> Tensor:
        """The part of 1 that the powers of a factor leave."""
        return 1 - like.scalar(factor).emit("pow", _number(like))

    def update(x: Tensor, gradient: Tensor, mean: Tensor, square: Tensor) -> Sequence[Tensor]:
        gradient = _regularized(x, gradient)
        mean = mean * alpha + gradient * (1 - alpha)
        square = square * beta + gradient * gradient * (1 - beta)
        scale = square.sqrt() + node.attr("epsilon", 1e-6)
        rate = _rate(x)
        unbiased = rate * left(beta, x).sqrt() / left(alpha, x)
        rate = _is_first(node).choose(rate, unbiased)
        changed = x - rate * (mean / scale)
        return [changed * (1 - node.attr("norm_coefficient_post", 0.0)), mean, square]

    return _updates(node, 4, update)
