"""Kernel bodies that load words of four bytes (see `dialects/aot/words.py`) beside elements and tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FixedBitwidthType, i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects import aot
from aotc.dialects.builder import INDEX, Scalar
from aotc.dialects.dtypes import storage_type
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile, is_tile


@dataclass(frozen=True, eq=False)
class WordIndex(Scalar):
    """The last index of the first byte of a word: what is read there is the word, an i32."""

    base: Scalar = field(kw_only=True)
    aligned: bool = field(default=False, kw_only=True)

    @staticmethod
    def of(base: Scalar, *, aligned: bool = False) -> WordIndex:
        """The word that begins at `base`, in memory perhaps at a multiple of four bytes."""
        return WordIndex(base.b, INDEX, base=base, aligned=aligned)

    @property
    def ssa(self) -> SSAValue:
        return self.base.ssa

    @property
    def key(self) -> object:
        return ("word", self.base.key)


class WordBuilder(TileBuilder):
    """A TileBuilder with words."""

    def load(self, buffer: SSAValue, index: Sequence[Scalar], dtype: Attribute) -> Scalar:
        if index and isinstance(last := index[-1], WordIndex):
            word = aot.WordLoadOp(buffer, [each.ssa for each in index], aligned=last.aligned)
            return Scalar(self, i32, self.emit(word))
        return super().load(buffer, index, dtype)

    def store(self, value: Scalar, buffer: SSAValue, index: Sequence[Scalar]) -> None:
        if index and isinstance(index[-1], WordIndex):
            self.effect(aot.WordStoreOp(value.ssa, buffer, [each.ssa for each in index]))
        else:
            super().store(value, buffer, index)

    def widen(self, word: Scalar, added: Scalar | None, *, odd: bool, unsigned: bool) -> Scalar:
        """Bytes 0 and 2, or 1 and 3, of a word as two integers of 16 bits, with two others added."""
        name = f"{'u' if unsigned else 's'}xt{'b16' if added is None else 'ab16'}{'.ror8' if odd else ''}"
        return self.instruction(name, *([] if added is None else [added]), word)

    def lane_dot(self, x: Scalar, w: Scalar, total: Scalar) -> Scalar:
        """total + the products of all lanes of two registers of signed integers of 8 or 16 bits."""
        bits = 8 if storage_type(x.dtype) == i8 else 16
        return self.instruction(f"vmladava.s{bits}", x, w, total)

    def instruction(self, name: str, *operands: Scalar) -> Scalar:
        """An instruction of a processor on words or quads, whose result is integers of 32 bits; on other cores
        `select-instructions` writes what it computes."""
        return Scalar(self, i32, self.emit(aot.InstructionOp(name, [each.ssa for each in operands])))


_QUAD = Tile((aot.QUAD,))


class QuadBuilder(WordBuilder):
    """A WordBuilder whose tiles are quads: four lanes of at most 32 bits."""

    def quad(self, lanes: Sequence[Scalar]) -> Scalar:
        """Four i32 side by side."""
        return Scalar(self, i32, self.emit(aot.QuadOp([lane.ssa for lane in lanes])))

    def fma(self, a: Scalar, c: Scalar, addend: Scalar) -> Scalar:
        """The sum comes first: compilers load factors in the order in which C mentions them."""
        return self.add(addend, self.mul(a, c)) if is_tile(addend) else super().fma(a, c, addend)

    def quantized(
        self, a: Scalar, zero_point: int, low: int, high: int, dtype: Attribute, *, bounded: bool = False
    ) -> Scalar:
        if not is_tile(a) or storage_type(dtype) not in (i8, i16):
            return super().quantized(a, zero_point, low, high, dtype, bounded=bounded)
        value = self.instruction("vcvtn.s32.f32", a)
        if zero_point:
            value = self.instruction("vqadd.s32", value, self.splat(zero_point, _QUAD, i32))
        return self.cast(self.min(self.max(value, low), high), dtype)

    def rescaled(self, x: Scalar, factor: Scalar, shift: Scalar, *, small: bool = False) -> Scalar:
        if not is_tile(x):
            return super().rescaled(x, factor, shift, small=small)
        x, factor, shift = (Scalar(self, i32, each) for each in self._operands(x, factor, shift))
        value, back = self.instruction("vqrdmulh.s32", x, factor), self.sub(self.const(0, i32), shift)
        less = self.shift_right(value & back, self.const(31, i32))  # halves of what is negative are rounded down
        return self.instruction("vrshl.s32", self.instruction("vqadd.s32", value, less), back)

    def cast(self, a: Scalar, dtype: Attribute) -> Scalar:
        if is_tile(a) and isinstance(dtype, FixedBitwidthType) and dtype.bitwidth > 32:
            raise NotVectorizable(f"a quad of {dtype}")
        return super().cast(a, dtype)
