"""Small static functions of generated C for integers on cores without vectors of floats: words, runs, rounding.

Each is one instruction of some cores, or a few others with the same result.
"""

from __future__ import annotations

from itertools import product

from aotc.emit.c.instructions import FUNCTIONS, function

_WORD = """\
/* The four bytes at p, the lowest first. */
static inline int32_t aotc_word(const void *p)
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

_SATURATE = """\
/* The nearest integer that {U}int{N}_t holds. */
static inline int32_t aotc_saturate_{X}{N}(int32_t x)
{{
#if defined(__GNUC__) && defined(__ARM_FEATURE_SAT) /* arm_acle.h's own is not free of warnings */
    return (int32_t)__builtin_arm_{X}sat(x, {N});
#else
    const int32_t low = x > {LOW} ? x : {LOW};
    return low < {HIGH} ? low : {HIGH};
#endif
}}
"""

_ROUND_PRODUCT = """\
/* x * factor / 2^shift as floats round it, to `above` or the integer below it: the product to 24 bits, then to the
 * nearest integer, ties to even. A function of its own, because it is seldom called, and from many places. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((noinline, cold))
#endif
static int32_t aotc_round_product(int32_t x, int32_t factor, int32_t above, int32_t shift)
{
    /* The product less the middle between the two integers: whole units of 2^16, and 16 bits below them. Few values are
     * needed at a time, so that this takes little stack. */
    const uint32_t part = (uint32_t)factor & 0xffffu;
    uint32_t lower = ((uint32_t)x & 0xffffu) * part;
    uint32_t upper = (lower >> 16) + (uint32_t)(x >> 16) * part + (uint32_t)x * (uint32_t)(factor >> 16);
    upper -= (2 * (uint32_t)above - 1) << (shift - 17);
    lower <<= 16;
    int32_t nearest = above;
    if ((int32_t)upper < 0) {
        nearest -= 1;
        upper = ~upper;
        lower = ~lower;
    } else if (lower != 0) {
        lower -= 1;
    } else if (upper != 0) {
        upper -= 1;
        lower = ~lower;
    }
    /* Less than half of the last of 24 bits away? Those of the middle begin at the greatest power of two in it. */
    const uint32_t steps = shift < 41 ? upper << (41 - shift) | lower >> (shift - 9) : upper >> (shift - 41);
    const uint32_t size = (uint32_t)(above > 0 ? 2 * above - 1 : 1 - 2 * above);
    return (size & ~steps) > steps ? above & ~1 : nearest; /* whether steps has fewer bits than size */
}
"""

_ROUND_NEAR_PRODUCT = """\
/* x * factor / 2^shift as floats round it, to `above` or the integer below it: the product to 24 bits, then to the
 * nearest integer, ties to even. The distance of x * factor from the middle is an int32_t. A function of its own,
 * because it is seldom called, and from many places. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((noinline, cold))
#endif
static int32_t aotc_round_near_product(int32_t x, int32_t factor, int32_t above, int32_t shift)
{
    /* Few values are needed at a time, so that this takes little stack. */
    const uint32_t middle = shift < 33 ? (2 * (uint32_t)above - 1) << (shift - 1) : 0u;
    const int32_t distance = (int32_t)((uint32_t)x * (uint32_t)factor - middle);
    uint32_t steps = distance > 0 ? (uint32_t)distance - 1 : distance < 0 ? ~(uint32_t)distance : 0u;
    /* Less than half of the last of 24 bits away? Those of the middle begin at the greatest power of two in it. */
    steps >>= shift - 25;
    const uint32_t size = (uint32_t)(above > 0 ? 2 * above - 1 : 1 - 2 * above);
    if ((size & ~steps) > steps) { /* whether steps has fewer bits than size */
        return above & ~1;
    }
    return distance < 0 ? above - 1 : above;
}
"""


def integer_helpers() -> dict[str, tuple[tuple[str, ...], str]]:
    """Name: the helpers it calls, and its text. In an order in which each stands behind what it calls."""
    table: dict[str, tuple[tuple[str, ...], str]] = {}
    table["aotc_word"] = ((), _WORD)
    table["AOTC_DSP"] = ((), _DSP)
    for name, row in FUNCTIONS.items():
        table[name] = (("AOTC_DSP",), function(row))
    for sign, bits in product("su", (8, 16)):
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "s" else (0, (1 << bits) - 1)
        names = {"X": sign, "N": str(bits), "U": "" if sign == "s" else "u", "LOW": str(low), "HIGH": str(high)}
        table[f"aotc_saturate_{sign}{bits}"] = ((), _SATURATE.format(**names))
    table["aotc_round_product"] = ((), _ROUND_PRODUCT)
    table["aotc_round_near_product"] = ((), _ROUND_NEAR_PRODUCT)
    return table
