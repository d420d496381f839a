"""Bytes of wider lanes: narrowing with saturation of several registers at once, else lane by lane.

Processors round floats to i32, to even as they are told to, narrow pairs of registers to 16 bits and these to 8,
saturating. A zero point is added in between, saturating too: what is beyond 16 bits then stays beyond 8. x86 and
WebAssembly pack two registers into one; Arm narrows each to half of one. Packing takes 16 bytes of each register in
turn, so that wider ones are put in order at last. One register alone is packed in halves; one of AVX-512 is clamped as
i32, and has an instruction then. WebAssembly has none for rounding, which is done before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from aotc.machines.expansions.vocabulary import Processor, V
from aotc.machines.instructions import INSTRUCTIONS
from aotc.machines.instructions.values import bits_of, bounds

NARROWED = 4
"""Registers of 32-bit lanes whose bytes fill a register."""

_TO_INTEGERS = ("cvtps2dq", "fcvtns")
_TO_WORDS = ("packssdw", "sqxtn.words", "i16x8.narrow_i32x4_s")
_SUMS_OF_WORDS = ("paddsw", "sqadd", "i16x8.add_sat_s")
_TO_BYTES = {
    "s8": ("packsswb", "sqxtn.bytes", "i8x16.narrow_i16x8_s"),
    "u8": ("packuswb", "sqxtun.bytes", "i8x16.narrow_i16x8_u"),
}
_MOST_HALVED = 256
"""Bits of the widest register of which one is best packed alone."""
_ROUNDING = 3.0 * 2**22
_ROUNDING_BITS = 0x4B400000
"""A float whose addition rounds, and its bits (`TileBuilder.rounded`)."""


@dataclass(frozen=True)
class Narrowing(Generic[V]):
    """The numbers of an `aot.tile_narrow`, with the instructions of a processor."""

    p: Processor[V]
    zero_point: int
    low: int
    high: int
    dtype: str
    """Of the bytes."""

    def result(self, registers: Sequence[V]) -> V:
        """The bytes of registers of f32 or s32, one behind the other."""
        if self._instruction(_TO_WORDS, registers[0]):
            if len(registers) == NARROWED:
                return self._packed(registers)
            if len(registers) == 1 and 32 * registers[0].lanes <= _MOST_HALVED:
                return self._packed_alone(*registers)
        point = self.zero_point
        whole = [
            (register + point if point else register).convert(self.dtype) for register in map(self._clamped, registers)
        ]
        while len(whole) > 1:
            whole = [_joined(a, b) for a, b in zip(whole[::2], whole[1::2], strict=True)]
        return whole[0]

    def _instruction(self, ways: Sequence[str], x: V) -> str:
        """The one that the processor has, or "", for registers such as x; names of x86 say how long these are."""
        bits = bits_of(x.dtype) * x.lanes
        return next(filter(self.p.has, [f"{ways[0]}.{bits}", *(ways[1:] if bits == 128 else ())]), "")

    def _packed(self, registers: Sequence[V]) -> V:
        """Of four registers at once."""
        a, b, c, d = map(self._rounded, registers)
        found = self._bytes(self._words(a, b), self._words(c, d))
        groups = range(registers[0].lanes // NARROWED)
        return found.shuffle(
            [
                16 * group + NARROWED * register + byte
                for register in range(NARROWED)
                for group in groups
                for byte in range(NARROWED)
            ]
        )

    def _packed_alone(self, register: V) -> V:
        """Of one register, of which those of 128 bits are packed with themselves, and halves of others with each
        other."""
        whole = self._rounded(register)
        first, second = (whole.shuffle(range(start, start + NARROWED)) for start in (0, register.lanes - NARROWED))
        words = self._words(first, second)
        return self._bytes(words, words).shuffle(range(register.lanes))

    def _rounded(self, register: V) -> V:
        """The nearest integers, or clamped ones."""
        if register.dtype == "s32":
            return register
        name = self._instruction(_TO_INTEGERS, register)
        return self.p.apply(name, register) if name else self._clamped(register)

    def _words(self, first: V, second: V) -> V:
        """Two registers of 32 bits a lane as one of 16, with the zero point."""
        words = self._narrowed(_TO_WORDS, first, second)
        if not self.zero_point:
            return words
        name, point = self._instruction(_SUMS_OF_WORDS, words), words.number(self.zero_point, words.dtype)
        return self.p.apply(name, words, point)

    def _bytes(self, first: V, second: V) -> V:
        """Two registers of 16 bits a lane as one of clamped bytes."""
        found = self._narrowed(_TO_BYTES[self.dtype], first, second)
        least, most = bounds(self.dtype)
        found = found.most(self.low) if self.low != least else found
        return found.least(self.high) if self.high != most else found

    def _narrowed(self, ways: Sequence[str], first: V, second: V) -> V:
        """The lanes of two registers, saturated to half of the bits."""
        name = self._instruction(ways, first)
        if len(INSTRUCTIONS[name].operands) > 1:
            return self.p.apply(name, first, second)
        return _joined(self.p.apply(name, first), self.p.apply(name, second))

    def _clamped(self, register: V) -> V:
        """The integers of one register, clamped before they are rounded, without the zero point."""
        low, high = (register.number(bound - self.zero_point, register.dtype) for bound in (self.low, self.high))
        if register.dtype == "s32":
            return register.most(low).least(high)
        register = (register > low).select(register, low)
        register = (register < high).select(register, high)
        return (register + _ROUNDING).reinterpret("s32") - _ROUNDING_BITS


def _joined(first: V, second: V) -> V:
    """The lanes of both."""
    return first.shuffle(range(2 * first.lanes), second)
