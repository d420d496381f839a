"""Work that is divided among processes: copies of this one, each of which takes the next item until none is left.

A copy has all that this process has made so far, so nothing is handed to it; what it computes comes back through a
pipe. So which process computes an item is a matter of time, and what it computes is not.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from aotc.errors import CompileError, InternalError, Problem

Result = TypeVar("Result")

MOST_ITEMS = 256
"""The number of an item is one byte."""

_INTERVAL = 5e-4
"""Seconds after which a thread lets another one run Python, which else would wait for ten times as long between two
operations of numpy's."""

_bystanders = 0
"""Threads of this process that own nothing which a copy of it uses."""


@contextmanager
def bystander() -> Generator[None]:
    """Say that a thread which runs meanwhile, such as that of a status line, is no reason not to copy the process."""
    global _bystanders
    _bystanders += 1
    try:
        yield
    finally:
        _bystanders -= 1


def usable_cores() -> int:
    """How many cores this process may run on."""
    if sys.platform.startswith("linux"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_parallel(
    work: Callable[[int], Result],
    count: int,
    jobs: int,
    meanwhile: Callable[[], object] = lambda: None,
    begun: Callable[[int], object] = lambda number: None,
) -> list[Result]:
    """`[work(number) for number in range(count)]`, computed by this process and up to `jobs - 1` copies of it.

    The smaller its number, the sooner an item is begun; before it takes one, this process does what is `meanwhile`, and
    `begun` hears of each that it takes.
    What `work` changes stays in the process that called it; what it returns is pickled. A process with other threads
    is not copied, since those may hold locks: then all is computed here. What fails in a copy is computed here again,
    so that errors are those of this process; the problems of all items that raise CompileError are raised together.
    Raises InternalError where a copy ends without an answer.
    """
    results: dict[int, Result] = {}
    errors: dict[int, Exception] = {}
    jobs = min(jobs, count)
    if jobs > 1 and is_alone():
        with _Workers(work, count, jobs - 1) as workers:
            meanwhile()
            while (number := workers.take()) is not None:
                begun(number)
                _compute(work, number, results, errors)
            results |= workers.results()
    else:
        meanwhile()
    for number in range(count):
        if number not in results and number not in errors:
            begun(number)
            _compute(work, number, results, errors)
    problems: list[Problem] = []
    for _, error in sorted(errors.items()):
        if not isinstance(error, CompileError):
            raise error
        problems += error.problems
    if problems:
        raise CompileError(problems)
    return [results[number] for number in range(count)]


def _compute(
    work: Callable[[int], Result], number: int, results: dict[int, Result], errors: dict[int, Exception]
) -> None:
    try:
        results[number] = work(number)
    except Exception as error:
        errors[number] = error


def is_alone() -> bool:
    """Whether this process has no thread but this one and bystanders; False where that is not known."""
    with suppress(OSError):
        return len(os.listdir("/proc/self/task")) <= 1 + _bystanders
    return False


def aside(work: Callable[[], None]) -> Callable[[], None]:
    """Begin work, such as numpy's on large arrays, in another thread of this process, which lets Python go on.

    Returns what waits for its end, and for that of the thread, and raises what the work raised.
    """
    errors: list[BaseException] = []
    interval = sys.getswitchinterval()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
        finally:
            sys.setswitchinterval(interval)

    def wait() -> None:
        thread.join()
        task, end = Path(f"/proc/self/task/{thread.native_id}"), time.monotonic() + 1
        while task.exists() and time.monotonic() < end:  # it ends a moment after Python has done with it
            time.sleep(1e-4)
        for error in errors:
            raise error

    thread = threading.Thread(target=run, daemon=True)
    sys.setswitchinterval(_INTERVAL)
    thread.start()
    return wait


class _Workers:
    """Copies of this process, and the items that are left: the bytes in a pipe that all of them read."""

    def __init__(self, work: Callable[[int], Any], count: int, copies: int) -> None:
        assert count <= MOST_ITEMS, "the number of an item is one byte"
        self._work = work
        self._count = count
        self._copies = copies
        self._answers: dict[int, int] = {}
        """Where the answer of each copy is read, by its process."""

    def __enter__(self) -> _Workers:
        self._items, items = os.pipe()
        os.write(items, bytes(range(self._count)))
        os.close(items)
        try:
            for _ in range(self._copies):
                self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind: neither processes nor pipes."""
        for process in list(self._answers):
            os.kill(process, signal.SIGKILL)
            self._end(process)
        os.close(self._items)

    def _start(self) -> None:
        read, write = os.pipe()
        parent = os.getpid()
        try:
            process = os.fork()
        except OSError:  # as where no more processes are allowed: the others compute it
            os.close(read)
            os.close(write)
            return
        if process == 0:
            self._be_a_copy(write, parent)
        os.close(write)
        self._answers[process] = read

    def _be_a_copy(self, answer: int, parent: int) -> NoReturn:
        """Compute items, answer, end. Nothing is said to users: this process is nobody's to see."""
        try:
            for each in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(each) != signal.SIG_IGN:  # as in a background that no interrupt reaches
                    signal.signal(each, signal.SIG_DFL)
            sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
            results: dict[int, Any] = {}
            while os.getppid() == parent and (number := self.take()) is not None:
                with suppress(Exception):
                    results[number] = self._work(number)
            with open(answer, "wb") as file:
                pickle.dump(results, file, pickle.HIGHEST_PROTOCOL)
            os._exit(0)
        finally:
            os._exit(1)

    def take(self) -> int | None:
        """The number of the next item; None where all are taken."""
        item = os.read(self._items, 1)
        return item[0] if item else None

    def results(self) -> dict[int, Any]:
        """The results of the copies, when all are done."""
        found: dict[int, Any] = {}
        for process, answer in list(self._answers.items()):
            with open(answer, "rb", closefd=False) as file:
                content = file.read()
            if status := self._end(process):
                what = "a process that compiled kernels"
                raise InternalError(Problem("internal-error", what, _how(status), "use --jobs 1"))
            found |= pickle.loads(content)
        return found

    def _end(self, process: int) -> int:
        """Wait for a copy; returns how it ended."""
        os.close(self._answers.pop(process))
        return os.waitpid(process, 0)[1]


def _how(status: int) -> str:
    """How a process ended that failed."""
    if os.WIFSIGNALED(status):
        return f"it was ended by {signal.Signals(os.WTERMSIG(status)).name}, as where memory is short"
    return f"it ended with status {os.waitstatus_to_exitcode(status)}"
