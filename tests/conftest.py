"""Tests compile what they test: no result comes from the cache, unless a test asks for one of its own.

Python's own cache is for all processes of a run, and for the next run: commands that tests start, and other workers,
need not compile the sources again, even where the environment says that nothing is to be written beside them.
"""

import gc
import os
import sys
from pathlib import Path

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
