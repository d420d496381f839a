"""Errors a user can cause, those that only we can mend, and the exit codes they end in.

Every user-facing failure is a `Problem` (its id, what, why, what to do, where) carried by one of the exceptions below;
the command line turns them into one line each on standard error and the exit code of the class.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TextIO

EXIT_OK = 0
EXIT_WRONG = 1
"""The result is wrong (`verify`) or over budget."""
EXIT_USAGE = 2
EXIT_MODEL = 3
"""The model is invalid or not supported."""
EXIT_FILE = 4
"""A file cannot be read or written."""
EXIT_INTERNAL = 70
"""A fault of the compiler."""
EXIT_INTERRUPTED = 130


@dataclass(frozen=True)
class Problem:
    """One thing that stands in the way, printed as `NODE (OpType): what; why; what to do [id]`."""

    id: str
    """Its kind, a row of docs/problems.md, or of another package; it stays, whatever the text."""
    what: str
    why: str = ""
    fix: str = ""
    node: str = ""
    op_type: str = ""
    inputs: tuple[str, ...] = ()
    """The inputs of the model, all of few elements, whose values would have to be known for it to be mended."""

    def __str__(self) -> str:
        place = f"{self.node} ({self.op_type})".strip() if self.op_type else self.node
        text = (f"{place}: " if place else "") + "; ".join(said for said in (self.what, self.why, self.fix) if said)
        return f"{_shown(text)} [{self.id}]"


def gathered(problems: Sequence[Problem]) -> list[Problem]:
    """Equal problems of several nodes of an operator as one problem that names them all, in the order of the first."""
    alike: dict[Problem, list[Problem]] = {}
    for problem in dict.fromkeys(problems):
        alike.setdefault(replace(problem, node="") if problem.op_type else problem, []).append(problem)
    return [replace(each[0], node=", ".join(problem.node for problem in each)) for each in alike.values()]


_MOST_CHARACTERS = 4000
"""Of a problem: names in models have no bound."""


def _shown(text: str) -> str:
    """`text`, the middle left out where it is very long, as it may be printed."""
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[: _MOST_CHARACTERS // 2]} ... {text[-_MOST_CHARACTERS // 2 :]}"
    return "\n".join(map(printable, text.split("\n")))


def printable(line: str) -> str:
    """One line without what a terminal would obey: control characters, those that turn the direction of text, and line
    separators of every kind are escaped, as in Python."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() or char == "\t" else ascii(char)[1:-1] for char in line)


def show(*lines: str, file: TextIO | None = None) -> None:
    """Print lines, on standard output or to `file`. Whatever has names of a model in it is printed by this."""
    for line in lines:
        print(printable(line), file=file)


_SAID: ContextVar[set[Problem] | None] = ContextVar("aotc_said", default=None)


@contextmanager
def warning_once(said: set[Problem]) -> Generator[None]:
    """Inside, nothing is warned of that is in `said`, whatever its reason; what is goes there."""
    token = _SAID.set(said)
    try:
        yield
    finally:
        _SAID.reset(token)


def warn(problem: Problem) -> None:
    """One line on standard error about what does not stand in the way."""
    if (said := _SAID.get()) is not None:
        if (known := replace(problem, why="")) in said:
            return
        said.add(known)
    print(f"warning: {problem}", file=sys.stderr)


class AotcError(Exception):
    """Base of every error that users see; `problems` lists all of them, not only the first. Of one, the arguments of
    `Problem` may be given."""

    exit_code: int = EXIT_MODEL

    def __init__(
        self,
        problems: Problem | str | Sequence[Problem],
        what: str = "",
        why: str = "",
        fix: str = "",
        node: str = "",
        op_type: str = "",
    ) -> None:
        if isinstance(problems, str):
            problems = Problem(problems, what, why, fix, node, op_type)
        listed = (problems,) if isinstance(problems, Problem) else problems
        self.problems: tuple[Problem, ...] = tuple(dict.fromkeys(listed))  # each once, in order
        super().__init__("\n".join(str(problem) for problem in self.problems))


class CompileError(AotcError):
    """The model cannot be compiled: it is invalid, or something in it is not supported."""

    @property
    def waits_for(self) -> tuple[str, ...]:
        """The inputs of few elements whose values have to be known, where nothing else stands in the way."""
        if not all(problem.inputs for problem in self.problems):
            return ()
        return tuple(dict.fromkeys(name for problem in self.problems for name in problem.inputs))


class BudgetError(AotcError):
    """The compiled model needs more memory than `--ram`, `--flash` or `--stack` allow."""

    exit_code = EXIT_WRONG


class UsageError(AotcError, ValueError):
    """Options that contradict each other or name something that does not exist."""

    exit_code = EXIT_USAGE


class FileError(AotcError, OSError):
    """A file cannot be read or written; also an OSError, which is what Python programs expect."""

    exit_code = EXIT_FILE


class OutOfMemoryError(AotcError, MemoryError):
    """There is not as much memory as compiling takes."""


class InternalError(AotcError):
    """A fault of the compiler; the problem names the node it came to light at, `__cause__` is what happened."""

    exit_code = EXIT_INTERNAL

    def __init__(self, problems: Problem | Sequence[Problem], phase: str = "") -> None:
        super().__init__(problems)
        self.phase = phase
        """The phase that did not end; empty where none did not."""
