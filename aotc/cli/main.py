"""The `aotc` command: arguments in, one call of the driver, exit code out."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from aotc.cli.endings import ending, heed_interrupts
from aotc.errors import InternalError
from aotc.model.extensions import explained


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code (see `aotc --help`)."""
    gc.disable()  # what a command makes lives as long as it does
    _open_standard_streams()
    heed_interrupts()
    code = run(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)  # taking IR apart, object by object, takes a tenth of a compilation


def _open_standard_streams() -> None:
    """Let those that are closed lead nowhere: else the next file that is opened would be one of them."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115


def run(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code. Errors are one line each on standard error, never a traceback."""
    arguments: argparse.Namespace | None = None
    try:
        from aotc.cli.parser import build_parser

        arguments = build_parser().parse_args(argv)
        command: Callable[[argparse.Namespace], int] = arguments.command
        with explained(f"aotc {arguments.name_of_command}"):
            code = command(arguments)
        sys.stdout.flush()
        return code
    except (Exception, KeyboardInterrupt) as error:
        if (code := ending(error)) is None:
            raise
        if isinstance(error, InternalError):
            _report(error, argv, arguments)
        return code


def _report(error: InternalError, argv: Sequence[str], arguments: argparse.Namespace | None) -> None:
    """Write the crash report if one was asked for; what goes wrong then hides nothing."""
    if (directory := getattr(arguments, "crash_report", None)) is None:
        return
    from aotc.cli.crash import write_report

    try:
        written = write_report(Path(directory), error, argv, arguments)
    except Exception as another:
        print(f"error: no crash report in {directory}: {another}", file=sys.stderr)
        return
    print(f"wrote {', '.join(map(str, written))}: please look whether you may give them away", file=sys.stderr)
