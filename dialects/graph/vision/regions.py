"""Regions of a picture, each pooled to one size (Mask R-CNN, arXiv:1703.06870; Fast R-CNN, arXiv:1504.08083)."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import ParallelOp, ShapeError, common_element_type, element_type_of, shape_of
from aotc.dialects.properties import float_prop, int_prop, opt_bool_prop


class RegionsOp(ParallelOp, ABC):
    """x [N, C, H, W] pooled in `size` bins in each of the regions [R, columns] (`rois`): result [R, C, *size].

    Coordinates are multiplied by `scale`. A batch outside of x is taken as the nearest.
    """

    size = prop_def(DenseArrayBase.constr(i64))
    scale = float_prop()
    COLUMNS: ClassVar[int]

    def infer_types(self) -> Sequence[TensorType]:
        at, size = expect(self, x="N C+ H+ W+ float", rois=f"R {self.COLUMNS}"), self.ints("size")
        if len(size) != 2 or min(size) < 1:
            raise ShapeError(f"the size must be two extents, found {list(size)}")
        if at["N"] == 0 and at["R"]:
            raise ShapeError(f"{list(shape_of(self.operands[0]))} has no picture")
        return [TensorType(common_element_type(self.operands[0], self.operands[1]), [at["R"], at["C"], *size])]

    def batch(self, b: Builder, given: Scalar) -> Scalar:
        """A picture's index as one inside x."""
        count = shape_of(self.operands[0])[0]
        index = b.cast(given, i64)
        b.guard(lambda: b.compare("ge", index, 0) & b.compare("lt", index, count))
        return b.cast(b.min(b.max(index, 0), count - 1), INDEX)


@irdl_op_definition
class RoiAlignOp(RegionsOp):
    """Regions [R, 4] (x1, y1, x2, y2), each in the picture `batches` [R] says.

    Each bin is the mean, or with `maximum` the greatest, of samples on a regular grid: of `ratio` x `ratio`, or, where
    that is 0, of as many as the bin has elements. A sample is linear between four elements, with `maximum` the greatest
    of the four terms. With `half_pixel` element i lies from i to i + 1, without a region is at least one element wide.
    """

    name = "graph.roi_align"
    x = operand_def(TensorType)
    rois = operand_def(TensorType)
    batches = operand_def(TensorType)
    ratio = int_prop()
    half_pixel = opt_bool_prop()
    maximum = opt_bool_prop()
    COLUMNS: ClassVar[int] = 4

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, rois="R 4", batches="R index")
        expect_within(self, "ratio", 0)
        return super().infer_types()

    def operations(self) -> int:
        return 8 * math.prod(shape_of(self.result)) * max(self.ratio, 1) ** 2

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        size, ratio = self.ints("size"), self.ratio
        extents = shape_of(self.x)[2:]
        kind = compute_type(element_type_of(self.x))
        offset = 0.5 if self.half_pixel else 0.0
        region, channel, *bins = index
        batch = self.batch(b, reads[2]([region]))
        starts: list[Scalar] = []
        widths: list[Scalar] = []
        counts: list[Scalar] = []
        for axis in range(2):
            low, high = (reads[1]([region, b.index(place)]) * self.scale - offset for place in (1 - axis, 3 - axis))
            whole = high - low if self.half_pixel else b.max(high - low, 1.0)
            widths.append(whole / size[axis])
            starts.append(low + b.cast(b.cast(bins[axis], i64), kind) * widths[axis])
            count = b.math("ceil", widths[axis]) if not ratio else b.const(ratio, kind)
            # a region of this many elements would be no region of a picture
            counts.append(b.cast(b.min(b.max(count, 0.0), 2.0**20), i64))
        grid = [b.cast(count, INDEX) for count in counts]
        steps = [width / b.cast(count, kind) for width, count in zip(widths, counts, strict=True)]

        def terms(at: list[Scalar]) -> list[Scalar]:
            places = [
                start + (b.cast(b.cast(i, i64), kind) + 0.5) * step
                for start, i, step in zip(starts, at, steps, strict=True)
            ]
            return self._terms(b, lambda where: reads[0]([batch, channel, *where]), places, extents)

        def total(at: list[Scalar]) -> Scalar:
            first, second, third, fourth = terms(at)
            return ((first + second) + third) + fourth

        def greater(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            first, second, third, fourth = terms(at)
            best = b.max(b.max(first, second), b.max(third, fourth))
            return [b.select(b.compare("eq", carried[1], 0), best, b.max(carried[0], best)), b.index(1)]

        samples = [(0, grid[0]), (0, grid[1])]
        if self.maximum:
            return b.reduce(samples, [b.const(0, kind), b.index(0)], greater)[0]
        return b.sum(samples, b.const(0, kind), total) / b.cast(b.max(counts[0] * counts[1], 1), kind)

    def _terms(self, b: Builder, read: Reader, places: Sequence[Scalar], extents: Sequence[int]) -> list[Scalar]:
        """The weighted elements of one sample: top left, top right, bottom left, bottom right."""
        zero = b.const(0, places[0].dtype)
        outside: Scalar | None = None
        taps: list[list[tuple[Scalar, Scalar]]] = []
        for place, extent in zip(places, extents, strict=True):
            beyond = ~(b.compare("ge", place, -1.0) & b.compare("le", place, float(extent)))
            outside = beyond if outside is None else outside | beyond
            inner = b.min(b.max(place, 0.0), extent - 1.0)
            inner = b.select(beyond, zero, inner)
            low = b.cast(inner, i64)
            high = b.min(low + 1, extent - 1)
            part = inner - b.cast(low, place.dtype)
            taps.append([(b.cast(low, INDEX), 1 - part), (b.cast(high, INDEX), part)])
        assert outside is not None

        def values() -> list[Scalar]:
            return [read([y, x]) * (wy * wx) for y, wy in taps[0] for x, wx in taps[1]]

        return b.when(outside, lambda: [zero] * 4, values)


@irdl_op_definition
class RoiMaxOp(RegionsOp):
    """Regions [R, 5] (picture, x1, y1, x2, y2), the ends inclusive, rounded to elements; each bin is its greatest
    element, 0 where it has none."""

    name = "graph.roi_max"
    x = operand_def(TensorType)
    rois = operand_def(TensorType)
    COLUMNS: ClassVar[int] = 5

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        size, extents = self.ints("size"), shape_of(self.x)[2:]
        kind = compute_type(element_type_of(self.x))
        region, channel, *bins = index

        def rounded(column: int) -> Scalar:
            place = reads[1]([region, b.index(column)]) * self.scale
            far = b.min(b.max(place, -(2.0**30)), 2.0**30)
            magnitude = b.math("floor", b.abs(far) + 0.5)  # half away from zero
            return b.select(b.compare("lt", far, 0), -magnitude, magnitude)

        batch = self.batch(b, reads[1]([region, b.index(0)]))
        bounds: list[tuple[Scalar, Scalar]] = []
        for axis, extent in enumerate(extents):
            start, end = rounded(2 - axis), rounded(4 - axis)
            width = b.max(end - start + 1, 1.0) / size[axis]
            place = b.cast(b.cast(bins[axis], i64), kind)
            low = b.math("floor", place * width) + start
            high = b.math("ceil", (place + 1) * width) + start
            low, high = (b.cast(b.cast(b.min(b.max(e, 0.0), float(extent)), i64), INDEX) for e in (low, high))
            bounds.append((low, high))
        some = b.compare("lt", bounds[0][0], bounds[0][1]) & b.compare("lt", bounds[1][0], bounds[1][1])

        def greatest() -> list[Scalar]:
            first = reads[0]([batch, channel, bounds[0][0], bounds[1][0]])
            return b.reduce(bounds, [first], lambda at, best: [b.max(best[0], reads[0]([batch, channel, *at]))])

        return b.when(some, greatest, lambda: [b.const(0, kind)])[0]
