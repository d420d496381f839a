"""The words of the sources: docstrings name their subject, and ten words have one meaning each."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from words import WORDS, found, offenders

_ROOT = Path(__file__).parents[3]
_ROOMS = ("aotc", "dialects", "passes", "tools", "tests")
_SOURCES = sorted(path for room in _ROOMS for path in (_ROOT / room).rglob("*.py"))


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each docstring, those behind attributes and constants, too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def nameless(source: str) -> list[int]:
    """Lines of docstrings that begin with "what" instead of a noun."""
    return [line for line, text in docstrings(source) if text.split(maxsplit=1)[:1] == ["What"]]


def test_docstrings_begin_with_what_they_describe() -> None:
    offenders = [f"{path.relative_to(_ROOT)}:{line}" for path in _SOURCES for line in nameless(path.read_text())]
    assert offenders == []


@pytest.mark.parametrize(("text", "lines"), [('"""What it is."""', [1]), ('x = 1\n"""The value."""', [])])
def test_a_docstring_without_a_noun_is_found(text: str, lines: list[int]) -> None:
    assert nameless(text) == lines


def test_words_have_one_meaning_each() -> None:
    assert {word: places for word, places in found().items() if places} == {}


@pytest.mark.parametrize("word", WORDS)
def test_another_meaning_is_found(word: str) -> None:
    assert list(offenders(word, "passes/graph/x.py", f"the_{word}s = 1")) == [(1, f"the_{word}s")]
    assert list(offenders(word, "passes/graph/x.py", f"{word}less = no{word} = 1")) == []


@pytest.mark.parametrize("text", ["pairs of classes", "in other words", "a line of x", "one word", "the run of bytes"])
def test_another_meaning_in_a_sentence_is_found(text: str) -> None:
    assert any(list(offenders(word, "passes/graph/x.py", f"# {text}")) for word in WORDS)


def test_a_word_at_home_is_none() -> None:
    assert list(offenders("line", "passes/graph/x.py", '"""A cache line, and a rolling line buffer."""')) == []
    assert list(offenders("held", "aotc/executor/turns.py", "held = []")) == []
