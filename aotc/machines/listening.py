"""The library's text on standard error, for want of another way to hear of a problem."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final, TypeVar

_T = TypeVar("_T")

_listening: Final = threading.Lock()
"""Standard error is one for all threads."""


def listened(make: Callable[[], _T]) -> tuple[_T, str]:
    """The result of `make`, and what LLVM prints on standard error meanwhile: all that it does about a processor or a
    feature it does not know, before it goes on without or ends the process."""
    import tempfile

    with _listening, tempfile.TemporaryFile() as stream:
        try:
            saved = os.dup(2)
        except OSError:  # standard error is closed
            saved = None
        os.dup2(stream.fileno(), 2)
        try:
            made = make()
        finally:
            if saved is None:
                os.close(2)
            else:
                os.dup2(saved, 2)
                os.close(saved)
        stream.seek(0)
        return made, stream.read().decode(errors="replace")
