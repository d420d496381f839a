"""Means of what integers stand for, by sums of the integers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i32

from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.interfaces import Array, GraphOp, element_type_of, shape_of
from aotc.dialects.graph.quantized.averages import MANTISSA, FixedAveragePoolOp
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.dialects.graph.quantized.requantization import RequantizeOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.windows.pooling import AveragePoolOp, SumPoolOp
from aotc.passes.graph.quantization.chains import is_byte
from aotc.passes.graph.quantization.epilogues import Epilogue, epilogue
from aotc.passes.graph.quantization.real_values import Dequantized, dequantized, is_scale
from aotc.passes.graph.rewriting import Constants, Raised

_MOST_ELEMENTS = 1 << 15
"""Of a mean: with 16 bits each, their sum is an i32."""
_MOST_MIDDLES = 1536
"""Of a pool, 4 bytes each: what sums of floats take beside that is not more."""
_LIMIT = 2**31
_SCALES = (2.0**-100, 2.0**100)
"""Scaling that keeps products and sums of floats from the ends of their range."""


def raise_mean(op: GraphOp, constants: Constants, *, always: bool = False, fixed: bool = False) -> Raised | None:
    """A mean and its quantisation, on integers; None where `op` is something else.

    A mean of a channel, global average pooling, is what onnxruntime computes with integers. Others it computes with
    floats, in an order of its own, whose errors decide where the exact mean lies in the middle between two integers. If
    any may, they stay floats, unless integers are `always` wanted; then the middle goes to the even integer. With
    `fixed`, average pooling is one operation that decides as these floats do.
    """
    match op:
        case ReduceOp() if op.kind.data == "mean":
            rank = len(shape_of(op.x))
            counts = np.array(op.count())
            is_exact = rank > 2 and op.along() == tuple(range(2, rank)) and op.keepdims
        case AveragePoolOp():
            counts, is_exact = _counts(op), False
        case _:
            return None
    source, most = dequantized(op.operands[0], constants.store), int(counts.max(initial=0))
    if source is None or most > _MOST_ELEMENTS or 0 in shape_of(op.operands[0]):
        return None
    scale = np.asarray(source.scale)
    after = epilogue(op.results[0], scale, 0, constants.store)
    if after is None or after.bias is not None or after.scale is not scale:
        return None
    if not is_scale(multiplier := after.multiplier(counts)):
        return None
    if not is_exact and not all(
        _is_decided(source, int(count), float(factor))
        for count, factor in {*zip(counts.reshape(-1), multiplier.reshape(-1), strict=True)}
    ):
        if fixed and isinstance(op, AveragePoolOp) and (found := _fixed(op, source, after, counts, constants)):
            return found
        if not always:
            return None
    raised = Raised(replaced=[op, *after.ops])
    if isinstance(op, AveragePoolOp):
        given = {name: value for name, value in op.properties.items() if name != "include_pad"}
        total = raised.add(SumPoolOp.get(source.value, **given, x_zero_point=source.zero_point or None))
    else:
        assert isinstance(op, ReduceOp)
        wide = raised.add(CastOp.get(source.value, to=i32))
        total = raised.add(ReduceOp.get(wide, kind="sum", axes=op.axes, keepdims=op.keepdims))
        if source.zero_point:
            total = raised.add(
                AddOp.get(total, constants.of(np.array(-most * source.zero_point, np.int32), "zero_point"))
            )
    raised.add(RequantizeOp.get(total, constants.of(multiplier, "multiplier"), axis=0, **after.integers))
    return raised


def _fixed(
    op: AveragePoolOp, source: Dequantized, after: Epilogue, counts: Array, constants: Constants
) -> Raised | None:
    """Average pooling in fixed point; None where integers of 32 bits do not decide enough."""
    target, different = after.target, [int(each) for each in np.unique(counts)]
    assert target is not None
    if not is_byte(source.value):
        return None
    (low, high), unsigned = after.clamp, element_type_of(source.value) == target.kind == UI8
    means = Means(
        source.scale, source.greatest, target.scale, target.zero_point, low, high, unsigned and len(after.ops) == 1
    )
    if (found := means.averages(different)) is None:
        return None
    raised = Raised(replaced=[op, *after.ops])
    raised.add(
        FixedAveragePoolOp.get(
            source.value,
            constants.of(found.factors, "factors"),
            constants.of(found.middles, "middles"),
            **op.properties,
            counts=different,
            x_zero_point=source.zero_point,
            mantissa=found.mantissa,
            fraction=found.fraction,
            guard=found.guard,
            **after.integers,
        )
    )
    return raised


def _counts(op: AveragePoolOp) -> Array:
    """How many elements each mean counts: one number, or one for each position, as it broadcasts to the result."""
    windows = op.windows()
    counts = np.ones([1] * len(shape_of(op.result)), np.int64)
    for axis, window in enumerate(windows, 2):
        places = np.arange(window.positions)[:, None] * window.stride + np.arange(window.size) * window.dilation
        inside = places < window.extent + window.before + (window.after if op.include_pad else 0)
        if not op.include_pad:
            inside &= places >= window.before
        along = np.maximum(inside.sum(1), 1)
        counts = counts * along.reshape([-1 if each == axis else 1 for each in range(counts.ndim)])
    return np.asarray(counts.flat[0]) if bool((counts == counts.flat[0]).all()) else counts


def _is_decided(source: Dequantized, count: int, multiplier: float) -> bool:
    """Whether no mean is as near to the middle between two integers as rounding errors of floats move it.

    A sum of n floats is off by at most n 2^-24 of the sum of their absolute values, products and quotients by 2^-24 of
    themselves; so is the sum of a quotient and a zero point, less than 2^9 together.
    """
    most = source.greatest * count
    distance = np.abs(np.arange(0, most + 1) * multiplier % 1 - 0.5)
    return bool(distance.min() > 2.0**-24 * ((count + 4) * most * multiplier + 2**9))


# --- what decides a mean, and where floats have the middle between two integers ---------------------------------------


@dataclass(frozen=True)
class Averages:
    """The parameters of `graph.fixed_average_pool`."""

    factors: Array
    """i32 [counts]."""
    middles: Array
    """i32 [counts, high - low]."""
    mantissa: int
    fraction: int
    guard: int


@dataclass(frozen=True)
class Means:
    """Means of integers of at most `greatest`, in absolute value, that stand for so many times `scale`, to be quantised
    by `target` and a zero point, and clamped to low..high, which are integers of the result."""

    scale: np.float32
    greatest: int
    target: np.float32
    zero_point: int
    low: int
    high: int
    point_is_float: bool
    """Whether the zero point is added before the rounding, as an f32: so onnxruntime's average pooling of integers,
    which it has for ui8 always, for i8 where nothing else becomes of the model's three nodes."""

    def result(self, sums: Array, count: int) -> Array:
        """The integers, not clamped, for sums of f32; as f32."""
        quotient = sums / np.float32(count) / self.target
        point = np.float32(self.zero_point)
        return np.rint(quotient + point) if self.point_is_float else np.rint(quotient) + point

    def least(self, count: int) -> Array:
        """The least sum, an f32, for each integer from low + 1 to high, with which the result is at least that."""
        levels = np.arange(self.low + 1, self.high + 1)
        below, above = (np.full(levels.shape, each, np.int64) for each in (-_LIMIT + 2**24, _LIMIT - 2**24))
        while bool((above - below > 1).any()):
            middle = (below + above) // 2
            with np.errstate(all="ignore"):
                enough = self.result(_number(middle), count) >= levels
            below, above = np.where(enough, below, middle), np.where(enough, middle, above)
        return _number(above)

    def averages(self, counts: Sequence[int]) -> Averages | None:
        """For windows of so many elements; None where integers of 32 bits cannot decide enough of them."""
        if not all(_SCALES[0] < each < _SCALES[1] for each in (self.scale, self.target)):
            return None
        ratio = float(self.scale) / float(self.target)
        reach = self.greatest * ratio + abs(self.zero_point) + 2
        fraction = min(30 - max(math.frexp(reach)[1], 0), 24)
        if self.low >= self.high or fraction < 2:
            return None
        factors = np.rint(np.ldexp(ratio / np.array(counts, np.float64), fraction))
        # of a sum of n floats at most n 2^-24 of what their absolute values add up to, of what follows 2^-24 each
        most = max(counts)
        errors = 2.0**-MANTISSA * ((most + 4) * self.greatest * ratio + abs(self.zero_point) + reach)
        guard = math.ceil(np.ldexp(errors, fraction) + 0.5 * most * self.greatest + 1)
        if 8 * guard > 1 << fraction:
            return None
        mantissa = int(math.frexp(self.scale)[0] * 2**MANTISSA)
        # a result's unit in halves of the scale's last bit, of which a near sum is a part away from the middle
        unit = most / ratio * 2.0 ** (MANTISSA + 1)
        if unit * 2 * guard / 2.0**fraction >= _LIMIT / 2 or len(counts) * (self.high - self.low) > _MOST_MIDDLES:
            return None
        half = 1 + MANTISSA - math.frexp(self.scale)[1]
        middles = [[math.ceil(math.ldexp(float(each), half)) for each in self.least(count)] for count in counts]
        wrapped = [[(each + _LIMIT) % (2 * _LIMIT) - _LIMIT for each in row] for row in middles]
        return Averages(factors.astype(np.int32), np.array(wrapped, np.int32), mantissa, fraction, guard)


def _number(place: Array) -> Array:
    """The f32 with a place in their order: 0 is 0, 1 the least above it, -1 the greatest below it."""
    bits = np.abs(place) | place & _LIMIT
    return bits.astype(np.uint32).view(np.float32)
