"""Operators of com.microsoft that are what ONNX's operators of the same name were when it got them."""

from __future__ import annotations

import math

from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.importers.indexing import gather_nd
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.movement import pad, trilu
from aotc.frontend.onnx.importers.shape import range_
from aotc.frontend.onnx.importers.vision.sampling import grid_sample
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Importer, Node, Results, onnx_op

_SAME: dict[str, tuple[Importer, int]] = {
    "GatherND": (gather_nd, 12),
    "GridSample": (grid_sample, 16),
    "Pad": (pad, 11),
    "Trilu": (trilu, 14),
}
"""The importer, and the version of the ONNX operators that the node is one of."""


@onnx_op(*_SAME, domain=DOMAIN)
def same(node: Node) -> Results:
    importer, version = _SAME[node.op_type]
    return importer(node.in_version(version))


@onnx_op("Range", domain=DOMAIN)
def range_by_one(node: Node) -> Results:
    """The delta may be left out, and all three may be vectors of one element."""
    start, limit, delta = node.tensor(0).reshape([]), node.tensor(1).reshape([]), node.optional_tensor(2)
    delta = start.scalar(1) if delta is None else delta.reshape([])
    return range_(node.in_version(11, [start.value, limit.value, delta.value]))


@onnx_op("ExpandDims", domain=DOMAIN)
def expand_dims(node: Node) -> Tensor:
    shape = [*node.shape(0)]
    if math.prod(node.shape(1)) != 1:
        node.fail("invalid-shape", f"the axis is one number, found {list(node.shape(1))}")
    axis = int(node.constant_input(1, "the axis").reshape(()))
    shape.insert(normalize_axis(axis, len(shape) + 1), 1)
    return node.tensor(0).reshape(shape)
