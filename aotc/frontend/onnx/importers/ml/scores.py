"""Functions of classifiers and regressors on their scores: post transforms, labels, both classes from one score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import f32

from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.node import Tensor, joined
from aotc.frontend.onnx.registry import Node

DOMAIN = "ai.onnx.ml"

_NEARLY_ZERO = 1e-7
"""The bound below which SOFTMAX_ZERO counts as zero, in onnxruntime."""


def rows(node: Node) -> Tensor:
    """Input 0 as [rows, features]; a vector is one row."""
    shape = node.shape(0)
    if len(shape) not in (1, 2) or not shape[-1]:
        node.fail("invalid-shape", f"its input must be [rows, features], found {list(shape)}")
    return node.tensor(0).reshape([1, *shape] if len(shape) == 1 else shape)


def real_rows(node: Node) -> Tensor:
    """As `rows`, in f32."""
    return rows(node).cast(f32)


def column(x: Tensor, number: int) -> Tensor:
    """[rows, 1] of [rows, columns]."""
    return cut(x, {1: (number, 1, 1)})


def _softmax_of_others(x: Tensor) -> Tensor:
    """SOFTMAX_ZERO: as a softmax, but what is nearly 0 is divided by e^max instead of becoming its exponential."""
    top = x.reduce("max", [1])
    large = x.emit("abs") > _NEARLY_ZERO
    powers = (x - top).emit("exp")
    total = large.choose(powers, 0).reduce("sum", [1])
    small = x * top.emit("neg").emit("exp")
    return large.choose(powers, small) / total


def _probit(x: Tensor) -> Tensor:
    """The inverse of the normal distribution, by Winitzki's approximation of the inverse error function.

    (S. Winitzki: A handy approximation for the error function and its inverse, 2008; constants as in onnxruntime.)
    """
    y = x * 2 - 1
    one = x.scalar(1)
    log = ((one - y) * (one + y)).emit("log")
    half = x.scalar(2 / (3.14159 * 0.147)) + x.scalar(0.5) * log
    square = half * half - x.scalar(1 / 0.147) * log
    size = (square.sqrt() - half).sqrt()
    negative = y < 0
    return x.scalar(2**0.5) * negative.choose(size.emit("neg"), size)


TRANSFORMS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "NONE": lambda x: x,
    "SOFTMAX": lambda x: x.emit("softmax", axes=[-1]),
    "LOGISTIC": lambda x: x.emit("sigmoid"),
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


def transformed(x: Tensor) -> Tensor:
    """Scores [rows, targets] after the post transform of the node."""
    return TRANSFORMS[transform_name(x.node)](x)


def transformed_targets(scores: Tensor) -> Tensor:
    """Those of a regressor. As onnxruntime does, a single target has none but PROBIT: of one there is no
    distribution."""
    return scores if scores.shape[1] == 1 and transform_name(scores.node) != "PROBIT" else transformed(scores)


def transformed_two(score: Tensor, negated: bool = False) -> Tensor:
    """Both classes from the one score of the second: unless a post transform says what that of the first is, it is the
    complement, or the negative."""
    match transform_name(score.node):
        case "PROBIT":
            only = transformed(score)
            return joined([only, only], 1)
        case "LOGISTIC":
            return transformed(joined([score.emit("neg"), score], 1))
        case _:
            return joined([score.emit("neg") if negated else 1 - score, score], 1)


def labels(node: Node, ints: str, strings: str) -> list[int]:
    """The labels of the classes. For names they are their positions."""
    names: list[str] = node.attr(strings, [])
    if names and node.attr(ints):
        node.fail("invalid-attribute", f"it has both {ints} and {strings}", fix="keep one")
    if names:
        return [names.index(name) for name in names]
    return list(node.attr(ints, []))


def label_of(classes: Tensor, known: Sequence[int]) -> Tensor:
    """The labels [rows] of the classes [rows]."""
    if list(known) == list(range(len(known))):
        return classes
    return Tensor(classes.node, classes.node.emit("gather", classes.node.constant(known, np.int64), classes, axis=0))


def best(scores: Tensor) -> Tensor:
    """The column [rows] of the greatest score, the first of several."""
    return scores.emit("arg_reduce", kind="max", axis=1)


def decided(score: Tensor, threshold: float, known: Sequence[int]) -> Tensor:
    """The second of two labels where a score [rows, 1] is above a threshold, else the first: [rows]."""
    above = score.reshape([score.shape[0]]) > threshold
    no, yes = (score.node.constant(label, np.int64) for label in known)
    return above.choose(yes, no)


def zeros(like: Tensor) -> Tensor:
    """Zeros of the shape of `like`."""
    return Tensor(like.node, like.node.constant(like.node.filled(like.shape, 0, like.dtype)))
