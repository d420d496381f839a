"""Which steps of a reduction may be added up in 16 bits, two at a time: numbers only, no IR.

A step is four neighbouring products of a lane; an instruction adds two of them in 16 bits. The sums of two steps may be
added there as well where no products of 8-bit integers leave 16 bits, whatever they are multiplied with. Half a lane
then holds four products, of the weights a, b of one step and c, d of the other:

* Integers without sign, x of 0 to 255, times weights with sign ("plain"). The sum is greatest with 255 at the positive
  weights and 0 at the others: 255 times their sum. It is between -255 * 128 = -32640 and 255 * 128 = 32640, which 16
  bits hold, where the weights of each sign sum up to at most 128 in magnitude (`PLAIN`).
* Magnitudes of weights times integers with sign or their complements, -128 to 127 either way ("complemented"): between
  -128 * (|a| + |b| + |c| + |d|) and 127 times that. With a sum of magnitudes of at most 255 (`COMPLEMENTED`) that
  is -32640 or more.

The sum of two of these products, and of each instruction before, is bounded by the same sums of fewer weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

PLAIN = 128
"""The greatest magnitude of the sum of the weights of one sign that meet in 16 bits, with integers without sign."""
COMPLEMENTED = 255
"""The greatest sum of the magnitudes of the weights that meet in 16 bits, with integers that have one."""

_CHUNK = 64
"""Steps among which partners are looked for: the time grows with the square."""
_AT_ONCE = 64
"""Chunks that are compared at once."""


@dataclass(frozen=True)
class Pairing:
    """The steps of a panel in pairs: plain ones, then complemented ones, then steps that are alone."""

    order: list[int]
    """The steps, each once."""
    plain: int
    """Pairs of the first kind."""
    complemented: int
    """Of the second kind, behind them."""


def pair_steps(weight: Array, *, plain: bool) -> list[Pairing]:
    """Pairs of the steps of each panel of `weight` [panels, steps, lanes, 4], i8; without `plain` all are
    complemented."""
    panels, steps = weight.shape[:2]
    signed = weight.astype(np.int16).reshape(panels, steps, -1, 2)
    positive, negative = (each[..., 0] + each[..., 1] for each in (np.maximum(signed, 0), np.maximum(-signed, 0)))
    left = [list(range(steps)) for _ in range(panels)]
    kinds: list[list[list[tuple[int, int]]]] = []
    for sums, limit in ((np.concatenate([positive, negative], axis=2), PLAIN), (positive + negative, COMPLEMENTED)):
        wanted = plain or limit == COMPLEMENTED
        found = _matched(sums, left, limit) if wanted else [list[tuple[int, int]]() for _ in left]
        paired = [{step for pair in pairs for step in pair} for pairs in found]
        left = [[step for step in some if step not in gone] for some, gone in zip(left, paired, strict=True)]
        kinds.append([sorted(pairs) for pairs in found])
    return [
        Pairing([step for pair in (*first, *second) for step in pair] + alone, len(first), len(second))
        for first, second, alone in zip(*kinds, left, strict=True)
    ]


def check_pairing(weight: Array, plain: int, complemented: int) -> None:
    """Raise AssertionError unless the first pairs of steps of a panel, `weight` [steps, lanes, 4] in order, so many of
    each kind, keep to the bounds above."""
    signed = weight.astype(np.int16).reshape(len(weight), -1, 2)
    first, last = 2 * plain, 2 * (plain + complemented)
    for products, limit in (
        (np.maximum(signed[:first], 0), PLAIN),
        (np.maximum(-signed[:first], 0), PLAIN),
        (np.abs(signed[first:last]), COMPLEMENTED),
    ):
        sums = products[..., 0] + products[..., 1]
        assert int((sums[::2] + sums[1::2]).max(initial=0)) <= limit, "a pair of steps leaves 16 bits"


def _matched(sums: Array, among: Sequence[Sequence[int]], limit: int) -> list[list[tuple[int, int]]]:
    """For each panel of `sums` [panels, steps, columns], pairs of steps `among` those given that are nowhere more than
    `limit` together, about as many as there are.

    They are looked for in chunks that hold great and small steps alike.
    """
    chunks: list[tuple[int, Array]] = []
    for panel, steps in enumerate(among):
        greatest = sums[panel].max(axis=1, initial=0)
        rows = np.array(steps, np.int64)
        rows = rows[greatest[rows] <= limit]
        rows = rows[np.argsort(-greatest[rows], kind="stable")]
        count = -(-len(rows) // _CHUNK)
        chunks += [(panel, rows[first::count]) for first in range(count)]
    found = [list[tuple[int, int]]() for _ in among]
    for start in range(0, len(chunks), _AT_ONCE):
        some = chunks[start : start + _AT_ONCE]
        columns = np.zeros((sums.shape[2], len(some), _CHUNK), np.uint8)
        there = np.zeros((len(some), _CHUNK), np.bool_)
        for number, (panel, rows) in enumerate(some):
            columns[:, number, : len(rows)] = sums[panel, rows].T
            there[number, : len(rows)] = True
        fits, fit = there[:, :, None] & there[:, None, :], np.empty((len(some), _CHUNK, _CHUNK), np.bool_)
        for column in columns:
            np.less_equal(column[:, :, None], (limit - column)[:, None, :], out=fit)
            fits &= fit
        partners = _partners(fits)
        for (panel, rows), others in zip(some, partners, strict=True):
            (first,) = np.nonzero(others >= 0)
            found[panel] += zip(rows[first].tolist(), rows[others[first]].tolist(), strict=True)
    return found


def _partners(fits: Array) -> Array:
    """The partner of each row [chunk, row] among those that fit, [chunk, row, row]: the row with the fewest partners
    takes the one of them that has the fewest. Each pair is at one of its rows; -1 at all others."""
    fits &= ~np.eye(_CHUNK, dtype=np.bool_)
    order = np.argsort(fits.sum(axis=2), axis=1, kind="stable")
    rows = (order + _CHUNK * np.arange(len(fits))[:, None]).reshape(-1)
    for _ in range(2):  # of a symmetric table rows, then columns
        fits = np.ascontiguousarray(fits.reshape(-1, _CHUNK)[rows].reshape(fits.shape).swapaxes(1, 2))
    partners = np.packbits(fits, axis=2, bitorder="little").view("<u8")[:, :, 0]
    found = np.full(order.shape, -1)
    free = np.full(len(fits), ~np.uint64(0))
    for row in range(_CHUNK):
        own = np.uint64(1 << row)
        left = np.where(free & own, partners[:, row] & free, np.uint64(0))
        first = left & -left  # of those that are free, the one with the fewest
        (paired,) = np.nonzero(first)
        free[paired] &= ~(own | first[paired])
        at = np.frexp(first[paired].astype(np.float64))[1] - 1
        found[paired, order[paired, row]] = order[paired, at]
    return found
