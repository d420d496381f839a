"""Tree ensembles in one form: each comparison of ONNX by comparisons with <=, and what is no ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aotc.frontend.onnx.importers.ml.ensembles import MODES, EnsembleError, Forest, Nodes, forest, on_integers, smallest

VALUES = np.array([np.nan, -np.inf, np.inf, -1.5, -0.0, 0.0, 1e-45, -1e-45, 1.0, np.nextafter(np.float32(1), 2), 2.5])
THRESHOLDS = [-np.inf, -1.5, -0.0, 0.0, 1.0, np.inf, np.nan]


def one_node(mode: str, threshold: float, missing: bool, dtype: str, members: Sequence[float] = ()) -> Nodes:
    """A tree whose leaf 0 is yes, and 1 no."""
    return Nodes(
        features=np.array([0]),
        modes=np.array([MODES.index(mode)]),
        thresholds=np.array([threshold], dtype),
        missing=np.array([missing]),
        children=np.array([[1, 2]]),
        roots=np.array([0]),
        leaves=2,
        members=[np.array(members, dtype)] if mode == "BRANCH_MEMBER" else [],
    )


def leaf(found: Forest, value: Any) -> int:
    """The walk as `graph.tree_leaves` defines it."""
    node, count = int(found.roots[0]), len(found.features)
    for _ in range(found.depth):
        if node < count:
            first = value <= found.thresholds[node]
            if found.missing is not None and found.missing[node]:
                first = first or value != value
            node = int(found.children[node, 0 if first else 1])
    return node - count


def answer(mode: str, value: Any, threshold: Any, missing: bool, members: Sequence[float]) -> bool:
    compared = {
        "BRANCH_LEQ": value <= threshold,
        "BRANCH_LT": value < threshold,
        "BRANCH_GTE": value >= threshold,
        "BRANCH_GT": value > threshold,
        "BRANCH_EQ": value == threshold,
        "BRANCH_NEQ": value != threshold,
        "BRANCH_MEMBER": any(value == member for member in members),
    }[mode]
    return bool(compared) or (missing and value != value)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
def test_a_comparison_keeps_its_meaning(mode: str, dtype: str) -> None:
    sets: list[list[float]] = [[], [1.0], [-np.inf, 0.0, 2.5], [-1.5, -0.0, 1e-45, 1.0, np.inf]]
    for threshold in THRESHOLDS:
        for missing in (False, True):
            for members in sets if mode == "BRANCH_MEMBER" else [[]]:
                found = forest(one_node(mode, threshold, missing, dtype, members), 1)
                inside = np.array(members, dtype).tolist()
                for value in VALUES.astype(dtype):
                    yes = answer(mode, value, np.array(threshold, dtype), missing, inside)
                    assert leaf(found, value) == (0 if yes else 1), (mode, threshold, missing, members, value)


def test_a_tree_may_be_one_leaf() -> None:
    empty = np.array([], np.int64)
    nodes = Nodes(empty, empty, np.array([], np.float32), empty.astype(bool), empty.reshape(0, 2), np.array([0, 1]), 2)
    found = forest(nodes, 3)
    assert found.depth == 0
    np.testing.assert_array_equal(found.roots - len(found.features), [0, 1])
    np.testing.assert_array_equal(found.trees_of_leaves, [0, 1])


def test_depths_and_trees_of_leaves() -> None:
    one = one_node("BRANCH_LEQ", 0, False, "float32")
    two = replace(
        one,
        features=np.array([0, 0, 0]),
        modes=np.zeros(3, np.int64),
        thresholds=np.zeros(3, np.float32),
        missing=np.zeros(3, bool),
        children=np.array([[1, 3], [4, 5], [6, 7]]),
        roots=np.array([0, 2]),
        leaves=5,
    )
    found = forest(two, 1)
    assert found.depth == 2
    np.testing.assert_array_equal(found.trees_of_leaves, [0, 0, 0, 1, 1])
    np.testing.assert_allclose(found.depths, [5 / 3, 1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": np.array([3])}, "asks for feature 3 of rows of 1"),
        ({"features": np.array([-1])}, "asks for feature -1 of rows of 1"),
        ({"modes": np.array([7])}, "has mode 7"),
        ({"children": np.array([[1, 3]])}, "the child of a node or a tree does not exist"),
        ({"children": np.array([[-1, 2]])}, "the child of a node or a tree does not exist"),
        ({"roots": np.array([3])}, "the root of a node or a tree does not exist"),
        ({"children": np.array([[0, 1]])}, "two nodes lead to node 0"),
        ({"modes": np.array([6])}, "has no members"),
    ],
)
def test_what_is_no_ensemble(changes: dict[str, Any], message: str) -> None:
    nodes = one_node("BRANCH_LEQ", 0, False, "float32")
    with pytest.raises(EnsembleError, match=message):
        forest(replace(nodes, **changes), 1)


def test_thresholds_of_integers() -> None:
    for threshold, wanted in ((1.5, 1), (-1.5, -2), (-32768.0, -32768), (1e9, 32767)):
        found = on_integers(forest(one_node("BRANCH_LEQ", threshold, True, "float32"), 1), np.dtype(np.int16))
        assert found is not None and found.missing is None
        assert (found.thresholds.dtype, found.thresholds.tolist()) == (np.int16, [wanted])
    for threshold in (-32768.5, np.nan, -np.inf):  # of which no integer is below
        assert on_integers(forest(one_node("BRANCH_LEQ", threshold, False, "float32"), 1), np.dtype(np.int16)) is None


def test_numbers_take_the_smallest_type() -> None:
    assert [smallest(np.array([0, top])).dtype.name for top in (255, 256, 65535, 65536)] == [
        "uint8",
        "uint16",
        "uint16",
        "int32",
    ]


def test_a_root_may_be_behind_its_children() -> None:
    order = Nodes(
        features=np.array([0, 0]),
        modes=np.array([0, 0]),
        thresholds=np.array([0, 1], np.float32),
        missing=np.array([False, False]),
        children=np.array([[2, 3], [0, 4]]),
        roots=np.array([1]),
        leaves=3,
    )
    assert [leaf(forest(order, 1), np.float32(value)) for value in (-1, 0.5, 2)] == [0, 1, 2]


def test_a_tree_may_be_the_first_leaf() -> None:
    found = forest(replace(one_node("BRANCH_EQ", 1.0, False, "float32"), roots=np.array([0, 1])), 1)
    assert found.roots[1] == len(found.features)


@pytest.mark.parametrize("changed", [{"features": np.array([1])}, {"modes": np.array([-1])}])
def test_what_is_beyond_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(EnsembleError):
        forest(replace(one_node("BRANCH_LEQ", 1.0, False, "float32"), **changed), 1)
