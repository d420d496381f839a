"""Importers name operations as the IR prints them: each name is one of the graph dialect."""

from __future__ import annotations

import ast
from pathlib import Path

from aotc.dialects.graph import GRAPH

ROOM = Path(__file__).parents[3] / "aotc" / "frontend" / "onnx"


def _named(tree: ast.AST) -> set[str]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return {
        first.value
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("emit", "emit_all") and call.args
        for first in ast.walk(call.args[0])
        if isinstance(first, ast.Constant) and isinstance(first.value, str)
    }


def test_every_operation_that_an_importer_names_exists() -> None:
    named = {name for path in ROOM.rglob("*.py") for name in _named(ast.parse(path.read_text(encoding="utf-8")))}
    known = {each.name.removeprefix("graph.") for each in GRAPH.operations}
    assert len(named) > 50
    assert not named - known - {"fmod", "shift_"}  # of an attribute, and before one
