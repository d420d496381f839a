"""Helper functions that the module defines where the target has no instruction and may have no library.

Rounding to an integer, maximum and minimum, and conversions of f16 and bf16: exact, and made of a few basic operations.
Each is an internal function, emitted when first used, for LLVM to inline. Names are those of the helpers in C:
`aotc.f32_to_bf16` of scalars, `aotc.f32_to_bf16.v8` of eight lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    Float16Type,
    Float64Type,
    StringAttr,
    VectorType,
    f32,
    i16,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotc.dialects.llvm_ext import suffix
from aotc.passes.lower.llvm_builder import LLVMBuilder, element, integer, like, width

_NATIVE_ROUNDING = {
    "floor": llvm.FFloorOp,
    "ceil": llvm.FCeilOp,
}


class Helpers:
    """Emits uses of the helper functions, which get the properties `base`; `functions` are those used so far.

    `native` is `Target.native`.
    """

    def __init__(self, native: Iterable[str], base: Mapping[str, Attribute | None]) -> None:
        self.native = frozenset(native)
        self.functions: dict[str, llvm.FuncOp] = {}
        self._base = base

    def _call(
        self,
        b: LLVMBuilder,
        name: str,
        a: Sequence[SSAValue],
        to: Attribute,
        body: Callable[..., SSAValue],
        attributes: Sequence[str] = (),
    ) -> SSAValue:
        if name not in self.functions:
            inputs = [each.type for each in a]
            block = Block(arg_types=inputs)
            for argument, hint in zip(block.args, "xy", strict=False):
                argument.name_hint = hint
            inner = LLVMBuilder(block)
            inner.ret(body(inner, *block.args))
            if isinstance(to, VectorType):  # a call would spill every vector register
                attributes = ("alwaysinline",)
            properties = dict(self._base)
            if attributes:
                given = properties.get("passthrough")
                words = given.data if isinstance(given, ArrayAttr) else ()
                properties["passthrough"] = ArrayAttr([*words, *map(StringAttr, attributes)])
            kind = llvm.LLVMFunctionType(inputs, to)
            self.functions[name] = llvm.FuncOp(name, kind, body=inner.finish(), other_props=properties)
        return b.call(name, a, to)[0]

    # Rounding

    def round(self, b: LLVMBuilder, how: str, a: SSAValue) -> SSAValue:
        """floor, ceil, trunc or roundeven of f32 or f64; the sign of zero is kept, NaN stays NaN."""
        if f"round-{suffix(element(a.type))}" in self.native:
            if (kind := _NATIVE_ROUNDING.get(how)) is not None:
                return b.float_op(kind, a)
            return b.intrinsic(f"llvm.{how}.{suffix(a.type)}", [a], a.type)
        body = {"roundeven": _roundeven, "floor": _floor, "ceil": _ceil, "trunc": _trunc}[how]
        return self._call(b, f"aotc.{how}.{suffix(a.type)}", [a], a.type, body)

    # Extremes

    def extreme(self, b: LLVMBuilder, how: str, x: SSAValue, y: SSAValue, flags: llvm.FastMathAttr) -> SSAValue:
        """maximum or minimum of two f32 or f64: NaN where either is, -0 less than +0."""
        if f"maximum-{suffix(element(x.type))}" in self.native:
            return b.intrinsic(f"llvm.{how}.{suffix(x.type)}", [x, y], x.type, flags)
        return self._call(b, f"aotc.{how}.{suffix(x.type)}", [x, y], x.type, _maximum if how == "maximum" else _minimum)

    # Narrow floats, held as i16

    def widen(self, b: LLVMBuilder, bits: SSAValue, kind: Attribute) -> SSAValue:
        """The f32 of an f16 or bf16; `kind` is the scalar type."""
        if isinstance(kind, BFloat16Type):
            wide = b.convert(llvm.ZExtOp, bits, like(bits.type, i32))
            shifted = b.integer_op(llvm.ShlOp, wide, b.constant(16, wide.type))
            return b.convert(llvm.BitcastOp, shifted, like(bits.type, f32))
        assert isinstance(kind, Float16Type)
        return self._call(b, f"aotc.f16_to_f32{_lanes(bits)}", [bits], like(bits.type, f32), _f16_to_f32)

    def narrow(self, b: LLVMBuilder, a: SSAValue, kind: Attribute) -> SSAValue:
        """The f16 or bf16 nearest to an f32 or f64, ties to even; `kind` is the scalar type."""
        if isinstance(element(a.type), Float64Type):
            a = self.round_to_odd(b, a)
        name, body = ("bf16", _f32_to_bf16) if isinstance(kind, BFloat16Type) else ("f16", _f32_to_f16)
        return self._call(b, f"aotc.f32_to_{name}{_lanes(a)}", [a], like(a.type, i16), body)

    def round_to_odd(self, b: LLVMBuilder, a: SSAValue) -> SSAValue:
        """An f64 as the f32 that rounds to any narrower format as the f64 itself would (round to odd)."""
        return self._call(b, f"aotc.f64_to_f32_odd{_lanes(a)}", [a], like(a.type, f32), _f64_to_f32_odd)

    # Integers

    def round_product(self, b: LLVMBuilder, x: SSAValue, factor: SSAValue, above: SSAValue, shift: int) -> SSAValue:
        """x * factor / 2^shift as floats round it (`aot.round_product`): seldom called, and from many places."""
        given = (x, factor, above, b.constant(shift, i32))
        return self._call(b, "aotc.round_product", given, i32, _round_product, ("noinline", "cold"))

    def round_near_product(
        self, b: LLVMBuilder, x: SSAValue, factor: SSAValue, above: SSAValue, shift: int
    ) -> SSAValue:
        """The same of a product whose distance from the middle is an i32."""
        given = (x, factor, above, b.constant(shift, i32))
        return self._call(b, "aotc.round_near_product", given, i32, _round_near_product, ("noinline", "cold"))


def _lanes(value: SSAValue) -> str:
    """The suffix of a helper's name: its lanes; nothing for scalars."""
    return f".v{value.type.get_shape()[0]}" if isinstance(value.type, VectorType) else ""


def _roundeven(b: LLVMBuilder, x: SSAValue) -> SSAValue:
    """Adding and subtracting 2^(mantissa bits) leaves an integer, rounded as the addition rounds: to nearest even."""
    kind = x.type
    big = b.constant(2.0**23 if element(kind) == f32 else 2.0**52, kind)
    size = b.float_op(llvm.FAbsOp, x)
    rounded = b.float_op(llvm.FSubOp, b.float_op(llvm.FAddOp, size, big), big)
    signed = b.float_op(llvm.FCopySignOp, rounded, x)
    return b.select(b.fcmp("olt", size, big), signed, x)  # large numbers are integers; NaN fails the comparison


def _step(b: LLVMBuilder, x: SSAValue, too_far: str, step: float) -> SSAValue:
    nearest = _roundeven(b, x)
    back = b.float_op(llvm.FAddOp, nearest, b.constant(step, x.type))
    return b.select(b.fcmp(too_far, nearest, x), back, nearest)


def _floor(b: LLVMBuilder, x: SSAValue) -> SSAValue:
    return _step(b, x, "ogt", -1.0)


def _ceil(b: LLVMBuilder, x: SSAValue) -> SSAValue:
    # -0.5 rounds to -0, which is not too small: the sign of zero is right.
    return b.float_op(llvm.FCopySignOp, _step(b, x, "olt", 1.0), x)


def _trunc(b: LLVMBuilder, x: SSAValue) -> SSAValue:
    return b.float_op(llvm.FCopySignOp, _floor(b, b.float_op(llvm.FAbsOp, x)), x)


def _maximum(b: LLVMBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return _extreme(b, x, y, "ogt", llvm.AndOp)


def _minimum(b: LLVMBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return _extreme(b, x, y, "olt", llvm.OrOp)


def _extreme(b: LLVMBuilder, x: SSAValue, y: SSAValue, better: str, of_equals: type[Operation]) -> SSAValue:
    """Numbers that compare equal have the same bits, but zeros: "and" makes those +0, "or" makes them -0."""
    kind = x.type
    bits = like(kind, integer(width(kind)))
    both = b.integer_op(of_equals, b.convert(llvm.BitcastOp, x, bits), b.convert(llvm.BitcastOp, y, bits))
    first = b.integer_op(llvm.OrOp, b.fcmp(better, x, y), b.fcmp("uno", x, x))
    chosen = b.select(first, x, y)
    return b.select(b.fcmp("oeq", x, y), b.convert(llvm.BitcastOp, both, kind), chosen)


def _f32_to_bf16(b: LLVMBuilder, x: SSAValue) -> SSAValue:
    """Round the upper half by adding just under half a unit, plus one where the last bit kept is odd."""
    word = like(x.type, i32)
    sixteen = b.constant(16, word)
    bits = b.convert(llvm.BitcastOp, x, word)
    upper = b.integer_op(llvm.LShrOp, bits, sixteen)
    odd = b.integer_op(llvm.AndOp, upper, b.constant(1, word))
    bias = b.integer_op(llvm.AddOp, odd, b.constant(0x7FFF, word))
    rounded = b.integer_op(llvm.LShrOp, b.integer_op(llvm.AddOp, bits, bias), sixteen)
    quiet_nan = b.integer_op(llvm.OrOp, upper, b.constant(0x40, word))
    return b.convert(llvm.TruncOp, b.select(b.fcmp("uno", x, x), quiet_nan, rounded), like(word, i16))


def _f32_to_f16(b: LLVMBuilder, x: SSAValue) -> SSAValue:
    """Normal numbers round in integer arithmetic; subnormal ones by adding 0.5, whose last bit is theirs."""
    word = like(x.type, i32)

    def number(value: int) -> SSAValue:
        return b.constant(value, word)

    bits = b.convert(llvm.BitcastOp, x, word)
    size = b.integer_op(llvm.AndOp, bits, number(0x7FFFFFFF))
    sign = b.integer_op(llvm.LShrOp, b.integer_op(llvm.XOrOp, bits, size), number(16))
    thirteen = number(13)
    odd = b.integer_op(llvm.AndOp, b.integer_op(llvm.LShrOp, size, thirteen), number(1))
    rebias = b.integer_op(llvm.AddOp, size, number(((15 - 127) << 23) + 0xFFF))
    normal = b.integer_op(llvm.LShrOp, b.integer_op(llvm.AddOp, rebias, odd), thirteen)
    half = b.constant(0.5, x.type)
    aligned = b.float_op(llvm.FAddOp, b.convert(llvm.BitcastOp, size, x.type), half)
    subnormal = b.integer_op(llvm.SubOp, b.convert(llvm.BitcastOp, aligned, word), number(126 << 23))
    finite = b.select(b.icmp("ult", size, number(113 << 23)), subnormal, normal)
    payload = b.integer_op(llvm.AndOp, b.integer_op(llvm.LShrOp, size, thirteen), number(0x3FF))
    nan = b.integer_op(llvm.OrOp, payload, number(0x7E00))
    special = b.select(b.icmp("ugt", size, number(0x7F800000)), nan, number(0x7C00))
    result = b.select(b.icmp("ult", size, number(0x47800000)), finite, special)  # 65536, past the greatest half
    return b.convert(llvm.TruncOp, b.integer_op(llvm.OrOp, result, sign), like(word, i16))


def _f16_to_f32(b: LLVMBuilder, bits: SSAValue) -> SSAValue:
    """Shift exponent and mantissa into place and rebias; subnormals are normalised by a float subtraction."""
    word, real = like(bits.type, i32), like(bits.type, f32)

    def number(value: int) -> SSAValue:
        return b.constant(value, word)

    wide = b.convert(llvm.ZExtOp, bits, word)
    size = b.integer_op(llvm.ShlOp, b.integer_op(llvm.AndOp, wide, number(0x7FFF)), number(13))
    sign = b.integer_op(llvm.ShlOp, b.integer_op(llvm.AndOp, wide, number(0x8000)), number(16))
    normal = b.integer_op(llvm.AddOp, size, number(112 << 23))
    special = b.integer_op(llvm.AddOp, size, number(224 << 23))
    shifted = b.convert(llvm.BitcastOp, b.integer_op(llvm.AddOp, size, number(113 << 23)), real)
    exact = b.float_op(llvm.FSubOp, shifted, b.convert(llvm.BitcastOp, number(113 << 23), real))
    subnormal = b.convert(llvm.BitcastOp, exact, word)
    finite = b.select(b.icmp("ult", size, number(1 << 23)), subnormal, normal)
    result = b.select(b.icmp("uge", size, number(0x1F << 23)), special, finite)
    return b.convert(llvm.BitcastOp, b.integer_op(llvm.OrOp, result, sign), real)


def _f64_to_f32_odd(b: LLVMBuilder, x: SSAValue) -> SSAValue:
    """Truncate towards zero and keep "inexact" in the last bit, so that rounding again cannot see a false tie."""
    word, real = like(x.type, i32), like(x.type, f32)
    nearest = b.convert(llvm.FPTruncOp, x, real)
    back = b.convert(llvm.FPExtOp, nearest, x.type)
    bits = b.convert(llvm.BitcastOp, nearest, word)
    beyond = b.fcmp("ogt", b.float_op(llvm.FAbsOp, back), b.float_op(llvm.FAbsOp, x))
    toward_zero = b.integer_op(llvm.SubOp, bits, b.convert(llvm.ZExtOp, beyond, word))
    inexact = b.convert(llvm.ZExtOp, b.fcmp("one", back, x), word)
    return b.convert(llvm.BitcastOp, b.integer_op(llvm.OrOp, toward_zero, inexact), real)


def _round_product(b: LLVMBuilder, x: SSAValue, factor: SSAValue, above: SSAValue, shift: SSAValue) -> SSAValue:
    """By the distance of the product from the middle between `above` and the integer below, in units of 2^16 and what
    is below them, and half of the last of 24 bits of a number near this middle."""
    zero, one, half = (b.constant(value, i32) for value in (0, 1, 16))

    def op(kind: type[Operation], left: SSAValue, right: SSAValue) -> SSAValue:
        return b.integer_op(kind, left, right)

    def flipped(value: SSAValue) -> SSAValue:
        return op(llvm.XOrOp, value, b.constant(-1, i32))

    middle = op(llvm.SubOp, op(llvm.AddOp, above, above), one)
    low = b.constant(0xFFFF, i32)
    part = op(llvm.AndOp, factor, low)
    least = op(llvm.MulOp, op(llvm.AndOp, x, low), part)
    upper = op(llvm.MulOp, x, op(llvm.AShrOp, factor, half))
    upper = op(llvm.SubOp, upper, op(llvm.ShlOp, middle, op(llvm.SubOp, shift, b.constant(17, i32))))
    upper = op(llvm.AddOp, upper, op(llvm.MulOp, op(llvm.AShrOp, x, half), part))
    upper = op(llvm.AddOp, upper, op(llvm.LShrOp, least, half))
    lower = op(llvm.ShlOp, least, half)
    is_below = b.icmp("slt", upper, zero)
    moved = b.icmp("ne", op(llvm.OrOp, upper, lower), zero)  # a distance of 0 is none less
    borrowed = b.convert(llvm.ZExtOp, b.integer_op(llvm.AndOp, moved, b.icmp("eq", lower, zero)), i32)
    lower = op(llvm.SubOp, lower, b.convert(llvm.ZExtOp, moved, i32))
    upper = b.select(is_below, flipped(upper), op(llvm.SubOp, upper, borrowed))
    lower = b.select(is_below, op(llvm.SubOp, b.constant(-2, i32), lower), lower)  # what it was, flipped
    whole = op(llvm.LShrOp, upper, op(llvm.SubOp, shift, b.constant(41, i32)))
    parts = (
        op(llvm.ShlOp, upper, op(llvm.SubOp, b.constant(41, i32), shift)),
        op(llvm.LShrOp, lower, op(llvm.SubOp, shift, b.constant(9, i32))),
    )
    steps = b.select(b.icmp("slt", shift, b.constant(41, i32)), op(llvm.OrOp, *parts), whole)
    return _nearer(b, above, middle, steps, is_below)


def _round_near_product(b: LLVMBuilder, x: SSAValue, factor: SSAValue, above: SSAValue, shift: SSAValue) -> SSAValue:
    """By the distance of the product from the middle between `above` and the integer below."""
    zero, one = b.constant(0, i32), b.constant(1, i32)
    middle = b.integer_op(llvm.SubOp, b.integer_op(llvm.AddOp, above, above), one)
    moved = b.integer_op(llvm.SubOp, shift, one)
    low = b.icmp("slt", moved, b.constant(32, i32))
    moved = b.integer_op(llvm.ShlOp, middle, b.select(low, moved, zero))
    product = b.integer_op(llvm.MulOp, x, factor)
    distance = b.integer_op(llvm.SubOp, product, b.select(low, moved, zero))
    is_below = b.icmp("slt", distance, zero)
    less = b.integer_op(llvm.SubOp, distance, b.convert(llvm.ZExtOp, b.icmp("ne", distance, zero), i32))
    flipped = b.integer_op(llvm.XOrOp, distance, b.constant(-1, i32))
    steps = b.select(is_below, flipped, less)
    steps = b.integer_op(llvm.LShrOp, steps, b.integer_op(llvm.SubOp, shift, b.constant(25, i32)))
    return _nearer(b, above, middle, steps, is_below)


def _nearer(b: LLVMBuilder, above: SSAValue, middle: SSAValue, steps: SSAValue, is_below: SSAValue) -> SSAValue:
    """The even integer where `steps`, the distance in halves of the last of 24 bits of a number near `middle` / 2, has
    fewer bits than this; else the nearer one."""
    zero, one = b.constant(0, i32), b.constant(1, i32)
    size = b.select(b.icmp("slt", middle, zero), b.integer_op(llvm.SubOp, zero, middle), middle)
    flipped = b.integer_op(llvm.XOrOp, steps, b.constant(-1, i32))
    near = b.icmp("ugt", b.integer_op(llvm.AndOp, size, flipped), steps)
    even = b.integer_op(llvm.SubOp, above, b.integer_op(llvm.AndOp, above, one))
    return b.select(near, even, b.integer_op(llvm.SubOp, above, b.convert(llvm.ZExtOp, is_below, i32)))
