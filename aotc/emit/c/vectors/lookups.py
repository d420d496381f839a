"""Bytes looked up in tables in generated C: permutations of bytes where the compiler may use them, else one by one. All
give the same bytes.

`x` are the numbers, `t0`, `t1`, .. the registers of the table. How rows of 16 bytes are combined is said where LLVM IR
is made (`passes/lower/lookups.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from aotc.emit.c.vector_types import Variants, Vector, type_name

_ENTRIES = 256
_ROW = 16


def lookup(v: Vector, row: int) -> tuple[Sequence[str], Variants]:
    """In a table in registers of `row` bytes."""
    names = [f"t{number}" for number in range(_ENTRIES // row)]
    return ["x", *names], [*_of_words(v, names), *_by_nibble(v, names), *_by_numbers(v, names), ("", _by_one(v, names))]


def _call(name: str, *arguments: str) -> str:
    return f"{name}({', '.join(arguments)})"


def _block(result: str, *locals_: str) -> str:
    return f"(__extension__ ({{ {' '.join(f'const {each};' for each in locals_)} {result}; }}))"


def _of_words(v: Vector, names: Sequence[str]) -> Variants:
    """AVX-512: of bytes, or of pairs of bytes."""
    if v.size != 64 or len(names) != 4:
        return []
    t = [f"(__m512i)({name})" for name in names]
    low, high = (_call("_mm512_permutex2var_epi8", a, "aotc_x", b) for a, b in zip(t[::2], t[1::2], strict=True))
    bytes_ = _block(
        f"({v.name})_mm512_mask_blend_epi8(_mm512_movepi8_mask(aotc_x), {low}, {high})", "__m512i aotc_x = (__m512i)(x)"
    )
    halves: list[str] = []
    for part in ("aotc_e", "aotc_o"):
        place = f"_mm512_srli_epi16({part}, 1)"
        low, high = (_call("_mm512_permutex2var_epi16", a, place, b) for a, b in zip(t[::2], t[1::2], strict=True))
        above = f"_mm512_cmpgt_epi16_mask({part}, _mm512_set1_epi16(127))"
        halves.append(f"__m512i {part}p = _mm512_mask_blend_epi16({above}, {low}, {high})")
        odd = f"_mm512_test_epi16_mask({part}, _mm512_set1_epi16(1))"
        halves.append(f"__m512i {part}b = _mm512_mask_srli_epi16({part}p, {odd}, {part}p, 8)")
    low_byte = "_mm512_and_si512(aotc_eb, _mm512_set1_epi16(255))"
    words = _block(
        f"({v.name})_mm512_or_si512({low_byte}, _mm512_slli_epi16(aotc_ob, 8))",
        "__m512i aotc_x = (__m512i)(x)",
        "__m512i aotc_e = _mm512_and_si512(aotc_x, _mm512_set1_epi16(255))",
        "__m512i aotc_o = _mm512_srli_epi16(aotc_x, 8)",
        *halves,
    )
    return [("defined(__AVX512VBMI__)", bytes_), ("defined(__AVX512BW__)", words)]


def _by_nibble(v: Vector, names: Sequence[str]) -> Variants:
    """SSSE3 and AVX2: each row adds what it differs by from the row before."""
    if v.size not in (16, 32) or len(names) != _ENTRIES // _ROW:
        return []
    prefix, kind, all_ = ("_mm", "__m128i", "si128") if v.size == 16 else ("_mm256", "__m256i", "si256")
    locals_ = [f"{kind} aotc_n0 = ({kind})(x)", f"{kind} aotc_n8 = ({kind})((x) ^ 128)"]
    terms: list[str] = []
    for number, name in enumerate(names):
        row = f"(__m128i)({name})"
        locals_.append(f"{kind} aotc_t{number} = {row if v.size == 16 else f'_mm256_broadcastsi128_si256({row})'}")
        difference = f"aotc_t{number}"
        if number % 8:
            step = f"{prefix}_subs_epi8(aotc_n{number - 1}, {prefix}_set1_epi8({_ROW}))"
            locals_.append(f"{kind} aotc_n{number} = {step}")
            difference = f"{prefix}_xor_{all_}(aotc_t{number}, aotc_t{number - 1})"
        terms.append(f"{prefix}_shuffle_epi8({difference}, aotc_n{number})")
    text = _block(f"({v.name}){reduce(lambda a, c: f'{prefix}_xor_{all_}({a}, {c})', terms)}", *locals_)
    return [("defined(__SSSE3__)" if v.size == 16 else "defined(__AVX2__)", text)]


def _by_numbers(v: Vector, names: Sequence[str]) -> Variants:
    """NEON of AArch64 and WebAssembly: numbers beyond a row have no effect."""
    if v.size != _ROW or len(names) != _ENTRIES // _ROW:
        return []
    four = [
        f"(uint8x16x4_t){{{{{', '.join(f'(uint8x16_t)({name})' for name in names[first : first + 4])}}}}}"
        for first in range(0, len(names), 4)
    ]
    arm = f"vqtbl4q_u8({four[0]}, (uint8x16_t)(x))"
    for number, some in enumerate(four[1:], 1):
        arm = f"vqtbx4q_u8({arm}, {some}, (uint8x16_t)((x) - {4 * _ROW * number}))"
    rows = [
        f"__builtin_wasm_swizzle_i8x16(({v.signed})({name}), ({v.signed})((x) - {number * _ROW}))"
        for number, name in enumerate(names)
    ]
    return [
        ("defined(__aarch64__)", f"(({v.name}){arm})"),
        ("defined(__wasm_simd128__)", f"(({v.name})({' | '.join(rows)}))"),
    ]


def _by_one(v: Vector, names: Sequence[str]) -> str:
    register = type_name("u", 8, _ENTRIES // len(names))
    lanes = ", ".join(f"((const uint8_t *)aotc_t)[aotc_x[{lane}]]" for lane in range(v.lanes))
    table = f"{register} aotc_t[] = {{{', '.join(f'({name})' for name in names)}}}"
    return _block(f"({v.name}){{{lanes}}}", f"{v.name} aotc_x = (x)", table)
