"""First addends of a convolution's sums where they depend on the taps that a position sees: a table by `Edges`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from xdsl.dialects.builtin import i32

from aotc.dialects.builder import Reader, Scalar
from aotc.dialects.graph.windows.sliding import Edges
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import Tile


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
