"""Values that are computed once, and how much of them is cached."""

from __future__ import annotations

import pytest

from aotc.model.memo import Memo


def test_a_value_is_computed_once() -> None:
    calls: list[str] = []
    memo = Memo[str, int | None]()
    for key in ("a", "b", "a", "b"):
        assert memo.of(key, lambda key=key: calls.append(key)) is None
    assert calls == ["a", "b"]


def test_at_most_so_many_are_kept() -> None:
    memo = Memo[int, int](limit=2)
    for key in range(5):
        assert memo.of(key, lambda key=key: key * key) == key * key
        assert len(memo) <= 2
    assert memo.of(4, lambda: -1) == 16


def test_nothing_is_kept_of_what_fails() -> None:
    memo = Memo[str, float]()
    with pytest.raises(ZeroDivisionError):
        memo.of("a", lambda: 1 / 0)
    assert memo.of("a", lambda: 1.0) == 1.0
