"""Operators of com.microsoft that are what ONNX's operators of the same name were when it got them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.composition import reshape
from aotc.frontend.onnx.importers.indexing import gather_nd
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.movement import pad, trilu
from aotc.frontend.onnx.importers.shape import range_
from aotc.frontend.onnx.importers.vision.sampling import grid_sample
from aotc.frontend.onnx.registry import Importer, Node, onnx_op

_SAME: dict[str, tuple[Importer, int]] = {
    "GatherND": (gather_nd, 12),
    "GridSample": (grid_sample, 16),
    "Pad": (pad, 11),
    "Trilu": (trilu, 14),
}
"""The importer, and the version of the ONNX operators that the node is one of."""


@onnx_op(*_SAME, domain=DOMAIN)
def same(node: Node) -> SSAValue | Sequence[SSAValue | None]:
    importer, version = _SAME[node.op_type]
    return importer(node.in_version(version))


@onnx_op("Range", domain=DOMAIN)
def range_by_one(node: Node) -> SSAValue | Sequence[SSAValue | None]:
    """The delta may be left out, and all three may be vectors of one element."""
    inputs = [reshape(node, node.input(place), []) for place in range(2)]
    delta = node.optional(2)
    one = node.constant(np.ones((), numpy_dtype(node.element_type(0))))
    return range_(node.in_version(11, [*inputs, one if delta is None else reshape(node, delta, [])]))


@onnx_op("ExpandDims", domain=DOMAIN)
def expand_dims(node: Node) -> SSAValue:
    shape = [*node.shape(0)]
    if math.prod(node.shape(1)) != 1:
        node.fail("invalid-shape", f"the axis is one number, found {list(node.shape(1))}")
    axis = int(node.constant_input(1, "the axis").reshape(()))
    shape.insert(normalize_axis(axis, len(shape) + 1), 1)
    return reshape(node, node.input(0), shape)
