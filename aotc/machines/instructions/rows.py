"""The facts of an instruction, each once: see `Instruction`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any, cast

from aotc.machines.instructions.floats import Function
from aotc.machines.instructions.values import Group, Meaning, V, Value, bits_of, products


@dataclass(frozen=True)
class Lanes:
    """An operand or a result: values of one type, lane by lane in a register."""

    dtype: str
    count: int

    @property
    def bits(self) -> int:
        """Of all lanes."""
        return bits_of(self.dtype) * self.count

    def __str__(self) -> str:
        return f"{self.dtype}x{self.count}"


@dataclass(frozen=True)
class Architecture:
    """A kind of processors: what their instructions have in common."""

    name: str
    """How triples begin."""
    base: tuple[str, ...]
    """Features that every processor of it has."""
    macro: Callable[[str], str]
    """The condition of C's preprocessor under which compilers may use a feature."""
    register: Callable[[Lanes], str] | None
    """The C type of an operand as intrinsics take it; None: compilers' own vectors of integers with signs."""
    others: tuple[str, ...] = ()
    """Features that no program asks for (`FEATURES` has those that it does)."""
    word: int = 0
    """Bits of general registers: of so many an operand is one integer, whatever its lanes. 0: all are vectors."""


@dataclass(frozen=True)
class Spelling:
    """How C writes an instruction where compilers may use some features."""

    features: tuple[str, ...]
    function: str = ""
    """The name of an intrinsic that takes the operands in order, or an expression with `{0}`, `{1}`, .. for them; empty
    where C has none, and is the meaning."""
    assembly: str = ""
    """For GCC, where it has no intrinsic: the result is `%0`, the operands are `%1`, `%2`, .."""

    def call(self, operands: Sequence[str]) -> str:
        """The expression on operands of the types that it takes."""
        if "(" in self.function:
            return self.function.format(*operands)
        return f"{self.function}({', '.join(operands)})"


@dataclass(frozen=True)
class Number:
    """A number in all lanes."""

    value: float
    lanes: Lanes = Lanes("s32", 1)


@dataclass(frozen=True)
class Call:
    """A call of an intrinsic of LLVM: of operands of the instruction, by their places, of numbers, and of words that
    other calls make."""

    name: str
    """Of the intrinsic, or `ADD`, `WIDEN`, `NARROW`."""
    operands: tuple[int | Number | Call, ...]


ADD = "add"
"""The sum of two words, for which there is no intrinsic."""
WIDEN, NARROW = "fpext", "fptrunc"
"""Halves as f32 and back, for which there are none either: as integers of 16 bits they are LLVM's type of them."""


@dataclass(frozen=True)
class Instruction:
    """One instruction of a processor: what it computes, and how LLVM and C name it.

    Registers are groups of neighbouring lanes, and each group of the result is computed from the same group of each
    operand. `signature` says what a group is, as "s32, u8x4, s8x4 -> s32".
    """

    name: str
    architecture: Architecture
    signature: str
    bits: int
    """Of the result's register."""
    meaning: Meaning
    """A group of the result, of those of the operands."""
    llvm: str | Call
    """The name of the intrinsic, if it takes the operands in order."""
    spellings: tuple[Spelling, ...]
    """In order of preference; an instruction is there where one of them is."""
    accumulator: int | None = None
    """The operand in whose register the result is."""
    cycles: float = 0
    """From one to the next on the units that do it, by the tables of a processor's maker or as measured; 0: as many
    begin in a cycle as of any other (`Machine.issue`)."""
    issued: int = 1
    """Instructions that it counts as: 0 where compilers make one of it and of what takes its result."""
    alone: str = ""
    """The name of the instruction that does the same where the last operand is 0."""
    says: str = ""
    """A sentence for the reader of generated C, where it is a function there."""

    @cached_property
    def group(self) -> tuple[tuple[Lanes, ...], Lanes]:
        """The operands of one group, and the result."""
        operands, result = self.signature.split(" -> ")
        return tuple(map(_lanes, operands.split(", "))), _lanes(result)

    @cached_property
    def groups(self) -> int:
        """How many there are in a register."""
        return self.bits // self.group[1].bits

    @cached_property
    def operands(self) -> tuple[Lanes, ...]:
        """Whole registers."""
        return tuple(self._register(each) for each in self.group[0])

    @cached_property
    def result(self) -> Lanes:
        """The whole register."""
        return self._register(self.group[1])

    @cached_property
    def intrinsic(self) -> Call:
        """LLVM's name of it."""
        llvm = self.llvm
        return Call(llvm, tuple(range(len(self.operands)))) if isinstance(llvm, str) else llvm

    @property
    def is_product(self) -> bool:
        """Whether it multiplies two operands, of numbers narrower than the result."""
        operands, result = self.group
        return sum(bits_of(each.dtype) < bits_of(result.dtype) for each in operands) > 1

    def is_word(self, lanes: Lanes) -> bool:
        """Whether an operand, or the result, is an integer in a general register."""
        return lanes.bits == self.architecture.word and lanes.dtype[0] != "f"

    @property
    def on_words(self) -> bool:
        """Whether all operands and the result are."""
        return all(map(self.is_word, (*self.operands, self.result)))

    @property
    def on_numbers(self) -> bool:
        """Whether they are numbers of other types."""
        return not self.on_words and all(each.count == 1 for each in (*self.operands, self.result))

    @property
    def is_lanewise(self) -> bool:
        """Whether each lane of the result is computed of one lane of each operand."""
        operands, result = self.group
        return not self.on_words and all(form.count == 1 for form in (*operands, result))

    def _register(self, form: Lanes) -> Lanes:
        return Lanes(form.dtype, form.count * self.groups)

    def condition(self, spelling: Spelling) -> str:
        """C's preprocessor's, under which compilers may use it."""
        gcc = ["!defined(__clang__)"] if spelling.assembly else []
        return " && ".join([*map(self.architecture.macro, spelling.features), *gcc])

    def lane_by_lane(self, operands: Sequence[V]) -> Sequence[V]:
        """The meaning, of whole operands: the lanes of a word, as integers without a sign, or a word."""
        arguments = (
            Group(each.split(form.dtype, form.count)) if form.count > 1 else each
            for each, form in zip(operands, self.operands, strict=True)
        )
        found: Any = self.meaning(*arguments)
        lanes = [found] if isinstance(found, Value) else [each.convert(f"u{bits_of(each.dtype)}") for each in found]
        return cast("Sequence[V]", lanes)


def of_floats(
    name: str, architecture: Architecture, function: Function, dtype: str, lanes: int, *spellings: Spelling
) -> Instruction:
    """A function of floats of type `dtype`, which LLVM knows for itself; of one lane it is on numbers."""
    operands, result = function.types(dtype)
    register = f"{f'v{lanes}' if lanes > 1 else ''}{dtype}"
    convert = Call(WIDEN if result == "f32" else NARROW, (0,))
    llvm = f"llvm.{function.name}.{register}" if function.is_of_any else convert
    signature, bits = f"{', '.join(operands)} -> {result}", lanes * bits_of(result)
    return Instruction(name, architecture, signature, bits, function.meaning, llvm, spellings)


def dot(sums: Value, a: Group[Value], b: Group[Value]) -> Value:
    """A lane of a dot product: the sum plus the products."""
    return sums + products(a, b, sums.dtype)


def dot_alone(a: Group[Value], b: Group[Value]) -> Value:
    """A lane of a dot product without a sum before it."""
    return products(a, b, "s32")


def joined(lanes: Sequence[V]) -> V:
    """The word of these lanes, the first one in its lowest bits."""
    first, *others = lanes
    if not others:
        return first
    arguments = (each.convert("u32") << bits_of(each.dtype) * place for place, each in enumerate(others, 1))
    return reduce(or_, arguments, first.convert("u32")).convert("s32")


def _lanes(text: str) -> Lanes:
    found = re.fullmatch(r"([sufb]\d+)(?:x(\d+))?", text)
    assert found is not None, text
    return Lanes(found[1], int(found[2] or 1))
