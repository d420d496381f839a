"""Small static functions of generated C for integers on cores without vectors of floats: words, runs, rounding.

Each is one instruction of some cores, or a few others with the same result.
"""

from __future__ import annotations

from itertools import product

_WORD = """\
/* The four bytes at p, the lowest first. */
static inline int32_t aotc_word(const void *p)
{
#ifdef __GNUC__
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

_WIDEN = """\
/* Bytes {BYTES} of a word as two integers of 16 bits{MORE}. */
static inline int32_t aotc_widen_{X}_{PLACE}{ADD}(int32_t word{PARAMETER})
{{
#if AOTC_DSP{ASSEMBLY}
    return (int32_t)__{X}xt{A}b16({FIRST}({SIGN}int8x4_t){WORD});
#else
    const uint32_t low = (uint32_t){ADDED}({T}){LOW};
    const uint32_t high = (uint32_t)({T}){HIGH}{ADDED_HIGH};
    return (int32_t)((low & 0xffffu) | high << 16);
#endif
}}
"""

_WIDEN_ASSEMBLY = """ && !defined(__clang__)
    int32_t halves;
    __asm__("{X}xt{A}b16 %0, {OPERANDS}, ror #8" : "=r"(halves) : {INPUTS});
    return halves;
#elif AOTC_DSP"""

_WORD_DOT = """\
/* sum + a0 * b0 + a1 * b1 of signed halves, modulo 2^32. */
static inline int32_t aotc_word_dot(int32_t a, int32_t b, int32_t sum)
{
#if AOTC_DSP
    return __smlad((int16x2_t)a, (int16x2_t)b, sum);
#else
    const uint32_t low = (uint32_t)((int32_t)(int16_t)a * (int16_t)b);
    return (int32_t)((uint32_t)sum + low + (uint32_t)((a >> 16) * (b >> 16)));
#endif
}
"""

_HALF_DOT = """\
/* sum + the product of the {PLACE} halves, signed, modulo 2^32. A compiler reorders no sum that it does not see. */
static inline int32_t aotc_half_dot_{PLACE}(int32_t a, int32_t b, int32_t sum)
{{
#if AOTC_DSP
    return __smla{X}{X}(a, b, sum);
#else
    return (int32_t)((uint32_t)sum + (uint32_t)({A} * {B}));
#endif
}}
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

_RUN_DOT = """\
/* sum + the sum of (x[i] + added) * w[i] over i < count <= 8, modulo 2^32. */
static inline int32_t aotc_run_dot_{X}{W}(const void *x, const void *w, int32_t sum, int16_t added, int32_t count)
{{
#if AOTC_MVE
    if (count == 8) {{
        const int16x8_t a = {AX}vldrbq_{X}16(x){EX}, b = {BW}vldrbq_{W}16(w){EW};
        return vmladavaq_s16(sum, added != 0 ? vaddq_n_s16(a, added) : a, b);
    }} else {{
        const mve_pred16_t first = vctp16q((uint32_t)count);
        const int16x8_t a = {AX}vldrbq_z_{X}16(x, first){EX}, b = {BW}vldrbq_z_{W}16(w, first){EW};
        return vmladavaq_s16(sum, vaddq_n_s16(a, added), b); /* what is beyond them is 0 in w */
    }}
#else
    const {TX} *a = x;
    const {TW} *b = w;
    for (int32_t i = 0; i < count; ++i) {{
        sum = (int32_t)((uint32_t)sum + (uint32_t)((a[i] + added) * b[i]));
    }}
    return sum;
#endif
}}
"""

_MVE = """\
#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#define AOTC_MVE 1
#else
#define AOTC_MVE 0
#endif
"""


def _run_dot(x: str, w: str) -> str:
    """The helper for the signs of two runs."""
    names = {"X": x, "W": w}
    for sign, what, load in ((x, "X", "A"), (w, "W", "B")):
        names[f"T{what}"] = "int8_t" if sign == "s" else "uint8_t"
        names[f"{load}{what}"] = "" if sign == "s" else "vreinterpretq_s16_u16("
        names[f"E{what}"] = "" if sign == "s" else ")"
    return _RUN_DOT.format(**names)


def _widen(sign: str, odd: bool, added: bool) -> str:
    """The helper that widens two bytes of a word. GCC has no intrinsic that rotates the word on the way."""
    shift = 8 if odd else 0
    names = {
        "BYTES": "1 and 3" if odd else "0 and 2",
        "MORE": ", added to two others" if added else "",
        "X": sign,
        "A": "a" if added else "",
        "PLACE": "odd" if odd else "even",
        "ADD": "_add" if added else "",
        "PARAMETER": ", int32_t added" if added else "",
        "FIRST": "(int16x2_t)added, " if added else "",
        "SIGN": "" if sign == "s" else "u",
        "WORD": "((uint32_t)word >> 8 | (uint32_t)word << 24)" if odd else "word",
        "T": "int8_t" if sign == "s" else "uint8_t",
        "LOW": f"(word >> {shift})" if shift else "word",
        "HIGH": f"(word >> {shift + 16})",
        "ADDED": "added + (uint32_t)" if added else "",
        "ADDED_HIGH": " + ((uint32_t)added >> 16)" if added else "",
    }
    if added and sign == "u":
        names["FIRST"] = "(uint16x2_t)added, "
    given = {"OPERANDS": "%1, %2" if added else "%1", "INPUTS": '"r"(added), "r"(word)' if added else '"r"(word)'}
    names["ASSEMBLY"] = _WIDEN_ASSEMBLY.format(**names, **given) if odd else ""
    return _WIDEN.format(**names)


def integer_helpers() -> dict[str, tuple[tuple[str, ...], str]]:
    """Name: the helpers it calls, and its text. In an order in which each stands behind what it calls."""
    table: dict[str, tuple[tuple[str, ...], str]] = {}
    table["aotc_word"] = ((), _WORD)
    table["AOTC_DSP"] = ((), _DSP)
    for sign, odd, added in product("su", (False, True), (False, True)):
        name = f"aotc_widen_{sign}_{'odd' if odd else 'even'}{'_add' if added else ''}"
        table[name] = (("AOTC_DSP",), _widen(sign, odd, added))
    table["aotc_word_dot"] = (("AOTC_DSP",), _WORD_DOT)
    for place, letter, factors in (
        ("low", "b", ("(int16_t)a", "(int16_t)b")),
        ("high", "t", ("(a >> 16)", "(b >> 16)")),
    ):
        names = {"PLACE": place, "X": letter, "A": factors[0], "B": factors[1]}
        table[f"aotc_half_dot_{place}"] = (("AOTC_DSP",), _HALF_DOT.format(**names))
    for sign, bits in product("su", (8, 16)):
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "s" else (0, (1 << bits) - 1)
        names = {"X": sign, "N": str(bits), "U": "" if sign == "s" else "u", "LOW": str(low), "HIGH": str(high)}
        table[f"aotc_saturate_{sign}{bits}"] = ((), _SATURATE.format(**names))
    table["AOTC_MVE"] = ((), _MVE)
    for x, w in product("su", "su"):
        table[f"aotc_run_dot_{x}{w}"] = (("AOTC_MVE",), _run_dot(x, w))
    table["aotc_round_product"] = ((), _ROUND_PRODUCT)
    table["aotc_round_near_product"] = ((), _ROUND_NEAR_PRODUCT)
    return table
