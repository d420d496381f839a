"""The mutants of functions that rewrite, made from the sources.

In each function, each of these is one mutant:

* a conjunct is dropped: an operand of `and` or `or`, of a chain of comparisons, the condition of a comprehension;
* a guard is negated: the test of `if`, of `a if b else c`, of a `case`; what a function of bool returns. With
  `both_ways` it always holds, and it never does, in its place: two mutants, which notice less each;
* a comparison is off by one: `<` becomes `<=`, `>=` becomes `>`, and so on;
* a quantifier is the other one: `any` becomes `all`, and `all` becomes `any`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from .mutant import ROOT, Mutant

PLACES = (
    "passes",
    "dialects/graph/canonicalization.py",
    "aotc/frontend/onnx/importers",
    "aotc/machines/expansions",
)
"""Files, and folders of files, whose functions rewrite."""
_COMPARISONS = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
_QUANTIFIERS = {"any": "all", "all": "any"}
_LOOSE = (ast.IfExp, ast.Lambda, ast.NamedExpr, ast.BoolOp)
"""Expressions that bind less than an operand of `and` and `or`."""


def sources(*places: str) -> list[str]:
    """The Python files of these places, in order."""
    found = [path for place in places for path in (ROOT / place, *(ROOT / place).rglob("*.py"))]
    return sorted(str(path.relative_to(ROOT)) for path in found if path.suffix == ".py")


def generated(*files: str, both_ways: bool = False) -> list[Mutant]:
    """The mutants of these files, of all of `PLACES` without any."""
    texts = {file: (ROOT / file).read_text() for file in files or sources(*PLACES)}
    return [mutant for file, text in texts.items() for mutant in of_text(file, text, both_ways)]


def of_text(file: str, text: str, both_ways: bool = False) -> Iterator[Mutant]:
    """The mutants of a file, in the order of its functions."""
    lines = _Lines(text)
    names: Counter[str] = Counter()
    for function, node in _functions(ast.parse(text).body):
        for old, place, new, words in _changes(node, lines, both_ways):
            name = f"{file} {function}: {words}"
            names[name] += 1
            number = f" ({names[name]})" if names[name] > 1 else ""
            yield Mutant(name + number, file, place, old, new, function)


class _Lines:
    """Where nodes are in a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr) -> tuple[int, int]:
        """The first character, and the one after the last."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _place(self, line: int, byte: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:byte].decode())


def _functions(body: list[ast.stmt], of: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods, but not those within functions, which belong to these."""
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield from _functions(statement.body, f"{of}{statement.name}.")
        elif isinstance(statement, ast.FunctionDef):
            yield of + statement.name, statement


def _changes(function: ast.FunctionDef, lines: _Lines, both_ways: bool) -> Iterator[tuple[str, int, str, str]]:
    """Old text, its place, new text, and words for the change."""
    for node in (each for statement in function.body for each in _walk(statement)):
        match node:
            case ast.BoolOp():
                for value in node.values:
                    if not _binds(value):
                        rest = [each for each in node.values if each is not value]
                        yield *_whole(node, _joined(node.op, rest), lines), f"without `{ast.unparse(value)}`"
            case ast.comprehension():
                for value in node.ifs:
                    if not _binds(value):
                        yield *_whole(value, "True", lines), f"without if `{ast.unparse(value)}`"
            case ast.If(test=test) | ast.IfExp(test=test):
                yield from _guard(test, lines, both_ways)
            case ast.match_case(guard=ast.expr() as test):
                yield from _guard(test, lines, both_ways)
            case ast.Return(value=ast.Compare() | ast.Call() | ast.UnaryOp() as value) if _is_condition(function):
                yield from _guard(value, lines, both_ways, "return")
            case ast.Compare():
                yield from _comparisons(node, lines)
            case ast.Call(func=ast.Name(id=("any" | "all") as name) as called):
                other = _QUANTIFIERS[name]
                yield *_whole(called, other, lines), f"{other} of `{', '.join(map(ast.unparse, node.args))}`"
            case _:
                pass


def _is_condition(function: ast.FunctionDef) -> bool:
    return isinstance(function.returns, ast.Name) and function.returns.id == "bool"


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those in it, in order: not what is only said (assertions, text), nor where Python 3.11 does not know
    the place (within f-strings)."""
    if isinstance(node, ast.Assert | ast.JoinedStr):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _binds(node: ast.expr) -> bool:
    """Whether later code needs a name of this expression."""
    return any(isinstance(each, ast.NamedExpr) for each in ast.walk(node))


def _whole(node: ast.expr, new: str, lines: _Lines) -> tuple[str, int, str]:
    start, end = lines.span(node)
    return lines.text[start:end], start, new


def _joined(op: ast.boolop, values: list[ast.expr]) -> str:
    if len(values) > 1:
        return ast.unparse(ast.BoolOp(op, values))
    text = ast.unparse(values[0])
    return f"({text})" if isinstance(values[0], _LOOSE) else text


def _guard(test: ast.expr, lines: _Lines, both_ways: bool, word: str = "if") -> Iterator[tuple[str, int, str, str]]:
    text = ast.unparse(test)
    if not both_ways:
        yield *_whole(test, f"not ({text})", lines), f"not {word} `{text}`"
        return
    never, always = (f"({text}) and False", f"({text}) or True") if _binds(test) else ("False", "True")
    yield *_whole(test, never, lines), f"never {word} `{text}`"
    yield *_whole(test, always, lines), f"always {word} `{text}`"


def _comparisons(node: ast.Compare, lines: _Lines) -> Iterator[tuple[str, int, str, str]]:
    operands = [node.left, *node.comparators]
    for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
        if (found := _COMPARISONS.get(type(op))) is not None:
            old, new = found
            place = lines.text.index(old, lines.span(left)[1], lines.span(right)[0])
            yield old, place, new, f"{new} in `{ast.unparse(left)} {old} {ast.unparse(right)}`"
    if len(node.ops) > 1:
        for dropped, kept in ((0, slice(1, None)), (-1, slice(None, -1))):
            if not _binds(operands[dropped]):
                rest = operands[kept]
                new = ast.unparse(ast.Compare(rest[0], node.ops[kept], rest[1:]))
                yield *_whole(node, new, lines), f"without `{ast.unparse(operands[dropped])}` in `{ast.unparse(node)}`"
