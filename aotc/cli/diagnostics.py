"""Diagnostics of `aotc-opt` for IR that is wrong: file:line:column and a caret; and comments that expect it to.

    // expected-error@+1 {{result type is}}
    %0 = graph.relu %x : (tensor<4xf32>) -> tensor<5xf32>

Comments are MLIR's: `expected-error`, `-warning`, `-note`, `-remark`, for this line or `@above`, `@below`, `@+N`,
`@-N`, `@unknown`; `expected-error-re` has regular expressions between inner braces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_MOST_COLUMNS = 100
"""Of a line of source that is shown."""


@dataclass(frozen=True)
class Diagnostic:
    """One message about a place in a file; lines and columns count from 1, line 0 is no place in it."""

    file: str
    line: int
    column: int
    message: str
    severity: str = "error"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.severity}: {self.message}"

    def with_source(self, source: str) -> str:
        """The message, the line it is about and a caret; of a long line what is around the column."""
        lines = source.split("\n")
        if not 0 < self.line <= len(lines):
            return str(self)
        shown = (
            char if char.isprintable() else " " if char.isspace() else "?" for char in lines[self.line - 1].rstrip()
        )
        line, column = "".join(shown), self.column - 1
        if not line:
            return str(self)
        start = max(0, column - _MOST_COLUMNS // 2) if len(line) > _MOST_COLUMNS else 0
        end = start + _MOST_COLUMNS
        before, after = "..." if start else "", "..." if end < len(line) else ""
        return f"{self}\n{before}{line[start:end]}{after}\n{' ' * (len(before) + column - start)}^"


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of a character of `text`."""
    start = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, start) + 1, offset - start + 1


_EXPECTATION = re.compile(
    r"//.*?expected-(?P<severity>error|warning|note|remark)(?P<regex>-re)?\s*"
    r"(?:@(?P<where>above|below|unknown|[+-]\d+))?\s*(?P<count>\d+)?\s*\{\{(?P<text>.*?)\}\}(?!\})"
)
_WITHIN = re.compile(r"\{\{(.*?)\}\}")
_OPENING = re.compile(r"expected-(?:error|warning|note|remark)")


@dataclass
class Expectation:
    """A comment that says that there is a diagnostic of a line (0: of no place)."""

    line: int
    """Where it is."""
    column: int
    about: int
    severity: str
    text: str
    pattern: re.Pattern[str]
    found: bool = False

    def matches(self, diagnostic: Diagnostic) -> bool:
        """Whether this is the diagnostic that it expects."""
        return (
            not self.found
            and diagnostic.severity == self.severity
            and diagnostic.line == self.about
            and self.pattern.search(diagnostic.message) is not None
        )


def expectations(source: str) -> list[Expectation]:
    """Every expectation in the comments of a file."""
    lines = source.split("\n")
    has_one = [_EXPECTATION.search(line) is not None for line in lines]
    found: list[Expectation] = []
    for number, line in enumerate(lines, 1):
        start = 0
        while (match := _EXPECTATION.search(line, start)) is not None:
            about = _about(match["where"], number, has_one)
            text, end = match["text"], match.end()
            if match["regex"]:  # braces within: up to the last of them on the line
                closing = line.rfind("}}")
                text, end = line[match.start("text") : closing], closing + 2
                pieces = _WITHIN.split(text)
                pattern = "".join(piece if k % 2 else re.escape(piece) for k, piece in enumerate(pieces))
            else:
                pattern = re.escape(text)
            column = match.start() + 1 + (_OPENING.search(match[0]) or match).start()
            for _ in range(int(match["count"] or 1)):
                found.append(Expectation(number, column, about, match["severity"], text, re.compile(pattern)))
            rest = _OPENING.search(line, end)
            if rest is None:
                break
            line, start = line[:end] + "//" + line[end:], end  # several in one comment
    return found


def _about(where: str | None, number: int, has_one: Sequence[bool]) -> int:
    """The line that an expectation of the line `number` is about."""
    match where:
        case None:
            return number
        case "unknown":
            return 0
        case "above" | "below":
            direction = -1 if where == "above" else 1
            number += direction
            while 0 < number <= len(has_one) and has_one[number - 1]:
                number += direction
            return number
        case _:
            return number + int(where)


def unexpected(file: str, produced: Sequence[Diagnostic], expected: Sequence[Expectation]) -> list[Diagnostic]:
    """Diagnostics that were not expected, and expectations that were not met; marks expectations that are met."""
    wrong: list[Diagnostic] = []
    for diagnostic in produced:
        met = next((each for each in expected if each.matches(diagnostic)), None)
        if met is None:
            what = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            wrong.append(Diagnostic(file, diagnostic.line, diagnostic.column, what))
        else:
            met.found = True
    wrong += [
        Diagnostic(file, each.line, each.column, f'expected {each.severity} "{each.text}" was not produced')
        for each in expected
        if not each.found
    ]
    return wrong
