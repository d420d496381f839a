"""Linear models and support vector machines: products with constants, kernels, votes between two classes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from xdsl.dialects.builtin import i64

from aotc.frontend.onnx.importers.ml.scores import (
    DOMAIN,
    best,
    decided,
    label_of,
    labels,
    real_rows,
    transform_name,
    transformed,
    transformed_targets,
    transformed_two,
)
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.model.weight_store import Array


def _floats(node: Node, name: str, size: int | None = None) -> Array:
    found = np.array(node.attr(name, []), np.float32)
    if size is not None and found.size != size:
        node.fail("invalid-attribute", f"{name} has {found.size} values, expected {size}")
    return found


def _offset(node: Node) -> Array:
    offset = _floats(node, "rho")
    if not offset.size:
        node.fail("missing-attribute", "it has no rho")
    return offset


def _times(x: Tensor, matrix: Array) -> Tensor:
    """x @ matrix.T."""
    return x @ Tensor(x.node, x.node.constant(np.ascontiguousarray(matrix.T)))


def _linear(x: Tensor, matrix: Array, offset: Array) -> Tensor:
    """x @ matrix.T + offset."""
    product = _times(x, matrix)
    return product + x.node.constant(offset) if offset.any() else product


@onnx_op("LinearRegressor", domain=DOMAIN)
def linear_regressor(node: Node) -> Tensor:
    x, targets = real_rows(node), node.attr("targets", 1)
    if targets < 1:
        node.fail("invalid-attribute", f"targets = {targets}")
    matrix = _floats(node, "coefficients", targets * x.shape[1]).reshape(targets, -1)
    given = _floats(node, "intercepts").size > 0
    offset = _floats(node, "intercepts", targets) if given else node.filled([targets], 0, np.float32)
    return transformed_targets(_linear(x, matrix, offset))


@onnx_op("LinearClassifier", domain=DOMAIN)
def linear_classifier(node: Node) -> list[Tensor]:
    x = real_rows(node)
    known = labels(node, "classlabels_ints", "classlabels_strings")
    offset = _floats(node, "intercepts")
    count = offset.size
    if not count:
        node.fail("missing-attribute", "it has no intercepts", fix="there is one for each class")
    scores = _linear(x, _floats(node, "coefficients", count * x.shape[1]).reshape(count, -1), offset)
    if count > 1:
        if len(known) != count:
            node.fail("invalid-attribute", f"{len(known)} labels for {count} classes")
        return [label_of(best(scores), known), transformed(scores)]
    if len(known) == 2:
        return [decided(scores, 0, known), transformed_two(scores)]
    return [decided(scores, 0, [0, 1]), transformed_targets(scores)]


def _kernel(x: Tensor, vectors: Array) -> Tensor:
    """[rows, vectors]: the function of two vectors that a support vector machine is about, of each row and each
    vector."""
    node, parameters = x.node, _floats(x.node, "kernel_params")
    if parameters.size not in (0, 3):
        what = f"kernel_params has {parameters.size} values, expected gamma, coef0 and degree"
        node.fail("invalid-attribute", what)
    name = node.attr("kernel_type", "LINEAR")
    node.require_choice("kernel_type", name, ("LINEAR", "POLY", "RBF", "SIGMOID"))
    gamma, offset, degree = parameters.tolist() or (0.0, 0.0, 0.0)
    product = _times(x, vectors)
    match name:
        case "LINEAR":
            return product
        case "RBF":
            # |x - v|^2 = |x|^2 - 2 x v + |v|^2, which rounding may make negative
            squares = (x * x).reduce("sum", [1])
            norms = node.constant((vectors.astype(np.float64) ** 2).sum(1).astype(np.float32))
            distance = (squares - product * 2 + norms).at_least(0)
            return (distance * -gamma).emit("exp")
        case _:
            scaled = product * gamma + offset
            return scaled.emit("tanh") if name == "SIGMOID" else scaled.emit("pow", scaled.scalar(degree))


@onnx_op("SVMRegressor", domain=DOMAIN)
def svm_regressor(node: Node) -> Tensor:
    x, vectors, offset = real_rows(node), node.attr("n_supports", 0), _offset(node)
    if vectors > 0:
        support = _floats(node, "support_vectors", vectors * x.shape[1]).reshape(vectors, -1)
        x = _kernel(x, support)
    score = _linear(x, _floats(node, "coefficients", x.shape[1]).reshape(1, -1), offset[:1])
    return (score > 0).choose(score.scalar(1), -1) if node.attr("one_class", 0) else score


@onnx_op("SVMClassifier", domain=DOMAIN)
def svm_classifier(node: Node) -> list[Tensor]:
    x = real_rows(node)
    known = labels(node, "classlabels_ints", "classlabels_strings")
    per_class = np.array(node.attr("vectors_per_class", []), np.int64)
    if len(known) < 2:
        node.fail("invalid-attribute", f"it has {len(known)} class labels", fix="it needs two or more")
    if not per_class.sum():
        return _linear_svm(x, known)
    if len(per_class) != len(known) or (per_class < 0).any():
        node.fail("invalid-attribute", f"vectors_per_class has {len(per_class)} values for {len(known)} classes")
    return _pairwise_svm(x, known, per_class)


def _linear_svm(x: Tensor, known: list[int]) -> list[Tensor]:
    """One plane for each class."""
    node, count, offset = x.node, len(known), _offset(x.node)
    coefficients = _floats(node, "coefficients", count * x.shape[1])
    scores = _linear(x, coefficients.reshape(count, -1), np.repeat(offset[:1], count))
    if count > 2:
        return [label_of(best(scores), known), transformed(scores)]
    top = scores.reduce("max", [1])
    positive = bool((coefficients >= 0).all())
    above = (top.compare("ge", 0.5) if positive else top > 0).reduce("max", [1], keepdims=False)
    classes = above.choose(node.constant(1, np.int64), best(scores))
    return [label_of(classes, known), transformed(scores)]


def _pairwise_svm(x: Tensor, known: list[int], per_class: Array) -> list[Tensor]:
    """Any two classes have a machine of its own, on the support vectors of both. (LIBSVM's one-against-one.)"""
    node, count, vectors = x.node, len(known), int(per_class.sum())
    support = _floats(node, "support_vectors", vectors * x.shape[1]).reshape(vectors, -1)
    coefficients = _floats(node, "coefficients", (count - 1) * vectors).reshape(count - 1, vectors)
    comparisons = list(combinations(range(count), 2))
    offset = _floats(node, "rho", len(comparisons))
    starts = np.cumsum([0, *per_class])
    matrix = node.filled([len(comparisons), vectors], 0, np.float32)
    for row, (i, j) in enumerate(comparisons):
        matrix[row, starts[i] : starts[i + 1]] = coefficients[j - 1, starts[i] : starts[i + 1]]
        matrix[row, starts[j] : starts[j + 1]] = coefficients[i, starts[j] : starts[j + 1]]
    scores = _linear(_kernel(x, support), matrix, offset)
    first_wins = (scores > 0).emit("cast", to=i64)
    second_wins = 1 - first_wins
    wins = [node.filled([len(comparisons), count], 0, np.int64) for _ in range(2)]
    for row, compared in enumerate(comparisons):
        for place, each in enumerate(compared):
            wins[place][row, each] = 1
    votes = [won @ Tensor(node, node.constant(each)) for won, each in zip((first_wins, second_wins), wins, strict=True)]
    label = label_of(best(votes[0] + votes[1]), known)
    if len(node.attr("prob_a", [])):
        return [label, transformed(_probabilities(scores, len(comparisons)))]
    if count > 2:
        return [label, transformed(scores)]
    return [label, transformed_two(scores, negated=transform_name(node) == "NONE")]


def _probabilities(scores: Tensor, comparisons: int) -> Tensor:
    """Those of classes from those of any two, which are sigmoids of scores (J. Platt: Probabilistic Outputs for Support
    Vector Machines, 1999)."""
    node = scores.node
    slope, shift = _floats(node, "prob_a", comparisons), _floats(node, "prob_b", comparisons)
    scaled = scores * node.constant(-slope) + node.constant(-shift)
    likely = scaled.emit("sigmoid").at_least(1e-7).at_most(1 - 1e-7)
    return likely.emit("probability_coupling")
