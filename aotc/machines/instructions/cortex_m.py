"""Instructions of Cortex-M: on words, general registers of 32 bits (DSP), and on vectors of 128 bits (Helium, MVE)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product
from operator import add

from aotc.machines.instructions import arm32
from aotc.machines.instructions.arm64 import nearest, register_type
from aotc.machines.instructions.rows import ADD, Architecture, Call, Instruction, Number, Spelling, dot_alone
from aotc.machines.instructions.values import Group, Meaning, Value, products

_MACROS = {
    "v6t2": "defined(__GNUC__) && defined(__ARM_FEATURE_SAT)",
    "dsp": "AOTC_DSP",
    "mve": "defined(__ARM_FEATURE_MVE)",
    "mve.fp": "defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)",
    **arm32.MACROS,
}
THUMB = Architecture("thumb", (), _MACROS.__getitem__, register_type, others=tuple(_MACROS), word=32)


def _and_more(meaning: Meaning) -> Meaning:
    """The same and a sum, the last operand."""
    return lambda *operands: meaning(*operands[:-1]) + operands[-1]


# --- on words --------------------------------------------------------------------------------------------------------


def _row(
    name: str, signature: str, meaning: Meaning, says: str, *spellings: str, llvm: Call | None = None
) -> Instruction:
    """One on words; of two spellings the first one is assembly."""
    last = Spelling(("dsp",), spellings[-1] if spellings else f"__{name}")
    written = tuple(Spelling(("dsp",), assembly=each) for each in spellings[:-1])
    return Instruction(name, THUMB, signature, 32, meaning, llvm or f"llvm.arm.{name}", (*written, last), says=says)


def _widened(odd: int) -> Meaning:
    def meaning(word: Group[Value]) -> Sequence[Value]:
        return [each.convert(f"{each.dtype[0]}16") for each in word[odd::2]]

    return meaning


def _widened_and_added(odd: int) -> Meaning:
    def meaning(added: Group[Value], word: Group[Value]) -> Sequence[Value]:
        return [a + b.convert(a.dtype) for a, b in zip(added, word[odd::2], strict=True)]

    return meaning


def _widenings() -> Iterator[Instruction]:
    for letter in "su":
        for odd in (0, 1):
            says = f"Bytes {odd} and {odd + 2} of a word as two integers of 16 bits"
            word, half = f"{letter}8x4", f"{letter}16x2"
            for name, signature, meaning, end in (
                (f"{letter}xtb16", f"{word} -> {half}", _widened(odd), "."),
                (f"{letter}xtab16", f"{half}, {word} -> {half}", _widened_and_added(odd), ", added to two others."),
            ):
                row = _row if not odd else _rotated
                yield row(name, signature, meaning, says + end)


def _rotated(name: str, signature: str, meaning: Meaning, says: str) -> Instruction:
    """The same of the last operand rotated by a byte, for which GCC has no intrinsic."""
    *before, last = range(len(signature.split(", ")))
    registers = ", ".join(f"%{place + 1}" for place in (*before, last))
    kind = "uint" if name[0] == "u" else "int"
    turned = f"({kind}8x4_t)((uint32_t){{{last}}} >> 8 | (uint32_t){{{last}}} << 24)"
    operands = ", ".join([*(f"({kind}16x2_t){{{place}}}" for place in before), turned])
    llvm = Call(f"llvm.arm.{name}", (*before, Call("llvm.fshr.i32", (last, last, Number(8)))))
    spellings = f"{name} %0, {registers}, ror #8", f"__{name}({operands})"
    return _row(f"{name}.ror8", signature, meaning, says, *spellings, llvm=llvm)


def _half_dot(place: int) -> Meaning:
    def meaning(a: Group[Value], b: Group[Value], total: Value) -> Value:
        return products(a[place : place + 1], b[place : place + 1], "s32") + total

    return meaning


def _dots() -> Iterator[Instruction]:
    for name, meaning, says in (
        ("smlad", _and_more(dot_alone), "The products of two signed halves each, and a sum."),
        ("smlabb", _half_dot(0), "The product of the low halves, signed, and a sum."),
        ("smlatt", _half_dot(1), "The product of the high halves, signed, and a sum."),
    ):
        yield _row(name, "s16x2, s16x2, s32 -> s32", meaning, says)


def _saturated(dtype: str) -> Meaning:
    return lambda x: x.saturate(dtype).convert("s32")


def _saturations() -> Iterator[Instruction]:
    for letter, bits in product("su", (8, 16)):
        name, says = f"{letter}sat", f"The nearest integer that {'u' if letter == 'u' else ''}int{bits}_t holds."
        llvm, c = Call(f"llvm.arm.{name}", (0, Number(bits))), f"__builtin_arm_{name}({{0}}, {bits})"
        meaning, spellings = _saturated(f"{letter}{bits}"), (Spelling(("v6t2",), c),)
        yield Instruction(f"{name}{bits}", THUMB, "s32 -> s32", 32, meaning, llvm, spellings, says=says)


# --- on vectors ------------------------------------------------------------------------------------------------------


def _vector(
    name: str,
    signature: str,
    bits: int,
    meaning: Meaning,
    c: str,
    llvm: str | Call,
    feature: str = "mve",
    *,
    alone: str = "",
) -> Instruction:
    return Instruction(name, THUMB, signature, bits, meaning, llvm, (Spelling((feature,), c),), alone=alone)


def _all(a: Group[Value]) -> Value:
    return reduce(add, (each.convert("s32") for each in a))


_ZERO = Number(0)


def _sums() -> Iterator[Instruction]:
    for kind in ("s8", "s16"):
        bits, lanes = int(kind[1:]), 128 // int(kind[1:])
        pair = f"{kind}x{lanes}, {kind}x{lanes}"
        llvm = f"llvm.arm.mve.vmldava.v{lanes}i{bits}"  # signed, added, in pairs that are not exchanged
        for name, more, meaning, total, c in (
            ("vmladav", "", dot_alone, _ZERO, f"vmladavq_{kind}"),
            ("vmladava", ", s32", _and_more(dot_alone), 2, f"vmladavaq_{kind}({{2}}, {{0}}, {{1}})"),
        ):
            call = Call(llvm, (_ZERO, _ZERO, _ZERO, total, 0, 1))
            alone = f"vmladav.{kind}" if more else ""
            yield _vector(f"{name}.{kind}", f"{pair}{more} -> s32", 32, meaning, c, call, alone=alone)
    alone = Call("llvm.arm.mve.addv.v16i8", (0, _ZERO))
    yield _vector("vaddv.s8", "s8x16 -> s32", 32, _all, "vaddvq_s8", alone)
    summed = Call(ADD, (alone, 1))
    c = "vaddvaq_s8({1}, {0})"
    yield _vector("vaddva.s8", "s8x16, s32 -> s32", 32, _and_more(_all), c, summed, alone="vaddv.s8")


def _saturated_sum(a: Value, b: Value) -> Value:
    return (a.convert("s64") + b.convert("s64")).saturate("s32")


def _doubled_upper_half(a: Value, b: Value) -> Value:
    """To nearest, the middle up."""
    return (a.convert("s64") * b.convert("s64") + (1 << 30) >> 31).saturate("s32")


def _rounding_shift(x: Value, by: Value) -> Value:
    """To the left by the number in the last byte, to the right where that is negative, there to nearest, the middle
    up."""
    wide, left = x.convert("s64").named("wide"), by.convert("s8").convert("s64").named("left")
    right = (-left).most(0).least(33).named("right")
    rounded = wide + (wide.number(1, "s64") << right >> 1) >> right
    return (left < 0).select(rounded, wide << left.most(0).least(32)).convert("s32")


def _quads() -> Iterator[Instruction]:
    shift = Call("llvm.arm.mve.vshl.vector.v4i32.v4i32", (0, 1, _ZERO, Number(1), _ZERO))
    for name, meaning, c, llvm in (
        ("vqadd", _saturated_sum, "vqaddq_s32", "llvm.sadd.sat.v4i32"),
        ("vqrdmulh", _doubled_upper_half, "vqrdmulhq_s32", "llvm.arm.mve.vqrdmulh.v4i32"),
        ("vrshl", _rounding_shift, "vrshlq_s32", shift),
    ):
        yield _vector(f"{name}.s32", "s32, s32 -> s32", 128, meaning, c, llvm)
    llvm = Call("llvm.arm.mve.vcvtn.v4i32.v4f32", (_ZERO, 0))
    yield _vector("vcvtn.s32.f32", "f32 -> s32", 128, nearest, "vcvtnq_s32_f32", llvm, "mve.fp")


ROWS = (*_widenings(), *_dots(), *_saturations(), *_sums(), *_quads(), *arm32.of_numbers(THUMB))
