"""Dot products of narrow integers: the processor's instructions, or widened factors.

Without an instruction for 8-bit integers, the elements with even and with odd numbers are widened to 16 bits in place.
Pairs of these are multiplied; or each, as a product of two bytes fits 16 bits, with a sign unless neither has one, and
neighbours among products added in 32 bits (`saddlp`). Without either, four products are computed lane by lane in 32
bits. All wrap alike.

`pmaddubsw` multiplies unsigned by signed bytes and adds neighbours in 16 bits, where sums saturate. Signed bytes x are
multiplied by w as |x|, at most 128, by w with the sign of x (`psignb`): the sum of two such products is within 16 bits
for every |w| of at most 127. With `complement` they are |w|, unsigned, times x, or its complement where w is negative:
between -128 * 256 and 127 * 256, for every w; what a weight costs more, its magnitude and a mask of its sign, is shared
by all x. Of x without sign that is x - 128: the upper bit changes, which the mask does as well.

Two sums of pairs are added in 16 bits where that is promised to fit (`aot.tile_dot_pair`): one addition there is for
one multiplication by ones and one addition in 32 bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Generic, Literal, TypeAlias

from aotc.machines.expansions.vocabulary import Processor, V
from aotc.machines.instructions.values import bits_of, is_signed

Unsigned: TypeAlias = Literal["one", "none", "any", "narrow"]
"""Which factors of a dot product are unsigned where it takes least work: exactly one of the two; neither; any; or one
where constant weights keep the products of all neighbours in 16 bits, and neither elsewhere."""


@dataclass(frozen=True)
class Way:
    """One of the ways below, and how kernels that take it use registers, whatever the instructions."""

    unsigned: Unsigned
    """Which factors are, where it is the best way for all signs."""
    registers: int
    """More registers that are in use for it, beside those of the sums and of a factor's row."""
    busy_sums: int
    """Sums that keep the core busy: more, where the sum before is waited for until all has been multiplied."""


AT_ONCE: Final = Way("any", registers=0, busy_sums=14)
PAIRS_OF_BYTES: Final = Way("narrow", registers=2, busy_sums=6)
ADDED_PAIRS: Final = Way("any", registers=3, busy_sums=4)
PAIRS_OF_16_BITS: Final = Way("one", registers=3, busy_sums=4)
BY_LANES: Final = Way("any", registers=4, busy_sums=4)


def dot(p: Processor[V], lhs: V, rhs: V, sums: V, *, narrow: bool, complement: bool) -> V:
    """The meaning of `aot.tile_dot` for factors of types that say whether they have a sign."""
    return way_of_dot(p, lhs, rhs, sums, narrow=narrow, complement=complement)[1]


def way_of_dot(p: Processor[V], lhs: V, rhs: V, sums: V, *, narrow: bool, complement: bool) -> tuple[Way, V]:
    """The same, and the way that the instructions allow."""
    if complement:
        lhs, rhs, narrow = *_complemented(lhs, rhs), True
    return _Dot(p, lhs, rhs, sums, narrow).result()


def dot_pair(p: Processor[V], factors: tuple[tuple[V, V], tuple[V, V]], sums: V, *, complement: bool) -> V:
    """The meaning of `aot.tile_dot_pair`: in 16 bits where there are sums of pairs, else one after the other."""
    total, halves = sums, list[V]()
    for lhs, rhs in factors:
        first = _Dot(p, *(_complemented(lhs, rhs) if complement else (lhs, rhs)), total, True)
        if (half := first.pairs_of_bytes()) is None:
            _, total = first.result()
        else:
            halves.append(half)
    if not halves:
        return total
    both = halves[0] + halves[1]
    return _Dot(p, both, both.number(1, both.dtype), sums, False).result()[1]


def _complemented(x: V, w: V) -> tuple[V, V]:
    """The magnitudes of w; and x, 128 less where it has no sign, or the complement of that."""
    sign = w >> 7
    if not is_signed(x.dtype):
        sign = sign ^ -128
    return abs(w).reinterpret("u8"), x.reinterpret("s8") ^ sign


@dataclass
class _Dot(Generic[V]):
    """One dot product on its way."""

    p: Processor[V]
    a: V
    b: V
    sums: V
    narrow: bool
    """Whether sums of pairs of the signed factor's products fit 16 bits."""

    @cached_property
    def _bits(self) -> int:
        """Of a register."""
        return self.sums.lanes * 32

    @cached_property
    def _signs(self) -> str:
        return self.a.dtype[0] + self.b.dtype[0]

    @cached_property
    def _unsigned_first(self) -> tuple[V, V]:
        """The factors, one without sign before one with."""
        return (self.b, self.a) if self._signs == "su" else (self.a, self.b)

    def result(self) -> tuple[Way, V]:
        """The first way that there is, and the sums plus the products."""
        ways: dict[Way, Callable[[], V | None]] = {
            AT_ONCE: self._at_once,
            PAIRS_OF_BYTES: self._narrow_pairs,
            ADDED_PAIRS: self._pairwise,
            PAIRS_OF_16_BITS: self._even_and_odd,
        }
        if bits_of(self.a.dtype) == 16:
            ways = {PAIRS_OF_16_BITS: self._of_words}
        found = ((way, value) for way, compute in ways.items() if (value := compute()) is not None)
        return next(found, None) or (BY_LANES, self._by_lanes())

    def _of_words(self) -> V | None:
        """Two products of pairs of 16 bits."""
        if self._signs != "ss":
            return None
        if self.p.has(name := f"vpdpwssd.{self._bits}"):  # of a multiplication and an addition LLVM makes it only
            return self.p.apply(name, self.sums, self.a, self.b)  # where it does not exchange additions before
        halves = self._multiplied(self.a, self.b)
        return None if halves is None else self.sums + halves

    def _at_once(self) -> V | None:
        """One instruction for all of it."""
        same = {"ss": (f"vpdpbssd.{self._bits}", "sdot"), "uu": (f"vpdpbuud.{self._bits}", "udot")}
        ways = same.get(self._signs, (f"vpdpbusd.{self._bits}", "usdot"))
        name = next((way for way in ways if self.p.has(way)), None)
        if name is None or ("." not in name and self._bits != 128):
            return None
        return self.p.apply(name, self.sums, *self._unsigned_first)

    def pairs_of_bytes(self) -> V | None:
        """Sums of pairs in 16 bits, which saturate elsewhere; None without a promise, or an instruction."""
        if not self.narrow or not self.p.has(name := f"pmaddubsw.{self._bits}") or self._signs == "uu":
            return None
        a, b = self._unsigned_first
        if self._signs == "ss":
            if not self.p.has(signed := f"psignb.{self._bits}"):
                return None
            a, b = abs(a).reinterpret("u8"), self.p.apply(signed, b, a)
        return self.p.apply(name, a, b)

    def _narrow_pairs(self) -> V | None:
        """Sums of pairs in 16 bits, and their neighbours added."""
        if (pairs := self.pairs_of_bytes()) is None:
            return None
        return self.sums + self.p.apply(f"pmaddwd.{self._bits}", pairs, pairs.number(1, pairs.dtype))

    def _pairwise(self) -> V | None:
        """Products in 16 bits, and their neighbours added in 32."""
        letter = "u" if self._signs == "uu" else "s"
        if self._bits != 128 or not self.p.has(name := f"{letter}addlp"):
            return None
        total = self.sums
        for shift in (0, 8):
            products = _extended(self.a, 16, shift) * _extended(self.b, 16, shift)
            total = total + self.p.apply(name, products.reinterpret(f"{letter}16")).reinterpret("s32")
        return total

    def _even_and_odd(self) -> V | None:
        """Two products of pairs of 16 bits."""
        total = self.sums
        for shift in (0, 8):
            products = self._multiplied(_extended(self.a, 16, shift), _extended(self.b, 16, shift))
            if products is None:
                return None
            total = total + products
        return total

    def _by_lanes(self) -> V:
        """Products in 32 bits."""
        total = self.sums
        for shift in range(0, 32, bits_of(self.a.dtype)):
            total = total + _extended(self.a, 32, shift) * _extended(self.b, 32, shift)
        return total

    def _multiplied(self, a: V, b: V) -> V | None:
        """Sums of two products of neighbours of 16 bits, which have a sign."""
        ways = (f"pmaddwd.{self._bits}", *(("i32x4.dot_i16x8_s",) if self._bits == 128 else ()))
        name = next((way for way in ways if self.p.has(way)), None)
        return None if name is None else self.p.apply(name, a, b)


def _extended(factor: V, bits: int, shift: int) -> V:
    """The element at bit `shift` of each lane of `bits`, widened to all of it, as integers with a sign."""
    spare = bits - bits_of(factor.dtype)
    value = factor.reinterpret(f"{factor.dtype[0]}{bits}")
    if not is_signed(factor.dtype) and shift == 0:
        value = value & (1 << bits_of(factor.dtype)) - 1
    else:
        value = (value << spare - shift if spare > shift else value) >> spare
    return value.reinterpret(f"s{bits}")
