"""A process for the cases: it may die, hang or eat memory, and the next case gets a new one."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

MEMORY = 6 << 30
"""Bytes of addresses of the process."""
_CASES = 1500
"""After how many cases a process is replaced: what a compiler in one process keeps is not what is looked for."""


_IDLE = 0.05
"""Seconds of work, below which a case only waits."""
_SCRATCH = "aotc-rig."
"""How the folder begins that the rig of the boards keeps as long as its process lives."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case: "ok" and what it was, or "failed" and why."""

    ok: bool
    what: str
    """Of a case that is ok, what it counts as; else the kind of failure."""
    message: str = ""
    seconds: float = 0.0


Case = Callable[[int], str]
"""A seed in, what the case counts as out; raises where something is wrong."""


def _serve(connection: Connection, case: Case, folder: str) -> None:
    """Run the seeds that arrive until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(folder)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    connection.send("ready")
    with suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            seed = connection.recv()
            try:
                answer = (True, case(seed), "")
                if left := sorted(p.name for p in Path(folder).iterdir() if not p.name.startswith(_SCRATCH)):
                    answer = (False, "files left", ", ".join(left))
            except BaseException as error:
                kind = getattr(error, "kind", type(error).__name__)
                answer = (False, kind, f"{error}\n{_innermost(error)}"[-4000:])
            connection.send(answer)


def _innermost(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return "".join(traceback.format_exception(error)[-3:])


def _worked(process: int) -> float:
    """Seconds that processors have worked for a process and those it has started; 0 where nothing says so."""
    times: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            times[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    total, open_ = 0, [process]
    while open_:
        parent = open_.pop()
        total += times.get(parent, (0, 0))[1]
        open_ += [each for each, (of, _) in times.items() if of == parent]
    return total / os.sysconf("SC_CLK_TCK")


class Runner:
    """Runs cases of one kind in a process of their own."""

    def __init__(self, case: Case, seconds: float) -> None:
        self._case, self._seconds = case, seconds
        self._process: Any = None
        self._connection: Any = None
        self._folder: Any = None
        self._done = 0

    def run(self, seed: int) -> Outcome:
        """One case; a death or a hang of its process is an outcome like others."""
        if self._process is None or self._done >= _CASES:
            self.close()
            self._start()
        start = time.monotonic()
        self._connection.send(seed)
        self._done += 1
        try:
            answer = self._connection.recv() if self._answers() else None
        except (EOFError, ConnectionError):
            self._process.join(10)
            code = self._process.exitcode
            self.close()
            name = signal.Signals(-code).name if code is not None and code < 0 else f"exit {code}"
            return Outcome(False, "died", name, time.monotonic() - start)
        if answer is None:
            self.close()
            return Outcome(False, "hang", f"more than {self._seconds} s", time.monotonic() - start)
        return Outcome(*answer, time.monotonic() - start)

    def _answers(self) -> bool:
        """Wait for an answer; whether there is one. How busy the machine is does not matter: a case that hangs is one
        that has worked for too long, or has waited for so long without any work."""
        begun = seen = _worked(self._process.pid)
        while not self._connection.poll(self._seconds):
            now = _worked(self._process.pid)
            if now - begun > self._seconds or now - seen < _IDLE:
                return False
            seen = now
        return True

    def _start(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["fuzz.cases"])  # imported once for all processes
        self._connection, theirs = context.Pipe()
        self._folder = tempfile.TemporaryDirectory(prefix="aotc-fuzz-", ignore_cleanup_errors=True)
        self._process = context.Process(target=_serve, args=(theirs, self._case, self._folder.name), daemon=False)
        self._process.start()
        theirs.close()
        self._connection.recv()  # what it imports is no part of the first case
        self._done = 0

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._connection.close()
        self._process.join(1)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._folder.cleanup()
        self._process = None
