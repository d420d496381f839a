"""Instructions of Cortex-M on words, general registers of 32 bits (DSP)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aotc.machines.instructions.arm64 import register_type
from aotc.machines.instructions.rows import Architecture, Call, Instruction, Number, Spelling
from aotc.machines.instructions.values import Group, Meaning, Value, products

_MACROS = {"dsp": "AOTC_DSP"}
THUMB = Architecture("thumb", (), _MACROS.__getitem__, register_type, others=("dsp",), word=32)


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


def _dot(a: Group[Value], b: Group[Value], total: Value) -> Value:
    return products(a, b, "s32") + total


def _half_dot(place: int) -> Meaning:
    def meaning(a: Group[Value], b: Group[Value], total: Value) -> Value:
        return products(a[place : place + 1], b[place : place + 1], "s32") + total

    return meaning


def _dots() -> Iterator[Instruction]:
    for name, meaning, says in (
        ("smlad", _dot, "The products of two signed halves each, and a sum."),
        ("smlabb", _half_dot(0), "The product of the low halves, signed, and a sum."),
        ("smlatt", _half_dot(1), "The product of the high halves, signed, and a sum."),
    ):
        yield _row(name, "s16x2, s16x2, s32 -> s32", meaning, says)


ROWS = (*_widenings(), *_dots())
