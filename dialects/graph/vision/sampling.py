"""Reading a picture between its elements.

A place along an axis is a float: element i lies at i. What is outside is zero, the nearest element inside (`border`),
or mirrored at the edges (`reflection`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from xdsl.dialects.builtin import StringAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.builder import INDEX, Builder, Reader, Scalar
from aotc.dialects.dtypes import compute_type, is_float
from aotc.dialects.graph.checks import expect, expect_choice
from aotc.dialects.graph.indexing import PlacedOp
from aotc.dialects.graph.interfaces import ParallelOp, ShapeError, common_element_type, element_type_of, shape_of
from aotc.dialects.graph.shapes import all_inside, require_axis
from aotc.dialects.properties import int_prop, opt_bool_prop

MODES = {"nearest": 1, "linear": 2, "cubic": 4}
"""How many elements along an axis a sample is made of."""
PADDINGS = ("zeros", "border", "reflection")
_CUBIC = -0.75
"""The parameter a of cubic convolution (Keys, 1981), as PyTorch has it."""

_FAR = 2.0**30
"""Places are kept within this distance of 0, so that they are integers of 32 bits: farther is outside anyway."""


def place_index(b: Builder, place: Scalar) -> Scalar:
    """A whole number, within `_FAR`, as a signed i64; NaN is far outside."""
    near = b.compare("ge", place, -_FAR) & b.compare("le", place, _FAR)
    return b.cast(b.select(near, place, -_FAR), i64)


def bilinear(b: Builder, read: Reader, places: Sequence[Scalar], shape: Sequence[int]) -> Scalar:
    """The sample of `read` at `places`, linear along each axis, where what is outside of `shape` is zero."""
    taps = [_linear_taps(b, place) for place in places]
    kind = places[0].dtype
    zero = b.const(0, kind)
    return _weighted(b, taps, lambda index: _or(b, zero, lambda at: b.cast(read(at), kind), index, shape))


def _or(b: Builder, zero: Scalar, read: Reader, index: Sequence[Scalar], shape: Sequence[int]) -> Scalar:
    """The element that `read` gives at a place inside of `shape`, and zero outside."""
    valid = all_inside(b, index, shape)
    at = [b.cast(i, INDEX) for i in index]
    return b.when(valid, lambda: [read(at)], lambda: [zero])[0]


Tap = tuple[Scalar, "Scalar | None"]
"""An index along an axis, and the weight of what is there; None is 1."""


def _linear_taps(b: Builder, place: Scalar) -> list[Tap]:
    low = b.math("floor", place)
    first, part = place_index(b, low), place - low
    return [(first, 1 - part), (first + 1, part)]


def _cubic_taps(b: Builder, place: Scalar) -> list[Tap]:
    low = b.math("floor", place)
    first, part = place_index(b, low), place - low

    def near(x: Scalar) -> Scalar:
        return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1

    def far(x: Scalar) -> Scalar:
        return ((_CUBIC * x - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC

    weights = [far(part + 1), near(part), near(1 - part), far(2 - part)]
    return [(first + (offset - 1), weight) for offset, weight in enumerate(weights)]


def _weighted(b: Builder, taps: Sequence[Sequence[Tap]], read: Callable[[list[Scalar]], Scalar]) -> Scalar:
    """The sum over all combinations of taps, one axis after the other, the last innermost."""

    def along(axis: int, index: list[Scalar]) -> Scalar:
        if axis == len(taps):
            return read(index)
        parts = [(along(axis + 1, [*index, place]), weight) for place, weight in taps[axis]]
        scaled = [value if weight is None else value * weight for value, weight in parts]
        return reduce(lambda a, c: a + c, scaled)

    return along(0, [])


class SampledOp(ParallelOp, ABC):
    """Elements of pictures x [N, C, spatial..] at places that all channels have in common: result [.., C, places..].

    Where x is in blocks of channels, with an axis of lanes behind the others, so is the result.
    """

    x = operand_def(TensorType)

    @property
    @abstractmethod
    def rank(self) -> int:
        """Axes of x where it is not in blocks; of the result as well."""

    @property
    def blocked(self) -> bool:
        """Whether x is in blocks of channels."""
        return len(shape_of(self.x)) > self.rank

    @abstractmethod
    def sampled(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader], zero: Scalar) -> Scalar:
        """An element of the result, or several that differ in their channels alone, of which `zero` has as many."""

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        return self.sampled(b, index, reads, b.const(0, compute_type(element_type_of(self.x))))


@irdl_op_definition
class GridSampleOp(SampledOp):
    """x [N, C, D1, .., Dk] sampled at the places of grid [N, o1, .., ok, k]: result [N, C, o1, .., ok].

    The last axis of the grid holds a place along each axis of x, that of the last axis first, from -1 to 1 between the
    edges of x, or, with `align_corners`, between the centres of its first and last elements. `mode` is nearest (ties to
    even), linear or cubic, `padding` zeros, border or reflection.
    """

    name = "graph.grid_sample"
    x = operand_def(TensorType)
    grid = operand_def(TensorType)
    mode = prop_def(StringAttr)
    padding = prop_def(StringAttr)
    align_corners = opt_bool_prop()

    def infer_types(self) -> Sequence[TensorType]:
        x, grid = shape_of(self.x), shape_of(self.grid)
        rank = len(grid) if len(x) == len(grid) + 1 else len(x)
        expect_choice(self, "mode", MODES)
        expect_choice(self, "padding", PADDINGS)
        expect(self, x=f"N C D1 ..{'' if self.mode.data == 'nearest' else ' float'}")
        places = " ".join(f"o{axis}" for axis in range(1, rank - 1))
        expect(self, grid=f"{x[0]} {places} {rank - 2} float")
        if 0 in x[2:] and 0 not in grid:
            raise ShapeError(f"{list(x)} has no element to sample")
        return [TensorType(element_type_of(self.x), [*x[:2], *grid[1:-1], *x[rank:]])]

    def operations(self) -> int:
        taps = MODES[self.mode.data] ** (self.rank - 2)
        return 2 * taps * math.prod(shape_of(self.result))

    @property
    def rank(self) -> int:
        return len(shape_of(self.grid))

    def sampled(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader], zero: Scalar) -> Scalar:
        axes, kind = shape_of(self.x)[2 : self.rank], zero.dtype
        batch, channel, *at = index[: self.rank]
        lane = index[self.rank :]
        places = [
            self._place(b, reads[1]([batch, *at, b.index(len(axes) - 1 - axis)]), extent)
            for axis, extent in enumerate(axes)
        ]
        taps = [self._taps(b, place) for place in places]

        def read(where: list[Scalar]) -> Scalar:
            if self.padding.data == "zeros":
                return _or(b, zero, lambda inside: reads[0]([batch, channel, *inside, *lane]), where, axes)
            found = [self._inside(b, i, extent) for i, extent in zip(where, axes, strict=True)]
            return reads[0]([batch, channel, *found, *lane])

        if is_float(kind):
            taps = [[(i, None if w is None else b.cast(w, kind)) for i, w in each] for each in taps]
        return _weighted(b, taps, read)

    def _place(self, b: Builder, given: Scalar, extent: int) -> Scalar:
        """A place of the grid as one of x, and, but with zeros, one that is not outside."""
        place = (given + 1) * ((extent - 1) / 2) if self.align_corners else ((given + 1) * extent - 1) * 0.5
        if self.mode.data == "nearest":
            place = b.math("roundeven", place)
        low, high = (0.0, extent - 1.0) if self.align_corners else (-0.5, extent - 0.5)
        outside = b.compare("lt", place, low) | b.compare("gt", place, high)
        if self.padding.data == "border" and self.mode.data != "cubic":  # there each element is the nearest inside
            return b.select(outside, b.min(b.max(place, 0.0), extent - 1.0), place)
        if self.padding.data == "reflection":
            return b.select(outside, self._reflected(b, place, low, high), place)
        return place

    def _reflected(self, b: Builder, place: Scalar, low: float, high: float) -> Scalar:
        """A place mirrored at `low` and `high` until it is between them."""
        span = high - low
        if span <= 0:
            return b.const(low, place.dtype)
        period = b.const(2 * span, place.dtype)
        rest = b.rem(b.abs(place - low), period)
        return b.select(b.compare("gt", rest, span), period - rest, rest) + low

    def _taps(self, b: Builder, place: Scalar) -> list[Tap]:
        match self.mode.data:
            case "linear":
                return _linear_taps(b, place)
            case "cubic":
                return _cubic_taps(b, place)
            case _:
                return [(place_index(b, place), None)]

    def _inside(self, b: Builder, index: Scalar, extent: int) -> Scalar:
        """An index of a tap as one inside x: the nearest, or mirrored at the edge beyond which it is."""
        if self.padding.data == "reflection":
            edge = 0 if self.align_corners else 1
            below = -index - edge
            above = (2 * extent - 2 + edge) - index
            index = b.select(b.compare("lt", index, 0), below, index)
            index = b.select(b.compare("ge", index, extent), above, index)
        return b.cast(b.min(b.max(index, 0), extent - 1), INDEX)


@irdl_op_definition
class ResampleOp(ParallelOp, PlacedOp):
    """Weighted sums along `axis`: result[a..., n, b...] = sum over t of x[a..., places[n, t], b...] * weights[n, t].

    The `places` (i64) must lie inside x.
    """

    name = "graph.resample"
    x = operand_def(TensorType)
    places = operand_def(TensorType)
    weights = operand_def(TensorType)
    axis = int_prop()

    def infer_types(self) -> Sequence[TensorType]:
        x, axis = shape_of(self.x), self.axis
        require_axis(axis, len(x))
        at = expect(self, places="n t i64", weights="n t")
        return [TensorType(common_element_type(self.x, self.weights), [*x[:axis], at["n"], *x[axis + 1 :]])]

    def operations(self) -> int:
        return 2 * math.prod(shape_of(self.result)) * shape_of(self.places)[1]

    def placed(self) -> tuple[SSAValue, int]:
        return self.places, self.axis

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        if axis != self.axis:
            return {0: AxisReads(axis)}
        reads = self.known_reads()
        return None if reads is None else {0: reads, 1: AxisReads(0), 2: AxisReads(0)}

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        axis, taps = self.axis, shape_of(self.places)[1]

        def term(at: list[Scalar]) -> Scalar:
            tap = [index[axis], at[0]]
            x = reads[0]([*index[:axis], b.cast(reads[1](tap), INDEX), *index[axis + 1 :]])
            return x * reads[2](tap)

        return b.sum([(0, taps)], b.const(0, element_type_of(self.result)), term)
