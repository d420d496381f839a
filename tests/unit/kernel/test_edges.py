"""Elements that the taps of a tile see, against counting."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.costs.window_cost import Stretch, stretches
from aotc.passes.kernel.nests.convolution.row_tiles import RowTiles, Strip, TapRange, row_tiles, tap_places


def windows() -> Iterator[SlidingWindow]:
    for extent, size, stride, dilation, before, after in itertools.product(
        (1, 2, 7, 20), (1, 3, 4), (1, 2, 3), (1, 2, 3), (-1, 0, 1, 5), (-1, 0, 2, 6)
    ):
        for ceil in (False, True):
            window = SlidingWindow(extent, size, stride, dilation, before, after, ceil)
            slack = extent + before + after - window.span
            if (slack >= 0 or (ceil and slack > -stride)) and extent + min(before, 0) + min(after, 0) > 0:
                yield window


@pytest.mark.parametrize("size", [1, 3, 4, 8])
def test_tiles_cover_the_row_once_and_see_what_lies_inside(size: int) -> None:
    for window in windows():
        next_position = 0
        for tiles in row_tiles(window, size):
            assert tiles.size <= size
            for start in tiles.positions:
                assert start == next_position
                next_position += tiles.size
                found = {
                    (position, tap)
                    for taps in tiles.taps
                    for tap in range(taps.low, taps.high)
                    for position in range(taps.first, taps.last)
                }
                expected = {
                    (position, tap)
                    for position in range(tiles.size)
                    for tap in range(window.size)
                    if 0 <= (start + position) * window.stride + tap * window.dilation - window.before < window.extent
                }
                assert found == expected, (window, tiles)
        assert next_position == window.positions


def test_every_place_holds_the_element_its_tap_sees_and_nothing_else_is_read() -> None:
    for window in windows():
        for tiles in row_tiles(window, 4):
            places = tap_places(window, tiles.taps)
            assert [place.tap for place in places] == sorted({place.tap for place in places})
            read = [
                place.strip.element + number * window.stride
                for place in {place.strip: place for place in places}.values()
                for number in range(place.strip.count)
            ]
            assert len(read) == len(set(read)), "each element is read once"
            needed: set[int] = set()
            for place in places:
                for number, position in enumerate(range(place.first, place.last)):
                    element = place.strip.element + (place.offset + number) * window.stride
                    assert place.offset + number < place.strip.count
                    assert element == position * window.stride + place.tap * window.dilation, (window, place)
                    needed.add(element)
            assert set(read) == needed


def test_the_interior_stands_together_whatever_the_length() -> None:
    window = SlidingWindow(10**6, 3, 1, 1, 1, 1)
    left, interior, right = row_tiles(window, 8)
    assert left == RowTiles(0, 1, 8, (TapRange(0, 1, 1, 8), TapRange(1, 3, 0, 8)))
    assert interior == RowTiles(8, 10**6 // 8 - 2, 8, (TapRange(0, 3, 0, 8),))
    assert right.taps == (TapRange(0, 2, 0, 8), TapRange(2, 3, 0, 7))


def test_tiles_are_of_equal_size() -> None:
    assert [tiles.size for tiles in row_tiles(SlidingWindow(15, 1, 1, 1, 0, 0), 7)] == [5]
    assert [(tiles.size, tiles.count) for tiles in row_tiles(SlidingWindow(16, 1, 1, 1, 0, 0), 7)] == [(6, 2), (4, 1)]


def test_without_padding_all_is_interior() -> None:
    (tiles,) = row_tiles(SlidingWindow(114, 3, 1, 1, 0, 0), 7)
    assert (tiles.count, tiles.size) == (16, 7)


@pytest.mark.parametrize(("size", "lanes"), [(4, 4), (8, 4), (6, 2)])
def test_stretches_cover_the_row_once_and_have_what_taps_see(size: int, lanes: int) -> None:
    for window in windows():
        next_position = 0
        for each in stretches(window, size, lanes):
            for start in range(each.start, each.start + each.count * each.size, each.size):
                assert start == next_position
                next_position += each.size
                begin = start * window.stride - window.before + each.first
                assert 0 <= begin <= begin + each.elements <= window.extent, (window, each)
                for position, tap in itertools.product(range(each.size), range(window.size)):
                    element = (start + position) * window.stride + tap * window.dilation - window.before
                    if 0 <= element < window.extent:
                        assert begin <= element < begin + each.elements, (window, each)
        assert next_position == window.positions


def test_stretches_inside_stand_together_and_read_whole_registers() -> None:
    found = stretches(SlidingWindow(1000, 3, 2, 1, 1, 1), 8, 4)
    assert found == [Stretch(0, 1, 8, 1, 16), Stretch(8, 61, 8, 0, 20), Stretch(496, 1, 4, 0, 9)]
    assert stretches(SlidingWindow(1000, 3, 1, 1, 0, 0), 8, 4)[0] == Stretch(0, 124, 8, 0, 12)


def test_elements_that_touch_are_read_at_once() -> None:
    window = SlidingWindow(20, 2, 1, 2, 0, 0)
    places = tap_places(window, [TapRange(0, 2, 0, 2)])
    assert [(place.strip, place.offset) for place in places] == [(Strip(0, 4), 0), (Strip(0, 4), 2)]
