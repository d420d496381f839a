"""Elementwise arithmetic, functions, comparison, logic and selection."""

from __future__ import annotations

from functools import reduce

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.graph import elementwise as arithmetic
from aotc.dialects.graph import functions, logical
from aotc.dialects.graph.interfaces import GraphOp, shape_of
from aotc.frontend.onnx.composition import cast as cast_to
from aotc.frontend.onnx.composition import require_fit, reshape, scalar, widen
from aotc.frontend.onnx.registry import Node, onnx_op

_UNARY: dict[str, type[GraphOp]] = {
    "Abs": arithmetic.AbsOp,
    "Acos": functions.AcosOp,
    "Acosh": functions.AcoshOp,
    "Asin": functions.AsinOp,
    "Asinh": functions.AsinhOp,
    "Atan": functions.AtanOp,
    "Atanh": functions.AtanhOp,
    "BitwiseNot": logical.NotOp,
    "Ceil": functions.CeilOp,
    "Cos": functions.CosOp,
    "Cosh": functions.CoshOp,
    "Erf": functions.ErfOp,
    "Exp": functions.ExpOp,
    "Floor": functions.FloorOp,
    "Log": functions.LogOp,
    "Neg": arithmetic.NegOp,
    "Not": logical.NotOp,
    "Relu": arithmetic.ReluOp,
    "Round": functions.RoundOp,
    "Sigmoid": functions.SigmoidOp,
    "Sign": arithmetic.SignOp,
    "Sin": functions.SinOp,
    "Sinh": functions.SinhOp,
    "Softplus": functions.SoftplusOp,
    "Sqrt": functions.SqrtOp,
    "Tan": functions.TanOp,
    "Tanh": functions.TanhOp,
}

_BINARY: dict[str, type[GraphOp]] = {
    "Add": arithmetic.AddOp,
    "And": logical.AndOp,
    "BitwiseAnd": logical.AndOp,
    "BitwiseOr": logical.OrOp,
    "BitwiseXor": logical.XorOp,
    "Div": arithmetic.DivOp,
    "Mul": arithmetic.MulOp,
    "Or": logical.OrOp,
    "Sub": arithmetic.SubOp,
    "Xor": logical.XorOp,
}

_COMPARISONS = {"Equal": "eq", "Greater": "gt", "GreaterOrEqual": "ge", "Less": "lt", "LessOrEqual": "le"}

_EXTREMA: dict[str, type[GraphOp]] = {"Max": arithmetic.MaxOp, "Min": arithmetic.MinOp}


def _pair(node: Node) -> tuple[SSAValue, SSAValue]:
    """Two operands. Before version 7 only the second one broadcasts, where the attribute `broadcast` says so: to axes
    of the first from `axis` on, by default to the last."""
    x, y = node.input(0), node.input(1)
    if node.opset >= 7:
        return x, y
    shape, own = node.shape(0), node.shape(1)
    if not node.attr("broadcast", 0):
        if own != shape:
            node.fail("invalid-shape", f"{list(shape)} and {list(own)} have different shapes, and broadcast is 0")
        return x, y
    axis = node.attr("axis")
    first = len(shape) - len(own) if axis is None else axis % max(len(shape), 1)
    y = reshape(node, y, [*own, *[1] * max(len(shape) - first - len(own), 0)])
    require_fit(node, y, shape)
    return x, y


@onnx_op(*_UNARY)
def unary(node: Node) -> SSAValue:
    return node.emit(_UNARY[node.op_type], node.input(0))


@onnx_op(*_BINARY)
def binary(node: Node) -> SSAValue:
    return node.emit(_BINARY[node.op_type], *_pair(node))


@onnx_op(*_COMPARISONS)
def comparison(node: Node) -> SSAValue:
    return node.emit(logical.CompareOp, *_pair(node), how=_COMPARISONS[node.op_type])


@onnx_op(*_EXTREMA)
def extremum(node: Node) -> SSAValue:
    operands = [node.input(position) for position in range(len(node.inputs))]
    return reduce(lambda a, b: node.emit(_EXTREMA[node.op_type], a, b), operands)


@onnx_op("Sum", "Mean")
def sum_or_mean(node: Node) -> SSAValue:
    operands = [widen(node, node.input(position)) for position in range(len(node.inputs))]
    result = reduce(lambda a, b: node.emit(arithmetic.AddOp, a, b), operands)
    if node.op_type == "Mean":
        result = node.emit(arithmetic.DivOp, result, scalar(node, len(operands), result))
    return cast_to(node, result, node.element_type(0))


@onnx_op("Reciprocal")
def reciprocal(node: Node) -> SSAValue:
    x = node.input(0)
    return node.emit(arithmetic.DivOp, scalar(node, 1, x), x)


@onnx_op("Mod")
def mod(node: Node) -> SSAValue:
    return node.emit(arithmetic.RemOp if node.attr("fmod", 0) else arithmetic.ModOp, node.input(0), node.input(1))


@onnx_op("Pow")
def power(node: Node) -> SSAValue:
    (x, y), exponent = _pair(node), node.known(1)
    if exponent is not None and exponent.size == 1 and exponent.ndim <= len(shape_of(x)):
        match float(exponent.reshape(())):
            case 1.0:
                return x
            case 2.0:
                return node.emit(arithmetic.MulOp, x, x)
            case 3.0:
                return node.emit(arithmetic.MulOp, node.emit(arithmetic.MulOp, x, x), x)
            case _:
                pass
    return node.emit(arithmetic.PowOp, x, y)


@onnx_op("BitShift")
def bit_shift(node: Node) -> SSAValue:
    direction = node.attr("direction")
    node.require_choice("direction", direction, ("LEFT", "RIGHT"))
    op = logical.ShiftLeftOp if direction == "LEFT" else logical.ShiftRightOp
    return node.emit(op, node.input(0), node.input(1))


@onnx_op("IsNaN")
def is_nan(node: Node) -> SSAValue:
    return node.emit(logical.CompareOp, node.input(0), node.input(0), how="ne")


@onnx_op("IsInf")
def is_inf(node: Node) -> SSAValue:
    x = node.input(0)
    wanted = [
        scalar(node, infinity, x)
        for name, infinity in (("detect_negative", -np.inf), ("detect_positive", np.inf))
        if node.attr(name, 1)
    ]
    if not wanted:
        return node.emit(logical.CompareOp, x, scalar(node, np.nan, x), how="eq")
    found = [node.emit(logical.CompareOp, x, infinity, how="eq") for infinity in wanted]
    return reduce(lambda a, b: node.emit(logical.OrOp, a, b), found)


@onnx_op("Where")
def where(node: Node) -> SSAValue:
    return node.emit(logical.WhereOp, node.input(0), node.input(1), node.input(2))


@onnx_op("Clip")
def clip(node: Node) -> SSAValue:
    x = node.input(0)
    if node.opset < 11:
        low, high = (None if (bound := node.attr(name)) is None else scalar(node, bound, x) for name in ("min", "max"))
    else:
        low, high = node.optional(1), node.optional(2)
    if low is not None:
        x = node.emit(arithmetic.MaxOp, x, low)
    return x if high is None else node.emit(arithmetic.MinOp, x, high)
