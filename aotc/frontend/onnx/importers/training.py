"""Optimizers: one step of training for each tensor. The first two inputs are the learning rate and the step's number.

Tensors come in groups: all values, then all gradients, then the states of each; the results without the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from aotc.dialects.graph.elementwise import AddOp, DivOp, MulOp, PowOp, SubOp
from aotc.dialects.graph.functions import SqrtOp
from aotc.dialects.graph.interfaces import element_type_of
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.frontend.onnx.composition import cast, scalar
from aotc.frontend.onnx.registry import Node, onnx_op

_DOMAIN = "ai.onnx.preview.training"

_Step = Callable[[Node, Sequence[SSAValue]], Sequence[SSAValue]]


def _steps(node: Node, group: int, step: _Step) -> list[SSAValue]:
    """`step` for each tensor, with its value, gradient and states, of which there are `group` in all."""
    count, rest = divmod(len(node.inputs) - 2, group)
    if rest or not count:
        node.fail("missing-input", f"{len(node.inputs)} inputs are not the rate, the step and {group} of each tensor")
    found = [step(node, [node.input(2 + part * count + number) for part in range(group)]) for number in range(count)]
    return [results[part] for part in range(group - 1) for results in found]


def _scaled(node: Node, x: SSAValue, factor: float) -> SSAValue:
    return node.emit(MulOp, x, scalar(node, factor, x))


def _regularized(node: Node, x: SSAValue, gradient: SSAValue) -> SSAValue:
    return node.emit(AddOp, _scaled(node, x, node.attr("norm_coefficient", 0.0)), gradient)


def _rate(node: Node, like: SSAValue) -> SSAValue:
    return cast(node, node.input(0), element_type_of(like))


def _number(node: Node, like: SSAValue) -> SSAValue:
    return cast(node, node.input(1), element_type_of(like))


def _is_first(node: Node) -> SSAValue:
    number = cast(node, node.input(1), i64)
    return node.emit(CompareOp, number, scalar(node, 0, number), how="le")


@onnx_op("Adagrad", domain=_DOMAIN)
def adagrad(node: Node) -> list[SSAValue]:
    def step(node: Node, tensors: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, gradient, squares = tensors
        one = scalar(node, 1, x)
        decay = node.emit(AddOp, one, _scaled(node, _number(node, x), node.attr("decay_factor", 0.0)))
        rate = node.emit(DivOp, _rate(node, x), decay)
        gradient = _regularized(node, x, gradient)
        squares = node.emit(AddOp, squares, node.emit(MulOp, gradient, gradient))
        scale = node.emit(AddOp, node.emit(SqrtOp, squares), scalar(node, node.attr("epsilon", 1e-6), x))
        change = node.emit(DivOp, node.emit(MulOp, rate, gradient), scale)
        return [node.emit(SubOp, x, change), squares]

    return _steps(node, 3, step)


@onnx_op("Momentum", domain=_DOMAIN)
def momentum(node: Node) -> list[SSAValue]:
    mode, alpha, beta = node.attr("mode"), node.attr("alpha"), node.attr("beta")
    node.require_choice("mode", mode, ("standard", "nesterov"))

    def step(node: Node, tensors: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, gradient, velocity = tensors
        gradient = _regularized(node, x, gradient)
        factor = node.emit(WhereOp, _is_first(node), scalar(node, 1, x), scalar(node, beta, x))
        velocity = node.emit(AddOp, _scaled(node, velocity, alpha), node.emit(MulOp, factor, gradient))
        change = velocity
        if mode == "nesterov":
            change = node.emit(AddOp, gradient, _scaled(node, velocity, alpha))
        return [node.emit(SubOp, x, node.emit(MulOp, _rate(node, x), change)), velocity]

    return _steps(node, 3, step)


@onnx_op("Adam", domain=_DOMAIN)
def adam(node: Node) -> list[SSAValue]:
    alpha, beta = node.attr("alpha", 0.9), node.attr("beta", 0.999)

    def mixed(node: Node, state: SSAValue, new: SSAValue, factor: float) -> SSAValue:
        return node.emit(AddOp, _scaled(node, state, factor), _scaled(node, new, 1 - factor))

    def left(node: Node, factor: float, like: SSAValue) -> SSAValue:
        """The part of 1 that the powers of a factor leave."""
        return node.emit(
            SubOp, scalar(node, 1, like), node.emit(PowOp, scalar(node, factor, like), _number(node, like))
        )

    def step(node: Node, tensors: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, gradient, mean, square = tensors
        gradient = _regularized(node, x, gradient)
        mean = mixed(node, mean, gradient, alpha)
        square = mixed(node, square, node.emit(MulOp, gradient, gradient), beta)
        scale = node.emit(AddOp, node.emit(SqrtOp, square), scalar(node, node.attr("epsilon", 1e-6), x))
        rate = _rate(node, x)
        unbiased = node.emit(MulOp, rate, node.emit(SqrtOp, left(node, beta, x)))
        unbiased = node.emit(DivOp, unbiased, left(node, alpha, x))
        rate = node.emit(WhereOp, _is_first(node), rate, unbiased)
        changed = node.emit(SubOp, x, node.emit(MulOp, rate, node.emit(DivOp, mean, scale)))
        return [_scaled(node, changed, 1 - node.attr("norm_coefficient_post", 0.0)), mean, square]

    return _steps(node, 4, step)
