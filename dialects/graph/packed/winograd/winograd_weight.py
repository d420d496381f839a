"""The weight of a convolution by Winograd's minimal filtering, transformed and in the order of its use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import product
from operator import and_
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, TensorType, f64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer, linear_combinations
from aotc.dialects.dtypes import compute_type, is_float, numpy_dtype
from aotc.dialects.graph.interfaces import Array, LoopNestOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.packed.winograd.winograd_axes import Axis, along, axes_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.mathematics.linear_combinations import terms


@irdl_op_definition
class WinogradWeightOp(LoopNestOp):
    """A convolution's weight [M, C, taps..], transformed and in the order in which `winograd_conv` streams it.

    The result is [panels, n.., S * C, width]: n = output_tile + 2 products along each of the `tiled_axes`,
    as one axis; S segments of the window, each with all channels; a panel is `width` output channels,
    missing ones zero. Computed in f64, then rounded to the type that sums are computed in: a weight in f16 or bf16
    becomes f32, for of what its transform would lose the result's would make ten times as much.
    """

    name = "graph.winograd_weight"
    ORDERS_WEIGHTS: ClassVar[bool] = True
    weight = operand_def(TensorType)
    output_tile = prop_def(IntegerAttr[I64])
    tiled_axes = opt_prop_def(DenseArrayBase)
    """Numbers of spatial axes, of the last two. Absent: all."""
    width = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """How the taps along each axis are transformed; what is not about the weight is arbitrary."""
        windows = [SlidingWindow(taps, taps, 1, 1, 0, 0) for taps in shape_of(self.weight)[2:]]
        tiled = None if self.tiled_axes is None else self.ints("tiled_axes")
        return axes_of(windows, tiled, self.output_tile.value.data)

    def infer_types(self) -> Sequence[TensorType]:
        shape, width = shape_of(self.weight), self.width.value.data
        if len(shape) < 3 or 0 in shape[2:]:
            raise ShapeError(f"the weight must be [M, C, taps..], found {list(shape)}")
        if width < 1:
            raise ShapeError(f"the width must be positive, found {width}")
        if not is_float(element_type_of(self.weight)):
            raise ShapeError(f"the weight must be of floats, found {element_type_of(self.weight)}")
        axes = self.axes
        products = math.prod(axis.transforms.inputs for axis in axes)
        steps = math.prod(axis.segments for axis in axes) * shape[1]
        kind = compute_type(element_type_of(self.weight))
        return [TensorType(kind, [ceil_div(shape[0], width), products, steps, width])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        (weight,), width = operands, self.width.value.data
        result = np.zeros(shape_of(self.result), numpy_dtype(element_type_of(self.result)))
        for panel, place in enumerate(result):  # one at a time: all in f64 would be many times as large as a cache
            part = weight[panel * width : (panel + 1) * width]
            for number, axis in enumerate(self.axes):
                part = axis.transform_weight(part, 2 + 2 * number)
            # [width, C, segments, n, ..] -> [n.., segments.., C, width]
            order = *range(3, part.ndim, 2), *range(2, part.ndim, 2), 1, 0
            place[:, :, : len(part)] = part.transpose(order).reshape(*place.shape[:2], -1)
        return [result]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        panels, _, _, width = shape_of(self.result)
        outputs, channels = shape_of(self.weight)[:2]
        axes, kind, total = self.axes, element_type_of(self.result), linear_combinations(b)
        segments = [axis.segments for axis in axes]

        def body(index: list[Scalar]) -> None:
            panel, *segment, channel, column = index
            output = panel * width + column

            def tap(offsets: Sequence[int]) -> Scalar:
                at = [part * axis.taps + offset for part, axis, offset in zip(segment, axes, offsets, strict=True)]
                tests = [
                    b.compare("lt", place, axis.window.size)
                    for place, axis in zip(at, axes, strict=True)
                    if axis.window.size % axis.taps
                ]

                def read() -> list[Scalar]:
                    return [b.cast(reads[0]([output, channel, *at]), f64)]

                return b.when(reduce(and_, tests), read, lambda: [b.const(0, f64)])[0] if tests else read()[0]

            def read() -> list[Scalar]:
                taps = np.empty([axis.taps for axis in axes], object)
                for offsets in product(*(range(axis.taps) for axis in axes)):
                    taps[offsets] = tap(offsets)
                for number, axis in enumerate(axes):
                    matrix = axis.weight_matrix.tolist()
                    taps = along(taps, number, lambda line, matrix=matrix: [total(terms(row, line)) for row in matrix])
                return [b.cast(value, kind) for value in taps.reshape(-1)]

            zero, count = b.const(0, kind), math.prod(axis.transforms.inputs for axis in axes)
            values = b.when(b.compare("lt", output, outputs), read, lambda: [zero] * count)
            step = b.index(0)
            for part, size in zip(segment, segments, strict=True):
                step = step * size + part
            for number, value in enumerate(values):
                writes[0]([panel, b.index(number), step * channels + channel, column], value)

        b.parallel_for([panels, *segments, channels, width], body)
