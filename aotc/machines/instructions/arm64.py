"""Instructions of AArch64 on vectors of 128 bits (NEON)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aotc.machines.instructions import floats
from aotc.machines.instructions.rows import Architecture, Instruction, Lanes, Spelling, dot, of_floats
from aotc.machines.instructions.values import Group, Meaning, Value, bits_of, bounds, saturated_sum

_BITS = 128
_MACROS = {
    "neon": "defined(__aarch64__) && defined(__ARM_NEON)",
    "dotprod": "defined(__ARM_FEATURE_DOTPROD)",
    "i8mm": "defined(__ARM_FEATURE_MATMUL_INT8)",
}


def register_type(lanes: Lanes) -> str:
    """A type of arm_neon.h and arm_mve.h."""
    kind = {"s": "int", "u": "uint", "f": "float"}[lanes.dtype[0]]
    return f"{kind}{bits_of(lanes.dtype)}x{lanes.count}_t"


AARCH64 = Architecture("aarch64", ("neon",), _MACROS.__getitem__, register_type)


def _row(
    name: str,
    signature: str,
    meaning: Meaning,
    llvm: str,
    function: str,
    bits: int = _BITS,
    dot: str = "",
    cycles: float = 0,
    issued: int = 1,
) -> Instruction:
    """One on vectors; `dot` is the feature of one that adds to its first operand."""
    spellings = (Spelling(("neon", dot) if dot else ("neon",), function),)
    accumulator = 0 if dot else None
    llvm = f"llvm.{llvm}"
    return Instruction(name, AARCH64, signature, bits, meaning, llvm, spellings, accumulator, cycles, issued)


def _dots() -> Iterator[Instruction]:
    for name, signature, feature, function in (
        ("sdot", "s32, s8x4, s8x4 -> s32", "dotprod", "vdotq_s32"),
        ("udot", "u32, u8x4, u8x4 -> u32", "dotprod", "vdotq_u32"),
        ("usdot", "s32, u8x4, s8x4 -> s32", "i8mm", "vusdotq_s32"),
    ):
        yield _row(name, signature, dot, f"aarch64.neon.{name}.v4i32.v16i8", function, dot=feature, cycles=1 / 2)


def _neighbours(pair: Group[Value]) -> Value:
    """Their sum, in twice the bits."""
    first, second = (each.convert(f"{each.dtype[0]}{2 * bits_of(each.dtype)}") for each in pair)
    return first + second


def _pairwise() -> Iterator[Instruction]:
    for letter in "su":
        llvm, function = f"aarch64.neon.{letter}addlp.v4i32.v8i16", f"vpaddlq_{letter}16"
        signature = f"{letter}16x2 -> {letter}32"  # and with the addition that follows one instruction, `sadalp`
        yield _row(f"{letter}addlp", signature, _neighbours, llvm, function, issued=0)


def _found(*operands: Group[Value]) -> Sequence[Value]:
    """Bytes of four registers by their numbers, 0 by those that are beyond."""
    *tables, numbers = operands
    table = Group([byte for each in tables for byte in each])
    return numbers.each(lambda n: (n < len(table)).select((n & len(table) - 1).among(table), n.number(0, n.dtype)))


def _replaced(before: Group[Value], *operands: Group[Value]) -> Sequence[Value]:
    """The same, but what was there before by numbers that are beyond."""
    *tables, numbers = operands
    table = Group([byte for each in tables for byte in each])
    return before.each(lambda old, n: (n < len(table)).select((n & len(table) - 1).among(table), old), numbers)


_FOUR = "(uint8x16x4_t){{{{{{{{{{{}}}, {{{}}}, {{{}}}, {{{}}}}}}}}}}}"
"""Operands of these numbers as one structure."""
_OF_FOUR = 4.5
"""Cycles of a permutation of four registers, as LLVM schedules a Cortex-A57."""


def _permutations() -> Iterator[Instruction]:
    for name, operands, meaning, function in (
        ("tbl4", 5, _found, f"vqtbl4q_u8({_FOUR.format(0, 1, 2, 3)}, {{4}})"),
        ("tbx4", 6, _replaced, f"vqtbx4q_u8({{0}}, {_FOUR.format(1, 2, 3, 4)}, {{5}})"),
    ):
        signature = f"{', '.join(['u8x16'] * operands)} -> u8x16"
        yield _row(name, signature, meaning, f"aarch64.neon.{name}.v16i8", function, cycles=_OF_FOUR)


def nearest(x: Value) -> Value:
    """To even between two; the end of the range for what is beyond, 0 for NaN."""
    least, most = (x.number(bound, "s32") for bound in bounds("s32"))
    return floats.nearest(x, (x < 0).select(least, x.is_nan().select(0, most)))


def _narrowings() -> Iterator[Instruction]:
    for name, signature, meaning, bits, llvm, function in (
        ("fcvtns", "f32 -> s32", nearest, _BITS, "aarch64.neon.fcvtns.v4i32.v4f32", "vcvtnq_s32_f32"),
        ("sqadd", "s16, s16 -> s16", saturated_sum, _BITS, "sadd.sat.v8i16", "vqaddq_s16"),
        ("sqxtn.words", "s32 -> s16", _saturated("s16"), _BITS // 2, "aarch64.neon.sqxtn.v4i16", "vqmovn_s32"),
        ("sqxtn.bytes", "s16 -> s8", _saturated("s8"), _BITS // 2, "aarch64.neon.sqxtn.v8i8", "vqmovn_s16"),
        ("sqxtun.bytes", "s16 -> u8", _saturated("u8"), _BITS // 2, "aarch64.neon.sqxtun.v8i8", "vqmovun_s16"),
    ):
        yield _row(name, signature, meaning, llvm, function, bits)


def _saturated(dtype: str) -> Meaning:
    return lambda x: x.saturate(dtype)


_NAMES = ("frintn", "frintm", "frintp", "frintz", "fmax", "fmin")
_ACLE = ("vrndnq", "vrndmq", "vrndpq", "vrndq", "vmaxq", "vminq")


def _floats() -> Iterator[Instruction]:
    for dtype, letter in (("f32", "s"), ("f64", "d")):
        for function, name, c in zip((*floats.ROUNDS, *floats.EXTREMES), _NAMES, _ACLE, strict=True):
            spelling = Spelling(("neon",), f"{c}_{dtype}")
            yield of_floats(f"{name}.{dtype}", AARCH64, function, dtype, _BITS // bits_of(dtype), spelling)
            yield of_floats(f"{name}.{letter}", AARCH64, function, dtype, 1, Spelling(("neon",)))
    for function, name, c in zip(
        *(floats.HALVES, ("fcvtl", "fcvtn"), ("vcvt_f32_f16((float16x4_t){0})", "vcvt_f16_f32({0})")), strict=True
    ):
        yield of_floats(name, AARCH64, function, "f32", _BITS // 32, Spelling(("neon",), c))
        yield of_floats(f"fcvt.{function.name}", AARCH64, function, "f32", 1, Spelling(("neon",)))


ROWS = (*_dots(), *_pairwise(), *_permutations(), *_narrowings(), *_floats())
