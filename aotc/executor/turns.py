"""Locks that the child of a fork finds free: only the thread that forks lives on in it, and what another one held then
would be held for ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from operator import methodcaller
from weakref import WeakKeyDictionary, WeakMethod, WeakSet

_LOCKS: WeakSet[threading.Lock | threading.RLock] = WeakSet()
_MENDING: WeakKeyDictionary[threading.Lock | threading.RLock, WeakMethod[Callable[[], None]]] = WeakKeyDictionary()
"""Reset in a child where the lock was held, since it has half of what the other thread was at."""


def turn(mend: Callable[[], None] | None = None) -> threading.Lock:
    """A lock, free in a child. Where another thread held it when the process forked, the child calls `mend`, a method
    that is not kept alive."""
    lock = threading.Lock()
    _LOCKS.add(lock)
    if mend is not None:
        _MENDING[lock] = WeakMethod(mend)
    return lock


def reentrant_turn() -> threading.RLock:
    """A lock that its thread may take again, free in a child."""
    lock = threading.RLock()
    _LOCKS.add(lock)
    return lock


def _free_in_child() -> None:
    held = [lock for lock in _LOCKS if not _is_free(lock)]
    for lock in held:
        methodcaller("_at_fork_reinit")(lock)
    for lock in held:
        if (mend := _MENDING.get(lock)) is not None and (method := mend()) is not None:
            method()


def _is_free(lock: threading.Lock | threading.RLock) -> bool:
    """Whether nobody holds a lock, or this thread, which may take it again."""
    if not lock.acquire(blocking=False):
        return False
    lock.release()
    return True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)
