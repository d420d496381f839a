"""Dot products of narrow integers on vectors of one dimension: the target's instructions, or widened factors.

LLVM ends the process where a function calls an intrinsic that its target lacks, so each is chosen by what `Target.dots`
found. Without one for 8-bit integers, the elements with even and with odd numbers are widened to 16 bits in place, and
pairs of these multiplied; without that, four products are computed lane by lane in 32 bits. All wrap alike.

`pmaddubsw` multiplies unsigned by signed bytes and adds neighbours in 16 bits, where sums saturate. Signed bytes x are
multiplied by w as |x|, at most 128, by w with the sign of x (`psignb`): the sum of two such products is within 16 bits
for every |w| of at most 127. With `complement` they are |w|, unsigned, times x, or its complement where w is negative:
between -128 * 256 and 127 * 256, for every w; what a weight costs more, its magnitude and a mask of its sign, is shared
by all x. Of x without sign that is x - 128: the upper bit changes, which the mask does as well.

Two sums of pairs are added in 16 bits where that is promised to fit (`aot.tile_dot_pair`): one addition there is for
one multiplication by ones and one addition in 32 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import VectorType, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.aot import TileDotOp, TileDotPairOp
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.llvm_builder import LLVMBuilder, integer, width

_PAIRS = {128: "llvm.x86.sse2.pmadd.wd", 256: "llvm.x86.avx2.pmadd.wd", 512: "llvm.x86.avx512.pmaddw.d.512"}
_SIGNED = {128: "llvm.x86.ssse3.psign.b.128", 256: "llvm.x86.avx2.psign.b"}
_NARROW_PAIRS = {
    128: "llvm.x86.ssse3.pmadd.ub.sw.128",
    256: "llvm.x86.avx2.pmadd.ub.sw",
    512: "llvm.x86.avx512.pmaddubs.w.512",
}


def _dot(f: FunctionLowering, op: TileDotOp) -> None:
    factors, unsigned, narrow = [f.get(op.lhs), f.get(op.rhs)], op.unsigned, op.narrow_pairs
    if op.complement:
        factors, unsigned, narrow = _complemented(f.b, *factors, unsigned=unsigned[0]), (True, False), True
    f.set(op.result, _Dot(f, factors, unsigned, narrow, f.get(op.sums)).result())


def _dot_pair(f: FunctionLowering, op: TileDotPairOp) -> None:
    """In 16 bits where there are sums of pairs, else one after the other."""
    total, halves = f.get(op.sums), list[SSAValue]()
    for lhs, rhs in ((op.lhs, op.rhs), (op.next_lhs, op.next_rhs)):
        factors = [f.get(lhs), f.get(rhs)]
        if op.complement:
            factors = _complemented(f.b, *factors, unsigned=op.lhs_unsigned)
        dot = _Dot(f, factors, (True, False), True, total)
        if (half := dot.pairs_of_bytes()) is None:
            total = dot.result()
        else:
            halves.append(half)
    if halves:
        first, following = halves
        both = f.b.integer_op(llvm.AddOp, first, following)
        total = _Dot(f, [both, f.b.constant(1, both.type)], (False, False), False, total).result()
    f.set(op.result, total)


def _complemented(b: LLVMBuilder, x: SSAValue, w: SSAValue, *, unsigned: bool) -> list[SSAValue]:
    """The magnitudes of w; and x, 128 less where it is `unsigned`, or the complement of that."""
    lanes = cast("VectorType[Attribute]", w.type).get_shape()[0]
    sign = b.integer_op(llvm.AShrOp, w, b.constant(7, w.type))
    if unsigned:
        sign = b.integer_op(llvm.XOrOp, sign, b.constant(-128, w.type))
    magnitudes = b.intrinsic(f"llvm.abs.v{lanes}i8", (w, b.constant(0, integer(1))), w.type)
    return [magnitudes, b.integer_op(llvm.XOrOp, x, sign)]


class _Dot:
    """One dot product on its way; factors are the llvm values of the registers."""

    def __init__(
        self, f: FunctionLowering, factors: list[SSAValue], unsigned: tuple[bool, bool], narrow: bool, sums: SSAValue
    ) -> None:
        self._b: LLVMBuilder = f.b
        self._native = f.module.dots
        self._factors = factors
        self._unsigned = unsigned
        self._narrow = narrow
        self._sums = sums
        self._lanes = cast("VectorType[Attribute]", sums.type).get_shape()[0]
        self._bits = self._lanes * 32

    def result(self) -> SSAValue:
        """The sums plus the products."""
        if width(self._factors[0].type) == 16:
            return self._of_words() or self._by_lanes()
        for way in (self._at_once, self._narrow_pairs, self._even_and_odd):
            if (found := way()) is not None:
                return found
        return self._by_lanes()

    def _of_words(self) -> SSAValue | None:
        """Two products of pairs of 16 bits."""
        if any(self._unsigned):
            return None
        if f"vpdpbusd.{self._bits}" in self._native:  # of the same extension; of a multiplication and an addition LLVM
            name = f"llvm.x86.avx512.vpdpwssd.{self._bits}"  # makes it only where it does not exchange additions before
            return self._b.intrinsic(name, (self._sums, *self._factors), self._sums.type)
        halves = self._pairs(*self._factors)
        return None if halves is None else self._added(halves)

    def _at_once(self) -> SSAValue | None:
        """One instruction for all of it."""
        (a, b), (first, second) = self._factors, self._unsigned
        if first != second and f"vpdpbusd.{self._bits}" in self._native:
            name = f"llvm.x86.avx512.vpdpbusd.{self._bits}"
            return self._b.intrinsic(name, (self._sums, *((a, b) if first else (b, a))), self._sums.type)
        name = ("sdot", "usdot", "udot")[first + second]
        if name not in self._native or self._bits != 128:
            return None
        operands = (self._sums, b, a) if second and not first else (self._sums, a, b)
        return self._b.intrinsic(f"llvm.aarch64.neon.{name}.v4i32.v16i8", operands, self._sums.type)

    def pairs_of_bytes(self) -> SSAValue | None:
        """Sums of pairs in 16 bits, which saturate elsewhere; None without a promise, or an instruction."""
        if not self._narrow or f"pmaddubsw.{self._bits}" not in self._native or all(self._unsigned):
            return None
        a, b = reversed(self._factors) if self._unsigned[1] else self._factors
        if not any(self._unsigned):
            if f"psignb.{self._bits}" not in self._native:
                return None
            b = self._b.intrinsic(_SIGNED[self._bits], (b, a), b.type)
            wraps = self._b.constant(0, integer(1))
            a = self._b.intrinsic(f"llvm.abs.v{4 * self._lanes}i8", (a, wraps), a.type)
        return self._b.intrinsic(_NARROW_PAIRS[self._bits], (a, b), self._halves)

    def _narrow_pairs(self) -> SSAValue | None:
        """Sums of pairs in 16 bits, and their neighbours added."""
        if (pairs := self.pairs_of_bytes()) is None:
            return None
        ones = self._b.constant(1, self._halves)
        return self._added(self._b.intrinsic(_PAIRS[self._bits], (pairs, ones), self._sums.type))

    def _even_and_odd(self) -> SSAValue | None:
        """Two products of pairs of 16 bits."""
        if not self._has_pairs:
            return None
        even, odd = (
            [self._extended(factor, 8, shift, unsigned) for factor, unsigned in self._with_signs] for shift in (0, 8)
        )
        total = self._sums
        for a, b in (even, odd):
            total = self._b.integer_op(llvm.AddOp, total, self._multiplied(a, b))
        return total

    def _by_lanes(self) -> SSAValue:
        """Products in 32 bits."""
        bits = width(self._factors[0].type)
        total = self._sums
        for shift in range(0, 32, bits):
            a, b = (
                self._extended(factor, 32 - bits, shift, unsigned, lane=i32) for factor, unsigned in self._with_signs
            )
            total = self._b.integer_op(llvm.AddOp, total, self._b.integer_op(llvm.MulOp, a, b))
        return total

    @property
    def _with_signs(self) -> Sequence[tuple[SSAValue, bool]]:
        return list(zip(self._factors, self._unsigned, strict=True))

    @property
    def _halves(self) -> Attribute:
        return VectorType(integer(16), [2 * self._lanes])

    @property
    def _has_pairs(self) -> bool:
        return f"pmaddwd.{self._bits}" in self._native or ("i32x4.dot_i16x8_s" in self._native and self._bits == 128)

    def _pairs(self, a: SSAValue, b: SSAValue) -> SSAValue | None:
        return self._multiplied(a, b) if self._has_pairs else None

    def _multiplied(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Sums of two products of neighbours of 16 bits, which have a sign."""
        name = "llvm.wasm.dot" if "i32x4.dot_i16x8_s" in self._native else _PAIRS[self._bits]
        return self._b.intrinsic(name, (a, b), self._sums.type)

    def _added(self, products: SSAValue) -> SSAValue:
        return self._b.integer_op(llvm.AddOp, self._sums, products)

    def _extended(
        self, factor: SSAValue, spare: int, shift: int, unsigned: bool, lane: Attribute | None = None
    ) -> SSAValue:
        """The element at bit `shift` of each lane, widened to all of the lane, which has `spare` bits more."""
        b = self._b
        kind = self._halves if lane is None else VectorType(lane, [self._lanes])
        value = b.convert(llvm.BitcastOp, factor, kind)

        def by(count: int) -> SSAValue:
            return b.constant(count, kind)

        if unsigned and shift == 0:
            return b.integer_op(llvm.AndOp, value, by((1 << (width(kind) - spare)) - 1))
        if spare > shift:
            value = b.integer_op(llvm.ShlOp, value, by(spare - shift))
        return b.integer_op(llvm.LShrOp if unsigned else llvm.AShrOp, value, by(spare))


LOWERINGS: Lowerings = {TileDotOp: _dot, TileDotPairOp: _dot_pair}
