"""Stages of fast Fourier transforms, of floats and in fixed point."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType, f32, i16, i32, i64
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, element_type_of, shape_of
from aotc.dialects.properties import bool_prop

RADICES = (4, 2, 3, 5)
"""The factors of lengths, in the order in which they are tried."""

Complex = tuple[Scalar, Scalar]
Turn = Callable[[int], Complex]
"""A root of unity by its number."""


@irdl_op_definition
class ButterflyOp(LoopNestOp):
    """One stage of a transform by decimation in time: R numbers that are M apart, each turned, become R sums of them.

    `x` [blocks, R, M, 2] are complex numbers, the imaginary part last, R one of `RADICES`. Number r at place m is
    multiplied by `twiddles` [R, M, 2] where r > 0; result q is the sum of all times the `turns` [R, 2] q r, roots of
    unity, conjugated with `inverse`. Integers of 16 or 32 bits are fixed point, all of them fraction: x is divided by R
    before, products are rounded to the nearest, the middle up, halves cut off downwards, and sums wrap (KISS FFT).
    """

    name = "graph.butterfly"
    x = operand_def(TensorType)
    twiddles = operand_def(TensorType)
    turns = operand_def(TensorType)
    inverse = bool_prop(False)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        kind = element_type_of(self.x)
        if kind not in (i16, i32, f32):
            raise ShapeError(f"transforms are of i16, i32 and f32, found {kind}")
        at = expect(self, x=f"B R M 2 {kind}", twiddles=f"R M 2 {kind}", turns=f"R 2 {kind}")
        if at["R"] not in RADICES:
            raise ShapeError(f"a stage adds 2 to 5 numbers, found {at['R']}")
        return [TensorType(kind, shape_of(self.x))]

    def operations(self) -> int:
        blocks, radix, size, _ = shape_of(self.x)
        return blocks * size * radix * (10 + 4 * radix)

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        blocks, radix, size, _ = shape_of(self.x)
        numbers = _Numbers(b, self)

        def body(index: list[Scalar]) -> None:
            block, place = index

            def read(reader: Reader, *at: Scalar) -> Complex:
                first, second = (numbers.wide(reader([*at, b.index(part)])) for part in (0, 1))
                return first, second

            rows = [numbers.divided(read(reads[0], block, b.index(row), place), radix) for row in range(radix)]
            for row in range(1, radix):
                rows[row] = numbers.times(rows[row], read(reads[1], b.index(row), place))
            for row, found in enumerate(_SUMS[radix](numbers, rows, lambda turn: read(reads[2], b.index(turn)))):
                for part in (0, 1):
                    writes[0]([block, b.index(row), place, b.index(part)], numbers.narrow(found[part]))

        b.parallel_for([blocks, size], body)


class _Numbers:
    """Arithmetic on parts of complex numbers, of integers in twice their bits."""

    def __init__(self, b: Builder, op: ButterflyOp) -> None:
        self.b, self.kind = b, element_type_of(op.x)
        self.is_real, self.sign = self.kind == f32, 1 if op.inverse else -1
        self.bits = 8 * byte_width(self.kind) - 1
        self.type = f32 if self.is_real else i32 if self.kind == i16 else i64

    def wide(self, x: Scalar) -> Scalar:
        return self.b.cast(x, self.type)

    def narrow(self, x: Scalar) -> Scalar:
        return self.b.cast(x, self.kind)

    def wrapped(self, x: Scalar) -> Scalar:
        return x if self.is_real else self.wide(self.narrow(x))

    def shifted(self, x: Scalar, by: int) -> Scalar:
        return self.b.shift_right(x, self.b.const(by, self.type))

    def rounded(self, x: Scalar) -> Scalar:
        return x if self.is_real else self.wrapped(self.shifted(x + (1 << self.bits - 1), self.bits))

    def half(self, x: Scalar) -> Scalar:
        return x * 0.5 if self.is_real else self.shifted(x, 1)

    def divided(self, x: Complex, by: int) -> Complex:
        if self.is_real:
            return x
        factor = ((1 << self.bits) - 1) // by
        return self.rounded(x[0] * factor), self.rounded(x[1] * factor)

    def times(self, x: Complex, y: Complex) -> Complex:
        return self.rounded(x[0] * y[0] - x[1] * y[1]), self.rounded(x[0] * y[1] + x[1] * y[0])

    def scaled(self, x: Complex, by: Scalar) -> Complex:
        return self.rounded(x[0] * by), self.rounded(x[1] * by)

    def sum(self, x: Complex, y: Complex) -> Complex:
        return self.wrapped(x[0] + y[0]), self.wrapped(x[1] + y[1])

    def difference(self, x: Complex, y: Complex) -> Complex:
        return self.wrapped(x[0] - y[0]), self.wrapped(x[1] - y[1])


def _two(n: _Numbers, rows: Sequence[Complex], turn: Turn) -> list[Complex]:
    return [n.sum(*rows), n.difference(*rows)]


def _three(n: _Numbers, rows: Sequence[Complex], turn: Turn) -> list[Complex]:
    first, total, less = rows[0], n.sum(rows[1], rows[2]), n.difference(rows[1], rows[2])
    middle = n.difference(first, (n.half(total[0]), n.half(total[1])))
    across = n.scaled(less, turn(1)[1])
    quarter = -across[1], across[0]
    return [n.sum(first, total), n.sum(middle, quarter), n.difference(middle, quarter)]


def _four(n: _Numbers, rows: Sequence[Complex], turn: Turn) -> list[Complex]:
    outer, inner = n.difference(rows[0], rows[2]), n.sum(rows[0], rows[2])
    total, less = n.sum(rows[1], rows[3]), n.difference(rows[1], rows[3])
    quarter = (-less[1], less[0]) if n.sign > 0 else (less[1], -less[0])
    return [n.sum(inner, total), n.sum(outer, quarter), n.difference(inner, total), n.difference(outer, quarter)]


def _five(n: _Numbers, rows: Sequence[Complex], turn: Turn) -> list[Complex]:
    first = rows[0]
    sums = n.sum(rows[1], rows[4]), n.sum(rows[2], rows[3])
    near, far = n.difference(rows[1], rows[4]), n.difference(rows[2], rows[3])

    def both(a: Complex, c: Complex) -> tuple[Complex, Complex]:
        """The sum of what does not depend on the sign of the turn, and of what does."""
        even = n.sum(first, n.sum(n.scaled(sums[0], a[0]), n.scaled(sums[1], c[0])))
        return even, (a[1], c[1])

    first_turn, second = turn(1), turn(2)
    (one, sines), (two, others) = both(first_turn, second), both(second, first_turn)
    odd = n.sum(n.scaled(near, sines[0]), n.scaled(far, sines[1]))
    other = n.difference(n.scaled(near, others[0]), n.scaled(far, others[1]))
    odd, other = (odd[1], -odd[0]), (other[1], -other[0])
    found = n.difference(one, odd), n.difference(two, other), n.sum(two, other), n.sum(one, odd)
    return [n.sum(first, n.sum(*sums)), *found]


_SUMS = {2: _two, 3: _three, 4: _four, 5: _five}
