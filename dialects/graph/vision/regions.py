"""Regions of a picture, each pooled to one size (Mask R-CNN, arXiv:1703.06870; Fast R-CNN, arXiv:1504.08083)."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import ShapeError, common_element_type, shape_of
from aotc.dialects.graph.vision.sampling import SampledOp
from aotc.dialects.properties import float_prop, int_prop, opt_bool_prop


class RegionsOp(SampledOp, ABC):
    """x [N, C, H, W] pooled in `size` bins in each of the regions [R, columns] (`rois`): result [R, C, *size].

    Coordinates are multiplied by `scale`. A batch outside of x is taken as the nearest.
    """

    x = operand_def(TensorType)
    rois = operand_def(TensorType)
    size = prop_def(DenseArrayBase.constr(i64))
    scale = float_prop()
    COLUMNS: ClassVar[int]

    def infer_types(self) -> Sequence[TensorType]:
        at = expect(self, x=f"N C+ H+ W+{' L' * self.blocked} float", rois=f"R {self.COLUMNS}")
        size = self.ints("size")
        if len(size) != 2 or min(size) < 1:
            raise ShapeError(f"the size must be two extents, found {list(size)}")
        if at["N"] == 0 and at["R"]:
            raise ShapeError(f"{list(shape_of(self.x))} has no picture")
        kind = common_element_type(self.x, self.rois)
        return [TensorType(kind, [at["R"], at["C"], *size, *shape_of(self.x)[4:]])]

    @property
    def rank(self) -> int:
        return 4

    def batch(self, b: Builder, given: Scalar) -> Scalar:
        """A picture's index as one inside x."""
        count = shape_of(self.x)[0]
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

    def sampled(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader], zero: Scalar) -> Scalar:
        size, ratio, kind = self.ints("size"), self.ratio, zero.dtype
        extents = shape_of(self.x)[2:4]
        offset = 0.5 if self.half_pixel else 0.0
        region, channel, *bins = index[:4]
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
        gaps = [width / b.cast(count, kind) for width, count in zip(widths, counts, strict=True)]

        def terms(at: list[Scalar]) -> list[Scalar]:
            places = [
                start + (b.cast(b.cast(i, i64), kind) + 0.5) * gap
                for start, i, gap in zip(starts, at, gaps, strict=True)
            ]
            return self._terms(b, lambda where: reads[0]([batch, channel, *where, *index[4:]]), places, extents)

        def add(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            first, second, third, fourth = terms(at)
            return [carried[0] + (((first + second) + third) + fourth)]

        def greater(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            first, second, third, fourth = terms(at)
            best = b.max(b.max(first, second), b.max(third, fourth))
            return [b.select(b.compare("eq", carried[1], 0), best, b.max(carried[0], best)), b.index(1)]

        samples = [(0, b.cast(count, INDEX)) for count in counts]
        if self.maximum:
            return b.reduce(samples, [zero, b.index(0)], greater)[0]
        (total,) = b.reduce(samples, [zero], add)
        return total / b.cast(b.max(counts[0] * counts[1], 1), kind)

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
    COLUMNS: ClassVar[int] = 5

    def sampled(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader], zero: Scalar) -> Scalar:
        size, kind = self.ints("size"), zero.dtype

        def rounded(region: Scalar, column: int) -> Scalar:
            place = reads[1]([region, b.index(column)]) * self.scale
            far = b.min(b.max(place, -(2.0**30)), 2.0**30)
            magnitude = b.math("floor", b.abs(far) + 0.5)  # half away from zero
            return b.select(b.compare("lt", far, 0), -magnitude, magnitude)

        region, channel, *bins = index[:4]
        batch = self.batch(b, reads[1]([region, b.index(0)]))
        bounds: list[tuple[Scalar, Scalar]] = []
        for axis, extent in enumerate(shape_of(self.x)[2:4]):
            start, end = rounded(region, 2 - axis), rounded(region, 4 - axis)
            width = b.max(end - start + 1, 1.0) / size[axis]
            place = b.cast(b.cast(bins[axis], i64), kind)
            low = b.math("floor", place * width) + start
            high = b.math("ceil", (place + 1) * width) + start
            low, high = (b.cast(b.cast(b.min(b.max(e, 0.0), float(extent)), i64), INDEX) for e in (low, high))
            bounds.append((low, high))
        some = b.compare("lt", bounds[0][0], bounds[0][1]) & b.compare("lt", bounds[1][0], bounds[1][1])

        def read(at: Sequence[Scalar]) -> Scalar:
            return reads[0]([batch, channel, *at, *index[4:]])

        def greatest() -> list[Scalar]:
            first = read([low for low, _ in bounds])
            return b.reduce(bounds, [first], lambda at, best: [b.max(best[0], read(at))])

        return b.when(some, greatest, lambda: [zero])[0]
