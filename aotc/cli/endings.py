"""How a command ends that does not succeed: a line on standard error, and an exit code."""

from __future__ import annotations

import os
import sys

from aotc.errors import EXIT_FILE, EXIT_INTERRUPTED, EXIT_OK, AotcError, Problem


def ending(error: BaseException) -> int | None:
    """Say what went wrong, one line for each problem, and return the exit code; None for what no user can mend."""
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
        case KeyboardInterrupt():
            print("error: interrupted; no file is half written", file=sys.stderr)
            return EXIT_INTERRUPTED
        case _:
            return None
