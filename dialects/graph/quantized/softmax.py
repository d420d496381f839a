"""Softmax of quantised tensors, in integers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import integer_range
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import ShapeError, shape_of
from aotc.dialects.graph.quantized.requantization import ClampedOp
from aotc.dialects.graph.reduction import RowwiseOp, merge_index, reduced_shape
from aotc.dialects.properties import int_prop


class TableSoftmaxOp(RowwiseOp, ClampedOp, ABC):
    """Softmax over rows of 8-bit integers of which `top` is the greatest, whose exponentials are table[top - x], beyond
    its end 0."""

    x = operand_def(TensorType)
    table = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        entries = expect(self, x=".. byte", table="entries+ i32")["entries"]
        if entries > 256:
            raise ShapeError(f"table must have 1 to 256 entries, found {entries}")
        self.check_clamp()
        self.along()
        return [TensorType(self.to, shape_of(self.x))]

    @property
    @abstractmethod
    def kind(self) -> Attribute:
        """The type that exponentials are added up in."""

    @abstractmethod
    def addend(self, b: Builder, entry: Scalar) -> Scalar:
        """The share of an exponential in the sum of its row."""

    @abstractmethod
    def divisor(self, b: Builder, total: Scalar) -> list[Scalar]:
        """The divisor of exponentials, of the sum of their row."""

    @abstractmethod
    def quotient(self, b: Builder, entry: Scalar, divisor: Sequence[Scalar]) -> Scalar:
        """The quotient, rounded to an i32."""

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        shape, axes, kind = shape_of(self.x), self.along(), self.kind
        extents = [shape[axis] for axis in axes]
        bounds = [(0, extent) for extent in extents]
        entries = shape_of(self.table)[0]

        def row(outer: list[Scalar]) -> None:
            def integer(inner: Sequence[Scalar]) -> Scalar:
                return b.cast(reads[0](merge_index(len(shape), axes, inner, outer)), i32)

            def entry(inner: Sequence[Scalar]) -> Scalar:
                place = top - integer(inner)

                def found() -> list[Scalar]:
                    return [b.cast(reads[1]([b.cast(place, INDEX)]), kind)]

                if entries == 256:
                    return found()[0]
                return b.when(b.compare("lt", place, entries), found, lambda: [b.const(0, kind)])[0]

            def add(inner: Sequence[Scalar], carried: list[Scalar]) -> list[Scalar]:
                return [carried[0] + self.addend(b, entry(inner))]

            (top,) = b.reduce(bounds, [b.const(-128, i32)], lambda inner, best: [b.max(best[0], integer(inner))])
            (total,) = b.reduce(bounds, [b.const(0, kind)], add)
            divisor = self.divisor(b, total)

            def write(inner: list[Scalar]) -> None:
                value = self.clamped(b, self.quotient(b, entry(inner), divisor) + self.zero_point)
                writes[0](merge_index(len(shape), axes, inner, outer), value)

            b.parallel_for(extents, write)

        b.parallel_for(reduced_shape(shape, axes, keepdims=False), row)


@irdl_op_definition
class FixedSoftmaxOp(TableSoftmaxOp):
    """clamp(round(table[top - x] / sum(table[top - x]) / scale) + zero_point, low, high) over rows of 8-bit integers of
    which `top` is the greatest, rounded to even; beyond its end the table is 0. The scale is factor / 2^shift.

    Quotients are exact, found bit by bit: their denominator is the sum times the factor, their numerator what the table
    has times a power of two not above the factor, so that they are at most 1 before the other powers of two. All of
    that, doubled, fits `accumulator`, i32 or i64. So the only errors are those of the table.
    """

    name = "graph.fixed_softmax"
    accumulator = prop_def(Attribute)
    factor = int_prop()
    shift = int_prop()

    def infer_types(self) -> Sequence[TensorType]:
        if self.accumulator not in (i32, i64):
            raise ShapeError(f"the accumulator must be i32 or i64, found {self.accumulator}")
        if self.factor < 1 or self.steps < 1:
            raise ShapeError(f"the scale {self.factor} / 2^{self.shift} is not below 1")
        return super().infer_types()

    def formula(self) -> str:
        scaled = f"table[top - x] * 2^{self.before} / (their sum * {self.factor}) in {self.steps + 1} bits"
        return f"{scaled}, rounded to the nearest, halves to even"

    @property
    def before(self) -> int:
        """By how many bits numerators are shifted up."""
        return self.factor.bit_length() - 1

    @property
    def steps(self) -> int:
        """How many bits quotients have after their first."""
        return self.shift - self.before

    @property
    def kind(self) -> Attribute:
        return self.accumulator

    def addend(self, b: Builder, entry: Scalar) -> Scalar:
        return entry

    def divisor(self, b: Builder, total: Scalar) -> list[Scalar]:
        return [total if self.factor == 1 else total * self.factor]

    def quotient(self, b: Builder, entry: Scalar, divisor: Sequence[Scalar]) -> Scalar:
        kind, (whole,) = self.accumulator, divisor
        rest = b.shift_left(entry, b.const(self.before, kind)) if self.before else entry

        def bit(_: Scalar, carried: list[Scalar]) -> list[Scalar]:
            rest, quotient = carried
            above = b.compare("ge", rest, whole)
            rest = b.select(above, rest - whole, rest)
            return [rest + rest, quotient + quotient + b.cast(above, i32)]

        rest, quotient = b.loop(0, self.steps + 1, 1, [rest, b.const(0, i32)], bit)
        # twice what is left is more than the denominator: beyond the middle; as much: in the middle
        is_odd = b.compare("ne", quotient & 1, 0)
        up = b.compare("gt", rest, whole) | (b.compare("eq", rest, whole) & is_odd)
        return quotient + b.cast(up, i32)


@irdl_op_definition
class DoublingSoftmaxOp(TableSoftmaxOp):
    """Softmax as TFLite's reference kernels compute it: exponentials of `table`, i32 over 2^31, are added up with 12
    integer bits, and multiplied by the reciprocal of their sum, which three steps of Newton's method find; 2^-8 of the
    product, of 16 bits 2^-16, is rounded twice (`Builder.rescaled`).
    """

    name = "graph.doubling_softmax"

    @property
    def kind(self) -> Attribute:
        return i32

    def formula(self) -> str:
        return "table[top - x] times the reciprocal of their sum by three steps of Newton's method"

    def addend(self, b: Builder, entry: Scalar) -> Scalar:
        return b.shift_right(entry, b.const(12, i32)) + (b.shift_right(entry, b.const(11, i32)) & 1)

    def divisor(self, b: Builder, total: Scalar) -> list[Scalar]:
        zero, one = b.const(0, i32), b.const(1, i32)

        def normalized(_: Scalar, carried: list[Scalar]) -> list[Scalar]:
            whole, over = carried
            is_less = b.cast(b.compare("ge", whole, 0), i32)
            return [b.shift_left(whole, is_less), over - is_less]

        whole, over = b.loop(0, 12, 1, [total, b.const(12, i32)], normalized)
        half = b.shift_right(whole & (2**31 - 1), one) + 2**30
        x = b.rescaled(half, b.const(-1010580540, i32), zero) + 1515870810  # (48 - 32 half) / 17
        for _ in range(3):
            rest = b.const(2**29, i32) - b.rescaled(half, x, zero)
            x = x + b.shift_left(b.rescaled(x, rest, zero), b.const(2, i32))
        most = 2**30 - 1
        scale = b.select(b.compare("gt", x, most), b.const(2**31 - 1, i32), b.shift_left(b.min(x, most), one))
        low, high = integer_range(self.to)
        return [scale, b.min(over + (32 - (high - low).bit_length() - 1), 31)]

    def quotient(self, b: Builder, entry: Scalar, divisor: Sequence[Scalar]) -> Scalar:
        return b.rescaled(entry, *divisor)
