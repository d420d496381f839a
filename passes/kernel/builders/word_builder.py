"""Kernel bodies that load words of four bytes (see `dialects/aot/words.py`) beside elements and tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.arith import ExtSIOp, TruncIOp
from xdsl.dialects.builtin import i16, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects import aot
from aotc.dialects.builder import INDEX, Scalar
from aotc.passes.kernel.builders.tile_builder import TileBuilder


@dataclass(frozen=True, eq=False)
class WordIndex(Scalar):
    """The last index of the first byte of a word: what is read there is the word, an i32."""

    base: Scalar = field(kw_only=True)

    @staticmethod
    def of(base: Scalar) -> WordIndex:
        """The word that begins at `base`."""
        return WordIndex(base.b, INDEX, base=base)

    @property
    def ssa(self) -> SSAValue:
        return self.base.ssa

    @property
    def key(self) -> object:
        return ("word", self.base.key)


class WordBuilder(TileBuilder):
    """A TileBuilder with words."""

    def load(self, buffer: SSAValue, index: Sequence[Scalar], dtype: Attribute) -> Scalar:
        if index and isinstance(index[-1], WordIndex):
            return Scalar(self, i32, self.emit(aot.WordLoadOp(buffer, [each.ssa for each in index])))
        return super().load(buffer, index, dtype)

    def widen(self, word: Scalar, added: Scalar | None, *, odd: bool, unsigned: bool) -> Scalar:
        """Bytes 0 and 2, or 1 and 3, of a word as two integers of 16 bits, with two others added (`aot.word_widen`)."""
        addend = None if added is None else added.ssa
        return Scalar(self, i32, self.emit(aot.WordWidenOp(word.ssa, addend, odd=odd, zero_extend=unsigned)))

    def word_dot(self, a: Scalar, c: Scalar, total: Scalar) -> Scalar:
        """total + the products of the halves of a and c."""
        return Scalar(self, i32, self.emit(aot.WordDotOp(a.ssa, c.ssa, total.ssa)))

    def half(self, pair: Scalar, number: int) -> Scalar:
        """One of the two integers of 16 bits in a register."""
        if number:
            return self.shift_right(pair, self.const(16, i32))
        return Scalar(self, i32, self.emit(ExtSIOp(self.emit(TruncIOp(pair.ssa, i16)), i32)))
