"""From sums in i32, or of two tensors, to narrow integers at another scale."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, f32, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.aot.control import RoundProductOp
from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import MOST_BITS, compute_type, integer_range, is_narrow_integer
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.elementwise import BroadcastOp
from aotc.dialects.graph.interfaces import ElementOp, GraphOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.shapes import broadcast_index, normalize_axis
from aotc.dialects.properties import bool_prop, int_prop, opt_int_prop, unit_prop


class ClampedOp(GraphOp, ABC):
    """Integers of the type `to`, of at most 16 bits: plus `zero_point`, from `low` to `high`."""

    WIDE: ClassVar[bool] = False
    """Whether they may be i32, too."""
    zero_point = int_prop(0)
    low = int_prop()
    high = int_prop()
    to = prop_def(Attribute)

    def check_clamp(self) -> None:
        """Raise ShapeError unless an integer type of at most 16 bits holds the bounds and the zero point."""
        if not is_narrow_integer(self.to) and not (self.WIDE and self.to == i32):
            raise ShapeError(f"the result has element type {self.to}, expected an integer of 2 to {MOST_BITS} bits")
        point, low, high, (least, greatest) = self.zero_point, self.low, self.high, integer_range(self.to)
        if not (least <= low <= high <= greatest and least <= point <= greatest):
            raise ShapeError(f"zero point {point} and clamp {low} to {high} do not fit {self.to}")

    def note(self) -> str:
        """The computation, with the numbers that its code has."""
        point = f", + zero point {self.zero_point}" if self.zero_point else ""
        whole = (self.low, self.high) == integer_range(self.to)
        limits = f"saturated to {self.low}..{self.high}" if whole else f"clamped to {self.low}..{self.high}"
        return f"{self.label.replace('_', ' ')}: {self.formula()}{point}, {limits}"

    @abstractmethod
    def formula(self) -> str:
        """The number to which the zero point is added."""

    def clamped(self, b: Builder, value: Scalar) -> Scalar:
        """The element for an i32 to which the zero point has been added."""
        return b.encode(b.cast(b.min(b.max(value, self.low), self.high), compute_type(self.to)), self.to)


class RequantizingOp(ElementOp, ClampedOp, ABC):
    """Elements of the first operand at another scale.

    The other operands are parameters of one shape: single ones, or one for each index of `axis` of the first, or of its
    rank, and they broadcast.
    """

    axis = int_prop(1)

    @property
    def range(self) -> tuple[int, int]:
        """The least and greatest product that is not clamped, rounded."""
        return self.low - self.zero_point, self.high - self.zero_point

    def infer_types(self) -> Sequence[TensorType]:
        shape, given = map(shape_of, self.operands[:2])
        broadcasts = len(given) == len(shape) > 1 and all(
            own in (1, each) for own, each in zip(given, shape, strict=True)
        )
        if not broadcasts and given not in ((), (1,)) and given != (shape[normalize_axis(self.axis, len(shape))],):
            raise ShapeError(f"parameters of shape {list(given)} for {list(shape)} along axis {self.axis}")
        self.check_clamp()
        return [TensorType(self.to, shape)]

    def single_elements(self) -> Iterable[int]:
        return range(1, len(self.operands))

    def operand_axes(self, axis: int) -> Mapping[int, int]:
        shape, given = map(shape_of, self.operands[:2])
        axes = {0: axis} if shape[axis] > 1 else {}
        if len(given) == len(shape) > 1:
            own = axis if given[axis] > 1 else None
        else:
            own = 0 if self.axis % len(shape) == axis and given not in ((), (1,)) else None
        return axes if own is None else axes | dict.fromkeys(self.single_elements(), own)

    def parameters(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> list[Scalar]:
        """The parameters for the element at `index`."""
        shape = shape_of(self.operands[1])
        if len(shape) == len(index) > 1:
            place = broadcast_index(b, index, shape)
        else:
            place = [b.index(0)] * len(shape) if shape in ((), (1,)) else [index[self.axis % len(index)]]
        return [read(place) for read in reads[1:]]


@irdl_op_definition
class RequantizeOp(RequantizingOp):
    """clamp(round(f32(x) * multiplier) + zero_point, low, high), rounding to even; the product is rounded to f32.

    x is i32; the multiplier is one f32, or one for each index of `axis`, or has the rank of x and broadcasts. `low` and
    `high` are in the range of `to`: what clamps beside that, as a relu does, is in them. `fractions` says that all
    multipliers are below 1 in magnitude: no product leaves the range of i32.
    """

    name = "graph.requantize"
    x = operand_def(TensorType)
    multiplier = operand_def(TensorType)
    fractions = unit_prop()

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. i32", multiplier=".. f32")
        return super().infer_types()

    def formula(self) -> str:
        return "sum * multiplier, rounded to the nearest, halves to even"

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        (multiplier,) = self.parameters(b, index, reads)
        product = b.cast(reads[0](index), f32) * multiplier
        return b.quantized(product, self.zero_point, self.low, self.high, self.to, bounded=self.fractions)


@irdl_op_definition
class FixedRequantizeOp(RequantizingOp):
    """`graph.requantize` by the multiplier factor / 2^shift, in integers; factors are i32, each of at most 24 bits and
    zeros.

    What floats compute is the nearest integer of the product x * factor / 2^shift, except close to the middle between
    two: the product is rounded to 24 bits first, which makes just the middle of what is within half a unit of its last
    bit, and the middle goes to the even integer. So most products are decided by their upper bits: a whole number of
    2^-fraction, with at least `guard` of these to the next middle. Only nearer ones are computed in full.

    The upper bits of a product are those beyond 32 of (x << up) * factor, in 64 bits. With `split` they are computed
    in 32: factors lose `drop` low bits, and what remains is split at bit `split`, each part times x. |x| is at most
    `most`, so that nothing leaves its type.
    """

    name = "graph.fixed_requantize"
    x = operand_def(TensorType)
    factor = operand_def(TensorType)
    shift = int_prop()
    most = int_prop()
    guard = int_prop()
    up = opt_int_prop()
    drop = opt_int_prop()
    split = opt_int_prop()

    @property
    def fraction(self) -> int:
        """How many upper bits of a product are below an integer of the result."""
        lost = (self.drop or 0) + (self.split or 0) if self.split is not None else 32 - (self.up or 0)
        return self.shift - lost

    @property
    def is_near(self) -> bool:
        """Whether the distance of a product that is computed in full to its middle is an i32: its upper bits are less
        than `guard` from there, and low bits of a factor make less than most / 2^split and one of them."""
        units = self.guard
        if self.split is not None:
            units += (self.most >> (self.split or 0)) + 2
        return units << (self.shift - self.fraction) <= 2**31

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. i32", factor=".. i32")
        inferred = super().infer_types()
        shift, most, guard, fraction = self.shift, self.most, self.guard, self.fraction
        if self.split is not None and self.up is not None:
            raise ShapeError("only products in 64 bits shift the operand up")
        if not (1 < fraction < 31 and shift in RoundProductOp.SHIFTS and 0 < guard < 1 << fraction - 1):
            raise ShapeError(f"a shift of {shift}, {fraction} bits of fraction and a guard of {guard} do not fit")
        split = self.split
        if guard < least_guard(*self.range, fraction, most, split):
            raise ShapeError(f"a guard of {guard} is too small for {fraction} bits of fraction")
        by = (self.up or 0) if split is None else split
        if most < 0 or most << by >= 2**31:
            raise ShapeError(f"{most} times 2^{by} is not an i32")
        return inferred

    def formula(self) -> str:
        fraction, guard = self.fraction, self.guard
        half = f"{fraction} bits of fraction: {(1 << fraction - 1) + guard} is a half and {guard}"
        return f"sum * factor / 2^{self.shift} ({half}), rounded as floats do"

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        x, (factor,) = reads[0](index), self.parameters(b, index, reads)
        fraction, guard = self.fraction, self.guard
        upper = self._upper(b, x, factor) + ((1 << fraction - 1) + guard)
        above = b.shift_right(upper, b.const(fraction, i32))
        near = b.compare("lt", upper & ((1 << fraction) - 1), 2 * guard)

        def rounded() -> list[Scalar]:
            return [b.round_product(x, factor, above, self.shift, near=self.is_near)]

        return self.clamped(b, b.when(near, rounded, lambda: [above])[0] + self.zero_point)

    def _upper(self, b: Builder, x: Scalar, factor: Scalar) -> Scalar:
        """The upper bits of the product: rounded down, and with `split` less or more what low bits of the factor
        make."""
        if self.split is None:
            shifted = b.shift_left(x, b.const(self.up, i32)) if self.up else x
            product = b.cast(shifted, i64) * b.cast(factor, i64)
            return b.cast(b.shift_right(product, b.const(32, i64)), i32)
        split, shifted = (self.split or 0), b.shift_right(factor, b.const((self.drop or 0), i32))
        lower = b.shift_right(x * (shifted & ((1 << split) - 1)), b.const(split, i32))
        return x * b.shift_right(shifted, b.const(split, i32)) + lower


def least_guard(low: int, high: int, fraction: int, most: int, split: int | None) -> int:
    """The least guard for products that are clamped to low..high: units of 2^-fraction in which a product must not be
    near the middle between two integers, to be decided by its upper bits.

    That is more than rounding to 24 bits moves it, and, with a split, than the low bits of factors make.
    """
    rounding = 2.0 ** (max(abs(low), abs(high), 1).bit_length() + 1 - 25 + fraction)
    return int(rounding) + 1 + (0 if split is None else (most >> split) + 1)


@irdl_op_definition
class DoublingRequantizeOp(RequantizingOp):
    """clamp(round(round(x * factor / 2^31) / 2^shift) + zero_point, low, high), in i32 by a product of 64 bits.

    Twice the product's upper half is rounded to the nearest integer, the middle up; its quotient once more, the middle
    away from zero (gemmlowp's doubling high multiplication and rounding division; TFLite's reference kernels). Factors
    are from 0 to 2^31 - 1, shifts from 0 to 31; there is one of each, or one for each index of `axis`. To i32, too.
    `small` says that no x is 2^30 or more in magnitude, and no shift more than 30.
    """

    name = "graph.doubling_requantize"
    WIDE: ClassVar[bool] = True
    x = operand_def(TensorType)
    factor = operand_def(TensorType)
    shift = operand_def(TensorType)
    small = unit_prop()

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. i32", factor=".. i32", shift=".. i32")
        if shape_of(self.factor) != shape_of(self.shift):
            raise ShapeError(f"{shape_of(self.factor)} factors and {shape_of(self.shift)} shifts")
        return super().infer_types()

    def formula(self) -> str:
        return "sum * factor / 2^31 / 2^shift, rounded after each division"

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        x, (factor, shift) = reads[0](index), self.parameters(b, index, reads)
        value = b.rescaled(x, factor, shift, small=self.small)
        return value if self.is_whole else self.clamped(b, value + self.zero_point)

    @property
    def is_whole(self) -> bool:
        """Whether the result is the product, to which nothing is added, and which is not clamped."""
        return self.to == i32 and (self.zero_point, self.low, self.high) == (0, *integer_range(i32))


@irdl_op_definition
class FixedAddOp(BroadcastOp, ClampedOp):
    """clamp(((x * x_factor + y * y_factor + offset) >> shift) + zero_point, low, high) of integers of at most 16 bits,
    or of terms in i32.

    With `even` the quotient is not rounded down, but to the nearest integer, in the middle between two to the even one.
    Sums are i32 and wrap.
    """

    name = "graph.fixed_add"
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    x_factor = int_prop(1)
    y_factor = int_prop(1)
    offset = int_prop(0)
    shift = int_prop()
    even = bool_prop(False)

    def infer_types(self) -> Sequence[TensorType]:
        for value in self.operands:
            kind = element_type_of(value)
            if kind != i32 and not is_narrow_integer(kind):
                raise ShapeError(
                    f"an operand has element type {kind}, expected i32 or integers of 2 to {MOST_BITS} bits"
                )
        for name in ("x_factor", "y_factor", "offset"):
            expect_within(self, name, *integer_range(i32))
        expect_within(self, "shift", 1, 30)
        self.check_clamp()
        return super().infer_types()

    def formula(self) -> str:
        rounded = "rounded to the nearest, halves to even" if self.even else "rounded down"
        terms = f"x * {self.x_factor} + y * {self.y_factor} + {self.offset}".replace("+ -", "- ")
        return f"({terms}) / 2^{self.shift}, {rounded}"

    def result_element_type(self) -> Attribute:
        return self.to

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x, y = (b.cast(each, i32) for each in operands)
        shift = b.const(self.shift, i32)
        value = x * self.x_factor + y * self.y_factor + self.offset
        if self.even:
            value = value + (b.shift_right(value, shift) & 1) + ((1 << self.shift - 1) - 1)
        return b.clamped(b.shift_right(value, shift), self.zero_point, self.low, self.high, self.to)
