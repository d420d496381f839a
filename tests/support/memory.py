"""How much memory this process has, however much other tests left it with."""

from __future__ import annotations

import ctypes
import gc
import re
import resource
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest

from aotc.pipeline.compilation import uncollected

_SELF = Path("/proc/self")
_ROUNDS = 4
_MOST_MORE = 256 << 20
"""Bytes by which a process may grow before garbage is looked for everywhere. Code, weights and sessions of models that
are gone are outside of Python, which does not count them."""
_kept = 0
"""Bytes that the process had when that was done last."""
_forget: list[Callable[[], None]] = []
"""Functions that empty each `kept_for_a_file`."""
_P, _R = ParamSpec("_P"), TypeVar("_R")


def kept_for_a_file(most: int) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """`lru_cache` of large things that several tests of a file share: after its last test none of them is kept. A
    compilation is half a million objects, and each search for garbage looks at all that live."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        memo = lru_cache(maxsize=most)(function)
        _forget.append(memo.cache_clear)
        return memo

    return decorate


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last test of a file nothing of its fixtures is left but garbage: where that is much, it goes."""
    global _kept
    if nextitem is not None and nextitem.path == item.path:
        return
    for each in _forget:
        each()
    with suppress(OSError):
        if _resident() > _kept + _MOST_MORE:
            gc.collect()
            with suppress(AttributeError):  # the C library keeps what is freed, for as long as it can
                ctypes.CDLL(None).malloc_trim(0)
            _kept = _resident()


def _resident() -> int:
    return int((_SELF / "statm").read_text().split()[1]) * resource.getpagesize()


@pytest.fixture
def collect() -> Generator[Callable[[], object]]:
    """Collects garbage among what a test made, and nothing else does: to look at all that other tests left takes up to
    half a minute."""
    with uncollected():
        yield _collect_young


def _collect_young() -> None:
    gc.collect(1)


def growth(do: Callable[[], object], times: int) -> float:
    """Bytes that the process grows by each time that something is done, `times` of them a round.

    What stays makes every round larger; what the heap asks for now and then, or gives back, only some. Skips the test
    where there is no /proc.
    """
    if not (_SELF / "statm").exists():
        pytest.skip("no /proc says how much memory there is")
    sizes: list[int] = []
    with uncollected():
        for _ in range(1 + _ROUNDS):
            for _ in range(times):
                do()
            _collect_young()
            sizes.append(_resident())
    return min(after - before for before, after in pairwise(sizes)) / times


def most_more(do: Callable[[], object]) -> int:
    """Bytes of memory that the process has at most while something is done, beyond those it had. Skips as `growth`."""
    try:
        (_SELF / "clear_refs").write_text("5")  # the most is what there is now
    except OSError:
        pytest.skip("no /proc says how much memory there was at most")
    before = _most()
    do()
    return _most() - before


def _most() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", (_SELF / "status").read_text())
    assert found is not None
    return int(found[1]) << 10
