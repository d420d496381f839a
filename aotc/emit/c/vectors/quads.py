"""Vectors of four in generated C: what Arm's MVE (Helium) has instructions for and GCC's vector extension no operator,
or no way to one, and the same in plain C elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aotc.emit.c.vector_types import Variants, Vector, type_name

INTEGERS = "defined(__ARM_FEATURE_MVE)"
"""Whether there are vectors of integers."""
FLOATS = "defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)"
"""Whether there are vectors of floats."""


def mve(v: Vector, name: str, arguments: str, condition: str = INTEGERS) -> Variants:
    """One intrinsic on registers of 16 bytes; `<x>` in `arguments` is a vector as it takes it."""
    if v.size != 16 or v.bits == 64:
        return []
    element = {"f": "float", "u": "uint", "i": "int"}[v.kind]
    suffix = f"{'s' if v.kind == 'i' else v.kind}{v.bits}"
    text = arguments.replace("<", f"({element}{v.bits}x{v.lanes}_t)(").replace(">", ")")
    return [(condition, f"(({v.name}){name}_{suffix}({text}))")]


def selected(v: Vector, symbol: str) -> Variants:
    """`a symbol b ? a : b` of floats."""
    if v.bits != 32:
        return []
    compare = f"vcmp{'gt' if symbol == '>' else 'lt'}q_f32((float32x4_t)(a), (float32x4_t)(b))"
    return mve(v, "vpselq", f"<a>, <b>, {compare}", FLOATS)


def of_integers(v: Vector) -> tuple[Sequence[str], Variants]:
    """Signed integers as floats, to nearest even."""
    signed = f"({v.signed})(x)"
    found: Variants = [(FLOATS, f"(({v.name})vcvtq_f32_s32((int32x4_t)(x)))")] if (v.size, v.bits) == (16, 32) else []
    return "x", [*found, ("", f"__builtin_convertvector({signed}, {v.name})")]


def of_lanes(v: Vector) -> tuple[Sequence[str], Variants]:
    """Four integers side by side; GCC would take them through memory."""
    pairs = "vmov %q0[2], %q0[0], %1, %3\\n\\tvmov %q0[3], %q0[1], %2, %4"
    text = (
        f"(__extension__ ({{ {v.name} aotc_lanes; "
        f'__asm__("{pairs}" : "=&w"(aotc_lanes) : "r"(a), "r"(b), "r"(c), "r"(d)); aotc_lanes; }}))'
    )
    plain = f"(({v.name}){{{', '.join(f'(uint32_t)({x})' for x in 'abcd')}}})"
    return "abcd", [(f"{INTEGERS} && !defined(__clang__)", text), ("", plain)]


def rescaled(v: Vector) -> tuple[Sequence[str], Variants]:
    """x * f / 2^(31 + s), rounded twice as TFLite does: halves of a negative quotient are a unit less before they are
    rounded up."""
    doubled = "int32x4_t aotc_q = vqrdmulhq_s32((int32x4_t)(x), (int32x4_t)(f));"
    less = "aotc_q = vqaddq_s32(aotc_q, vshrq_n_s32(vandq_s32(aotc_q, aotc_n), 31));"
    divided = f"const int32x4_t aotc_n = vnegq_s32((int32x4_t)(s)); {less} ({v.name})vrshlq_s32(aotc_q, aotc_n);"
    wide = type_name("i", 64, v.lanes)

    def widen(operand: str) -> str:
        return f"__builtin_convertvector(({v.signed})({operand}), {wide})"

    quotient = f"__builtin_convertvector(({widen('x')} * {widen('f')} + 1073741824) >> 31, {v.signed})"
    mask = f"({v.signed})(({v.operation('splat')}(1u) << (s)) - 1u)"
    up = "((aotc_q & aotc_m) > (aotc_m >> 1) - (aotc_q < 0))"  # all ones
    plain = f"const {v.signed} aotc_q = {quotient}, aotc_m = {mask}; ({v.name})((aotc_q >> ({v.signed})(s)) - {up});"
    return "xfs", [
        (INTEGERS, f"(__extension__ ({{ {doubled} {divided} }}))"),
        ("", f"(__extension__ ({{ {plain} }}))"),
    ]


def widened(is_signed: bool) -> Callable[[Vector, int], tuple[Sequence[str], Variants]]:
    """Narrow integers from memory, each in a lane of 32 bits; the count is their bits."""

    def build(v: Vector, bits: int) -> tuple[Sequence[str], Variants]:
        sign, memory = "s" if is_signed else "u", Vector("i" if is_signed else "u", bits, v.lanes)
        name = f"vldr{'b' if bits == 8 else 'h'}q_{sign}32"
        wide = v.signed if is_signed else v.name
        plain = f"(({v.name})__builtin_convertvector({memory.operation('load')}(p), {wide}))"
        found = [(INTEGERS, f"(({v.name}){name}((const {memory.element} *)(p)))")] if v.size == 16 else []
        return "p", [*found, ("", plain)]

    return build


def narrowed(v: Vector, bits: int) -> tuple[Sequence[str], Variants]:
    """The low bits of each lane to memory; the count is how many."""
    name, memory = f"vstr{'b' if bits == 8 else 'h'}q_u32", Vector("u", bits, v.lanes)
    plain = f"{memory.operation('store')}(p, __builtin_convertvector(v, {memory.name}))"
    found = [(INTEGERS, f"{name}(({memory.element} *)(p), (uint32x4_t)(v))")] if v.size == 16 else []
    return "pv", [*found, ("", plain)]


def _products(v: Vector) -> str:
    return " + ".join(f"(int8_t)(a)[{i}] * (int8_t)(b)[{i}]" for i in range(v.lanes))


def _terms(v: Vector) -> str:
    return " + ".join(f"(int8_t)(a)[{i}]" for i in range(v.lanes))


def lane_dot(v: Vector) -> tuple[Sequence[str], Variants]:
    """A sum plus all products of signed bytes."""
    plain = f"((int32_t)((uint32_t)(c) + (uint32_t)({_products(v)})))"
    return "abc", [(INTEGERS, "vmladavaq_s8(c, (int8x16_t)(a), (int8x16_t)(b))"), ("", plain)]


def lane_sum(v: Vector) -> tuple[Sequence[str], Variants]:
    """A sum plus all signed bytes."""
    plain = f"((int32_t)((uint32_t)(c) + (uint32_t)({_terms(v)})))"
    return "ac", [(INTEGERS, "vaddvaq_s8(c, (int8x16_t)(a))"), ("", plain)]


def lane_dot_alone(v: Vector) -> tuple[Sequence[str], Variants]:
    """The sum of all products of signed bytes."""
    return "ab", [(INTEGERS, "vmladavq_s8((int8x16_t)(a), (int8x16_t)(b))"), ("", f"({_products(v)})")]


def lane_sum_alone(v: Vector) -> tuple[Sequence[str], Variants]:
    """The sum of all signed bytes."""
    return "a", [(INTEGERS, "vaddvq_s8((int8x16_t)(a))"), ("", f"({_terms(v)})")]


def first_lanes(v: Vector, count: int) -> Variants:
    """The first `count` lanes from memory, zeros behind them."""
    if v.size != 16 or v.kind == "f" or v.bits == 64:
        return []
    sign, letter = ("u", "uint") if v.kind == "u" else ("s", "int")
    name = {8: "b", 16: "h", 32: "w"}[v.bits]
    pointer = f"(const {letter}{v.bits}_t *)(p)"
    text = f"(({v.name})vldr{name}q_z_{sign}{v.bits}({pointer}, vctp{v.bits}q({count}u)))"
    return [(INTEGERS, text)]


def quantized(is_signed: bool) -> Callable[[Vector, int], tuple[Sequence[str], Variants]]:
    """The nearest integers plus z, between low and high, which fit as many bits as the count says: those bits of each
    lane, others are anything. Rounding plainly is adding 3 * 2^22, whose last bits are units."""

    def build(v: Vector, bits: int) -> tuple[Sequence[str], Variants]:
        wide, sign = v.unsigned, "" if is_signed else "u"
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
        clamped = (
            "int32x4_t aotc_q = vqaddq_n_s32(vcvtnq_s32_f32((float32x4_t)(x)), z);"
            f" aotc_q = (low) > {least} ? vmaxq_s32(aotc_q, vdupq_n_s32(low)) : aotc_q;"
            f" aotc_q = (high) < {most} ? vminq_s32(aotc_q, vdupq_n_s32(high)) : aotc_q;"
        )
        narrow = f"vqmov{'n' if bits == 8 else f'{sign}n'}bq_s32(vreinterpretq_{sign or 's'}16_s32(aotc_q), aotc_q)"
        if bits == 8:
            narrow = narrow.replace(f"vreinterpretq_{sign}16", "vreinterpretq_s16")
            narrow = f"vqmov{sign}nbq_s16(vreinterpretq_{sign or 's'}8_s32(aotc_q), {narrow})"
        bounds = [f"{v.operation('splat')}((float)(({bound}) - (z)))" for bound in ("low", "high")]
        inside = f"{v.operation('min')}({v.operation('max')}(x, {bounds[0]}), {bounds[1]})"
        shifted = f"({wide})({inside} + {v.operation('splat')}(12582912.0f))"
        offset = f"{v.unsigned.replace('_', '_splat_', 1)}((uint32_t)(z) - 1262485504u)"
        return ["x", "z", "low", "high"], [
            (FLOATS, f"(__extension__ ({{ {clamped} ({wide}){narrow}; }}))"),
            ("", f"({shifted} + {offset})"),
        ]

    return build
