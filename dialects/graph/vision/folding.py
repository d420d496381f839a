"""Sums of windows that overlap: what puts together a picture from the columns of its windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.elementwise import Domain
from aotc.dialects.graph.interfaces import ParallelOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.shapes import linearize
from aotc.dialects.graph.windows.transposed import TransposedWindow


@irdl_op_definition
class FoldOp(ParallelOp):
    """Columns [N, C * taps, windows] added up where they come from: result [N, C, image...].

    Windows of shape `kernel` lie in the padded image by `strides` and `dilations`, row-major, as do the taps of each.
    """

    name = "graph.fold"
    x = operand_def(TensorType)
    image = prop_def(DenseArrayBase.constr(i64))
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))

    def windows(self) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        pads, axes = self.ints("pads"), len(self.ints("image"))
        each = zip(self.ints("image"), self.ints("kernel"), self.ints("strides"), self.ints("dilations"), strict=True)
        return tuple(
            (extent + pads[i] + pads[axes + i] - (size - 1) * dilation - 1) // stride + 1
            for i, (extent, size, stride, dilation) in enumerate(each)
        )

    def infer_types(self) -> Sequence[TensorType]:
        x, axes, kernel = shape_of(self.x), len(self.ints("image")), self.ints("kernel")
        lists = [kernel, self.ints("strides"), self.ints("dilations")]
        if not axes or any(len(each) != axes or min(each) < 1 for each in lists) or len(self.ints("pads")) != 2 * axes:
            raise ShapeError("kernel, strides, dilations and pads must have positive numbers for each axis")
        taps, windows = math.prod(kernel), self.windows()
        Domain.NUMBER.require(element_type_of(self.x), "x")
        if len(x) != 3 or x[1] % taps or min(windows) < 0 or x[2] != math.prod(windows):
            raise ShapeError(f"x must be [N, C * {taps}, {math.prod(windows)}], found {list(x)}")
        return [TensorType(element_type_of(self.x), [x[0], x[1] // taps, *self.ints("image")])]

    def operations(self) -> int:
        return math.prod(shape_of(self.x))

    def axes(self) -> list[TransposedWindow]:
        """How windows lie along each axis of the image."""
        image, pads = self.ints("image"), self.ints("pads")
        names = [self.ints(name) for name in ("kernel", "strides", "dilations")]
        each = zip(self.windows(), *names, pads[: len(image)], pads[len(image) :], strict=True)
        whole = [TransposedWindow(*axis, more=0) for axis in each]
        return [replace(each, more=extent - each.positions) for each, extent in zip(whole, image, strict=True)]

    def source(
        self, b: Builder, index: Sequence[Scalar], taps: Sequence[Scalar], windows: Sequence[Scalar]
    ) -> list[Scalar]:
        """Where in x the element is that a tap of a window adds at an index of the result."""
        kernel = self.ints("kernel")
        row = index[1] * math.prod(kernel) + linearize(b, taps, kernel)
        return [index[0], row, linearize(b, windows, self.windows())]

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        meetings = [axis.meeting(b, place) for axis, place in zip(self.axes(), index[2:], strict=True)]

        def add(steps: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            pairs = list(zip(meetings, steps, strict=True))
            taps, windows = [each.tap(step) for each, step in pairs], [each.source(step) for each, step in pairs]
            return [carried[0] + reads[0](self.source(b, index, taps, windows))]

        zero = b.const(0, compute_type(element_type_of(self.x)))
        return b.reduce([(each.low, each.high) for each in meetings], [zero], add)[0]
