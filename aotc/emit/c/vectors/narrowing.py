"""Bytes of wider lanes in generated C: x86 packs four registers where the compiler may use it; else lane by lane.

How x86 packs is said where LLVM IR is made (`passes/lower/narrowing.py`). All give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from aotc.emit.c.vector_types import Variants, Vector, type_name

_Narrowing: TypeAlias = "Callable[[Vector, int], tuple[Sequence[str], Variants]]"
_PACKS = {16: "defined(__SSE2__)", 32: "defined(__AVX2__)", 64: "defined(__AVX512BW__)"}
_PREFIX = {16: "_mm", 32: "_mm256", 64: "_mm512"}
_HALVED = (16, 32)
_BYTES = {True: (0, 255), False: (-128, 127)}
"""The range by whether bytes are unsigned."""


def narrow(unsigned: bool) -> _Narrowing:
    """`count` registers, `p0`, `p1`, .., as bytes: rounded, plus the zero point `z`, clamped to `l`..`h`."""

    def build(v: Vector, count: int) -> tuple[Sequence[str], Variants]:
        names = [f"p{number}" for number in range(count)]
        packed = _packed(v, names, unsigned) if count == 4 and v.size in _PACKS else []
        packed = _packed_alone(v, unsigned) if count == 1 and v.size in _HALVED else packed
        return [*names, "z", "l", "h"], [*packed, ("", _by_lanes(v, names))]

    return build


def _packed(v: Vector, names: Sequence[str], unsigned: bool) -> Variants:
    kind, whole = f"__m{8 * v.size}i", [_rounded(v, name) for name in names]
    steps = [_words(v.size, "aotc_a", *whole[:2]), _words(v.size, "aotc_c", *whole[2:])]
    steps += _bytes(v.size, "aotc_a", "aotc_c", unsigned)
    order = {
        64: "_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), {})",
        32: "_mm256_permutevar8x32_epi32({}, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))",
        16: "{}",
    }[v.size].format(f"({kind})aotc_b")
    return [(_PACKS[v.size], f"(__extension__ ({{ {' '.join(steps)} ({type_name('u', 8, 4 * v.lanes)}){order}; }}))")]


def _packed_alone(v: Vector, unsigned: bool) -> Variants:
    """One register: halves of more than 128 bits are packed with each other."""
    first, second = "aotc_w", "aotc_w"
    if v.size > 16:
        first, second = "_mm256_castsi256_si128(aotc_w)", "_mm256_extracti128_si256(aotc_w, 1)"
    steps = [f"__m{8 * v.size}i aotc_w = {_rounded(v, 'p0')};", _words(16, "aotc_a", first, second)]
    steps += _bytes(16, "aotc_a", "aotc_a", unsigned)
    order = ", ".join(map(str, range(v.lanes)))
    steps.append(f"({type_name('u', 8, v.lanes)})__builtin_shufflevector(aotc_b, aotc_b, {order});")
    return [(_PACKS[v.size], f"(__extension__ ({{ {' '.join(steps)} }}))")]


def _rounded(v: Vector, name: str) -> str:
    """A register as i32."""
    bits = 8 * v.size
    return f"{_PREFIX[v.size]}_cvtps_epi32((__m{bits})({name}))" if v.kind == "f" else f"(__m{bits}i)({name})"


def _words(size: int, name: str, first: str, second: str) -> str:
    """The statement of `name`: two registers of i32 of `size` bytes as one of i16, with the zero point."""
    prefix, kind = _PREFIX[size], f"__m{8 * size}i"
    packed = f"{kind} {name} = {prefix}_packs_epi32({first}, {second});"
    return f"{packed} if (z) {name} = {prefix}_adds_epi16({name}, {prefix}_set1_epi16(z));"


def _bytes(size: int, first: str, second: str, unsigned: bool) -> list[str]:
    """The statements of `aotc_b`: two registers of i16 of `size` bytes as one of clamped bytes."""
    bytes_ = type_name("u" if unsigned else "i", 8, size)
    packs = f"{_PREFIX[size]}_pack{'us' if unsigned else 's'}_epi16({first}, {second})"
    steps = [f"{bytes_} aotc_b = ({bytes_}){packs};"]
    for bound, end, name in zip("lh", _BYTES[unsigned], ("max", "min"), strict=True):
        extreme, splat = (bytes_.replace("_", f"_{each}_", 1) for each in (name, "splat"))
        steps.append(f"if (({bound}) != {end}) aotc_b = {extreme}(aotc_b, {splat}({bound}));")
    return steps


def _by_lanes(v: Vector, names: Sequence[str]) -> str:
    """Clamped before a float is rounded, by adding 3 * 2^22."""
    lanes = Vector(v.kind if v.kind == "f" else "i", 32, v.lanes)
    splat, whole = lanes.operation("splat"), v.unsigned
    steps: list[str] = []
    for name in names:
        clamped = f"{lanes.operation('max')}(({lanes.name})({name}), {splat}((l) - (z)))"
        steps.append(f"{lanes.name} aotc_{name} = {clamped};")
        steps.append(f"aotc_{name} = {lanes.operation('min')}(aotc_{name}, {splat}((h) - (z)));")
    numbers = [
        f"({whole})(aotc_{name} + 12582912.0f) - 0x4b400000u" if v.kind == "f" else f"({whole})aotc_{name}"
        for name in names
    ]
    bytes_ = [f"__builtin_convertvector({each} + (uint32_t)(z), {type_name('u', 8, v.lanes)})" for each in numbers]
    size = v.lanes
    while len(bytes_) > 1:
        size *= 2
        order = ", ".join(map(str, range(size)))
        bytes_ = [f"__builtin_shufflevector({a}, {c}, {order})" for a, c in zip(bytes_[::2], bytes_[1::2], strict=True)]
    return f"(__extension__ ({{ {' '.join(steps)} {bytes_[0]}; }}))"
