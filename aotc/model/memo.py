"""A cache of results for a bounded number of keys."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memo(Generic[K, V]):
    """Values by key. One that is full forgets all of them: a process that compiles for ever keeps no more than that."""

    def __init__(self, limit: int = 4096) -> None:
        self._limit = limit
        self._values: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._values)

    def clear(self) -> None:
        """Forget all of them."""
        self._values.clear()

    def of(self, key: K, compute: Callable[[], V]) -> V:
        """The value of `key`, computed where it is not known."""
        try:
            return self._values[key]
        except KeyError:
            value = compute()
        if len(self._values) >= self._limit:
            self.clear()
        self._values[key] = value
        return value
