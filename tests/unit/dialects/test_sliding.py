"""The bounds of a sliding window against counting."""

from __future__ import annotations

import itertools

import pytest
from xdsl.ir import Block

from aotc.dialects.graph.interfaces import ShapeError
from aotc.dialects.graph.windows.sliding import SlidingWindow, sliding_windows
from aotc.passes.kernel.builders.loop_builder import LoopBuilder


def windows(ceil: bool) -> list[SlidingWindow]:
    found: list[SlidingWindow] = []
    for extent, size, stride, dilation, before, after in itertools.product(
        (1, 2, 5, 8), (1, 2, 3, 7), (1, 2, 3, 7), (1, 2, 3), (-1, 0, 1, 2), (-1, 0, 1, 2)
    ):
        window = SlidingWindow(extent, size, stride, dilation, before, after, ceil)
        slack = extent + before + after - window.span
        if slack >= 0 or (ceil and slack > -stride):
            found.append(window)
    return found


@pytest.mark.parametrize("ceil", [False, True])
def test_taps_are_those_inside_the_operand(ceil: bool) -> None:
    b = LoopBuilder(Block())
    for window in windows(ceil):
        for position in range(window.positions):
            places = [position * window.stride + tap * window.dilation - window.before for tap in range(window.size)]
            low, high = (bound.constant for bound in window.taps(b, b.index(position)))
            assert low is not None and high is not None
            seen = [places[tap] for tap in range(int(low), int(high))]
            assert seen == [place for place in places if 0 <= place < window.extent], (window, position)
            assert seen or not window.never_empty, (window, position)
            padded = window.padded_taps(b, b.index(position)).constant
            assert padded == sum(place < window.extent + window.after for place in places), (window, position)


def test_positions_are_those_that_fit() -> None:
    for window in windows(ceil=False):
        fitting = range(window.extent + window.before + window.after - window.span + 1)
        assert window.positions == len(fitting[:: window.stride])


def test_an_incomplete_window_begins_inside() -> None:
    for window in windows(ceil=True):
        end = window.extent + window.before
        complete = SlidingWindow(
            *(getattr(window, n) for n in ("extent", "size", "stride", "dilation", "before", "after"))
        )
        if end + window.after < window.span:
            assert window.positions == (end > 0), window
            continue
        assert window.positions - complete.positions in (-1, 0, 1)
        if window.positions > complete.positions:
            assert (window.positions - 1) * window.stride < end


def test_a_window_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ShapeError, match="spans 5 elements, the padded operand has 4"):
        _ = SlidingWindow(3, 3, 1, 2, 1, 0).positions


def test_an_incomplete_window_is_less_than_a_stride_too_large() -> None:
    assert SlidingWindow(1, 7, 7, 1, 0, 0, ceil=True).positions == 1
    for window in (SlidingWindow(1, 8, 7, 1, 0, 0, ceil=True), SlidingWindow(1, 7, 7, 1, 0, 0)):
        with pytest.raises(ShapeError, match="the padded operand has 1"):
            _ = window.positions


def test_attributes_must_have_one_value_for_each_axis() -> None:
    with pytest.raises(ShapeError, match="pads has 2 values for 2 spatial axes, expected 4"):
        sliding_windows([5, 5], [3, 3], [1, 1], [0, 0], [1, 1])
    with pytest.raises(ShapeError, match="must be positive"):
        sliding_windows([5], [3], [0], [0, 0], [1])
