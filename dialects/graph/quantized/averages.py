"""Averages of windows of quantised tensors, in integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import ShapeError
from aotc.dialects.graph.quantized.requantization import ClampedOp
from aotc.dialects.graph.windows.pooling import WindowOp, product
from aotc.dialects.properties import int_prop, opt_bool_prop

MANTISSA = 24
"""Bits of an f32."""


@irdl_op_definition
class FixedAveragePoolOp(WindowOp, ClampedOp):
    """clamp(round(mean of (x - x_zero_point) * scale, over another scale, + zero_point), low, high) over windows of
    8-bit integers, as f32 computes and rounds it, in integers.

    The exact sum of a window times a factor decides most means: units of 2^-fraction, with at least `guard` of these to
    the next middle between two integers. Nearer ones are decided by rounding errors, so the sum of floats is computed
    once more as floats do, element by element, each product and each sum rounded to 24 bits, in halves of what the last
    bit of the scale counts; `mantissa` is the scale in these units. The mean of such a sum, over the scale, grows with
    it: it is the upper integer from that sum on which `middles` has, i32 modulo 2^32.

    `counts` are how many elements a window has, each in a row of `factors` and `middles` [rows, high - low] of its own;
    rows are in the order of the counts. Padding counts where `include_pad` is set.
    """

    name = "graph.fixed_average_pool"
    x = operand_def(TensorType)
    factors = operand_def(TensorType)
    middles = operand_def(TensorType)
    counts = prop_def(DenseArrayBase)
    include_pad = opt_bool_prop()
    x_zero_point = int_prop()
    mantissa = int_prop()
    fraction = int_prop()
    guard = int_prop()

    def infer_types(self) -> Sequence[TensorType]:
        counts = self.ints("counts")
        self.check_clamp()
        if not counts or list(counts) != sorted({*counts}) or counts[0] < 1:
            raise ShapeError(f"counts must be positive and grow, found {list(counts)}")
        middles = f"{len(counts)} {self.high - self.low} i32"
        expect(self, x=".. byte", factors=f"{len(counts)} i32", middles=middles)
        if not 0 < self.fraction < 31 or not 0 < 4 * self.guard < 1 << self.fraction:
            raise ShapeError(f"a guard of {self.guard} is too great for a fraction of 2^-fraction")
        if not 1 << MANTISSA - 1 <= self.mantissa < 1 << MANTISSA:
            raise ShapeError(f"a mantissa has {MANTISSA} bits, found {self.mantissa}")
        return super().infer_types()

    def formula(self) -> str:
        fraction, guard = self.fraction, self.guard
        half = (2 * self.zero_point + 1 << fraction - 1) + guard
        scaled = f"sum * factor / 2^{fraction} ({half} is a half, {guard} and the zero point)"
        return f"mean of x - {self.x_zero_point} as {scaled}, rounded as floats do".replace("- -", "+ ")

    def result_element_type(self) -> Attribute:
        return self.to

    def initial(self, b: Builder) -> list[Scalar]:
        return [b.const(0, i32)]

    def combine(self, b: Builder, source: Sequence[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        return [carried[0] + (b.cast(value, i32) - self.x_zero_point)]

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        bounds = self.bounds(b, index)

        def integer(taps: Sequence[Scalar]) -> Scalar:
            return b.cast(reads[0](self.source(index, taps)), i32) - self.x_zero_point

        def floats() -> Scalar:
            return b.reduce(bounds, [b.const(0, i64)], lambda taps, sums: [self._added(b, sums[0], integer(taps))])[0]

        return self._decided(b, index, reads, b.sum(bounds, self.initial(b)[0], integer), floats)

    def start(self, b: Builder) -> list[Scalar]:
        return [b.const(0, i32), b.const(0, i64)]

    def after(
        self, b: Builder, index: Sequence[Scalar], number: Scalar, reads: Sequence[Reader], partial: list[Scalar]
    ) -> list[Scalar]:
        """The sum of integers, and that of floats: whether this is needed is known at the end."""

        def step(taps: list[Scalar], now: list[Scalar]) -> list[Scalar]:
            integer = b.cast(reads[0](self.source(index, taps)), i32) - self.x_zero_point
            return [now[0] + integer, self._added(b, now[1], integer)]

        return self.reduced(b, index, number, partial, step)

    def total(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader], partial: list[Scalar]) -> Scalar:
        return self._decided(b, index, reads, partial[0], lambda: partial[1])

    def _decided(
        self,
        b: Builder,
        index: Sequence[Scalar],
        reads: Sequence[Reader],
        total: Scalar,
        floats: Callable[[], Scalar],
    ) -> Scalar:
        """The mean for a sum of integers; `floats` is called for that of floats where it decides."""
        row = self._row(b, index[2 : 2 + self.rank])
        fraction, guard = self.fraction, self.guard
        scaled = total * reads[1]([row]) + ((2 * self.zero_point + 1 << fraction - 1) + guard)
        above = b.shift_right(scaled, b.const(fraction, i32))

        def decided() -> list[Scalar]:
            total = floats()
            low, high = self.low, self.high
            level = b.min(b.max(above, low + 1), high) - (low + 1)
            distance = b.cast(total, i32) - reads[2]([row, b.cast(level, row.dtype)])
            return [above - b.cast(b.compare("lt", distance, 0), i32)]

        near = b.compare("lt", scaled & ((1 << fraction) - 1), 2 * guard)
        (above,) = b.when(near, decided, lambda: [above])
        return self.clamped(b, above)

    def _row(self, b: Builder, position: Sequence[Scalar]) -> Scalar:
        """The row for the count of elements at a position."""
        counts = self.ints("counts")
        if len(counts) == 1:
            return b.index(0)
        padded = self.include_pad
        along = [
            w.padded_taps(b, p) if padded else self.counted(b, w, p)
            for w, p in zip(self.windows(), position, strict=True)
        ]
        count, row = product(b, along), b.index(0)
        for number, each in enumerate(counts[1:], 1):
            row = b.select(b.compare("ge", count, each), b.index(number), row)
        return row

    def _added(self, b: Builder, total: Scalar, integer: Scalar) -> Scalar:
        """The f32 sum of floats and an integer times the scale."""
        most = max(self.ints("counts"))
        wide = b.cast(integer, i64) * (2 * self.mantissa)
        return rounded(b, total + rounded(b, wide, 8), 8 + most.bit_length())


def rounded(b: Builder, value: Scalar, more: int) -> Scalar:
    """An even i64 of less than 2^(25 + more), in absolute value, to the nearest with 24 bits, the middle to even."""
    size = b.abs(value)
    rest, place = b.cast(b.shift_right(size, b.const(MANTISSA + 1, i64)), i32), b.const(1, i32)
    for bit in (1 << each for each in reversed(range((more - 1).bit_length()))):  # the bits of `rest`, halving
        is_wide = b.compare("ge", rest, 1 << bit)
        rest = b.select(is_wide, b.shift_right(rest, b.const(bit, i32)), rest)
        place = b.select(is_wide, place + bit, place)
    place = place + rest  # 0 or 1
    unit = b.shift_left(b.const(1, i32), place)
    lower = b.cast(size, i32)
    below, is_odd = lower & (unit - 1), b.shift_right(lower, place) & 1
    up = b.compare("gt", below + is_odd, b.shift_right(unit, b.const(1, i32)))
    size = size + b.cast(b.select(up, unit, b.const(0, i32)) - below, i64)
    return b.select(b.compare("lt", value, 0), -size, size)
