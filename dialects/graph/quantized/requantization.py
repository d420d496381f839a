"""From sums in i32, or of two tensors, to narrow integers at another scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import TensorType, f32, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.aot.control import RoundProductOp
from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import MOST_BITS, compute_type, integer_range, is_narrow_integer
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.elementwise import BroadcastOp
from aotc.dialects.graph.interfaces import ElementOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.shapes import broadcast_index, normalize_axis
from aotc.dialects.properties import bool_prop, int_prop, opt_int_prop, unit_prop


@irdl_op_definition
class RequantizeOp(ElementOp):
    """clamp(round(f32(x) * multiplier) + zero_point, low, high), rounding to even; the product is rounded to f32.

    x is i32; the multiplier is one f32, or one for each index of `axis`, or has the rank of x and broadcasts. `low` and
    `high` are in the range of `to`: what clamps beside that, as a relu does, is in them. `fractions` says that all
    multipliers are below 1 in magnitude: no product leaves the range of i32.
    """

    name = "graph.requantize"
    x = operand_def(TensorType)
    multiplier = operand_def(TensorType)
    axis = int_prop(1)
    zero_point = int_prop(0)
    low = int_prop()
    high = int_prop()
    fractions = unit_prop()
    to = prop_def(Attribute)

    @property
    def range(self) -> tuple[int, int]:
        """The least and greatest product that is not clamped, rounded."""
        point = self.zero_point
        return self.low - point, self.high - point

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. i32", multiplier=".. f32")
        check_parameters(self.x, self.multiplier, self.axis)
        check_clamp(self.to, self.low, self.high, self.zero_point)
        return [TensorType(self.to, shape_of(self.x))]

    def single_elements(self) -> Iterable[int]:
        return (1,)

    def operand_axes(self, axis: int) -> Mapping[int, int] | None:
        return parameter_axes(self.x, self.multiplier, self.axis, axis)

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        multiplier = reads[1](parameter_index(b, self.multiplier, self.axis, index))
        point, low, high = self.zero_point, self.low, self.high
        product = b.cast(reads[0](index), f32) * multiplier
        return b.quantized(product, point, low, high, self.to, bounded=self.fractions)


def check_parameters(x: SSAValue, parameters: SSAValue, axis: int) -> None:
    """Raise ShapeError unless there is one parameter, or one for each index of an axis of x, or parameters of its rank
    broadcast to it."""
    shape, given = shape_of(x), shape_of(parameters)
    if len(given) == len(shape) > 1 and all(own in (1, extent) for own, extent in zip(given, shape, strict=True)):
        return
    if given not in ((), (1,)) and given != (shape[normalize_axis(axis, len(shape))],):
        raise ShapeError(f"parameters of shape {list(given)} for {list(shape)} along axis {axis}")


def parameter_axes(x: SSAValue, parameters: SSAValue, along: int, axis: int) -> Mapping[int, int]:
    """As `ElementOp.operand_axes`, of x and parameters along the axis `along` of it."""
    shape, given = shape_of(x), shape_of(parameters)
    axes = {0: axis} if shape[axis] > 1 else {}
    if len(given) == len(shape) > 1:
        return axes | ({1: axis} if given[axis] > 1 else {})
    if along % len(shape) == axis and given not in ((), (1,)):
        axes[1] = 0
    return axes


def parameter_index(b: Builder, parameters: SSAValue, axis: int, index: Sequence[Scalar]) -> list[Scalar]:
    """Where the parameter for the element at `index` is."""
    shape = shape_of(parameters)
    if len(shape) == len(index) > 1:
        return broadcast_index(b, index, shape)
    return [b.index(0)] * len(shape) if shape in ((), (1,)) else [index[axis % len(index)]]


@irdl_op_definition
class FixedRequantizeOp(ElementOp):
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
    axis = int_prop(1)
    shift = int_prop()
    most = int_prop()
    guard = int_prop()
    up = opt_int_prop()
    drop = opt_int_prop()
    split = opt_int_prop()
    zero_point = int_prop(0)
    low = int_prop()
    high = int_prop()
    to = prop_def(Attribute)

    @property
    def range(self) -> tuple[int, int]:
        """The least and greatest rounded product that is not clamped."""
        return self.low - self.zero_point, self.high - self.zero_point

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
        check_parameters(self.x, self.factor, self.axis)
        check_clamp(self.to, self.low, self.high, self.zero_point)
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
        return [TensorType(self.to, shape_of(self.x))]

    def single_elements(self) -> Iterable[int]:
        return (1,)

    def operand_axes(self, axis: int) -> Mapping[int, int] | None:
        return parameter_axes(self.x, self.factor, self.axis, axis)

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        x, factor = reads[0](index), reads[1](parameter_index(b, self.factor, self.axis, index))
        fraction, guard = self.fraction, self.guard
        upper = self._upper(b, x, factor) + ((1 << fraction - 1) + guard)
        above = b.shift_right(upper, b.const(fraction, i32))
        near = b.compare("lt", upper & ((1 << fraction) - 1), 2 * guard)
        (value,) = b.when(near, lambda: [self._rounded(b, x, factor, above)], lambda: [above])
        value = b.min(b.max(value + self.zero_point, self.low), self.high)
        return b.encode(b.cast(value, compute_type(self.to)), self.to)

    def _rounded(self, b: Builder, x: Scalar, factor: Scalar, above: Scalar) -> Scalar:
        return b.round_product(x, factor, above, self.shift, near=self.is_near)

    def _upper(self, b: Builder, x: Scalar, factor: Scalar) -> Scalar:
        """The upper bits of the product: rounded down, and with `split` less or more what low bits of the factor
        make."""
        if self.split is None:
            product = b.cast(_shifted(b, x, (self.up or 0)), i64) * b.cast(factor, i64)
            return b.cast(b.shift_right(product, b.const(32, i64)), i32)
        split, shifted = (self.split or 0), b.shift_right(factor, b.const((self.drop or 0), i32))
        lower = b.shift_right(x * (shifted & ((1 << split) - 1)), b.const(split, i32))
        return x * b.shift_right(shifted, b.const(split, i32)) + lower


def _shifted(b: Builder, x: Scalar, by: int) -> Scalar:
    return b.shift_left(x, b.const(by, x.dtype)) if by else x


def least_guard(low: int, high: int, fraction: int, most: int, split: int | None) -> int:
    """The least guard for products that are clamped to low..high: units of 2^-fraction in which a product must not be
    near the middle between two integers, to be decided by its upper bits.

    That is more than rounding to 24 bits moves it, and, with a split, than the low bits of factors make.
    """
    rounding = 2.0 ** (max(abs(low), abs(high), 1).bit_length() + 1 - 25 + fraction)
    return int(rounding) + 1 + (0 if split is None else (most >> split) + 1)


def check_clamp(to: Attribute, low: int, high: int, zero_point: int) -> None:
    """Raise ShapeError unless an integer type of at most 16 bits holds the bounds and the zero point."""
    if not is_narrow_integer(to):
        raise ShapeError(f"the result has element type {to}, expected an integer of 2 to {MOST_BITS} bits")
    least, greatest = integer_range(to)
    if not (least <= low <= high <= greatest and least <= zero_point <= greatest):
        raise ShapeError(f"zero point {zero_point} and clamp {low} to {high} do not fit {to}")


@irdl_op_definition
class DoublingRequantizeOp(ElementOp):
    """clamp(round(round(x * factor / 2^31) / 2^shift) + zero_point, low, high), in i32 by a product of 64 bits.

    Twice the product's upper half is rounded to the nearest integer, the middle up; its quotient once more, the middle
    away from zero (gemmlowp's doubling high multiplication and rounding division; TFLite's reference kernels). Factors
    are from 2^30 to 2^31 - 1, or 0, shifts from 0 to 30; there is one of each, or one for each index of `axis`.
    """

    name = "graph.doubling_requantize"
    x = operand_def(TensorType)
    factor = operand_def(TensorType)
    shift = operand_def(TensorType)
    axis = int_prop(1)
    zero_point = int_prop(0)
    low = int_prop()
    high = int_prop()
    to = prop_def(Attribute)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. i32", factor=".. i32", shift=".. i32")
        if shape_of(self.factor) != shape_of(self.shift):
            raise ShapeError(f"{shape_of(self.factor)} factors and {shape_of(self.shift)} shifts")
        check_parameters(self.x, self.factor, self.axis)
        check_clamp(self.to, self.low, self.high, self.zero_point)
        return [TensorType(self.to, shape_of(self.x))]

    def single_elements(self) -> Iterable[int]:
        return (1, 2)

    def operand_axes(self, axis: int) -> Mapping[int, int] | None:
        axes = dict(parameter_axes(self.x, self.factor, self.axis, axis))
        return axes | ({2: axes[1]} if 1 in axes else {})

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        place = parameter_index(b, self.factor, self.axis, index)
        value = b.rescaled(reads[0](index), reads[1](place), reads[2](place)) + self.zero_point
        value = b.min(b.max(value, self.low), self.high)
        return b.encode(b.cast(value, compute_type(self.to)), self.to)


@irdl_op_definition
class FixedAddOp(BroadcastOp):
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
    zero_point = int_prop(0)
    low = int_prop()
    high = int_prop()
    to = prop_def(Attribute)

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
        check_clamp(self.to, self.low, self.high, self.zero_point)
        return super().infer_types()

    def result_element_type(self) -> Attribute:
        return self.to

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x, y = (b.cast(each, i32) for each in operands)
        shift = b.const(self.shift, i32)
        value = x * self.x_factor + y * self.y_factor + self.offset
        if self.even:
            value = value + (b.shift_right(value, shift) & 1) + self._below_half()
        point, low, high = self.zero_point, self.low, self.high
        return b.clamped(b.shift_right(value, shift), point, low, high, self.to)

    def _below_half(self) -> int:
        return (1 << self.shift - 1) - 1
