"""How a command ends that does not succeed: a line on standard error, and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType, TracebackType

from aotc.errors import EXIT_FILE, EXIT_INTERRUPTED, EXIT_MODEL, EXIT_OK, AotcError, Problem

_interrupted = False
"""Whether an interrupt has come: whatever goes wrong from then on does so because of it."""


def heed_interrupts() -> None:
    """Remember interrupts. A module in C that is just being loaded makes an ImportError of them, and shows them."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
        sys.excepthook = _shown


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt


def _shown(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def ending(error: BaseException) -> int | None:
    """Say what went wrong, one line for each problem, and return the exit code; None for what no user can mend."""
    if _interrupted:
        error = KeyboardInterrupt()
    match error:
        case AotcError():
            for problem in error.problems:
                print(f"error: {problem}", file=sys.stderr)
            return error.exit_code
        case BrokenPipeError():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # it is flushed once more at exit
            return EXIT_OK
        case OSError():
            what = error.strerror or str(error)
            print(f"error: {Problem('unusable-file', what, node=str(error.filename or ''))}", file=sys.stderr)
            return EXIT_FILE
        case MemoryError():
            print(f"error: {Problem('out-of-memory', 'there is not enough memory', str(error))}", file=sys.stderr)
            return EXIT_MODEL
        case KeyboardInterrupt():
            print("error: interrupted; no file is half written", file=sys.stderr)
            return EXIT_INTERRUPTED
        case _:
            return None
