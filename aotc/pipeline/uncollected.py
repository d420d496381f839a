"""Compiling without garbage collection."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Generator[None]:
    """Without garbage collection: IR is full of cycles and nearly all of it lives to the end, so walking over it again
    and again takes a quarter of the time and frees next to nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
