"""Linear models and support vector machines: products with constants, kernels, votes of pairs of classes."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.elementwise import AddOp, MaxOp, MinOp, MulOp, PowOp, SubOp
from aotc.dialects.graph.functions import ExpOp, SigmoidOp, TanhOp
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.trees.coupling import ProbabilityCouplingOp
from aotc.frontend.onnx.composition import scalar
from aotc.frontend.onnx.importers.ml.scores import (
    best,
    both,
    column,
    complement,
    decided,
    label_of,
    labels,
    negative,
    real_rows,
    transform_name,
    transformed,
)
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.model.weight_store import Array

_DOMAIN = "ai.onnx.ml"


def _floats(node: Node, name: str, size: int | None = None) -> Array:
    found = np.array(node.attr(name, []), np.float32)
    if size is not None and found.size != size:
        node.fail("invalid-attribute", f"{name} has {found.size} values, expected {size}")
    return found


def _linear(node: Node, x: SSAValue, matrix: Array, offset: Array) -> SSAValue:
    """x @ matrix.T + offset."""
    product = node.emit(MatMulOp, x, node.constant(np.ascontiguousarray(matrix.T)))
    return node.emit(AddOp, product, node.constant(offset)) if offset.any() else product


@onnx_op("LinearRegressor", domain=_DOMAIN)
def linear_regressor(node: Node) -> SSAValue:
    x, targets = real_rows(node), node.attr("targets", 1)
    if targets < 1:
        node.fail("invalid-attribute", f"targets = {targets}")
    matrix = _floats(node, "coefficients", targets * shape_of(x)[1]).reshape(targets, -1)
    offset = _floats(node, "intercepts")
    scores = _linear(
        node, x, matrix, _floats(node, "intercepts", targets) if offset.size else node.filled([targets], 0, np.float32)
    )
    # As onnxruntime does: of one score there is no distribution.
    return scores if targets == 1 and transform_name(node) != "PROBIT" else transformed(node, scores)


@onnx_op("LinearClassifier", domain=_DOMAIN)
def linear_classifier(node: Node) -> list[SSAValue]:
    x = real_rows(node)
    known = labels(node, "classlabels_ints", "classlabels_strings")
    offset = _floats(node, "intercepts")
    count = offset.size
    if not count:
        node.fail("missing-attribute", "it has no intercepts", fix="there is one for each class")
    matrix = _floats(node, "coefficients", count * shape_of(x)[1]).reshape(count, -1)
    scores = _linear(node, x, matrix, offset)
    if count > 1:
        if len(known) != count:
            node.fail("invalid-attribute", f"{len(known)} labels for {count} classes")
        return [label_of(node, best(node, scores), known), transformed(node, scores)]
    two = len(known) == 2
    label = decided(node, scores, 0, known if two else [0, 1])
    if transform_name(node) == "PROBIT" or not two:
        scores = transformed(node, scores) if transform_name(node) == "PROBIT" else scores
        return [label, both(node, scores, scores) if two else scores]
    if transform_name(node) == "LOGISTIC":
        return [label, transformed(node, both(node, negative(node, scores), scores))]
    return [label, both(node, complement(node, scores), scores)]


class _Kernel(NamedTuple):
    """The function of two vectors that a support vector machine is about."""

    name: str
    gamma: float
    offset: float
    degree: float

    @staticmethod
    def of(node: Node, linear: bool) -> _Kernel:
        parameters = _floats(node, "kernel_params")
        if parameters.size not in (0, 3):
            what = f"kernel_params has {parameters.size} values, expected gamma, coef0 and degree"
            node.fail("invalid-attribute", what)
        name = "LINEAR" if linear else node.attr("kernel_type", "LINEAR")
        node.require_choice("kernel_type", name, ("LINEAR", "POLY", "RBF", "SIGMOID"))
        return _Kernel(name, *(parameters.tolist() if parameters.size else (0.0, 0.0, 0.0)))

    def apply(self, node: Node, x: SSAValue, vectors: Array) -> SSAValue:
        """[rows, vectors]: the kernel of each row and each vector."""
        product = node.emit(MatMulOp, x, node.constant(np.ascontiguousarray(vectors.T)))

        def times(value: SSAValue, factor: float) -> SSAValue:
            return node.emit(MulOp, value, scalar(node, factor, value))

        match self.name:
            case "LINEAR":
                return product
            case "RBF":
                # |x - v|^2 = |x|^2 - 2 x v + |v|^2, which rounding may make negative
                squares = node.emit(ReduceOp, node.emit(MulOp, x, x), kind="sum", axes=[1], keepdims=True)
                norms = node.constant((vectors.astype(np.float64) ** 2).sum(1).astype(np.float32))
                distance = node.emit(AddOp, node.emit(SubOp, squares, times(product, 2)), norms)
                distance = node.emit(MaxOp, distance, scalar(node, 0, distance))
                return node.emit(ExpOp, times(distance, -self.gamma))
            case _:
                scaled = node.emit(AddOp, times(product, self.gamma), scalar(node, self.offset, product))
                if self.name == "SIGMOID":
                    return node.emit(TanhOp, scaled)
                return node.emit(PowOp, scaled, scalar(node, self.degree, scaled))


@onnx_op("SVMRegressor", domain=_DOMAIN)
def svm_regressor(node: Node) -> SSAValue:
    x, vectors = real_rows(node), node.attr("n_supports", 0)
    features = shape_of(x)[1]
    offset = _floats(node, "rho")
    if not offset.size:
        node.fail("missing-attribute", "it has no rho")
    if vectors > 0:
        x = _Kernel.of(node, False).apply(
            node, x, _floats(node, "support_vectors", vectors * features).reshape(vectors, -1)
        )
    score = _linear(node, x, _floats(node, "coefficients", shape_of(x)[1]).reshape(1, -1), offset[:1])
    if not node.attr("one_class", 0):
        return score
    above = node.emit(CompareOp, score, scalar(node, 0, score), how="gt")
    return node.emit(WhereOp, above, scalar(node, 1, score), scalar(node, -1, score))


@onnx_op("SVMClassifier", domain=_DOMAIN)
def svm_classifier(node: Node) -> list[SSAValue]:
    x = real_rows(node)
    known = labels(node, "classlabels_ints", "classlabels_strings")
    per_class = np.array(node.attr("vectors_per_class", []), np.int64)
    if len(known) < 2:
        node.fail("invalid-attribute", f"it has {len(known)} class labels", fix="it needs two or more")
    if not per_class.sum():
        return _linear_svm(node, x, known)
    if len(per_class) != len(known) or (per_class < 0).any():
        node.fail("invalid-attribute", f"vectors_per_class has {len(per_class)} values for {len(known)} classes")
    return _pairwise_svm(node, x, known, per_class)


def _linear_svm(node: Node, x: SSAValue, known: list[int]) -> list[SSAValue]:
    """One plane for each class."""
    count, offset = len(known), _floats(node, "rho")
    if not offset.size:
        node.fail("missing-attribute", "it has no rho")
    coefficients = _floats(node, "coefficients", count * shape_of(x)[1])
    scores = _linear(node, x, coefficients.reshape(count, -1), np.repeat(offset[:1], count))
    if count > 2:
        return [label_of(node, best(node, scores), known), transformed(node, scores)]
    top = node.emit(ReduceOp, scores, kind="max", axes=[1], keepdims=True)
    positive = bool((coefficients >= 0).all())
    limit = scalar(node, 0.5 if positive else 0, top)
    above = node.emit(ReduceOp, node.emit(CompareOp, top, limit, how="ge" if positive else "gt"), kind="max", axes=[1])
    classes = node.emit(WhereOp, above, node.constant(1, np.int64), best(node, scores))
    return [label_of(node, classes, known), transformed(node, scores)]


def _pairwise_svm(node: Node, x: SSAValue, known: list[int], per_class: Array) -> list[SSAValue]:
    """Each pair of classes has a machine of its own, on the support vectors of both. (LIBSVM's one-against-one.)"""
    count, vectors = len(known), int(per_class.sum())
    support = _floats(node, "support_vectors", vectors * shape_of(x)[1]).reshape(vectors, -1)
    coefficients = _floats(node, "coefficients", (count - 1) * vectors).reshape(count - 1, vectors)
    pairs = list(combinations(range(count), 2))
    offset = _floats(node, "rho", len(pairs))
    starts = np.cumsum([0, *per_class])
    matrix = node.filled([len(pairs), vectors], 0, np.float32)
    for row, (i, j) in enumerate(pairs):
        matrix[row, starts[i] : starts[i + 1]] = coefficients[j - 1, starts[i] : starts[i + 1]]
        matrix[row, starts[j] : starts[j + 1]] = coefficients[i, starts[j] : starts[j + 1]]
    scores = _linear(node, _Kernel.of(node, False).apply(node, x, support), matrix, offset)
    first_wins = node.emit(CastOp, node.emit(CompareOp, scores, scalar(node, 0, scores), how="gt"), to=i64)
    second_wins = node.emit(SubOp, node.constant(1, np.int64), first_wins)
    wins = [node.filled([len(pairs), count], 0, np.int64) for _ in range(2)]
    for row, pair in enumerate(pairs):
        for place, each in enumerate(pair):
            wins[place][row, each] = 1
    votes = [
        node.emit(MatMulOp, won, node.constant(each)) for won, each in zip((first_wins, second_wins), wins, strict=True)
    ]
    winner = best(node, node.emit(AddOp, *votes))
    if len(node.attr("prob_a", [])):
        return [label_of(node, winner, known), transformed(node, _probabilities(node, scores, len(pairs)))]
    if count > 2:
        return [label_of(node, winner, known), transformed(node, scores)]
    label = label_of(node, winner, known)
    if transform_name(node) == "PROBIT":
        score = transformed(node, column(node, scores, 0))
        return [label, both(node, score, score)]
    name = transform_name(node)
    if name == "LOGISTIC":
        return [label, transformed(node, both(node, negative(node, scores), scores))]
    other = negative(node, scores) if name == "NONE" else complement(node, scores)
    return [label, both(node, other, scores)]


def _probabilities(node: Node, scores: SSAValue, pairs: int) -> SSAValue:
    """Those of classes from those of pairs, which are sigmoids of scores. (J. Platt: Probabilistic Outputs for Support
    Vector Machines, 1999.)"""
    slope, shift = _floats(node, "prob_a", pairs), _floats(node, "prob_b", pairs)
    scaled = node.emit(AddOp, node.emit(MulOp, scores, node.constant(-slope)), node.constant(-shift))
    likely = node.emit(SigmoidOp, scaled)
    likely = node.emit(MinOp, node.emit(MaxOp, likely, scalar(node, 1e-7, likely)), scalar(node, 1 - 1e-7, likely))
    return node.emit(ProbabilityCouplingOp, likely)
