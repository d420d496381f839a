"""Random numbers. A node without a seed has one that follows from its name: each run of a model gives the same."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, f32, i64
from xdsl.ir import Attribute

from aotc.dialects.dtypes import is_float
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op


def random(
    node: Node,
    shape: Sequence[int],
    kind: Attribute,
    how: str = "uniform",
    low: float = 0.0,
    high: float = 1.0,
) -> Tensor:
    """Random floats from the seed of a node."""
    options = {"distribution": how, "low": float(low), "high": float(high), "seed": seed_of(node)}
    return Tensor(node, node.emit("random", **options, shape=list(shape), to=kind))


def seed_of(node: Node) -> int:
    """The attribute `seed`, by its bits, or a checksum of the node's name and output; 63 bits."""
    given = node.attr("seed")
    if given is None:
        return zlib.crc32(f"{node.name}/{node.outputs[0]}".encode("utf-8", "replace"))
    bits = struct.pack("<d", float(given))
    return int.from_bytes(bits, "little") & (2**63 - 1)


def _kind(node: Node, default: Attribute) -> Attribute:
    kind = default if node.attr("dtype") is None else node.type_attr("dtype")
    if not is_float(kind):
        node.fail("invalid-type", f"random numbers of type {kind}", "they are floats", "give dtype")
    return kind


def _drawn(node: Node, how: str, first: float, second: float) -> Tensor:
    """Random numbers of a given shape, or of that of the first input."""
    if node.op_type.endswith("Like"):
        return random(node, node.shape(0), _kind(node, node.element_type(0)), how, first, second)
    return random(node, node.attr("shape"), _kind(node, f32), how, first, second)


@onnx_op("RandomUniform", "RandomUniformLike")
def random_uniform(node: Node) -> Tensor:
    return _drawn(node, "uniform", node.attr("low", 0.0), node.attr("high", 1.0))


@onnx_op("RandomNormal", "RandomNormalLike")
def random_normal(node: Node) -> Tensor:
    return _drawn(node, "normal", node.attr("mean", 0.0), node.attr("scale", 1.0))


@onnx_op("Bernoulli")
def bernoulli(node: Node) -> Tensor:
    x = node.tensor(0)
    drawn = random(node, x.shape, x.kind)
    return (drawn < x).cast(x.kind if node.attr("dtype") is None else node.type_attr("dtype"))


@onnx_op("Multinomial")
def multinomial(node: Node) -> Tensor:
    """The first class up to which the probabilities add up to more than a uniform number."""
    x, samples = node.tensor(0), node.attr("sample_size", 1)
    if len(x.shape) != 2 or samples < 1:
        what = f"the input {list(x.shape)} must be a matrix, and sample_size {samples} positive"
        node.fail("invalid-shape", what)
    batch, classes = x.shape
    sums = x.emit("softmax", axes=[1]).emit("cumulative", kind="sum", axis=1)
    drawn = random(node, [batch, samples, 1], x.kind)
    below = sums.reshape([batch, 1, classes]) <= drawn
    kind = IntegerType(32) if node.attr("dtype") is None else node.type_attr("dtype")
    return below.cast(i64).reduce("sum", [2], keepdims=False).at_most(classes - 1).cast(kind)
