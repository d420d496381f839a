"""Activations and normalisations, some with the additions before them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from aotc.dialects.graph.conversion import DequantizeOp
from aotc.dialects.graph.elementwise import AddOp, DivOp, MulOp
from aotc.dialects.graph.functions import ErfOp, SigmoidOp, SqrtOp, TanhOp
from aotc.dialects.graph.indexing import GatherOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.normalization import NormalizeOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.composition import cast, reshape, scalar, widen
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.importers.normalization import statistics
from aotc.frontend.onnx.registry import Node, onnx_op

DOMAIN = "com.microsoft"


def _times(node: Node, x: SSAValue, factor: float) -> SSAValue:
    return node.emit(MulOp, x, scalar(node, factor, x))


def _gelu(node: Node, x: SSAValue) -> SSAValue:
    inner = node.emit(AddOp, node.emit(ErfOp, _times(node, x, math.sqrt(0.5))), scalar(node, 1, x))
    return node.emit(MulOp, _times(node, x, 0.5), inner)


def _fast_gelu(node: Node, x: SSAValue) -> SSAValue:
    """The approximation by tanh. (D. Hendrycks, K. Gimpel: Gaussian Error Linear Units, arXiv:1606.08415.)"""
    square = node.emit(MulOp, x, x)
    cubic = node.emit(MulOp, x, node.emit(AddOp, _times(node, square, 0.044715), scalar(node, 1, x)))
    inner = node.emit(AddOp, node.emit(TanhOp, _times(node, cubic, math.sqrt(2 / math.pi))), scalar(node, 1, x))
    return node.emit(MulOp, _times(node, x, 0.5), inner)


@onnx_op("Gelu", "BiasGelu", "FastGelu", domain=DOMAIN)
def gelu(node: Node) -> SSAValue:
    x = widen(node, node.input(0))
    if (bias := node.optional(1)) is not None:
        x = node.emit(AddOp, x, widen(node, bias))
    function = _fast_gelu if node.op_type == "FastGelu" else _gelu
    return cast(node, function(node, x), node.element_type(0))


@onnx_op("QuickGelu", domain=DOMAIN)
def quick_gelu(node: Node) -> SSAValue:
    x = widen(node, node.input(0))
    gate = node.emit(SigmoidOp, _times(node, x, node.attr("alpha", 1.702)))
    return cast(node, node.emit(MulOp, x, gate), node.element_type(0))


# Normalisations


def _rms(node: Node, x: SSAValue, scale: SSAValue, axes: Sequence[int], epsilon: float) -> tuple[SSAValue, SSAValue]:
    """x over the root of its mean square, scaled; and one over that root."""
    wide = widen(node, x)
    squares = node.emit(ReduceOp, node.emit(MulOp, wide, wide), kind="mean", axes=list(axes), keepdims=True)
    root = node.emit(SqrtOp, node.emit(AddOp, squares, scalar(node, epsilon, wide)))
    result = node.emit(MulOp, node.emit(DivOp, wide, root), cast(node, scale, element_type_of(wide)))
    return cast(node, result, element_type_of(x)), node.emit(DivOp, scalar(node, 1, wide), root)


@onnx_op("SimplifiedLayerNormalization", everywhere=True)
@onnx_op("SimplifiedLayerNormalization", domain=DOMAIN)
def simplified_layer_normalization(node: Node) -> list[SSAValue]:
    """In models it is an operator of the ONNX domain, which does not have it."""
    rank = len(node.shape(0))
    axes = range(normalize_axis(node.attr("axis", -1), rank), rank)
    return list(_rms(node, node.input(0), node.input(1), axes, float(node.attr("epsilon", 1e-5))))[: len(node.outputs)]


def _summed(node: Node, *positions: int) -> SSAValue:
    """The sum of those inputs that are there, of which the second may have fewer axes; of narrow floats in f32."""
    given = [widen(node, value) for position in positions if (value := node.optional(position)) is not None]
    total = given[0]
    for value in given[1:]:
        total = node.emit(AddOp, total, value)
    if shape_of(total) != node.shape(0):
        what = f"input 1 of shape {list(node.shape(1))} does not broadcast to {list(node.shape(0))}"
        node.fail("invalid-shape", what)
    return total


@onnx_op("SkipLayerNormalization", domain=DOMAIN)
def skip_layer_normalization(node: Node) -> list[SSAValue | None]:
    total = _summed(node, 0, 1, 4)
    epsilon, axes, kind = float(node.attr("epsilon", 1e-12)), [len(node.shape(0)) - 1], node.element_type(0)
    normal = node.emit(NormalizeOp, total, axes=axes, epsilon=epsilon)
    result = node.emit(MulOp, normal, widen(node, node.input(2)))
    if (beta := node.optional(3)) is not None:
        result = node.emit(AddOp, result, widen(node, beta))
    known = statistics(node, total, axes, epsilon) if any(node.outputs[1:3]) else [None, None]
    return [cast(node, result, kind), *known, cast(node, total, kind)][: len(node.outputs)]


@onnx_op("SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_simplified_layer_normalization(node: Node) -> Sequence[SSAValue | None]:
    total = _summed(node, 0, 1, 3)
    axes, kind = [len(node.shape(0)) - 1], node.element_type(0)
    result, root = _rms(node, total, node.input(2), axes, float(node.attr("epsilon", 1e-12)))
    return [cast(node, result, kind), None, root, cast(node, total, kind)][: len(node.outputs)]


@onnx_op("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_normalization(node: Node) -> Sequence[SSAValue | None]:
    tables = [node.optional(place) for place in (2, 3, 4)]
    return _embedded(node, tables, node.input(5), node.input(6), node.optional(8))


@onnx_op("QEmbedLayerNormalization", domain=DOMAIN)
def quantized_embed_layer_normalization(node: Node) -> Sequence[SSAValue | None]:
    """Tables, scale and bias are quantised, each at a scale and a zero point of its own."""
    *tables, gamma, beta = (
        None
        if (table := node.optional(place)) is None
        else node.emit(DequantizeOp, table, node.input(place + 6), node.optional(place + 11), to=f32)
        for place in range(2, 7)
    )
    return _embedded(node, tables, gamma, beta, None)


def _embedded(
    node: Node,
    tables: Sequence[SSAValue | None],
    gamma: SSAValue | None,
    beta: SSAValue | None,
    places: SSAValue | None,
) -> Sequence[SSAValue | None]:
    """Embeddings of words, positions and segments, added and normalised; how many words of each sequence count."""
    words, positions, segments = tables
    batch, length = node.shape(0)
    if words is None or positions is None or gamma is None or beta is None:
        what = "a table of words or positions, a scale or a bias is missing"
        node.fail("missing-input", what, "the operator requires them")
    total = node.emit(GatherOp, words, node.input(0), axis=0)
    if places is None:
        of_places = cut(node, positions, {0: (0, 1, length)})
    else:
        of_places = node.emit(GatherOp, positions, places, axis=0)
    total = node.emit(AddOp, total, of_places)
    if (kinds := node.optional(1)) is not None and segments is not None:
        total = node.emit(AddOp, total, node.emit(GatherOp, segments, kinds, axis=0))
    normal = node.emit(NormalizeOp, total, axes=[2], epsilon=float(node.attr("epsilon", 1e-12)))
    result = node.emit(AddOp, node.emit(MulOp, normal, gamma), beta)
    if (kept := node.optional(7)) is None:
        counts = node.constant(node.filled([batch], 0, np.int32))
    else:
        counts = reshape(node, node.emit(ReduceOp, cast(node, kept, i32), kind="sum", axes=[1]), [batch])
    return [result, counts, total][: len(node.outputs)]
