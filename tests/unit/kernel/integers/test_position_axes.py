"""Positions of windows and their taps: loops visit each once, and few taps are written one by one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from kernels.written import arguments, effects
from xdsl.dialects import test
from xdsl.dialects.builtin import i32

from aotc.dialects.aot import LANES, STRIP, WORD
from aotc.dialects.array_builder import ArrayBuilder
from aotc.dialects.builder import INDEX, Scalar
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.nests.sums.position_axes import (
    Axis,
    Span,
    Stretch,
    is_whole,
    last_axis,
    over_outside,
    over_taps,
)


def window(extent: int, size: int, before: int, after: int, stride: int = 1) -> SlidingWindow:
    return SlidingWindow(extent, size, stride, 1, before, after)


BOTH = window(20, 3, 1, 1)
"""One of 20 positions is cut at each end."""
ONE_BY_ONE = [(place, place + 1) for place in range(20)]


@pytest.mark.parametrize(
    ("along", "specialized", "each_cut", "parts", "rest"),
    [
        (window(20, 3, 0, 0), False, False, [(0, 18)], []),
        (BOTH, True, True, [(0, 1), (1, 19), (19, 20)], []),
        (BOTH, True, False, [(1, 19)], [(0, 1), (19, 20)]),
        (BOTH, False, True, [], [(0, 20)]),
        (BOTH, False, False, [], [(0, 20)]),
        (window(20, 3, 0, 1), True, False, [(0, 18)], [(18, 19)]),
        (window(20, 3, 1, 0), True, False, [(1, 19)], [(0, 1)]),
        (window(2, 5, 2, 2), True, False, [], [(0, 2)]),  # none sees the whole window
        (
            window(20, 9, 4, 4),
            True,
            True,
            [*ONE_BY_ONE[:4], (4, 16), *ONE_BY_ONE[16:]],
            [],
        ),
        (window(20, 9, 4, 5), True, True, [(4, 16)], [(0, 4), (16, 21)]),  # nine are too many
    ],
)
def test_parts_of_an_axis(
    along: SlidingWindow,
    parts: Sequence[tuple[int, int]],
    rest: Sequence[tuple[int, int]],
    *,
    specialized: bool,
    each_cut: bool,
) -> None:
    found = Axis.of(along, specialized=specialized, each_cut=each_cut)
    assert [(part.low, part.high) for part in found.parts] == parts
    assert list(found.rest) == rest
    assert found.is_static == (not rest)


@pytest.mark.parametrize(
    ("extent", "word", "channels", "each"),
    [
        # two positions are cut: a quarter of eight, or more
        (8, 1, 3, False),
        (7, 1, 3, True),
        (20, WORD, 4, False),
        (20, WORD, 3, True),
        (20, STRIP, 4, True),
        (20, LANES, 4, True),
        (20, 1, 3, False),
    ],
)
def test_cut_windows_have_code_of_their_own(extent: int, word: int, channels: int, *, each: bool) -> None:
    found = last_axis(window(extent, 3, 1, 1), specialized=True, word=word, channels=channels)
    assert found.is_static == each


def numbers(b: ArrayBuilder, *scalars: Scalar) -> list[tuple[int, ...]]:
    """The values of scalars, side by side."""
    arrays = np.broadcast_arrays(*(b._array(each) for each in scalars))  # pyright: ignore[reportPrivateUsage]
    return list(zip(*(each.ravel().tolist() for each in arrays), strict=True))


WINDOWS = [
    *(window(20, 3, before, after) for before in (0, 1) for after in (0, 1)),
    window(20, 9, 4, 5),
    window(2, 5, 2, 2),
    window(21, 4, 2, 3, 2),
]


@pytest.mark.parametrize("count", [1, 3, 4])
@pytest.mark.parametrize(("specialized", "each_cut"), [(True, True), (True, False), (False, False)])
def test_every_position_is_visited_once_with_its_taps(count: int, *, specialized: bool, each_cut: bool) -> None:
    for along in WINDOWS:
        b, found = ArrayBuilder(1000), list[tuple[int, int, int]]()

        def body(
            at: Scalar, several: int, taps: Span, b: ArrayBuilder = b, found: list[tuple[int, int, int]] = found
        ) -> None:
            assert 1 <= several <= count
            for first, low, high in numbers(b, at, *taps):
                found.extend((first + number, low, high) for number in range(several))

        Axis.of(along, specialized=specialized, each_cut=each_cut).over(b, count, body)  # pyright: ignore
        seen = {
            place: [tap for tap in range(along.size) if 0 <= place * along.stride - along.before + tap < along.extent]
            for place in range(along.positions)
        }
        assert sorted(found) == [(place, taps[0], taps[-1] + 1) for place, taps in seen.items()]


def test_tails_of_neighbours_are_fewer() -> None:
    b = LoopBuilder(block := arguments())
    for count, loops in ((3, []), (4, ["(17, 2)"])):
        found: list[tuple[int, int]] = []
        axis = Axis(BOTH, (Stretch(1, 19, (0, 3)),), ())
        axis.over(b, count, lambda at, several, taps, found=found: found.append((at.constant, several)))  # pyright: ignore
        assert found == [(None, count), *((17, 2) for _ in loops)]
    assert len(effects(block)) == 2


def span(b: ArrayBuilder | LoopBuilder, low: int, high: int) -> Span:
    return b.index(low), b.index(high)


@pytest.mark.parametrize(
    ("bounds", "most", "written"),
    [
        # known taps are written one by one, from the innermost loop outwards, as long as they are few
        ([(0, 2), (1, 4)], 6, ["0 1", "0 2", "0 3", "1 1", "1 2", "1 3"]),
        ([(0, 2), (1, 4)], 5, ["for(0, 2)", "? 1", "? 2", "? 3"]),
        ([(0, 2), (1, 4)], 3, ["for(0, 2)", "? 1", "? 2", "? 3"]),
        ([(0, 2), (1, 4)], 2, ["for(0, 2)", "for(1, 4)", "? ?"]),
        ([(0, None), (1, 3)], 5, ["for(0, x)", "? 1", "? 2"]),
        ([(None, 2), (1, 3)], 5, ["for(x, 2)", "? 1", "? 2"]),
        ([(0, 2), (1, None)], 5, ["for(0, 2)", "for(1, x)", "? ?"]),
        ([(0, 2), (None, 3)], 5, ["for(0, 2)", "for(x, 3)", "? ?"]),
        ([(1, 2), (None, 3)], 5, ["for(x, 3)", "1 ?"]),
    ],
)
def test_taps_that_are_written_one_by_one(
    bounds: Sequence[tuple[int | None, int | None]], most: int, written: list[str]
) -> None:
    b = LoopBuilder(block := arguments(INDEX))
    x = b.scalar(block.args[0], INDEX)

    def body(taps: list[Scalar], now: list[Scalar]) -> list[Scalar]:
        b.effect(test.TestOp([tap.ssa for tap in taps]))
        return now

    spans = [tuple(x if each is None else b.index(each) for each in bound) for bound in bounds]
    over_taps(b, spans, [], body, most)  # pyright: ignore
    text = (
        " ".join(effects(block)).replace(", 1) {", ") ").replace("op(", "|").replace(", ", " ").replace(" yield()", "")
    )
    found = [each.strip(" );}") for each in text.replace("for(", "|for(").split("|") if each]
    assert found == [each.replace(", ", " ").strip(")") for each in written]


def visited_outside(
    bounds: Sequence[tuple[int, int]], extents: Sequence[int], known: Sequence[bool]
) -> list[tuple[int, ...]]:
    """The taps that `over_outside` visits; the ends of bounds that are not known are so at run time only."""
    b, found = ArrayBuilder(1000), list[tuple[int, ...]]()

    def body(taps: list[Scalar], now: list[Scalar]) -> list[Scalar]:
        found.extend(numbers(b, *taps))
        return [now[0] + 1]

    def bound(value: int, *, is_known: bool) -> Scalar:
        return b.index(value) if is_known else b.cast(b.const(value, i32), INDEX)

    ends = [bound(end, is_known=is_known) for end, is_known in zip(itertools.chain(*bounds), known, strict=True)]
    spans = list(zip(ends[::2], ends[1::2], strict=True))
    (count,) = over_outside(b, spans, extents, [b.const(0, i32)], body)  # pyright: ignore
    assert numbers(b, count) == [(len(found),)]
    return found


SEEN = [((0, 3), (0, 2)), ((1, 3), (0, 2)), ((0, 3), (1, 2)), ((1, 2), (0, 1)), ((0, 0), (1, 2)), ((0, 3), (0, 0))]


@pytest.mark.parametrize("known", list(itertools.product((True, False), repeat=4)), ids=str)
@pytest.mark.parametrize("bounds", SEEN, ids=str)
def test_taps_outside_of_bounds_are_visited_once(bounds: Sequence[tuple[int, int]], known: Sequence[bool]) -> None:
    extents = (3, 2)
    every = itertools.product(*map(range, extents))
    inside = set(itertools.product(*(range(*each) for each in bounds)))
    assert sorted(visited_outside(bounds, extents, known)) == [taps for taps in every if taps not in inside]


def test_taps_outside_of_one_axis_of_three() -> None:
    found = visited_outside(((0, 2), (1, 2), (0, 3)), (2, 2, 3), [True] * 6)
    assert sorted(found) == [(i, 0, k) for i in range(2) for k in range(3)]


def test_nothing_is_outside_of_whole_windows() -> None:
    b = LoopBuilder(block := arguments(INDEX))
    whole = [span(b, 0, 3), span(b, 0, 2)]
    assert is_whole(whole, (3, 2))
    assert not is_whole(whole, (3, 3))
    assert not is_whole([span(b, 1, 3), span(b, 0, 2)], (3, 2))
    assert over_outside(b, whole, (3, 2), [], lambda taps, now: now) == []  # pyright: ignore
    assert effects(block) == []
