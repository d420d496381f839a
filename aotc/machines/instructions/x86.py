"""Instructions of x86-64 on vectors, on registers of 128 bits (SSE), 256 (AVX2) and 512 (AVX-512)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from aotc.machines.instructions import floats
from aotc.machines.instructions.rows import (
    Architecture,
    Call,
    Instruction,
    Lanes,
    Number,
    Spelling,
    dot,
    dot_alone,
    of_floats,
)
from aotc.machines.instructions.values import Group, Meaning, Value, bits_of, packed, products, saturated_sum

_PREFIX = {128: "_mm", 256: "_mm256", 512: "_mm512"}
_FIRST = {128: ("sse2",), 256: ("avx2",), 512: ("avx512bw",)}
"""Processors with the instructions on integers of 8 and 16 bits that came first."""
_SECOND = {**_FIRST, 128: ("ssse3",)}


def _macro(feature: str) -> str:
    return f"defined(__{feature.upper().replace('.', '_')}__)"


def _register(lanes: Lanes) -> str:
    return f"__m{lanes.bits}{'' if lanes.dtype == 'f32' else 'd' if lanes.dtype == 'f64' else 'i'}"


X86_64 = Architecture("x86_64", ("sse2",), _macro, _register)


def _row(
    name: str,
    bits: int,
    signature: str,
    meaning: Meaning,
    llvm: str | Call,
    *spellings: tuple[tuple[str, ...], str],
    accumulator: int | None = None,
    cycles: float = 0,
) -> Instruction:
    """One on registers of `bits`; `spellings` are features and the intrinsic's name behind its prefix."""
    named = tuple(Spelling(features, f"{_PREFIX[bits]}_{function}") for features, function in spellings)
    return Instruction(f"{name}.{bits}", X86_64, signature, bits, meaning, llvm, named, accumulator, cycles)


# --- dot products ----------------------------------------------------------------------------------------------------


def _saturated_pairs(a: Group[Value], b: Group[Value]) -> Value:
    return products(a, b, "s32").saturate("s16")


def _signed(x: Value, sign: Value) -> Value:
    """x with the sign of another number, 0 where that is 0; -128 stays itself."""
    return (sign < 0).select(-x, sign.equals(0).select(0, x))


_MULTIPLICATION = 1.9 / 3
"""Cycles of one of pairs, of which two begin in a cycle: sums of two steps that take three took 1.9 (Zen 5)."""
_DOT = 1 / 2
"""The same of a dot product, in tables of AMD and Intel."""
_MULTIPLY_PAIRS = {128: "sse2.pmadd.wd", 256: "avx2.pmadd.wd", 512: "avx512.pmaddw.d.512"}
_MULTIPLY_BYTES = {128: "ssse3.pmadd.ub.sw.128", 256: "avx2.pmadd.ub.sw", 512: "avx512.pmaddubs.w.512"}
_SIGNS = {128: "ssse3.psign.b.128", 256: "avx2.psign.b"}


def _dots() -> Iterator[Instruction]:
    for bits in _PREFIX:
        vnni = [(("avx512vnni", "avx512vl") if bits < 512 else ("avx512vnni",), "{}_epi32")]
        if bits < 512:
            vnni.append((("avxvnni",), "{}_avx_epi32"))
        for name, factors, function in (("vpdpbusd", "u8x4, s8x4", "dpbusd"), ("vpdpwssd", "s16x2, s16x2", "dpwssd")):
            spellings = [(features, text.format(function)) for features, text in vnni]
            llvm = f"llvm.x86.avx512.{name}.{bits}"
            yield _row(name, bits, f"s32, {factors} -> s32", dot, llvm, *spellings, accumulator=0, cycles=_DOT)
        for name, factors, function in (
            ("vpdpbssd", "s8x4, s8x4", "dpbssd_epi32"),
            ("vpdpbuud", "u8x4, u8x4", "dpbuud_epi32"),
        ):
            if bits < 512:
                llvm, spelling = f"llvm.x86.avx2.{name}.{bits}", (("avxvnniint8",), function)
                yield _row(name, bits, f"s32, {factors} -> s32", dot, llvm, spelling, accumulator=0, cycles=_DOT)
        llvm = f"llvm.x86.{_MULTIPLY_PAIRS[bits]}"
        spelling, cycles = (_FIRST[bits], "madd_epi16"), _MULTIPLICATION
        yield _row("pmaddwd", bits, "s16x2, s16x2 -> s32", dot_alone, llvm, spelling, cycles=cycles)
        llvm, spelling = f"llvm.x86.{_MULTIPLY_BYTES[bits]}", (_SECOND[bits], "maddubs_epi16")
        yield _row("pmaddubsw", bits, "u8x2, s8x2 -> s16", _saturated_pairs, llvm, spelling, cycles=cycles)
        if bits in _SIGNS:
            llvm = f"llvm.x86.{_SIGNS[bits]}"
            yield _row("psignb", bits, "s8, s8 -> s8", _signed, llvm, (_SECOND[bits], "sign_epi8"))


def _even(a: Group[Value], b: Group[Value]) -> Value:
    return a[0].convert("s64") * b[0].convert("s64")


def _wide_products() -> Iterator[Instruction]:
    for bits, feature, llvm in (
        (128, "sse4.1", "sse41.pmuldq"),
        (256, "avx2", "avx2.pmul.dq"),
        (512, "avx512f", "avx512.pmul.dq.512"),
    ):
        yield _row("pmuldq", bits, "s32x2, s32x2 -> s64", _even, f"llvm.x86.{llvm}", ((feature,), "mul_epi32"))


# --- narrowing -------------------------------------------------------------------------------------------------------


def _saturated_difference(a: Value, b: Value) -> Value:
    return (a.convert("s16") - b.convert("s16")).saturate("s8")


def _nearest(x: Value) -> Value:
    """The least integer for what is beyond."""
    return floats.nearest(x, x.number(-(2**31), "s32"))


_SATURATING_PACKS = (
    ("packssdw", "s32x4, s32x4 -> s16x8", "packs_epi32"),
    ("packsswb", "s16x8, s16x8 -> s8x16", "packs_epi16"),
    ("packuswb", "s16x8, s16x8 -> u8x16", "packus_epi16"),
)
_PACKING = {128: "sse2.{}.128", 256: "avx2.{}", 512: "avx512.{}.512"}
_NEAREST = {128: "sse2.cvtps2dq", 256: "avx.cvt.ps2dq.256", 512: "avx512.mask.cvtps2dq.512"}
_NEAREST_FEATURE = {128: "sse2", 256: "avx", 512: "avx512f"}
_UNMASKED = (Number(0, Lanes("s32", 16)), Number(-1, Lanes("s16", 1)), Number(4))
"""The value where a mask has no bit; the mask; the number by which the control register says how to round."""


def _narrowings() -> Iterator[Instruction]:
    for bits in _PREFIX:
        for name, signature, meaning, llvm, function in (
            ("psubsb", "s8, s8 -> s8", _saturated_difference, f"ssub.sat.v{bits // 8}i8", "subs_epi8"),
            ("paddsw", "s16, s16 -> s16", saturated_sum, f"sadd.sat.v{bits // 16}i16", "adds_epi16"),
        ):
            yield _row(name, bits, signature, meaning, f"llvm.{llvm}", (_FIRST[bits], function))
        for name, signature, function in _SATURATING_PACKS:
            llvm = f"llvm.x86.{_PACKING[bits].format(name)}"
            yield _row(name, bits, signature, packed(signature), llvm, (_FIRST[bits], function))
        yield _row(
            "cvtps2dq",
            bits,
            "f32 -> s32",
            _nearest,
            Call(f"llvm.x86.{_NEAREST[bits]}", (0, *(_UNMASKED if bits == 512 else ()))),
            ((_NEAREST_FEATURE[bits],), "cvtps_epi32"),
        )


# --- permutations ----------------------------------------------------------------------------------------------------


def _of_one(table: Group[Value], numbers: Group[Value]) -> Sequence[Value]:
    """By the last bits of the numbers."""
    return numbers.each(lambda n: (n & len(table) - 1).among(table))


def _of_two(low: Group[Value], numbers: Group[Value], high: Group[Value]) -> Sequence[Value]:
    """The same of two registers, the first one's lanes before the second one's."""

    def found(n: Value) -> Value:
        place = n & len(low) - 1
        return (n & len(low)).equals(0).select(place.among(low), place.among(high))

    return numbers.each(found)


def _or_zero(table: Group[Value], numbers: Group[Value]) -> Sequence[Value]:
    """By four bits of the numbers, 0 where the upper one is set."""
    return numbers.each(lambda n: (n < 128).select((n & 15).among(table), n.number(0, n.dtype)))


def _permutations() -> Iterator[Instruction]:
    for bits, llvm in ((128, "ssse3.pshuf.b.128"), (256, "avx2.pshuf.b")):
        spelling = _SECOND[bits], "shuffle_epi8"
        yield _row("pshufb", bits, "u8x16, u8x16 -> u8x16", _or_zero, f"llvm.x86.{llvm}", spelling, cycles=1 / 2)
    eight, spelling = "u32x8, u32x8 -> u32x8", (("avx2",), "permutevar8x32_epi32")
    yield _row("vpermd", 256, eight, _of_one, "llvm.x86.avx2.permd", spelling)
    for letter, width, bits, llvm, feature in (
        ("b", 8, 512, "qi", "avx512vbmi"),
        ("w", 16, 512, "hi", "avx512bw"),
        ("d", 32, 512, "d", "avx512f"),
        ("d", 32, 256, "d", "avx512vl"),
        ("d", 32, 128, "d", "avx512vl"),
    ):
        numbers = f"u{width}x{bits // width}"
        spelling = (feature,), f"permutex2var_epi{width}"
        llvm = f"llvm.x86.avx512.vpermi2var.{llvm}.{bits}"
        signature = f"{numbers}, {numbers}, {numbers} -> {numbers}"
        yield _row(f"vpermi2{letter}", bits, signature, _of_two, llvm, spelling, cycles=1)


# --- floats ----------------------------------------------------------------------------------------------------------

_ROUNDS = {256: ("avx",), 512: ("avx512f",)}
_MODES = ("8", "9", "10", "11")
"""The numbers by which instructions round as `floats.ROUNDS` do."""
_RANGES = {128: ("avx512dq", "avx512vl"), 256: ("avx512dq", "avx512vl"), 512: ("avx512dq",)}
_CODES = (5, 4)
"""Those of `floats.EXTREMES`."""
_ADVANCED = {128: ("sse2",), 256: ("avx",), 512: ("avx512f",)}


def _greater(x: Value, y: Value) -> Value:
    """The second one where they are equal, zeros among them, and where either is NaN."""
    return (x > y).select(x, y)


def _lesser(x: Value, y: Value) -> Value:
    """The same of the lesser."""
    return (x < y).select(x, y)


_RANGED = "{0}_mask_add_{1}({0}_range_{1}({{0}}, {{1}}, {2}), {0}_cmp_{1}_mask({{0}}, {{1}}, 3), {{0}}, {{1}})"
"""`vrange` takes the number where one operand is NaN: the sum is put there."""


def _floats() -> Iterator[Instruction]:
    for bits, (dtype, kind) in product(_PREFIX, (("f32", "ps"), ("f64", "pd"))):
        lanes, scale = bits // bits_of(dtype), "rndscale" if bits == 512 else "round"
        for function, mode in zip(floats.ROUNDS, _MODES, strict=True):
            c = f"{_PREFIX[bits]}_{scale.replace('rnd', 'round')}_{kind}({{0}}, {mode})"
            spelling = Spelling(_ROUNDS.get(bits, ("sse4.1",)), c)
            yield of_floats(f"v{scale}{kind}.{function.name}.{bits}", X86_64, function, dtype, lanes, spelling)
        for function, code in zip(floats.EXTREMES, _CODES, strict=True):
            spelling = Spelling(_RANGES[bits], _RANGED.format(_PREFIX[bits], kind, code))
            yield of_floats(f"vrange{kind}.{function.name}.{bits}", X86_64, function, dtype, lanes, spelling)
            name = f"v{function.name[:3]}{kind}.{function.name}.{bits}"
            yield of_floats(name, X86_64, function, dtype, lanes, Spelling(_ADVANCED[bits]))
        for meaning, name in ((_greater, "max"), (_lesser, "min")):
            first = "sse" if dtype == "f32" else "sse2"
            prefix = {128: f"{first}.{name}.{kind}", 256: f"avx.{name}.{kind}.256", 512: f"avx512.{name}.{kind}.512"}
            llvm = Call(f"llvm.x86.{prefix[bits]}", (0, 1, *((Number(4),) if bits == 512 else ())))
            spelling = _ADVANCED[bits], f"{name}_{kind}"
            yield _row(f"v{name}{kind}", bits, f"{dtype}, {dtype} -> {dtype}", meaning, llvm, spelling)


def _of_numbers() -> Iterator[Instruction]:
    for dtype, kind in (("f32", "ss"), ("f64", "sd")):
        for function in floats.ROUNDS:
            yield of_floats(f"round{kind}.{function.name}", X86_64, function, dtype, 1, Spelling(("sse4.1",)))
        for function in floats.EXTREMES:
            name = f"{function.name[:3]}{kind}.{function.name}"
            yield of_floats(name, X86_64, function, dtype, 1, Spelling(("sse2",)))


def _halves() -> Iterator[Instruction]:
    for lanes, bits, feature in ((1, 32, "f16c"), (4, 128, "f16c"), (8, 256, "f16c"), (16, 512, "avx512f")):
        c = ("cvtph_ps", "cvtps_ph({0}, 8)") if bits > 128 else ()
        for function, name, place in zip(floats.HALVES, ("vcvtph2ps", "vcvtps2ph"), (0, 1), strict=True):
            spelling = Spelling((feature,), f"{_PREFIX[bits]}_{c[place]}" if c else "")
            yield of_floats(f"{name}.{bits}", X86_64, function, "f32", lanes, spelling)


ROWS = (*_dots(), *_wide_products(), *_narrowings(), *_permutations(), *_floats(), *_of_numbers(), *_halves())
