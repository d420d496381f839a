"""Between which numbers the elements of each channel are, whatever the inputs: intervals of integers.

Sums of products add up the ends of intervals (R. Moore, Interval analysis, 1966); what is done to elements of 8 bits is
tried for all 256, what grows or falls with its operands is computed for the ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import byte_width, integer_range, is_narrow_integer, numpy_dtype
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.interfaces import Array, ElementOp, element_type_of, shape_of
from aotc.dialects.graph.movement import ConcatOp, ReshapeOp
from aotc.dialects.graph.quantized.bytes import LookupOp
from aotc.dialects.graph.quantized.requantization import FixedAddOp, FixedRequantizeOp, RequantizingOp
from aotc.dialects.graph.windows.pooling import MaxPoolOp, SumPoolOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.channels.flow import Passing, Sum
from aotc.passes.graph.quantization.accumulators import ends_of_sums


@dataclass(frozen=True)
class Interval:
    """The least and the greatest element of each channel, i64."""

    low: Array
    high: Array

    @property
    def is_constant(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether a channel has one value."""
        return self.low == self.high


class Intervals:
    """Those of the values of a block, as far as they are known."""

    def __init__(self, store: WeightStore) -> None:
        self._store = store
        self._known: dict[tuple[SSAValue, int], Interval] = {}

    def of(self, value: SSAValue, axis: int) -> Interval | None:
        """The interval of each channel of a tensor, along `axis`; None of what are no integers of at most 32 bits."""
        if (known := self._known.get((value, axis))) is not None:
            return known
        kind = element_type_of(value)
        if not _is_integer(kind):
            return None
        low, high = integer_range(kind)
        channels = shape_of(value)[axis]
        return Interval(np.full(channels, low, np.int64), np.full(channels, high, np.int64))

    def add(self, flow: Sum | Passing) -> None:
        """Find out those of a result, from those of the operands."""
        found = self._sum(flow) if isinstance(flow, Sum) else self._passed(flow)
        if found is not None:
            self._known[flow.op.results[0], flow.result_axis] = found

    def _sum(self, flow: Sum) -> Interval | None:
        x = self.of(flow.x, flow.axis)
        if x is None:
            return None
        x = _factors(x, flow.op.zero_points[0], flow.is_padded)
        low, high = (ends.sum(axis=1) + flow.bias for ends in ends_of_sums(flow.factors, x.low, x.high))
        return _bounded(low, high)

    def _passed(self, flow: Passing) -> Interval | None:
        op, places = flow.op, [source.place for source in flow.sources]
        found = [self.of(op.operands[source.place], source.axis) for source in flow.sources]
        intervals = [each for each in found if each is not None]
        if len(intervals) < len(places):
            return None
        first, spread = intervals[0], flow.sources[0].spread
        match op:
            case ConvOp():
                return self._depthwise(op, Interval(first.low.repeat(spread), first.high.repeat(spread)))
            case ReshapeOp():
                return Interval(first.low.repeat(spread), first.high.repeat(spread))
            case MaxPoolOp():
                return first
            case SumPoolOp():
                taps = math.prod(op.ints("kernel"))
                is_padded = any(op.ints("pads")) or bool(op.ceil)
                x = _factors(first, op.x_zero_point or 0, is_padded)
                return _bounded(x.low * taps, x.high * taps)
            case ConcatOp():
                return Interval(*(np.concatenate([getattr(x, end) for x in intervals]) for end in ("low", "high")))
            case ElementOp():
                return self._elements(
                    op, dict(zip(places, intervals, strict=True)), shape_of(op.result)[flow.result_axis]
                )
            case _:
                return None

    def _depthwise(self, op: ConvOp, x: Interval) -> Interval | None:
        weight = known_array(op.weight, self._store)
        bias = np.zeros(shape_of(op.weight)[0]) if op.bias is None else known_array(op.bias, self._store)
        if not op.sums_integers:
            return None
        assert weight is not None and bias is not None
        x = _factors(x, op.zero_points[0], any(op.ints("pads")))
        factors = op.factor_array(1, weight).astype(np.int64).reshape(len(weight), -1)
        low, high = (end + bias.astype(np.int64) for end in ends_of_sums(factors, x.low, x.high))
        return _bounded(low, high)

    def _elements(self, op: ElementOp, sources: dict[int, Interval], channels: int) -> Interval | None:
        """Of an operation on elements whose operands are tensors with these intervals, and constants."""
        given: dict[int, Array] = {}
        for place, value in enumerate(op.operands):
            if place not in sources:
                array = known_array(value, self._store)
                if array is None or (array.size not in (1, channels) and not isinstance(op, LookupOp)):
                    return None
                given[place] = array.reshape(-1)
        if not _is_integer(element_type_of(op.results[0])):
            return None
        intervals = [_supported(op, x) for x in sources.values()]
        lows, highs = [x.low for x in intervals], [x.high for x in intervals]

        def results(*at: Array) -> Array | None:
            arrays = given | dict(zip(sources, at, strict=True))
            return _results(op, [arrays[place] for place in range(len(op.operands))])

        if len(sources) == 1 and byte_width(element_type_of(op.operands[next(iter(sources))])) == 1:
            arguments = np.arange(lows[0].min(), highs[0].max() + 1)[:, None]
            if (found := results(arguments)) is None:
                return None
            within = (arguments >= lows[0]) & (arguments <= highs[0])
            low, high = integer_range(element_type_of(op.results[0]))
            return Interval(np.where(within, found, high).min(axis=0), np.where(within, found, low).max(axis=0))
        if _is_monotone(op, intervals, [array.astype(np.int64) for array in given.values()]):
            ends = [each for at in product(*zip(lows, highs, strict=True)) if (each := results(*at)) is not None]
            arrays = [np.broadcast_to(each, (channels,)) for each in ends]
            return Interval(np.minimum.reduce(arrays), np.maximum.reduce(arrays)) if arrays else None
        if not (is_constant := np.logical_and.reduce([x.is_constant for x in intervals])).any():
            return None
        if (found := results(*lows)) is None:
            return None
        low, high = integer_range(element_type_of(op.results[0]))
        return Interval(np.where(is_constant, found, low), np.where(is_constant, found, high))


def _is_integer(kind: Attribute) -> bool:
    """Whether intervals of elements of this type are known."""
    return kind == i32 or is_narrow_integer(kind)


def _bounded(low: Array, high: Array) -> Interval:
    """The interval of sums in i32, which wrap: any number where they may."""
    least, greatest = integer_range(i32)
    wraps = (low < least) | (high > greatest)
    return Interval(np.where(wraps, least, low), np.where(wraps, greatest, high))


def _factors(x: Interval, point: int, is_padded: bool) -> Interval:
    """Elements less their zero point; and 0 where there are none, at borders."""
    low, high = x.low - point, x.high - point
    return Interval(np.minimum(low, 0), np.maximum(high, 0)) if is_padded else Interval(low, high)


def _supported(op: ElementOp, x: Interval) -> Interval:
    """The interval, without arguments that an operation is known never to have."""
    if isinstance(op, FixedRequantizeOp):
        return Interval(np.clip(x.low, -op.most, op.most), np.clip(x.high, -op.most, op.most))
    return x


def _results(op: ElementOp, operands: Sequence[Array]) -> Array | None:
    """The elements for some elements of operands, as i64."""
    dtypes = [numpy_dtype(element_type_of(value)) for value in op.operands]
    arrays = [array.astype(dtype) for array, dtype in zip(operands, dtypes, strict=True)]
    if isinstance(op, LookupOp):
        return arrays[1][arrays[0].view(np.uint8)].astype(np.int64)
    found = op.evaluate_places(arrays)
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    return None if found is None else np.broadcast_to(found, shape).astype(np.int64)


def _is_monotone(op: ElementOp, sources: Sequence[Interval], constants: Sequence[Array]) -> bool:
    """Whether a result grows, or falls, with each tensor operand between these ends."""
    match op:
        case RequantizingOp():
            return True
        case AddOp() | FixedAddOp():
            is_fixed = isinstance(op, FixedAddOp)
            factors, more = ((op.x_factor, op.y_factor), abs(op.offset) + (1 << op.shift)) if is_fixed else ((1, 1), 0)
            ends = [*(np.maximum(abs(x.low), abs(x.high)) for x in sources), *map(abs, constants)]
            most = max(map(abs, factors)) * sum(int(each.max()) for each in ends) + more
            return most <= integer_range(element_type_of(op.operands[0]) if isinstance(op, AddOp) else i32)[1]
        case _:
            return False
