"""Rows of the pipeline: which pass, with which options, when."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from aotc.pipeline.options import CompileOptions


@dataclass(frozen=True)
class When:
    """A condition on what a user asks for: its name in tables, what that means, and whether it holds."""

    name: str
    sentence: str
    holds: Callable[[CompileOptions], bool]


class Step:
    """A pass, the conditions under which it runs, all of them, and its options.

    An option `"{io}"` has the value of `io` of CompileOptions; where that is None, it is left out.
    """

    def __init__(self, name: str, *when: When, **options: str | int) -> None:
        self.name = name
        self.when = when
        self.options = {option.replace("_", "-"): value for option, value in options.items()}

    def runs(self, asked: CompileOptions) -> bool:
        """Whether the pass is part of a compilation with these options."""
        return all(each.holds(asked) for each in self.when)

    def text(self, asked: CompileOptions | None = None) -> str:
        """The pass in the syntax of `aotc-opt -p`; where nothing is asked for, with names of options in capitals."""
        values = {name: _value(value, asked) for name, value in self.options.items()}
        given = " ".join(f"{name}={_text(value)}" for name, value in values.items() if value is not None)
        return f"{self.name}{{{given}}}" if given else self.name


def _value(value: str | int, asked: CompileOptions | None) -> object:
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    name = value.strip("{}")
    return name.upper() if asked is None else getattr(asked, name)


def _text(value: object) -> str:
    if isinstance(value, int):
        return str(value).lower()
    text = ",".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)
    return text if text.isidentifier() else f'"{text}"'


@dataclass(frozen=True)
class Phase:
    """A stage of compilation; the IR after it is described in docs/ir.md."""

    name: str
    sentence: str
    steps: tuple[Step, ...] = ()

    def pipeline(self, asked: CompileOptions) -> str:
        """The passes of a compilation with these options, as text."""
        return pipeline(self.steps, asked)


def pipeline(steps: tuple[Step, ...], asked: CompileOptions) -> str:
    """The steps that run with these options, in the syntax of `aotc-opt -p`."""
    return ",".join(step.text(asked) for step in steps if step.runs(asked))
