"""The mutants of the C runtime, made from tokens.

An operand of `&&` or `||` is dropped, the condition of `if` or `while` is negated (with `both_ways`: always holds, and
never), a comparison is off by one. Preprocessor lines stay as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from .mutant import ROOT, Mutant

PLACES = ("aotc/runtime",)
_TOKEN = re.compile(
    r"""(?P<skipped>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*|\s+)
    |"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\w+|->|<<=|>>=|<<|>>|&&|\|\||[<>=!]=|.""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_OPEN, _CLOSE = "([{", ")]}"
_ENDS = {"&&", "||", ",", ";", "?", ":", "=", "return"}
"""The end of an operand of a logical operator, within its parentheses."""


@dataclass(frozen=True)
class _Token:
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def generated(*files: str, both_ways: bool = False) -> list[Mutant]:
    """The mutants of these files, of all of the runtime without any."""
    names = files or sorted(str(path.relative_to(ROOT)) for path in (ROOT / PLACES[0]).glob("*.c"))
    return [mutant for file in names for mutant in of_text(file, (ROOT / file).read_text(), both_ways)]


def of_text(file: str, text: str, both_ways: bool = False) -> Iterator[Mutant]:
    """The mutants of a file, in the order of its functions."""
    tokens = [_Token(found[0], found.start()) for found in _TOKEN.finditer(text) if found["skipped"] is None]
    names: Counter[str] = Counter()
    for function, first, last in _functions(tokens):
        for start, end, new, words in _changes(text, tokens[first:last], both_ways):
            name = f"{file} {function}: {words}"
            names[name] += 1
            number = f" ({names[name]})" if names[name] > 1 else ""
            yield Mutant(name + number, file, start, text[start:end], new, function)


def _functions(tokens: list[_Token]) -> Iterator[tuple[str, int, int]]:
    """The name of each function, and where its body begins and ends: braces behind parentheses, outside of others."""
    place = 0
    while place < len(tokens):
        if tokens[place].text == "{":
            end = _closing(tokens, place)
            if tokens[place - 1].text == ")":
                opening = _opening(tokens, place - 1)
                name = tokens[opening - 1].text
                yield f"{name}({tokens[opening + 1].text})" if name.isupper() else name, place, end + 1
            place = end
        place += 1


def _closing(tokens: list[_Token], place: int) -> int:
    """Where what opens at a place closes."""
    depth = 0
    for at in range(place, len(tokens)):
        depth += (tokens[at].text in _OPEN) - (tokens[at].text in _CLOSE)
        if depth == 0:
            return at
    raise ValueError("parentheses are not closed")


def _opening(tokens: list[_Token], place: int) -> int:
    """Where what closes at a place opens."""
    depth = 0
    for at in range(place, -1, -1):
        depth += (tokens[at].text in _CLOSE) - (tokens[at].text in _OPEN)
        if depth == 0:
            return at
    raise ValueError("parentheses are not opened")


def _changes(text: str, tokens: list[_Token], both_ways: bool) -> Iterator[tuple[int, int, str, str]]:
    """From where to where a text changes, to what, and words for it."""

    def said(start: int, end: int) -> str:
        return " ".join(text[start:end].split())

    for at, (token, following) in enumerate(pairwise(tokens)):
        if token.text in _COMPARISONS:
            new = _COMPARISONS[token.text]
            before, after = tokens[_begin(tokens, at)].start, tokens[_end(tokens, at)].end
            yield token.start, token.end, new, f"{new} in `{said(before, after)}`"
        elif token.text in ("&&", "||"):
            first, last = tokens[_begin(tokens, at)], tokens[_end(tokens, at)]
            yield token.start, last.end, "", f"without `{said(following.start, last.end)}`"
            yield first.start, following.start, "", f"without `{said(first.start, token.start)}`"
        elif token.text in ("if", "while") and following.text == "(":
            start, end = following.end, tokens[_closing(tokens, at + 1)].start
            if not both_ways:
                yield start, end, f"!({text[start:end]})", f"not {token.text} `{said(start, end)}`"
                continue
            yield start, end, "0", f"never {token.text} `{said(start, end)}`"
            if token.text == "if":
                yield start, end, "1", f"always {token.text} `{said(start, end)}`"


def _begin(tokens: list[_Token], at: int) -> int:
    """Where the operand that ends before an operator begins."""
    at -= 1
    while True:
        if tokens[at].text in _CLOSE:
            at = _opening(tokens, at)
        before = tokens[at - 1].text
        if before in _OPEN or before in _ENDS:
            return at
        at -= 1


def _end(tokens: list[_Token], at: int) -> int:
    """Where the operand that begins behind an operator ends."""
    at += 1
    while True:
        if tokens[at].text in _OPEN:
            at = _closing(tokens, at)
        after = tokens[at + 1].text
        if after in _CLOSE or after in _ENDS:
            return at
        at += 1
