"""Activations and normalisations, some with the additions before them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.importers.normalization import rms, statistics
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op

DOMAIN = "com.microsoft"


def _gelu(x: Tensor) -> Tensor:
    inner = (x * math.sqrt(0.5)).emit("erf") + 1
    return x * 0.5 * inner


def _fast_gelu(x: Tensor) -> Tensor:
    """The approximation by tanh. (D. Hendrycks, K. Gimpel: Gaussian Error Linear Units, arXiv:1606.08415.)"""
    cubic = x * (x * x * 0.044715 + 1)
    inner = (cubic * math.sqrt(2 / math.pi)).emit("tanh") + 1
    return x * 0.5 * inner


@onnx_op("Gelu", "BiasGelu", "FastGelu", domain=DOMAIN)
def gelu(node: Node) -> Tensor:
    x = node.tensor(0).widened()
    if (bias := node.optional_tensor(1)) is not None:
        x += bias.widened()
    function = _fast_gelu if node.op_type == "FastGelu" else _gelu
    return function(x).cast(node.element_type(0))


@onnx_op("QuickGelu", domain=DOMAIN)
def quick_gelu(node: Node) -> Tensor:
    x = node.tensor(0).widened()
    return (x * (x * node.attr("alpha", 1.702)).emit("sigmoid")).cast(node.element_type(0))


# Normalisations


def _rms(x: Tensor, scale: Tensor, axes: Sequence[int], epsilon: float) -> tuple[Tensor, Tensor]:
    """x over the root of its mean square, scaled; and one over that root."""
    wide = x.widened()
    root = rms(wide, axes, epsilon)
    result = wide / root * scale.cast(wide.kind)
    return result.cast(x.kind), 1 / root


@onnx_op("SimplifiedLayerNormalization", everywhere=True)
@onnx_op("SimplifiedLayerNormalization", domain=DOMAIN)
def simplified_layer_normalization(node: Node) -> list[Tensor]:
    """In models it is an operator of the ONNX domain, which does not have it."""
    rank = len(node.shape(0))
    axes = range(normalize_axis(node.attr("axis", -1), rank), rank)
    return list(_rms(node.tensor(0), node.tensor(1), axes, node.attr("epsilon", 1e-5)))[: len(node.outputs)]


def _summed(node: Node, *positions: int) -> Tensor:
    """The sum of those inputs that are there, of which the second may have fewer axes; of narrow floats in f32."""
    given = [node.tensor(position).widened() for position in positions if node.optional(position) is not None]
    total = reduce(Tensor.__add__, given)
    if total.shape != node.shape(0):
        what = f"input 1 of shape {list(node.shape(1))} does not broadcast to {list(node.shape(0))}"
        node.fail("invalid-shape", what)
    return total


@onnx_op("SkipLayerNormalization", domain=DOMAIN)
def skip_layer_normalization(node: Node) -> list[Tensor | None]:
    total = _summed(node, 0, 1, 4)
    epsilon, axes, kind = float(node.attr("epsilon", 1e-12)), [len(node.shape(0)) - 1], node.element_type(0)
    result = total.emit("normalize", axes=axes, epsilon=epsilon) * node.tensor(2).widened()
    if (beta := node.optional_tensor(3)) is not None:
        result += beta.widened()
    known = statistics(total, axes, epsilon) if any(node.outputs[1:3]) else [None, None]
    return [result.cast(kind), *known, total.cast(kind)][: len(node.outputs)]


@onnx_op("SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_simplified_layer_normalization(node: Node) -> Sequence[Tensor | None]:
    total = _summed(node, 0, 1, 3)
    axes, kind = [len(node.shape(0)) - 1], node.element_type(0)
    result, root = _rms(total, node.tensor(2), axes, node.attr("epsilon", 1e-12))
    return [result.cast(kind), None, root, total.cast(kind)][: len(node.outputs)]


@onnx_op("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_normalization(node: Node) -> Sequence[Tensor | SSAValue]:
    return _embedded(node, [node.optional_tensor(place) for place in range(2, 7)], node.optional(8))


@onnx_op("QEmbedLayerNormalization", domain=DOMAIN)
def quantized_embed_layer_normalization(node: Node) -> Sequence[Tensor | SSAValue]:
    """Tables, scale and bias are quantised, each at a scale and a zero point of its own."""
    tables = [
        None if table is None else table.emit("dequantize", node.input(place + 6), node.optional(place + 11), to=f32)
        for place in range(2, 7)
        for table in [node.optional_tensor(place)]
    ]
    return _embedded(node, tables, None)


def _embedded(node: Node, tables: Sequence[Tensor | None], places: SSAValue | None) -> Sequence[Tensor | SSAValue]:
    """Embeddings of tokens, positions and segments, added and normalised; how many tokens of each sequence count."""
    tokens, positions, segments, gamma, beta = tables
    batch, length = node.shape(0)
    if tokens is None or positions is None or gamma is None or beta is None:
        what = "a table of tokens or positions, a scale or a bias is missing"
        node.fail("missing-input", what, "the operator requires them")
    total = tokens.emit("gather", node.input(0), axis=0)
    if places is None:
        total += cut(positions, {0: (0, 1, length)})
    else:
        total += positions.emit("gather", places, axis=0)
    if (kinds := node.optional(1)) is not None and segments is not None:
        total += segments.emit("gather", kinds, axis=0)
    normal = total.emit("normalize", axes=[2], epsilon=float(node.attr("epsilon", 1e-12)))
    result = normal * gamma + beta
    if (mask := node.optional_tensor(7)) is None:
        counts = node.constant(node.filled([batch], 0, np.int32))
    else:
        counts = mask.cast(i32).reduce("sum", [1], keepdims=False).reshape([batch])
    return [result, counts, total][: len(node.outputs)]
