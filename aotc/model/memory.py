"""Memory that the C library keeps."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any


def give_back() -> None:
    """Give what is free back to the system, where the C library can be told to: else pieces that lie between others
    stay with the process, and of large arrays that come and go that is as much as the arrays."""
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None
