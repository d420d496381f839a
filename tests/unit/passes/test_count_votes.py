"""Which votes are exactly the shares that leaves say."""

from __future__ import annotations

import numpy as np
import pytest

from aotc.dialects.graph.trees.leaf_sums import MOST_EXACT, MOST_VOTES
from aotc.passes.schedule.count_votes import votes_of


@pytest.mark.parametrize("trees", [1, 7, 100])
@pytest.mark.parametrize("none", [0, 9])
def test_votes_give_the_same_floats(trees: int, none: int) -> None:
    random = np.random.default_rng(trees)
    counts = random.integers(0, 60, [300, 4])
    total = counts.sum(1, keepdims=True) + random.integers(none > 0, none + 1, [300, 1])
    shares = (counts / total / trees).astype(np.float32)
    votes = votes_of(shares, trees)
    assert votes is not None
    assert votes.shape[1] == 4 + (none > 0)
    again = votes[:, :4].astype(np.float32) / (votes.sum(1, keepdims=True, dtype=np.int32) * trees).astype(np.float32)
    assert again.tobytes() == shares.tobytes()


def test_the_fewest_votes_are_found() -> None:
    shares = np.array([[0.5, 0.25], [1000 / 4001, 3001 / 4001]], np.float32)
    assert votes_of(shares, 3) is None  # shares are not divided by the number of trees
    votes = votes_of(shares / np.float32(3), 3)
    assert votes is not None and votes.tolist() == [[2, 1, 1], [1000, 3001, 0]]


@pytest.mark.parametrize("share", [0.3333, -0.5, 1 / 4099, np.nan, np.inf, 1.5])
def test_other_numbers_are_no_shares(share: float) -> None:
    assert votes_of(np.array([[0.5, 0.25], [share, 0.0]], np.float32), 1) is None


def test_of_so_many_trees_that_the_divisor_is_no_float() -> None:
    for trees, fits in ((MOST_EXACT // MOST_VOTES, True), (MOST_EXACT // MOST_VOTES + 1, False)):
        assert (votes_of(np.full([1, 1], 1 / trees, np.float32), trees) is not None) is fits
