"""Rows of the pipeline: which pass, with which options, when."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from aotc.pipeline.options import CompileOptions

_ASKED = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class When:
    """A condition on what a user asks for: its name in tables, what that means, and whether it holds."""

    name: str
    sentence: str
    holds: Callable[[CompileOptions], bool]


class Step:
    """A pass, its options, and the conditions under which it runs, all of them.

    Options are text as `io={io} tables=false`: what is in braces is asked of CompileOptions; None leaves it out.
    """

    def __init__(self, name: str, options: str = "", *when: When) -> None:
        self.name = name
        self.options = options
        self.when = when

    def runs(self, options: CompileOptions) -> bool:
        """Whether the pass is part of a compilation with these options."""
        return all(each.holds(options) for each in self.when)

    def text(self, options: CompileOptions | None = None) -> str:
        """The pass in the syntax of `aotc-opt -p`; without options of a compilation, with their names in capitals."""
        given = " ".join(part for each in self.options.split() if (part := _filled(each, options)) is not None)
        return f"{self.name}{{{given}}}" if given else self.name


def _filled(text: str, options: CompileOptions | None) -> str | None:
    """One option of a pass."""
    if (asked := _ASKED.search(text)) is None:
        return text
    value = asked[1].upper() if options is None else getattr(options, asked[1])
    if isinstance(value, bool):
        value = str(value).lower()
    elif isinstance(value, tuple):
        value = ",".join(value)
    return None if value is None else text.replace(asked[0], str(value))


@dataclass(frozen=True)
class Phase:
    """A stage of compilation; the IR after it is described in docs/ir.md."""

    name: str
    sentence: str
    steps: tuple[Step, ...] = ()

    def pipeline(self, options: CompileOptions) -> str:
        """The passes of a compilation with these options, as text."""
        return pipeline(self.steps, options)


def pipeline(steps: tuple[Step, ...], options: CompileOptions) -> str:
    """The steps that run with these options, in the syntax of `aotc-opt -p`."""
    return ",".join(step.text(options) for step in steps if step.runs(options))
