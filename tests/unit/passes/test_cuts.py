"""Cuts of kernels into parts: the cheapest within a peak, and chains of results that trail."""

from __future__ import annotations

import math

from aotc.passes.fuse.cuts import Part, Trail, cheapest, cost_of, least_peak


def chain(count: int, size: int, below: int) -> list[Part]:
    """Kernels with results of one size, as they are or `below` bytes below what they read, at a cost of 10 each."""
    parts = [Part(0, 1, size, 0)]
    for number in range(1, count):
        parts.append(Part(number, number + 1, 2 * size, 0))
        link = Trail(number - 1, size, below, size)
        parts.append(Part(number, number + 1, size + below, 10, rolls=True, trail=link))
    return parts


def test_each_result_of_a_chain_lies_below_the_one_before() -> None:
    parts = chain(4, 160, 16)
    assert least_peak(parts, 4) == 160 + 3 * 16
    cut = cheapest(parts, 4, 208)
    assert cut is not None and [part.rolls for part in cut] == [False, True, True, True] and cost_of(cut) == 30
    assert cheapest(parts, 4, 207) is None and cost_of(None) == math.inf


def test_a_chain_begins_anew_where_a_result_is_apart() -> None:
    """A larger one in between that does not trail leaves no bytes above the next."""
    parts = [*chain(2, 160, 16), Part(2, 3, 160 + 16, 0), Part(3, 4, 32 + 16, 0, trail=Trail(2, 32, 16, 32))]
    assert least_peak(parts, 4) == 176
    smaller = [Part(0, 1, 160, 0), Part(1, 2, 160, 0, trail=Trail(0, 160, 0, 16)), Part(2, 3, 176, 0)]
    smaller[2:] = [Part(2, 3, 160, 0, trail=Trail(1, 16, 16, 16))]
    assert least_peak(smaller, 3) == 176, "144 bytes above the second lie above the third, too"


def test_the_cheapest_cut_may_leave_more_above() -> None:
    """Of two ways to the same kernel neither is dropped where one is cheaper and the other lies higher."""
    first = [Part(0, 1, 64, 0)]
    low = Part(1, 2, 64, 1, trail=Trail(0, 64, 32, 64))
    high = Part(1, 2, 64, 5, trail=Trail(0, 64, 0, 64))
    parts = [*first, low, high, Part(2, 3, 64, 0, trail=Trail(1, 64, 16, 64))]
    assert cost_of(cheapest(parts, 3, 112)) == 1 and cost_of(cheapest(parts, 3, 96)) == 5
    assert least_peak(parts, 3, 1) == 112 and least_peak(parts, 3, 5) == 80
    assert least_peak(parts, 3, 0) == math.inf
