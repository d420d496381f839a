"""A row of results of a sliding window as tiles with known taps.

Where a tile meets an end of the operand, a tap reads elements at some of its positions only. The tiles are known when
the kernel is written, and so are these ranges: at an edge fewer registers are used, and neither padding nor comparisons
are needed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from xdsl.dialects.builtin import i32

from aotc.dialects.builder import Reader, Scalar
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import Edges, SlidingWindow
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import Tile


@dataclass(frozen=True)
class TapRange:
    """The taps low..high; each reads an element at the positions first..last of a tile, and none at the others."""

    low: int
    high: int
    first: int
    last: int


@dataclass(frozen=True)
class RowTiles:
    """`count` adjacent tiles of `size` positions each, from position `start` on, whose taps read alike."""

    start: int
    count: int
    size: int
    taps: tuple[TapRange, ...]
    """In order, without taps that read nothing. Where all taps read at all positions, this is one range."""

    @property
    def positions(self) -> range:
        """The first position of each tile."""
        return range(self.start, self.start + self.count * self.size, self.size)


def row_tiles(window: SlidingWindow, size: int) -> list[RowTiles]:
    """All positions of `window` in tiles of equal size, at most `size`; only the last may be smaller.

    Adjacent tiles that are alike are one entry, so the interior is a single one.
    """
    positions = window.positions
    if positions == 0:
        return []
    size = ceil_div(positions, ceil_div(positions, size))
    # At positions begin..end every tap reads an element; the tiles low..high are whole and have no other positions.
    begin = max(ceil_div(window.before, window.stride), 0)
    end = (window.extent + window.before - window.span) // window.stride + 1
    low, high = ceil_div(begin, size), min(end, positions) // size
    tiles: list[RowTiles] = []
    start = 0
    while start < positions:
        if start == low * size and low < high:
            more = RowTiles(start, high - low, size, (TapRange(0, window.size, 0, size),))
        else:
            length = min(size, positions - start)
            more = RowTiles(start, 1, length, _taps(window, start, length))
        if tiles and (tiles[-1].size, tiles[-1].taps) == (more.size, more.taps):
            more = RowTiles(tiles[-1].start, tiles.pop().count + more.count, more.size, more.taps)
        tiles.append(more)
        start = more.positions.stop
    return tiles


def _taps(window: SlidingWindow, start: int, size: int) -> tuple[TapRange, ...]:
    ranges: list[TapRange] = []
    for tap in range(window.size):
        # Position p sees element p * stride - ahead.
        ahead = window.before - tap * window.dilation
        first = max(ceil_div(ahead, window.stride) - start, 0)
        last = min(ceil_div(window.extent + ahead, window.stride) - start, size)
        if first >= last:
            continue
        if ranges and (ranges[-1].high, ranges[-1].first, ranges[-1].last) == (tap, first, last):
            ranges[-1] = TapRange(ranges[-1].low, tap + 1, first, last)
        else:
            ranges.append(TapRange(tap, tap + 1, first, last))
    return tuple(ranges)


@dataclass(frozen=True)
class Strip:
    """Elements that a tile reads at once: `count` of them, one every stride.

    `element` is the first, relative to the one that tap 0 reads, or would read, at the tile's first position.
    """

    element: int
    count: int


@dataclass(frozen=True)
class TapPlace:
    """The elements that `tap` reads at positions first..last of a tile: as many of `strip`, from `offset` on."""

    tap: int
    first: int
    last: int
    strip: Strip
    offset: int


def tap_places(window: SlidingWindow, taps: Iterable[TapRange]) -> list[TapPlace]:
    """Where to find what each of `taps` reads, tap by tap, such that each element is loaded once for all of them."""
    each = [(tap, some.first, some.last) for some in taps for tap in range(some.low, some.high)]
    # Taps whose elements are a multiple of the stride apart share strips; along one, elements are numbered in strides.
    numbers: dict[int, list[tuple[int, int]]] = {}
    for tap, first, last in each:
        whole, residue = divmod(tap * window.dilation, window.stride)
        numbers.setdefault(residue, []).append((whole + first, whole + last))
    merged = {residue: _merged(intervals) for residue, intervals in numbers.items()}
    places: list[TapPlace] = []
    for tap, first, last in each:
        whole, residue = divmod(tap * window.dilation, window.stride)
        low, high = next(strip for strip in merged[residue] if whole + first < strip[1])
        strip = Strip(low * window.stride + residue, high - low)
        places.append(TapPlace(tap, first, last, strip, whole + first - low))
    return places


def _merged(intervals: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Intervals that touch or overlap, as one."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(intervals):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def starting_tile(
    b: TileBuilder,
    table: Reader,
    edges: Sequence[Edges],
    outer: Sequence[Scalar],
    first: int,
    tile: Tile,
    channels: Callable[[Tile], Scalar],
) -> Scalar:
    """The rows of a table for neighbouring positions along the last axis, of which `first` is known, at `outer` along
    the others.

    The first axis of `tile` counts the positions; `channels` gives the index of the channels in such a tile.
    """
    (size, *columns), (*before, last) = tile.shape, edges
    at = [each.case(b, position) for each, position in zip(before, outer, strict=True)]
    cases = [last.case_of(first + number) for number in range(size)]
    start = b.splat(0, tile, i32)
    for case, group in groupby(range(size), lambda number: cases[number]):
        number, *more = group
        some = Tile((1 + len(more), *columns))
        start = b.replace(
            b.splat(table([*at, b.index(case), channels(some)]), some), start, [number] + [0] * len(columns[:-1])
        )
    return start
