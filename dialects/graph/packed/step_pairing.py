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


@dataclass(frozen=True)
class Pairing:
    """The steps of a panel in pairs: plain ones, then complemented ones, then steps that are alone."""

    order: list[int]
    """The steps, each once."""
    plain: int
    """Pairs of the first kind."""
    complemented: int
    """Of the second kind, behind them."""


def pair_steps(weight: Array, *, plain: bool) -> Pairing:
    """Pairs of the steps of a panel, `weight` [steps, lanes, 4] i8; without `plain` all are complemented."""
    signed = weight.astype(np.int16).reshape(len(weight), -1, 2)
    positive, negative = (np.maximum(each, 0).sum(axis=2) for each in (signed, -signed))
    left, found = list(range(len(weight))), list[list[tuple[int, int]]]()
    for sums, limit in ((np.hstack([positive, negative]), PLAIN), (positive + negative, COMPLEMENTED)):
        some = _matched(sums[left], limit) if plain or limit == COMPLEMENTED else []
        found.append(sorted((left[a], left[b]) for a, b in some))
        paired = {step for pair in found[-1] for step in pair}
        left = [step for step in left if step not in paired]
    order = [step for pairs in found for pair in pairs for step in pair]
    return Pairing(order + left, len(found[0]), len(found[1]))


def check_pairing(weight: Array, plain: int, complemented: int) -> None:
    """Raise AssertionError unless the first pairs of steps of a panel, `weight` [steps, lanes, 4] in order, so many of
    each kind, keep to the bounds above."""
    signed = weight.astype(np.int16).reshape(len(weight), -1, 2)
    first, last = 2 * plain, 2 * (plain + complemented)
    for part, limit in (
        (np.maximum(signed[:first], 0), PLAIN),
        (np.maximum(-signed[:first], 0), PLAIN),
        (np.abs(signed[first:last]), COMPLEMENTED),
    ):
        sums = part.sum(axis=2)
        assert int((sums[::2] + sums[1::2]).max(initial=0)) <= limit, "a pair of steps leaves 16 bits"


def _matched(sums: Array, limit: int) -> list[tuple[int, int]]:
    """Pairs of rows of `sums` that are nowhere more than `limit` together, about as many as there are.

    Chunks of rows hold great and small ones alike; in each, the row with the fewest partners takes the one of its
    partners that has the fewest.
    """
    order = np.argsort(-sums.max(axis=1, initial=0), kind="stable")
    chunks = max(-(-len(sums) // _CHUNK), 1)
    pairs: list[tuple[int, int]] = []
    for chunk in range(chunks):
        rows = order[chunk::chunks]
        pairs += [(int(rows[a]), int(rows[b])) for a, b in _matched_rows(sums[rows], limit)]
    return pairs


def _matched_rows(sums: Array, limit: int) -> list[tuple[int, int]]:
    columns = np.minimum(sums, limit + 1).T.astype(np.int16)
    fits = np.ones((len(sums), len(sums)), np.bool_)
    for column in np.ascontiguousarray(columns):
        fits &= column[:, None] <= (limit - column)[None, :]
    np.fill_diagonal(fits, val=False)
    by_partners = np.argsort(fits.sum(axis=1), kind="stable")
    packed = np.packbits(fits[np.ix_(by_partners, by_partners)], axis=1, bitorder="little")
    partners = [int.from_bytes(row.tobytes(), "little") for row in packed]
    free, pairs = (1 << len(sums)) - 1, list[tuple[int, int]]()
    for row, others in enumerate(partners):
        if free >> row & 1 and (found := others & free):
            partner = (found & -found).bit_length() - 1
            free &= ~(1 << row | 1 << partner)
            pairs.append((int(by_partners[row]), int(by_partners[partner])))
    return pairs
