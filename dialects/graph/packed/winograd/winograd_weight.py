"""The weight of a convolution by Winograd's minimal filtering, transformed and in the order of its use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def

from aotc.dialects.dtypes import compute_type, numpy_dtype
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import Array, ConstantPackerOp, element_type_of, shape_of
from aotc.dialects.graph.packed.layout import Layout, Mode, blocks
from aotc.dialects.graph.packed.winograd.winograd_axes import Axis, axes_of
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.dialects.properties import int_prop


@irdl_op_definition
class WinogradWeightOp(ConstantPackerOp):
    """A convolution's weight [M, C, taps..], transformed and in the order in which `winograd_conv` streams it.

    The result is [panels, n.., S * C, width]: n = output_tile + 2 products along each of the `tiled_axes`,
    as one axis; S segments of the window, each with all channels; a panel is `width` output channels,
    missing ones zero. Computed in f64, then rounded to the type that sums are computed in: a weight in f16 or bf16
    becomes f32, for of what its transform would lose the result's would make ten times as much.
    """

    name = "graph.winograd_weight"
    weight = operand_def(TensorType)
    output_tile = int_prop()
    tiled_axes = opt_prop_def(DenseArrayBase)
    """Numbers of spatial axes, of the last two. Absent: all."""
    width = int_prop()
    result = result_def(TensorType)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """How the taps along each axis are transformed; what is not about the weight is arbitrary."""
        windows = [SlidingWindow(taps, taps, 1, 1, 0, 0) for taps in shape_of(self.weight)[2:]]
        tiled = None if self.tiled_axes is None else self.ints("tiled_axes")
        return axes_of(windows, tiled, self.output_tile)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, weight="M C taps+ taps..+ float")
        expect_within(self, "width", 1)
        kind = compute_type(element_type_of(self.weight))
        extents = (extent for axis in self.axes for extent in (axis.segments, axis.transforms.inputs))
        return [TensorType(kind, self.layout.packed([*shape_of(self.weight)[:2], *extents]))]

    @property
    def layout(self) -> Layout:
        """Of a transformed weight [M, C, segments and products along each axis..]."""
        (panel, column), rank = blocks(0, self.width), 2 * len(shape_of(self.weight)) - 2
        products, segments = (tuple(map(Mode, range(first, rank, 2))) for first in (3, 2))
        return Layout("winograd_weight", ((panel,), products, (*segments, Mode(1)), (column,)))

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array]:
        (weight,), width = operands, self.width
        result = np.zeros(shape_of(self.result), numpy_dtype(element_type_of(self.result)))
        for panel, place in enumerate(result):  # one at a time: all in f64 would be many times as large as a cache
            part = weight[panel * width : (panel + 1) * width]
            for number, axis in enumerate(self.axes):
                part = axis.transform_weight(part, 2 + 2 * number)
            place[...] = self.layout.pack(part)[0]
        return [result]
