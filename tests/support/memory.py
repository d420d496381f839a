"""How much memory this process has, however much other tests left it with."""

from __future__ import annotations

import gc
import re
import resource
from collections.abc import Callable, Generator
from itertools import pairwise
from pathlib import Path

import pytest

from aotc.pipeline.uncollected import uncollected

_SELF = Path("/proc/self")
_ROUNDS = 4


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
            sizes.append(int((_SELF / "statm").read_text().split()[1]) * resource.getpagesize())
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
