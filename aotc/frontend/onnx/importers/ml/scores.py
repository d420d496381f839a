"""Functions of classifiers and regressors on their scores: post transforms, labels, both classes from one score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.elementwise import AbsOp, AddOp, DivOp, MulOp, NegOp, SubOp
from aotc.dialects.graph.functions import ExpOp, LogOp, SigmoidOp, SqrtOp
from aotc.dialects.graph.indexing import GatherOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.dialects.graph.movement import ConcatOp
from aotc.dialects.graph.normalization import SoftmaxOp
from aotc.dialects.graph.reduction import ArgReduceOp, ReduceOp
from aotc.frontend.onnx.composition import cast, reshape, scalar
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.registry import Node

_NEARLY_ZERO = 1e-7
"""The bound below which SOFTMAX_ZERO counts as zero, in onnxruntime."""


def rows(node: Node) -> SSAValue:
    """Input 0 as [rows, features]; a vector is one row."""
    shape = node.shape(0)
    if len(shape) not in (1, 2) or not shape[-1]:
        node.fail("invalid-shape", f"its input must be [rows, features], found {list(shape)}")
    return reshape(node, node.input(0), [1, *shape] if len(shape) == 1 else shape)


def real_rows(node: Node) -> SSAValue:
    """As `rows`, in f32."""
    return cast(node, rows(node), f32)


def column(node: Node, x: SSAValue, number: int) -> SSAValue:
    """[rows, 1] of [rows, columns]."""
    return cut(node, x, {1: (number, 1, 1)})


def _softmax(node: Node, x: SSAValue) -> SSAValue:
    return node.emit(SoftmaxOp, x, axes=[-1])


def _softmax_of_others(node: Node, x: SSAValue) -> SSAValue:
    """SOFTMAX_ZERO: as a softmax, but what is nearly 0 is divided by e^max instead of becoming its exponential."""
    top = node.emit(ReduceOp, x, kind="max", axes=[1], keepdims=True)
    large = node.emit(CompareOp, node.emit(AbsOp, x), scalar(node, _NEARLY_ZERO, x), how="gt")
    powers = node.emit(ExpOp, node.emit(SubOp, x, top))
    total = node.emit(
        ReduceOp, node.emit(WhereOp, large, powers, scalar(node, 0, x)), kind="sum", axes=[1], keepdims=True
    )
    small = node.emit(MulOp, x, node.emit(ExpOp, node.emit(NegOp, top)))
    return node.emit(DivOp, node.emit(WhereOp, large, powers, small), total)


def _probit(node: Node, x: SSAValue) -> SSAValue:
    """The inverse of the normal distribution, by Winitzki's approximation of the inverse error function.

    (S. Winitzki: A handy approximation for the error function and its inverse, 2008; constants as in onnxruntime.)
    """

    def constant(value: float) -> SSAValue:
        return scalar(node, value, x)

    y = node.emit(SubOp, node.emit(MulOp, x, constant(2)), constant(1))
    one = constant(1)
    log = node.emit(LogOp, node.emit(MulOp, node.emit(SubOp, one, y), node.emit(AddOp, one, y)))
    half = node.emit(AddOp, constant(2 / (3.14159 * 0.147)), node.emit(MulOp, constant(0.5), log))
    square = node.emit(SubOp, node.emit(MulOp, half, half), node.emit(MulOp, constant(1 / 0.147), log))
    size = node.emit(SqrtOp, node.emit(SubOp, node.emit(SqrtOp, square), half))
    negative = node.emit(CompareOp, y, constant(0), how="lt")
    return node.emit(MulOp, constant(2**0.5), node.emit(WhereOp, negative, node.emit(NegOp, size), size))


TRANSFORMS: Mapping[str, Callable[[Node, SSAValue], SSAValue]] = {
    "NONE": lambda node, x: x,
    "SOFTMAX": _softmax,
    "LOGISTIC": lambda node, x: node.emit(SigmoidOp, x),
    "SOFTMAX_ZERO": _softmax_of_others,
    "PROBIT": _probit,
}
"""The values of `post_transform`, in the order of the numbers that TreeEnsemble has for it."""


def transform_name(node: Node) -> str:
    """The post transform that the node names."""
    given: str | int = node.attr("post_transform", "NONE")
    known = list(TRANSFORMS)
    name = known[given] if isinstance(given, int) and 0 <= given < len(known) else str(given)
    node.require_choice("post_transform", name, TRANSFORMS)
    return name


def transformed(node: Node, x: SSAValue) -> SSAValue:
    """Scores [rows, targets] after the post transform of the node."""
    return TRANSFORMS[transform_name(node)](node, x)


def labels(node: Node, ints: str, strings: str) -> list[int]:
    """The labels of the classes. For names they are their positions."""
    names: list[str] = node.attr(strings, [])
    if names and node.attr(ints):
        node.fail("invalid-attribute", f"it has both {ints} and {strings}", fix="keep one")
    if names:
        return [names.index(name) for name in names]
    return list(node.attr(ints, []))


def label_of(node: Node, classes: SSAValue, known: Sequence[int]) -> SSAValue:
    """The labels [rows] of the classes [rows]."""
    if list(known) == list(range(len(known))):
        return classes
    return node.emit(GatherOp, node.constant(known, np.int64), classes, axis=0)


def best(node: Node, scores: SSAValue) -> SSAValue:
    """The column [rows] of the greatest score, the first of several."""
    return node.emit(ArgReduceOp, scores, kind="max", axis=1)


def decided(node: Node, score: SSAValue, threshold: float, known: Sequence[int]) -> SSAValue:
    """The second of two labels where a score [rows, 1] is above a threshold, else the first: [rows]."""
    above = node.emit(CompareOp, reshape(node, score, [shape_of(score)[0]]), scalar(node, threshold, score), how="gt")
    no, yes = (node.constant(label, np.int64) for label in known)
    return node.emit(WhereOp, above, yes, no)


def both(node: Node, first: SSAValue, second: SSAValue) -> SSAValue:
    """Two columns side by side."""
    return node.emit(ConcatOp, [first, second], axis=1)


def negative(node: Node, x: SSAValue) -> SSAValue:
    """-x."""
    return node.emit(NegOp, x)


def complement(node: Node, x: SSAValue) -> SSAValue:
    """1 - x."""
    return node.emit(SubOp, scalar(node, 1, x), x)


def zeros(node: Node, like: SSAValue) -> SSAValue:
    """Zeros of the shape of `like`."""
    return node.constant(node.filled(shape_of(like), 0, numpy_dtype(element_type_of(like))))
