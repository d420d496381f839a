"""Small static functions that generated C defines where it needs them, instead of calling a library.

A function that stands in for one of libm has its name; others say what they do. Each is exactly what the IR operation
says: rounding to nearest even, NaN and signed zeros as IEEE 754 has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from aotc.emit.c import instructions
from aotc.emit.c.formulas import c_name, definition
from aotc.machines.instructions.floats import FUNCTIONS, ROUNDINGS

_VRINTN = """\
#if (defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)) && defined(__ARM_FP) && (__ARM_FP & 4)
    __asm__("vrintn.f32 %0, %1" : "=t"(x) : "t"(x));
    return x;"""
"""An instruction of Arm that is preferred to `aotc_roundevenf`."""

_BITS = """\
/* The bits of a {T} as an integer. */
static AOTC_HELPER inline {I} aotc_{T}_bits({T} x)
{{
    union {{ {T} value; {I} bits; }} both;
    both.value = x;
    return both.bits;
}}
"""

_FROM_BITS = """\
/* The {T} with these bits. */
static AOTC_HELPER inline {T} aotc_{T}_of_bits({I} bits)
{{
    union {{ {T} value; {I} bits; }} both;
    both.bits = bits;
    return both.value;
}}
"""

_EXP = """\
/* e to the power of x, within 2 units in the last place: 2^n times a polynomial (Cephes) of the remainder. */
static AOTC_HELPER inline float aotc_expf(float x)
{
    const float low = x < -104.0f ? -104.0f : x;
    const float bounded = low > 89.0f ? 89.0f : low;
    const float shifted = bounded * 1.44269504f + 12582912.0f; /* adding 1.5 * 2^23 leaves n in the low bits */
    const float n = shifted - 12582912.0f;
    const float r = bounded - n * 0.693359375f + n * 2.12194440e-4f;
    const uint32_t exponent = aotc_float_bits(shifted) - 0x4b400000u + 508u; /* n + 4 * 127, never negative */
    const uint32_t half = exponent / 2u - 127u; /* in two steps, for results that are subnormal or infinite */
    float y = 1.9875691500e-4f;
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * (r * r) + r + 1.0f;
    return y * aotc_float_of_bits(half << 23) * aotc_float_of_bits((exponent - 254u - half) << 23);
}
"""

_TANH = """\
/* The hyperbolic tangent, within 2 units in the last place (Cephes). */
static AOTC_HELPER inline float aotc_tanhf(float x)
{
    const float magnitude = x < 0.0f ? -x : x;
    if (magnitude < 0.625f) {
        const float z = x * x;
        float y = -5.70498872745e-3f;
        y = y * z + 2.06390887954e-2f;
        y = y * z - 5.37397155531e-2f;
        y = y * z + 1.33314422036e-1f;
        y = y * z - 3.33332819422e-1f;
        return x * (y * z + 1.0f);
    }
    if (x != x) {
        return x;
    }
    const float y = 1.0f - 2.0f / (aotc_expf(magnitude + magnitude) + 1.0f);
    return x < 0.0f ? -y : y;
}
"""

_FLOOR_DIVISION = """\
/* a / b rounded down. */
static AOTC_HELPER inline {S} aotc_floordiv{N}({S} a, {S} b)
{{
    const {S} quotient = ({S})(a / b);
    return ({S})(a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient);
}}
"""

_CEIL_DIVISION = """\
/* a / b rounded up. */
static AOTC_HELPER inline {S} aotc_ceildiv{N}({S} a, {S} b)
{{
    const {S} quotient = ({S})(a / b);
    return ({S})(a % b != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient);
}}
"""

_UNSIGNED_CEIL_DIVISION = """\
/* a / b rounded up. */
static AOTC_HELPER inline {U} aotc_ceildivu{N}({U} a, {U} b)
{{
    return ({U})(a / b + (a % b != 0 ? 1u : 0u));
}}
"""

_WORD = """\
/* The four bytes at p, the lowest first. */
static AOTC_HELPER inline int32_t aotc_word(const void *p)
{
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return word;
#else
    const unsigned char *bytes = p;
    const uint32_t low = bytes[0] | (uint32_t)bytes[1] << 8;
    return (int32_t)(low | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
#endif
}
"""

_DSP = """\
#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>
#define AOTC_DSP 1
#else
#define AOTC_DSP 0
#endif
"""

_OPAQUE = """\
/* n, hidden from the optimizer: it would unroll a loop of few iterations completely and keep what later ones load in
 * registers that the accumulators need. */
static AOTC_HELPER inline int{N}_t aotc_opaque_i{N}(int{N}_t n)
{{
#if defined(__GNUC__) || defined(__clang__)
    __asm__ volatile("" : "+r"(n));
#endif
    return n;
}}
"""


def _helpers() -> dict[str, tuple[tuple[str, ...], str]]:
    """Name: the helpers it calls, and its text. In an order in which each stands behind what it calls."""
    table: dict[str, tuple[tuple[str, ...], str]] = {}
    for kind, suffix, bits in (("float", "f", "uint32_t"), ("double", "", "uint64_t")):
        names = {"T": kind, "F": suffix, "I": bits}
        table[f"aotc_{kind}_bits"] = ((), _BITS.format(**names))
        table[f"aotc_{kind}_of_bits"] = ((), _FROM_BITS.format(**names))
    both = ("aotc_float_bits", "aotc_float_of_bits")
    table["aotc_expf"] = (both, _EXP)
    table["aotc_tanhf"] = (("aotc_expf",), _TANH)
    for function in FUNCTIONS.values():
        for dtype in ("f32", "f64") if function.is_of_any else ("f32",):
            name = c_name(function, dtype)
            text = definition(function, dtype, _VRINTN if name == "aotc_roundevenf" else "")
            table[name] = tuple({*re.findall(r"aotc_\w+_bits", text)}), text
    for function in ROUNDINGS.values():
        table[f"aotc_{function.name}"] = ((), definition(function, "s32"))
    table |= {"aotc_word": ((), _WORD), "AOTC_DSP": ((), _DSP)}
    for name, row in instructions.FUNCTIONS.items():
        text = instructions.function(row)
        table[name] = (("AOTC_DSP",) if "AOTC_DSP" in text else (), text)
    for bits in (32, 64):
        table[f"aotc_opaque_i{bits}"] = ((), _OPAQUE.format(N=bits))
    for bits in (8, 16, 32, 64):
        names = {"S": f"int{bits}_t", "U": f"uint{bits}_t", "N": str(bits)}
        table[f"aotc_floordiv{bits}"] = ((), _FLOOR_DIVISION.format(**names))
        table[f"aotc_ceildiv{bits}"] = ((), _CEIL_DIVISION.format(**names))
        table[f"aotc_ceildivu{bits}"] = ((), _UNSIGNED_CEIL_DIVISION.format(**names))
    return table


HELPERS = _helpers()

_ROUNDING = {"aotc_expf", "aotc_roundevenf", "aotc_roundeven", "aotc_f32_to_f16"}
"""Helpers that -ffast-math would break."""

_FAST_MATH = """\
#ifdef __FAST_MATH__
#error "rounding here relies on IEEE arithmetic: compile without -ffast-math"
#endif
"""


def helper_text(needed: Iterable[str]) -> list[str]:
    """The definitions of the `needed` helpers and of all they call, each once, also where several models are one
    translation unit."""
    closed: set[str] = set()
    pending = list(needed)
    while pending:
        name = pending.pop()
        if name not in closed:
            closed.add(name)
            pending.extend(HELPERS[name][0])
    guard = [_FAST_MATH] if closed & _ROUNDING else []
    return guard + [_once(name, text) for name, (_, text) in HELPERS.items() if name in closed]


def _once(name: str, text: str) -> str:
    guard = f"AOTC_HAS_{name.removeprefix('aotc_').upper()}"
    return f"#ifndef {guard}\n#define {guard}\n{text}#endif\n"
