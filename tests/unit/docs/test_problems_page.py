"""docs/problems.md has a sentence for every id that the sources give a problem, and for no other."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
ROOMS = ("aotc", "dialects", "passes", "tools")
MAKERS = {"Problem", "fail", "note", "_fail", "_fail_waiting"}
ERRORS = {f"{each}Error" for each in ("Usage", "Compile", "File", "Budget", "VM", "Run", "OpenShapes", "Aotc")}
ROW = re.compile(r"^\| `([a-z-]+)` \| ([A-Z`].*\.) \|$", re.MULTILINE)


@cache
def _calls() -> list[tuple[str, ast.Call]]:
    """Every call in the sources, with its file; the `Problem` of `placement.py` is another."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")) if path.name != "placement.py"]
    trees = {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    return [(path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _ids() -> dict[str, str]:
    """Every id that is written in the sources, with a place."""
    found: dict[str, str] = {}
    for path, call in _calls():
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if name in MAKERS | ERRORS and call.args and isinstance(first := call.args[0], ast.Constant):
            found.setdefault(str(first.value), f"{path}:{call.lineno}")
    return found


def test_every_id_has_one_sentence_and_every_sentence_an_id() -> None:
    rows = ROW.findall((ROOT / "docs" / "problems.md").read_text(encoding="utf-8"))
    names = [name for name, _ in rows]
    assert names == sorted(set(names))
    assert len({meaning for _, meaning in rows}) == len(rows)
    used = _ids()
    assert {name: place for name, place in used.items() if name not in names} == {}
    assert set(names) - set(used) == set()


def test_no_message_is_written_without_an_id() -> None:
    # A problem's first argument is its id: a plain string, or what a function that makes problems was given as such.
    given = [
        f"{path}:{call.lineno}"
        for path, call in _calls()
        if getattr(call.func, "attr", getattr(call.func, "id", "")) in MAKERS - {"note"}
        and call.args
        and not isinstance(call.args[0], ast.Constant | ast.Starred)
        and getattr(call.args[0], "id", "") not in ("kind", "problems")
    ]
    assert given == []
