"""Elementwise arithmetic, functions, comparison, logic and selection; activations that ONNX does not define by other
operators in every version, or not accurately."""

from __future__ import annotations

from functools import reduce

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import is_float
from aotc.frontend.onnx.node import Operand, Tensor
from aotc.frontend.onnx.registry import Node, onnx_op

_UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Cos Cosh Erf Exp Floor Log Neg Not Relu Round Sigmoid Sign "
    "Sin Sinh Softplus Sqrt Tan Tanh"
)
_BINARY = "Add And BitwiseAnd BitwiseOr BitwiseXor Div Mul Or Sub Xor"
_EXTREMA = "Max Min"
"""Operators that are operations of the graph dialect of the same name, of bits or not."""
_COMPARISONS = {"Equal": "eq", "Greater": "gt", "GreaterOrEqual": "ge", "Less": "lt", "LessOrEqual": "le"}


def _operation(node: Node) -> str:
    return node.op_type.lower().removeprefix("bitwise")


def _both(node: Node) -> tuple[Tensor, Tensor]:
    """Two operands. Before version 7 only the second one broadcasts, where the attribute `broadcast` says so: to axes
    of the first from `axis` on, by default to the last."""
    x, y = node.tensor(0), node.tensor(1)
    if node.opset >= 7:
        return x, y
    shape, own = x.shape, y.shape
    if not node.attr("broadcast", 0):
        if own != shape:
            node.fail("invalid-shape", f"{list(shape)} and {list(own)} have different shapes, and broadcast is 0")
        return x, y
    axis = node.attr("axis")
    first = len(shape) - len(own) if axis is None else axis % max(len(shape), 1)
    y = y.reshape([*own, *[1] * max(len(shape) - first - len(own), 0)])
    node.require_fit(y, shape)
    return x, y


@onnx_op(*_UNARY.split())
def unary(node: Node) -> SSAValue:
    return node.emit(_operation(node), node.input(0))


@onnx_op(*_BINARY.split())
def binary(node: Node) -> SSAValue:
    return node.emit(_operation(node), *_both(node))


@onnx_op(*_COMPARISONS)
def comparison(node: Node) -> SSAValue:
    return node.emit("compare", *_both(node), how=_COMPARISONS[node.op_type])


@onnx_op(*_EXTREMA.split())
def extremum(node: Node) -> SSAValue:
    operands = [node.input(position) for position in range(len(node.inputs))]
    return reduce(lambda a, b: node.emit(_operation(node), a, b), operands)


@onnx_op("Sum", "Mean")
def sum_or_mean(node: Node) -> Tensor:
    operands = [node.tensor(position).widened() for position in range(len(node.inputs))]
    result = reduce(Tensor.__add__, operands)
    if node.op_type == "Mean":
        result /= len(operands)
    return result.cast(node.element_type(0))


@onnx_op("Reciprocal")
def reciprocal(node: Node) -> Tensor:
    return 1 / node.tensor(0)


@onnx_op("Mod")
def mod(node: Node) -> SSAValue:
    return node.emit("rem" if node.attr("fmod", 0) else "mod", node.input(0), node.input(1))


@onnx_op("Pow")
def power(node: Node) -> Tensor:
    (x, y), exponent = _both(node), node.known(1)
    if exponent is not None and exponent.size == 1 and exponent.ndim <= len(x.shape):
        match float(exponent.reshape(())):
            case 1.0:
                return x
            case 2.0:
                return x * x
            case 3.0:
                return x * x * x
            case _:
                pass
    return x.emit("pow", y)


@onnx_op("BitShift")
def bit_shift(node: Node) -> SSAValue:
    direction = node.attr("direction")
    node.require_choice("direction", direction, ("LEFT", "RIGHT"))
    return node.emit(f"shift_{direction.lower()}", node.input(0), node.input(1))


@onnx_op("IsNaN")
def is_nan(node: Node) -> Tensor:
    return node.tensor(0).compare("ne", node.tensor(0))


@onnx_op("IsInf")
def is_inf(node: Node) -> Tensor:
    x = node.tensor(0)
    wanted = [
        x.scalar(infinity)
        for name, infinity in (("detect_negative", -np.inf), ("detect_positive", np.inf))
        if node.attr(name, 1)
    ]
    found = [x.compare("eq", infinity) for infinity in wanted or [x.scalar(np.nan)]]
    return reduce(lambda a, b: a.emit("or", b), found)


@onnx_op("Clip")
def clip(node: Node) -> Tensor:
    x = node.tensor(0)
    if node.opset < 11:
        low, high = (None if (bound := node.attr(name)) is None else x.scalar(bound) for name in ("min", "max"))
    else:
        low, high = node.optional_tensor(1), node.optional_tensor(2)
    if low is not None:
        x = x.at_least(low)
    return x if high is None else x.at_most(high)


def leaky(x: Tensor, slope: Operand) -> Tensor:
    """x where x >= 0, else slope * x."""
    factor = x.beside(slope)
    return (x < 0).choose(factor * x, x)


@onnx_op("LeakyRelu")
def leaky_relu(node: Node) -> Tensor:
    # attributes are f32, also beside operands of f64
    return leaky(node.tensor(0), node.attr("alpha", float(np.float32(0.01))))


@onnx_op("Celu")
def celu(node: Node) -> Tensor:
    """x where x >= 0, else alpha * (exp(x / alpha) - 1); ONNX's own definition makes a vector of a scalar."""
    x = node.tensor(0).widened()
    alpha = x.scalar(node.attr("alpha", 1.0))
    below = alpha * ((x / alpha).emit("exp") - 1)
    return (x < 0).choose(below, x).cast(node.element_type(0))


@onnx_op("PRelu")
def prelu(node: Node) -> Tensor:
    shape, slope = node.shape(0), node.tensor(1)
    if node.opset < 7:  # one for each channel, or one for all
        slope = slope.reshape([*slope.shape, *[1] * (len(shape) - 2)])
        node.require_fit(slope, shape)
    else:
        node.require_broadcast(1, shape, "the operand")
    return leaky(node.tensor(0), slope)


@onnx_op("Shrink")
def shrink(node: Node) -> Tensor:
    # in floats for every type: the definition has no negative threshold for unsigned integers
    x, threshold, bias = node.tensor(0), node.attr("lambd", 0.5), node.attr("bias", 0.0)
    wide = x.widened() if is_float(x.kind) else x.cast(f32)
    below, above = wide < -threshold, wide > threshold
    less, more = wide - bias, wide + bias
    return below.choose(more, above.choose(less, 0)).cast(x.kind)
