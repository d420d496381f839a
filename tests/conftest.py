"""Tests compile what they test: no result comes from the cache, unless a test asks for one of its own.

Python's own cache is for all processes of a run, and for the next run: commands that tests start, and other workers,
need not compile the sources again, even where the environment says that nothing is to be written beside them.
"""

import ctypes
import gc
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

pytest_plugins = ("cpu_time", "memory")

os.environ["AOTC_CACHE_DIR"] = ""

_BYTECODE = str(Path(__file__).parents[1] / "build" / "bytecode")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", _BYTECODE)
sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """Thousands of tests and their cases live to the end, and models on their way come and go by the million objects:
    garbage is looked for after each million, and not among the tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(1_000_000, 5, 5)


_MOST_MORE = 256 << 20
"""Bytes by which a process may grow before garbage is looked for everywhere. Code, weights and sessions of models that
are gone are outside of Python, which does not count them."""
_resident = 0


def _resident_bytes() -> int:
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last test of a file nothing of its fixtures is left but garbage: where that is much, it goes."""
    global _resident
    if nextitem is not None and nextitem.path == item.path:
        return
    if _resident_bytes() > _resident + _MOST_MORE:
        gc.collect()
        with suppress(OSError, AttributeError):  # the C library keeps what is freed, for as long as it can
            ctypes.CDLL(None).malloc_trim(0)
        _resident = _resident_bytes()
