"""Bytes of wider lanes: packing with saturation of several registers at once, else lane by lane.

x86 rounds floats to i32 (`cvtps2dq`, to even as its control register says), packs pairs of registers to 16 bits
(`packssdw`) and these to 8 (`packsswb`, `packuswb`), saturating. A zero point is added in between, saturating too: what
is beyond 16 bits then stays beyond 8. Packing takes 16 bytes of each register in turn, so that wider ones are put in
order at last. One register alone is packed in halves; one of AVX-512 is clamped as i32, and has an instruction then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from aotc.dialects.aot.tile_narrowing import PARTS
from aotc.machines.instructions.values import bounds, is_signed
from aotc.passes.loops.selection.processor import Processor, V

_HALVED = (128, 256)
"""Bits of registers one of which is best packed alone."""
_ROUNDING = 3.0 * 2**22
_ROUNDING_BITS = 0x4B400000
"""What rounds a float that is added, and its bits (`TileBuilder.rounded`)."""


@dataclass(frozen=True)
class Narrowing(Generic[V]):
    """The numbers of an `aot.tile_narrow`, with the instructions of a processor."""

    p: Processor[V]
    zero_point: int
    low: int
    high: int
    dtype: str
    """Of the bytes."""

    def result(self, parts: Sequence[V]) -> V:
        """The bytes of registers of f32 or s32, one behind the other."""
        bits = 32 * parts[0].lanes
        if self.p.has(f"packssdw.{bits}"):
            if len(parts) == PARTS:
                return self._packed(parts)
            if len(parts) == 1 and bits in _HALVED:
                return self._packed_alone(*parts)
        whole = [self._clamped(part) for part in parts]
        while len(whole) > 1:
            lanes = range(2 * whole[0].lanes)
            whole = [a.shuffle(lanes, b) for a, b in zip(whole[::2], whole[1::2], strict=True)]
        return whole[0]

    def _packed(self, parts: Sequence[V]) -> V:
        """Of four registers at once."""
        a, b, c, d = map(self._rounded, parts)
        found = self._bytes(self._words(a, b), self._words(c, d))
        groups = range(parts[0].lanes // PARTS)
        return found.shuffle(
            [16 * group + PARTS * part + byte for part in range(PARTS) for group in groups for byte in range(PARTS)]
        )

    def _packed_alone(self, part: V) -> V:
        """Of one register, of which those of 128 bits are packed with themselves, and halves of others with each
        other."""
        whole = self._rounded(part)
        first, second = (whole.shuffle(range(start, start + PARTS)) for start in (0, part.lanes - PARTS))
        words = self._words(first, second)
        return self._bytes(words, words).shuffle(range(part.lanes))

    def _rounded(self, part: V) -> V:
        """The nearest integers."""
        return self.p.apply(f"cvtps2dq.{32 * part.lanes}", part) if part.dtype == "f32" else part

    def _words(self, first: V, second: V) -> V:
        """Two registers of 32 bits a lane as one of 16, with the zero point."""
        words = self.p.apply(f"packssdw.{32 * first.lanes}", first, second)
        if not self.zero_point:
            return words
        return self.p.apply(f"paddsw.{16 * words.lanes}", words, words.number(self.zero_point, words.dtype))

    def _bytes(self, first: V, second: V) -> V:
        """Two registers of 16 bits a lane as one of clamped bytes."""
        packs = "packsswb" if is_signed(self.dtype) else "packuswb"
        found = self.p.apply(f"{packs}.{16 * first.lanes}", first, second)
        least, most = bounds(self.dtype)
        found = found.most(self.low) if self.low != least else found
        return found.least(self.high) if self.high != most else found

    def _clamped(self, part: V) -> V:
        """The bytes of one register, clamped before they are rounded and the zero point is added."""
        low, high = (part.number(bound - self.zero_point, part.dtype) for bound in (self.low, self.high))
        if part.dtype == "f32":
            part = (part > low).select(part, low)
            part = (part < high).select(part, high)
            part = (part + _ROUNDING).reinterpret("s32") - _ROUNDING_BITS
        else:
            part = part.most(low).least(high)
        return (part + self.zero_point if self.zero_point else part).convert(self.dtype)
