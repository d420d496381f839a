"""Requantise in fixed point, where that gives the same results: for cores on which floats are slow, or missing.

The multiplier of a requantisation is an f32, so an integer over a power of two, and the range of its sums follows from
the weights: that is enough to decide by integers what floats round to. Where multipliers of channels are too different
for one power of two, or nothing is known of the range, the requantisation stays as it is. Channels that have few
results whatever their operand get multipliers of that power of two, and biases, which give the same.

With `doubling` it is TFLite's instead where all multipliers are less than 1: the product is rounded twice, so that a
result may be another integer next to it, which is nearly as close.

Before:
```mlir
%1 = graph.requantize %0, %multiplier {axis = 1 : i64, zero_point = 3 : i64, low = -128 : i64, high = 127 : i64,
    to = i8} : (tensor<1x6x8xi32>, tensor<6xf32>) -> tensor<1x6x8xi8>
```
After:
```mlir
%1 = graph.fixed_requantize %0, %factors {axis = 1 : i64, shift = 40 : i64, most = 98304 : i64, guard = 1 : i64,
    up = 4 : i64, zero_point = 3 : i64, low = -128 : i64, high = 127 : i64, to = i8}
    : (tensor<1x6x8xi32>, tensor<6xi32>) -> tensor<1x6x8xi8>
```
"""

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import target_of
from aotc.dialects.aot.control import RoundProductOp
from aotc.dialects.constants import computed_array
from aotc.dialects.graph.interfaces import Array
from aotc.dialects.graph.quantized.requantization import (
    DoublingRequantizeOp,
    FixedRequantizeOp,
    RequantizeOp,
    least_guard,
)
from aotc.machines.targets import core_of
from aotc.passes.graph.quantization.accumulators import greatest_of
from aotc.passes.graph.quantization.settled_channels import FACTOR_BITS, MANTISSA, settled_channels
from aotc.passes.graph.rewriting import Constants, put_in_place, with_constants

_FRACTION = 7
"""Upper bits below an integer of the result that are enough: one product in 2^6 is near a middle."""
_SHIFTS = 4
"""Shifts are multiples of it where that loses nothing, so that kernels of several layers can be one function."""
_LIMIT = 2**31
_WIDEST = 22
"""Bits of the greatest sums that leave any of a factor to products in 32 bits."""


@dataclass(frozen=True)
class FixRequantizationPass(ModulePass):
    name = "fix-requantization"

    doubling: bool = False
    """Whether results may be those of TFLite's fixed-point arithmetic."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        long_multiply = core_of(target_of(op)).long_multiply
        for each, constants in with_constants(op, ctx, RequantizeOp):
            self._fix(each, constants, long_multiply)

    def _fix(self, op: RequantizeOp, constants: Constants, long_multiply: bool) -> None:
        """`long_multiply`: whether the core has products of 64 bits; if not, those of 32 bits are preferred."""
        multiplier = computed_array(op.multiplier, constants.store)
        if multiplier is None or not bool((np.isfinite(multiplier) & (multiplier > 0)).all()):
            return
        new = _doubling(op, multiplier, constants) if self.doubling else None
        if new is None:
            new = _exact(op, multiplier, constants, long_multiply)
        if new is None and (settled := settled_channels(op, multiplier, constants)) is not None:
            new = _exact(op, settled, constants, long_multiply)
        if new is not None:
            put_in_place([new], [op])


def _given(op: RequantizeOp) -> dict[str, Attribute]:
    """The integers of the result, as a requantisation in fixed point has them."""
    return {name: op.properties[name] for name in ("zero_point", "low", "high", "to")}


def _exact(op: RequantizeOp, multiplier: Array, constants: Constants, long_multiply: bool) -> FixedRequantizeOp | None:
    most = greatest_of(op.x, op.axis, constants.store)
    if multiplier.size == 1:
        most = most.max(initial=0)
    multipliers, greatest = np.broadcast_arrays(np.atleast_1d(multiplier), np.atleast_1d(most))
    found = fixed_point(multipliers, greatest, *op.range, long_multiply=long_multiply)
    if found is None:
        return None
    factors = found.factors[:1].reshape(()) if multiplier.size == 1 else found.factors
    numbers = {name: value for name, value in vars(found).items() if name != "factors"}
    return FixedRequantizeOp.get(op.x, constants.of(factors, "factors"), axis=op.axis, **numbers, **_given(op))


def _doubling(op: RequantizeOp, multiplier: Array, constants: Constants) -> DoublingRequantizeOp | None:
    if (found := doubled(multiplier)) is None:
        return None
    made = constants.of(found[0], "factors"), constants.of(found[1], "shifts")
    return DoublingRequantizeOp.get(op.x, *made, axis=op.axis, **_given(op))


# --- multipliers as integers, and the bits of a product that decide ---------------------------------------------------


@dataclass(frozen=True)
class FixedPoint:
    """The parameters of `graph.fixed_requantize`."""

    factors: Array
    shift: int
    most: int
    guard: int
    up: int | None = None
    drop: int | None = None
    split: int | None = None


def fixed_point(multiplier: Array, most: Array, low: int, high: int, *, long_multiply: bool) -> FixedPoint | None:
    """The same function as the float formula, of x with |x| <= most, for each channel; products are clamped to
    low..high once they are rounded.

    In 32 bits where a core has no `long_multiply`, and these decide most products. None where multipliers are too
    different, too great or too small, or where products that are not clamped come from x that f32 rounds.
    """
    integers = _integers(multiplier, most)
    reach = max(abs(low), abs(high)) + 1
    if integers is None:
        return None
    factors, shift = integers
    used = factors > 0
    exact = bool((np.minimum(most[used], reach / multiplier[used].astype(np.float64)) < 1 << MANTISSA).all())
    if not exact or int(most.max(initial=0)) >= _LIMIT:
        return None
    greatest = max(int(most.max(initial=0)), 1)
    if not long_multiply and (found := _split(factors, shift, greatest, low, high)) is not None:
        return found
    return _whole(factors, shift, greatest, low, high)


def _integers(multiplier: Array, most: Array) -> tuple[Array, int] | None:
    """Factors and a shift with factor / 2^shift == multiplier exactly; 0 of a channel whose products are all nearer to
    0 than to 1."""
    wide = np.where(most * multiplier.astype(np.float64) < 0.49, 0.0, multiplier.astype(np.float64))
    greatest = FACTOR_BITS - int(np.frexp(wide.max(initial=0))[1])
    for shift in (greatest // _SHIFTS * _SHIFTS, greatest):
        scaled = np.ldexp(wide, shift)
        if shift in RoundProductOp.SHIFTS and bool((scaled == np.rint(scaled)).all()):
            return scaled.astype(np.int32), shift
    return None


def _whole(factors: Array, shift: int, most: int, low: int, high: int) -> FixedPoint | None:
    """With products in 64 bits."""
    up = min(max(_FRACTION + 32 - shift, 1), FACTOR_BITS - most.bit_length())  # 1: see FixedRequantizeOp.is_near
    fraction = shift + up - 32
    guard = least_guard(low, high, fraction, most, None)
    if 2 * guard >= 2.0**fraction:
        return None
    return FixedPoint(factors, shift, (_LIMIT - 1) >> up, guard, up=up or None)


def _split(factors: Array, shift: int, most: int, low: int, high: int) -> FixedPoint | None:
    """With products in 32 bits, of factors in two parts."""
    width = most.bit_length()
    if width > _WIDEST:
        return None
    most = (1 << width) - 1
    split = 30 - width  # bits of the lower part; the upper one has one less, for the sum
    surplus = FACTOR_BITS - split - (split - 1)
    split, drop = split + min(surplus, 0), max(surplus, 0)
    fraction = shift - drop - split
    guard = least_guard(low, high, fraction, most, split)
    if fraction >= 30 or 8 * guard >= 2.0**fraction:
        return None
    return FixedPoint(factors, shift, most, guard, drop=drop, split=split)


def doubled(multiplier: Array) -> tuple[Array, Array] | None:
    """The factors and shifts of `graph.doubling_requantize`, i32, exactly the multipliers; None where one is not below
    1. What is too small for a shift is 0."""
    mantissa, exponent = np.frexp(multiplier.astype(np.float64))
    if bool((exponent > 0).any()):
        return None
    representable = exponent >= -30
    factors = np.where(representable, np.ldexp(mantissa, FACTOR_BITS), 0).astype(np.int32)
    return factors, np.where(representable, -exponent, 0).astype(np.int32)
