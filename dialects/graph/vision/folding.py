"""Sums of windows that overlap: what puts together a picture from the columns of its windows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.elementwise import Domain
from aotc.dialects.graph.interfaces import ParallelOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.shapes import delinearize, linearize


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

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        kernel, windows, pads = self.ints("kernel"), self.windows(), self.ints("pads")
        strides, dilations, taps = self.ints("strides"), self.ints("dilations"), math.prod(kernel)
        batch, channel, *at = index

        def step(inner: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            found: list[Scalar] = []
            valid: Scalar | None = None
            for axis, tap in enumerate(delinearize(b, inner[0], kernel)):
                start = b.cast(at[axis], i64) + pads[axis] - b.cast(tap * dilations[axis], i64)
                window = start / strides[axis]
                fits = b.compare("ge", start, 0) & b.compare("eq", window * strides[axis], start)
                fits = fits & b.compare("lt", window, windows[axis])
                valid = fits if valid is None else valid & fits
                found.append(b.cast(window, INDEX))
            assert valid is not None

            def add() -> list[Scalar]:
                return [carried[0] + reads[0]([batch, channel * taps + inner[0], linearize(b, found, windows)])]

            return b.when(valid, add, lambda: carried)

        return b.reduce([(0, taps)], [b.const(0, compute_type(element_type_of(self.x)))], step)[0]
