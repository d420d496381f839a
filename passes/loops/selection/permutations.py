"""Lanes and bytes by numbers that lie in a register: the permutations that the processor has, else by comparisons.

A permutation of 16 bytes by four bits of each number gives 0 where the number is beyond them, and a table is rows of
16. On x86 the numbers go down by 16 from row to row, saturating, and what counts is their sign: each adds, exclusively,
what its row differs by from the row before, as long as its number is not below 0; numbers without sign so in two halves
(W. Mula's tables of many registers).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_, xor
from typing import Any, Final, TypeAlias

from aotc.machines.dots import PSHUFB, SWIZZLE, TBL, VPERMB, VPERMW, ByteLookup, byte_lookup
from aotc.passes.loops.selection.processor import Processor, V

_ROW = 16
"""Bytes that are permuted among themselves."""
_Way: TypeAlias = "Callable[[Processor[Any], Any, Sequence[Any]], Any]"


def lookup(p: Processor[V], x: V, table: Sequence[V]) -> V:
    """The meaning of `aot.tile_lookup` for the registers of a table."""
    best = byte_lookup(p.names, x.lanes)
    return _WAYS[best](p, x, table) if best.row == table[0].lanes else _by_comparisons(x, table)


def pick(p: Processor[V], a: V, b: V, numbers: V) -> V:
    """The meaning of `aot.tile_pick`: one instruction, or one for each register and the lane of the right one."""
    lanes, bits = a.lanes, a.lanes * 32
    if p.has(name := f"vpermi2d.{bits}"):
        return p.apply(name, a, numbers, b)
    if p.has(name := f"vpermd.{bits}"):
        low, high = (p.apply(name, each, numbers) for each in (a, b))
        side = numbers << 32 - (2 * lanes - 1).bit_length()
        return (side.reinterpret("s32") < 0).select(high, low)
    return _by_comparisons(numbers & 2 * lanes - 1, (a, b))


def _of_registers(p: Processor[V], x: V, table: Sequence[V]) -> V:
    """Of two registers each, by seven bits; the eighth is the sign."""
    low, high = (p.apply("vpermi2b.512", a, x, b) for a, b in zip(table[::2], table[1::2], strict=True))
    return (x.reinterpret("s8") < 0).select(high, low)


def _of_words(p: Processor[V], x: V, table: Sequence[V]) -> V:
    """Pairs of bytes, by the bits of the number but the last, which says which of the two: for the bytes with even and
    for those with odd places."""
    words, pairs = x.reinterpret("u16"), [each.reinterpret("u16") for each in table]

    def found(numbers: V) -> V:
        """Of numbers of 8 bits in lanes of 16; what is above 8 bits of the result does not count."""
        place = numbers >> 1
        low, high = (p.apply("vpermi2w.512", a, place, b) for a, b in zip(pairs[::2], pairs[1::2], strict=True))
        return (numbers > 127).select(high, low) >> ((numbers & 1) << 3)

    return (found(words & 255) & 255 | found(words >> 8) << 8).reinterpret("u8")


def _by_differences(p: Processor[V], x: V, table: Sequence[V]) -> V:
    """See the module."""
    bits = 8 * x.lanes
    rows = [each.shuffle([lane % _ROW for lane in range(x.lanes)]) for each in table]
    offset_of_row = x.number(_ROW, "s8")

    def terms() -> Iterator[V]:
        for numbers, half in ((x, rows[:8]), (x ^ 128, rows[8:])):
            yield p.apply(f"pshufb.{bits}", half[0], numbers)
            for before, row in pairwise(half):
                numbers = p.apply(f"psubsb.{bits}", numbers, offset_of_row)
                yield p.apply(f"pshufb.{bits}", row ^ before, numbers)

    return reduce(xor, terms())


def _of_four(p: Processor[V], x: V, table: Sequence[V]) -> V:
    """Of four registers, by the numbers that are in them; the others stay what they are."""
    result = p.apply("tbl4", *table[:4], x)
    for first in range(4, len(table), 4):
        result = p.apply("tbx4", result, *table[first : first + 4], x - first * _ROW)
    return result


def _by_rows(p: Processor[V], x: V, table: Sequence[V]) -> V:
    """0 where a number is beyond its row."""
    return reduce(or_, (p.apply(SWIZZLE.name, row, x - n * _ROW if n else x) for n, row in enumerate(table)))


def _by_comparisons(numbers: V, table: Sequence[V]) -> V:
    """Each entry of a table where its number is asked for."""
    entries = (each.shuffle([lane] * numbers.lanes) for each in table for lane in range(each.lanes))
    found = next(entries)
    for number, entry in enumerate(entries, 1):
        found = numbers.equals(number).select(entry, found)
    return found


_WAYS: Final[dict[ByteLookup, _Way]] = {
    VPERMB: _of_registers,
    VPERMW: _of_words,
    PSHUFB: _by_differences,
    TBL: _of_four,
    SWIZZLE: _by_rows,
}
