"""The rows of `make mutants` fit the sources, and what is generated is what it says."""

from __future__ import annotations

import os
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from . import generate, generate_c
from .mutant import ROOT, Mutant
from .rows import equivalents, rows

KERNEL = ("strategies", "nests", "costs", "builders")
AREAS = ("graph", "fuse", "integers", "schedule", "memory", "memory/planner", "interface", "loops", "lower")

SOURCE = """
class Folder:
    def fold(self, op: Op) -> Op | None:
        if op.x is None or (op.y and op.z):
            return None
        assert op.w and op.v, f"{op.x if op.y else op.z}"
        found = [each for each in op.uses if each.is_small]
        return op if 0 <= op.x < len(found) and any(found) else None


def is_even(number: int) -> bool:
    return not number % 2
"""
CHANGES = {
    "Folder.fold: not if `op.x is None or (op.y and op.z)`": "if not (op.x is None or (op.y and op.z)):",
    "Folder.fold: without `op.x is None`": "if (op.y and op.z):",
    "Folder.fold: without `op.y and op.z`": "if op.x is None:",
    "Folder.fold: without `op.y`": "if op.x is None or (op.z):",
    "Folder.fold: without `op.z`": "if op.x is None or (op.y):",
    "Folder.fold: without if `each.is_small`": "found = [each for each in op.uses if True]",
    "Folder.fold: not if `0 <= op.x < len(found) and any(found)`": "return op if not (0 <= op.x < len(found) and any(",
    "Folder.fold: without `0 <= op.x < len(found)`": "return op if any(found) else None",
    "Folder.fold: without `any(found)`": "return op if 0 <= op.x < len(found) else None",
    "Folder.fold: < in `0 <= op.x`": "return op if 0 < op.x < len(found) and any(found) else None",
    "Folder.fold: <= in `op.x < len(found)`": "return op if 0 <= op.x <= len(found) and any(found) else None",
    "Folder.fold: without `0` in `0 <= op.x < len(found)`": "return op if op.x < len(found) and any(found) else None",
    "Folder.fold: without `len(found)` in `0 <= op.x < len(found)`": "return op if 0 <= op.x and any(found) else None",
    "Folder.fold: all of `found`": "return op if 0 <= op.x < len(found) and all(found) else None",
    "is_even: not return `not number % 2`": "return not (not number % 2)",
}
BOTH_WAYS = {
    "Folder.fold: never if `op.x is None or (op.y and op.z)`": "if False:",
    "Folder.fold: always if `op.x is None or (op.y and op.z)`": "if True:",
    "is_even: never return `not number % 2`": "return False",
    "is_even: always return `not number % 2`": "return True",
}

C_SOURCE = """
#if A && B
static int Check(const int *a, int b) {
  if (a == NULL || b < 2 /* && */) { return f(a, b >> 1) && g("a && b"); }
  return 0;
}
#endif
"""
C_CHANGES = {
    "Check: not if `a == NULL || b < 2 /* && */`": "if (!(a == NULL || b < 2 /* && */)) {",
    "Check: without `b < 2`": "if (a == NULL  /* && */)",
    "Check: without `a == NULL`": "if (b < 2 /* && */)",
    "Check: <= in `b < 2`": "if (a == NULL || b <= 2 /* && */)",
    'Check: without `g("a && b")`': "return f(a, b >> 1) ;",
    "Check: without `f(a, b >> 1)`": 'return g("a && b");',
}
C_BOTH_WAYS = {
    "Check: never if `a == NULL || b < 2 /* && */`": "if (0) {",
    "Check: always if `a == NULL || b < 2 /* && */`": "if (1) {",
}


@cache
def _generated() -> list[Mutant]:
    names = set[str]()
    made = [
        each for ways in (False, True) for room in (generate, generate_c) for each in room.generated(both_ways=ways)
    ]
    return [each for each in made if each.name not in names and not names.add(each.name)]


def test_changes_are_what_their_names_say() -> None:
    for of_text, source, changes in ((generate.of_text, SOURCE, CHANGES), (generate_c.of_text, C_SOURCE, C_CHANGES)):
        found = {mutant.name.removeprefix("x "): mutant.applied(source) for mutant in of_text("x", source)}
        assert found.keys() == changes.keys()
        assert not [name for name, line in changes.items() if line not in found[name]]


def test_guards_hold_always_and_never_both_ways() -> None:
    for of_text, source, changes in (
        (generate.of_text, SOURCE, BOTH_WAYS),
        (generate_c.of_text, C_SOURCE, C_BOTH_WAYS),
    ):
        found = {mutant.name.removeprefix("x "): mutant.applied(source) for mutant in of_text("x", source, True)}
        assert not [name for name, line in changes.items() if line not in found[name]]
        assert not [name for name in found if name.partition(": ")[2].startswith("not ")]


def test_what_is_generated_compiles_and_has_a_name_of_its_own() -> None:
    found = _generated()
    assert max(Counter(mutant.name for mutant in found).values()) == 1
    texts = {mutant.file: (ROOT / mutant.file).read_text() for mutant in found}
    for mutant in [each for each in found if each.file.endswith(".py")][::50]:
        compile(mutant.applied(texts[mutant.file]), mutant.file, "exec")


def test_every_row_fits() -> None:
    problems = {row.why: problem for row in rows() if (problem := row.problem())}
    assert not problems
    assert len({(row.file, row.old, row.new) for row in rows()}) == len(rows())


def test_what_nothing_can_notice_is_there() -> None:
    """A row whose function has changed is looked at again."""
    names = {mutant.name for mutant in _generated()}
    assert not [name for name, why in equivalents().items() if name not in names or not why]


def test_every_folder_is_reached() -> None:
    folders = {str(Path(mutant.file).parent) for mutant in [*_generated(), *(row.mutant() for row in rows())]}
    passes = [*(f"passes/{area}" for area in AREAS), *(f"passes/kernel/{room}" for room in KERNEL)]
    others = [
        "aotc/emit/c",
        "aotc/emit/llvm",
        "aotc/machines",
        "aotc/runtime",
        "dialects/graph",
        "dialects/aot/contract",
    ]
    assert not [each for each in [*passes, *others] if not any(folder.startswith(each) for folder in folders)]


def test_an_answer_is_whole_before_its_writer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that a mutant repeats for ever hold the pipe, too: its end does not come."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    from .warm import said

    receiving, sending = os.pipe()
    said(sending, {"result": "survived"})
    assert os.read(receiving, 1000) == b'{"result": "survived"}\n'
    os.close(receiving)
    os.close(sending)
