"""Dot products of narrow integers in generated C: instructions where the compiler may use them, else vectors of wider
elements. All give the same bits.

`a` and `b` are vectors of 8 or 16 bits, `c` the sums; a name says of each factor whether it is signed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from aotc.emit.c.vector_types import Vector, type_name

Variants: TypeAlias = "list[tuple[str, str]]"
"""(preprocessor condition, expansion) in order of preference; the last one's condition is empty."""

_PREFIX = {16: "_mm", 32: "_mm256", 64: "_mm512"}
_PAIRS = {16: "defined(__SSE2__)", 32: "defined(__AVX2__)", 64: "defined(__AVX512BW__)"}
_NARROW_PAIRS = {**_PAIRS, 16: "defined(__SSSE3__)"}
_WASM = "defined(__wasm_simd128__)"


def _sums(v: Vector) -> str:
    """The type of the sums."""
    return type_name("u", 32, v.size // 4)


def _x86(v: Vector, name: str, *arguments: str) -> str:
    bits = v.size * 8
    return f"{_PREFIX[v.size]}_{name}({', '.join(f'(__m{bits}i)({each})' for each in arguments)})"


def _at_once(v: Vector, signs: str) -> Variants:
    """One instruction for four products, or for two of 16 bits."""
    found: Variants = []
    name = {(8, "us"): "dpbusd", (16, "ss"): "dpwssd"}.get((v.bits, signs))
    if name is not None and v.size in _PREFIX:
        text = f"(({_sums(v)}){_x86(v, f'{name}_epi32', 'c', 'a', 'b')})"
        if v.size == 64:
            found.append(("defined(__AVX512VNNI__)", text))
        else:
            found.append(("defined(__AVX512VNNI__) && defined(__AVX512VL__)", text))
            found.append(("defined(__AVXVNNI__)", text.replace("_epi32", "_avx_epi32")))
    if v.bits == 8 and v.size == 16:
        name, feature = {
            "ss": ("vdotq_s32", "__ARM_FEATURE_DOTPROD"),
            "uu": ("vdotq_u32", "__ARM_FEATURE_DOTPROD"),
            "us": ("vusdotq_s32", "__ARM_FEATURE_MATMUL_INT8"),
        }[signs]
        kinds = ["int" if sign == "s" else "uint" for sign in ("s" if "s" in signs else "u", *signs)]
        types = [f"{kind}{shape}" for kind, shape in zip(kinds, ("32x4_t", "8x16_t", "8x16_t"), strict=True)]
        text = ", ".join(f"({kind})({name})" for kind, name in zip(types, "cab", strict=True))
        found.append((f"defined(__ARM_NEON) && defined({feature})", f"(({_sums(v)}){name}({text}))"))
    return found


def _narrow_pairs(v: Vector, signs: str) -> Variants:
    """Sums of pairs in 16 bits, which saturate where the promise is not kept; of two signed factors, of magnitudes of
    the first and the second with signs of the first."""
    if v.size not in _PREFIX or (signs == "ss" and v.size == 64):
        return []
    ones = f"{_PREFIX[v.size]}_set1_epi16(1)"
    a, b = (_x86(v, "abs_epi8", "a"), _x86(v, "sign_epi8", "b", "a")) if signs == "ss" else ("a", "b")
    pairs = _x86(v, "maddubs_epi16", a, b)
    return [(_NARROW_PAIRS[v.size], f"((c) + ({_sums(v)}){_PREFIX[v.size]}_madd_epi16({pairs}, {ones}))")]


def _pairs(v: Vector, signs: str) -> Variants:
    """Two products of pairs of 16 bits: of the elements with even and of those with odd numbers."""
    signed, unsigned = type_name("i", 16, v.size // 2), type_name("u", 16, v.size // 2)

    def half(factor: str, sign: str, odd: bool) -> str:
        if v.bits == 16:
            return f"({signed})({factor})"
        if sign == "u":
            return f"({signed})(({unsigned})({factor}) {'>> 8' if odd else '& 255'})"
        whole = f"({unsigned})({factor})"
        return f"(({signed})({whole if odd else f'({whole} << 8)'}) >> 8)"

    if v.bits == 16 and signs != "ss":
        return []
    found: Variants = []
    for sizes, condition in ((_PAIRS, _PAIRS.get(v.size, "")), ((16,), _WASM)):
        if v.size not in sizes:
            continue
        terms: list[str] = []
        for odd in (False, True)[: 2 if v.bits == 8 else 1]:
            a, b = (half(factor, sign, odd) for factor, sign in zip("ab", signs, strict=True))
            if condition == _WASM:
                terms.append(f"__builtin_wasm_dot_s_i32x4_i16x8({a}, {b})")
            else:
                terms.append(_x86(v, "madd_epi16", a, b))
        found.append((condition, f"((c) + {' + '.join(f'({_sums(v)}){term}' for term in terms)})"))
    return found


def _by_lanes(v: Vector, signs: str) -> str:
    """Products in 32 bits."""
    wide, spare = type_name("i", 32, v.size // 4), 32 - v.bits

    def part(factor: str, sign: str, shift: int) -> str:
        moved = f"(({_sums(v)})({factor}) << {spare - shift})"
        return f"({moved} >> {spare})" if sign == "u" else f"({_sums(v)})(({wide}){moved} >> {spare})"

    terms = [
        " * ".join(part(factor, sign, shift) for factor, sign in zip("ab", signs, strict=True))
        for shift in range(0, 32, v.bits)
    ]
    return f"((c) + {' + '.join(terms)})"


def _operation(signs: str, narrow: bool = False) -> Callable[[Vector], tuple[str, Variants]]:
    def build(v: Vector) -> tuple[str, Variants]:
        pairs = _narrow_pairs(v, signs) if narrow else []
        return "abc", [*_at_once(v, signs), *pairs, *_pairs(v, signs), ("", _by_lanes(v, signs))]

    return build


def _pair(v: Vector) -> tuple[str, Variants]:
    """Of a and b, then of d and e, the first ones without sign: sums of pairs, which fit 16 bits together."""
    us = v.operation("dot_us_narrow")
    found: Variants = []
    if v.size in _PREFIX:
        prefix = _PREFIX[v.size]
        both = f"{prefix}_add_epi16({_x86(v, 'maddubs_epi16', 'a', 'b')}, {_x86(v, 'maddubs_epi16', 'd', 'e')})"
        text = f"((c) + ({_sums(v)}){prefix}_madd_epi16({both}, {prefix}_set1_epi16(1)))"
        found.append((_NARROW_PAIRS[v.size], text))
    return "abdec", [*found, ("", f"{us}(d, e, {us}(a, b, c))")]


def _complemented(unsigned_x: bool, pair: bool = False) -> Callable[[Vector], tuple[str, Variants]]:
    """Of the magnitudes of weights (b, e) and of x (a, d), 128 less where it is unsigned, or the complement of that
    where the weight is negative."""

    def build(v: Vector) -> tuple[str, Variants]:
        count = v.size // (v.bits // 8)
        signed, unsigned = (type_name(kind, v.bits, count) for kind in "iu")
        upper = " ^ 128" if unsigned_x else ""
        text, arguments = "", list[str]()
        for x, weight in ("ab", "de")[: 1 + pair]:
            sign, flip = f"aotc_n{weight}", f"aotc_f{weight}"
            text += f"{unsigned} {sign} = ({unsigned})(({signed})({weight}) < 0), {flip} = {sign}{upper}; "
            arguments += [f"((({unsigned})({weight}) ^ {sign}) - {sign})", f"(({unsigned})({x}) ^ {flip})"]
        text += f"{v.operation('dot_pair_us' if pair else 'dot_us_narrow')}({', '.join(arguments)}, c);"
        return "abdec" if pair else "abc", [("", f"(__extension__ ({{ {text} }}))")]

    return build


DOTS: dict[str, Callable[[Vector], tuple[str, Variants]]] = {
    "dot_ss": _operation("ss"),
    "dot_ss_narrow": _operation("ss", narrow=True),
    "dot_us": _operation("us"),
    "dot_us_narrow": _operation("us", narrow=True),
    "dot_uu": _operation("uu"),
    "dot_complement": _complemented(unsigned_x=False),
    "dot_complement_u": _complemented(unsigned_x=True),
}
"""The sums plus the products, by name."""

PAIRS: dict[str, Callable[[Vector], tuple[str, Variants]]] = {
    "dot_pair_us": _pair,
    "dot_pair_complement": _complemented(unsigned_x=False, pair=True),
    "dot_pair_complement_u": _complemented(unsigned_x=True, pair=True),
}
"""The sums plus the products of two steps, by name."""


def accumulation(name: str) -> Callable[[Vector], tuple[str, Variants]]:
    """`c += a . b` in the register of `c`, which GCC would else move elsewhere (see `_accumulate` of `operations`)."""

    def build(v: Vector) -> tuple[str, Variants]:
        sum_ = f"(c) = {v.operation(name)}(a, b, c)"
        flags = {64: "__AVX512F__", 32: "__AVX__", 16: "__SSE2__"}
        plain = ("", f"({sum_})")
        if v.size not in flags:
            return "cab", [plain]
        kept = f'do {{ {sum_}; __asm__("" : "+v"(c) : "v"(a), "v"(b)); }} while (0)'
        return "cab", [(f"defined({flags[v.size]}) && !defined(__clang__)", kept), plain]

    return build


ACCUMULATIONS = {f"add_{name}": accumulation(name) for name in DOTS}
"""As statements on a variable."""


def repeat_part(v: Vector, count: int) -> tuple[str, Variants]:
    """The first `count` elements at p, and zeros to 32 bits, over and over."""
    start = "uint32_t aotc_word" + ("" if count * v.bits == 32 else " = 0")
    splat = type_name("u", 32, v.size // 4).replace("_", "_splat_", 1)
    text = f"{start}; memcpy(&aotc_word, (p), {count * v.bits // 8}); ({v.name}){splat}(aotc_word);"
    return "p", [("", f"(__extension__({{ {text} }}))")]
