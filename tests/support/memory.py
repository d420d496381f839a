"""How much memory this process has."""

from __future__ import annotations

import gc
import resource
from pathlib import Path

import pytest

_STATM = Path("/proc/self/statm")


def resident() -> int:
    """Bytes of memory that this process has, after a garbage collection. Skips the test where there is no /proc."""
    if not _STATM.exists():
        pytest.skip("no /proc says how much memory there is")
    gc.collect()
    return int(_STATM.read_text().split()[1]) * resource.getpagesize()
