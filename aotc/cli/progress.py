"""The status line of a command at work: what it does and how long it has been at it, while somebody is watching."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from aotc.errors import printable


@contextmanager
def progress() -> Generator[Callable[[str], None] | None]:
    """A listener to each step, on a line that goes again; None in a pipe, where nothing is said."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from aotc.pipeline.workers import bystander

    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    start = time.monotonic()
    with bystander(), Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("starting", total=None)
        yield lambda step: shown.update(task, description=printable(step))
    print(f"{time.monotonic() - start:.1f} s", file=sys.stderr)
