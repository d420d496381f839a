"""Whoever makes an array while a model is imported asks first whether there may be one as large.

A number in a model of some bytes, or an extent of its input, may ask for more memory than there is: arrays whose
extents are no numbers of the source are made by `Node.numbers` and `Node.filled`, or behind `require_room`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOM = Path(__file__).parents[3] / "aotc" / "frontend" / "onnx"

MAKERS = {"arange", "zeros", "ones", "full", "eye", "tri", "linspace", "repeat", "tile", "indices", "identity"}

AS_LARGE_AS_GIVEN = {
    "importers/recurrent.py": {"of"},
    "importers/microsoft/products.py": {"_fields", "_places", "matmul_n_bits"},
    "importers/ml/ensembles.py": {"_walked", "dense", "forest", "present"},
    "importers/ml/features.py": {"_search"},
    "importers/ml/linear.py": {"_linear_svm"},
    "importers/ml/trees.py": {"_one_target_each", "_tracks", "_version_5", "tree_ensemble_classifier"},
    "importers/signal.py": {"_matrix"},
    "importers/resize.py": {"_filtered", "outside", "places"},
    "symbolic/operator_rules.py": {"constant_of_shape"},
}
"""Functions whose arrays are as large as attributes and constants that are there, or are asked for by their callers."""


def _asks(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "require_room" for node in ast.walk(function))


def _made(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Calls in a function that make arrays of extents that are no numbers of the source."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(made := node.func, ast.Attribute) and made.attr in MAKERS:
            if not isinstance(made.value, ast.Name) or made.value.id != "np":
                continue
            extents = node.args[1:2] if made.attr in ("repeat", "tile") else node.args[:1]
            if any(
                isinstance(inner, ast.Name | ast.Attribute | ast.Call) for each in extents for inner in ast.walk(each)
            ):
                yield node


def test_arrays_are_asked_for_before_they_are_made() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(ROOM.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and not _asks(function) and any(_made(function)):
                found.setdefault(str(path.relative_to(ROOM)), set()).add(function.name)
    assert found == AS_LARGE_AS_GIVEN
