"""Positions that are read through several operations."""

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, i8
from xdsl.ir import Block

from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.graph.movement import ReshapeOp


def bounds(reads: AxisReads, first: int, last: int) -> tuple[int, int]:
    """The positions between which those from the first to the last one read."""
    return (first * reads.stride + reads.low) // reads.per, (last * reads.stride + reads.high) // reads.per


@pytest.mark.parametrize("seed", range(5))
def test_reads_of_reads_are_within(seed: int) -> None:
    r = np.random.default_rng(seed)
    for _ in range(200):
        steps, pers, lows, more = r.integers((1, 1, -5, 0), (5, 5, 6, 6), (2, 4)).T.tolist()
        one, other = (AxisReads(0, steps[n], pers[n], lows[n], lows[n] + more[n]) for n in range(2))
        both = one.through(other)
        for place in range(12):
            found, exact = bounds(both, place, place), bounds(other, *bounds(one, place, place))
            assert found[0] <= exact[0] and exact[1] <= found[1]
            assert other.stride > 1 or found == exact


@pytest.mark.parametrize(
    ("places", "extent", "expected"),
    [
        ([0, 0, 1, 1, 2, 2], 3, AxisReads(1, 1, 2, 0, 0)),
        ([2, 3, 4], 9, AxisReads(1, 1, 1, 2, 2)),
        ([0, 2, 4, 6], 8, AxisReads(1, 2, 1, 0, 0)),
        ([2, 1, 0], 3, AxisReads(1, 1, 1, -2, 2)),
    ],
)
def test_places_are_covered(places: list[int], extent: int, expected: AxisReads) -> None:
    assert AxisReads.covering(1, extent, [(place, place) for place in places]) == expected


def test_nothing_is_known_of_a_view_without_elements() -> None:
    """Whichever axis has none."""
    for source, target in (((2, 0, 3), (0, 6)), ((0, 4), (2, 0)), ((4, 0), (0, 2))):
        view = ReshapeOp.get(Block(arg_types=[TensorType(i8, source)]).args[0], shape=target)
        assert [view.reads_along(axis) for axis in range(len(target))] == [None] * len(target)


def test_nothing_is_known_of_a_number() -> None:
    """It has no axes, whatever it is a view of."""
    assert ReshapeOp.get(Block(arg_types=[TensorType(i8, (1, 1))]).args[0], shape=()).reads_along(0) is None
