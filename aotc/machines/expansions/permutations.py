"""Lanes and bytes by numbers that lie in a register: the permutations that the processor has, else by comparisons.

A permutation of 16 bytes by four bits of each number gives 0 where the number is beyond them, and a table is rows of
16. On x86 the numbers go down by 16 from row to row, saturating, and what counts is their sign: each adds, exclusively,
what its row differs by from the row before, as long as its number is not below 0; numbers without sign so in two halves
(W. Mula's tables of many registers).
"""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import pairwise
from operator import or_, xor
from typing import Any, Final

from aotc.machines.expansions.counting import Counted, Counting
from aotc.machines.expansions.vocabulary import Processor, V

_ROW = 16
"""Bytes that are permuted among themselves."""
_ENTRIES = 256
_OPERATION = 16
"""Instructions of an operation of the graph on a register of bytes: to dequantise it, |x| and to quantise that take as
long as a table in rows of 16 bytes on AVX2, 46 instructions."""


@dataclass(frozen=True)
class ByteLookup:
    """How a core looks up bytes in a table."""

    name: str
    """Of the instruction; "" where there is none, and functions of bytes are computed."""
    row: int
    """Bytes of the table in one register."""
    fewest_operations: int
    """The least cost of a function, in operations of the graph, at which it is looked up instead of computed."""


COMPUTED: Final = ByteLookup("", 0, 0)


@lru_cache
def byte_lookup(names: frozenset[str], vector_bytes: int, issue: float) -> ByteLookup:
    """The best way for registers of `vector_bytes` with these instructions, of which `issue` begin in a cycle."""
    p = Counting(names, issue)
    if (way := _best(p, vector_bytes)) is None:
        return COMPUTED
    table = [Counted("u8", way.row, {"table"}) for _ in range(_ENTRIES // way.row)]
    found = way.write(p, Counted("u8", vector_bytes, {"x"}), table)
    cycles = p.cycles(each for each in found.all() if "x" in each.of)
    return ByteLookup(way.name, way.row, max(2, math.ceil(cycles * issue / _OPERATION)))


def lookup(p: Processor[V], x: V, table: Sequence[V]) -> V:
    """The meaning of `aot.tile_lookup` for the registers of a table."""
    way = _best(p, x.lanes)
    return way.write(p, x, table) if way and way.row == table[0].lanes else _by_comparisons(x, table)


def picks(names: Collection[str], vector_bytes: int) -> bool:
    """Whether instructions pick lanes of registers of `vector_bytes` by numbers that are in another one."""
    return not {f"vpermi2d.{8 * vector_bytes}", f"vpermd.{8 * vector_bytes}"}.isdisjoint(names)


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
    return reduce(or_, (p.apply("i8x16.swizzle", row, x - n * _ROW if n else x) for n, row in enumerate(table)))


def _by_comparisons(numbers: V, table: Sequence[V]) -> V:
    """Each entry of a table where its number is asked for."""
    entries = (each.shuffle([lane] * numbers.lanes) for each in table for lane in range(each.lanes))
    found = next(entries)
    for number, entry in enumerate(entries, 1):
        found = numbers.equals(number).select(entry, found)
    return found


@dataclass(frozen=True)
class _Way:
    """A way to look up as many bytes at once as a register has, by an instruction, in a table of rows."""

    name: str
    vector_bytes: int
    row: int
    write: Callable[[Processor[Any], Any, Sequence[Any]], Any]


_WAYS: Final = (
    _Way("vpermi2b.512", 64, 64, _of_registers),
    _Way("vpermi2w.512", 64, 64, _of_words),
    _Way("pshufb.256", 32, _ROW, _by_differences),
    _Way("pshufb.128", 16, _ROW, _by_differences),
    _Way("tbl4", 16, _ROW, _of_four),
    _Way("i8x16.swizzle", 16, _ROW, _by_rows),
)


def _best(p: Processor[Any], vector_bytes: int) -> _Way | None:
    return next((way for way in _WAYS if way.vector_bytes == vector_bytes and p.has(way.name)), None)
