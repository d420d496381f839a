"""Random models of the domain ai.onnx.ml."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from harness import Array
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.frontend.onnx.tensors import ONNX_TYPES

DOMAIN = "ai.onnx.ml"


def ml_model(op_type: str, version: int, feed: dict[str, Array], outputs: int = 1, **attributes: Any) -> ModelProto:
    """One node on inputs of the shapes of `feed`; attributes that are None are left out."""
    given = {name: value for name, value in attributes.items() if value is not None}
    inputs = [
        helper.make_tensor_value_info(name, ONNX_TYPES[ELEMENT_TYPES[x.dtype.name]], x.shape)
        for name, x in feed.items()
    ]
    names = [f"y{number}" for number in range(outputs)]
    node = helper.make_node(op_type, list(feed), names, op_type.lower(), domain=DOMAIN, **given)
    graph = helper.make_graph([node], "case", inputs, [ValueInfoProto(name=name) for name in names])
    sets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, version)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


@dataclass
class Trees:
    """A random ensemble: inner nodes in `nodes`, leaves with their weights in `leaves`."""

    modes: list[str]
    features: list[int] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    members: list[list[float]] = field(default_factory=list)
    children: list[list[tuple[bool, int]]] = field(default_factory=list)
    """For each inner node whether yes and no lead to a leaf, and its number."""
    mode_of: list[str] = field(default_factory=list)
    roots: list[tuple[bool, int]] = field(default_factory=list)
    leaf_weights: list[list[tuple[int, float]]] = field(default_factory=list)


def draw_trees(
    random: np.random.Generator,
    *,
    trees: int,
    depth: int,
    features: int,
    modes: list[str],
    targets: list[list[int]],
    low: float = -1,
    only_leaves: bool = True,
) -> Trees:
    """Trees of at most `depth`; each leaf has a weight for every target of one of `targets`.

    Thresholds are halves, so that inputs often meet them.
    """
    found = Trees(modes)

    def grow(level: int) -> tuple[bool, int]:
        if (
            level == 0
            or (level < depth and random.random() < 0.2)
            or (level == depth and only_leaves and random.random() < 0.1)
        ):
            chosen = targets[random.integers(len(targets))]
            found.leaf_weights.append([(target, float(np.float32(random.uniform(low, 1)))) for target in chosen])
            return True, len(found.leaf_weights) - 1
        place = len(found.features)
        mode = str(random.choice(modes))
        found.features.append(int(random.integers(features)))
        found.mode_of.append(mode)
        found.thresholds.append(float(random.integers(-3, 4)) / 2)
        found.missing.append(int(random.integers(2)))
        if mode == "BRANCH_MEMBER":
            found.members.append(random.choice(np.arange(1, 9), random.integers(1, 6), replace=False).tolist())
        found.children.append([])
        found.children[place] = [grow(level - 1), grow(level - 1)]
        return False, place

    found.roots = [grow(depth) for _ in range(trees)]
    return found


def as_version_3(trees: Trees, kind: str, dtype: str = "float32") -> dict[str, Any]:
    """The attributes of TreeEnsembleRegressor (`kind` "target") and TreeEnsembleClassifier ("class")."""
    rows: dict[str, list[Any]] = {
        name: []
        for name in (
            "treeids",
            "nodeids",
            "featureids",
            "values",
            "modes",
            "truenodeids",
            "falsenodeids",
            "missing_value_tracks_true",
        )
    }
    weights: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}

    def visit(tree: int, at: tuple[bool, int]) -> int:
        is_leaf, number = at
        own = len([each for each in rows["treeids"] if each == tree])
        for name, value in zip(rows, (tree, own, 0, 0.0, "LEAF", 0, 0, 0), strict=True):
            rows[name].append(value)
        place = len(rows["treeids"]) - 1
        if is_leaf:
            for target, weight in trees.leaf_weights[number]:
                for name, value in zip(weights, (tree, own, target, weight), strict=True):
                    weights[name].append(value)
            return own
        rows["featureids"][place] = trees.features[number]
        rows["values"][place] = trees.thresholds[number]
        rows["modes"][place] = trees.mode_of[number]
        rows["missing_value_tracks_true"][place] = trees.missing[number]
        rows["truenodeids"][place], rows["falsenodeids"][place] = (visit(tree, each) for each in trees.children[number])
        return own

    for tree, root in enumerate(trees.roots):
        visit(tree, root)
    attributes: dict[str, Any] = {f"nodes_{name}": values for name, values in rows.items()}
    names = {"treeids": "treeids", "nodeids": "nodeids", "ids": "ids", "weights": "weights"}
    attributes |= {f"{kind}_{names[name]}": values for name, values in weights.items()}
    if dtype == "float64":
        for name in ("nodes_values", f"{kind}_weights"):
            attributes[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(attributes.pop(name), dtype), name)
    return attributes


MODE_NUMBERS = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER"]


def as_version_5(trees: Trees, dtype: str) -> dict[str, Any]:
    """The attributes of TreeEnsemble, where each leaf has one weight and each root is an inner node."""
    members: list[float] = []
    for each in trees.members:
        members += [*each, np.nan]
    ways = {"true": 0, "false": 1}
    attributes: dict[str, Any] = {
        "nodes_featureids": trees.features,
        "nodes_modes": numpy_helper.from_array(np.array([MODE_NUMBERS.index(m) for m in trees.mode_of], np.uint8)),
        "nodes_splits": numpy_helper.from_array(np.array(trees.thresholds, dtype)),
        "nodes_missing_value_tracks_true": trees.missing,
        "tree_roots": [number for _, number in trees.roots],
        "leaf_targetids": [weights[0][0] for weights in trees.leaf_weights],
        "leaf_weights": numpy_helper.from_array(np.array([weights[0][1] for weights in trees.leaf_weights], dtype)),
    }
    for way, place in ways.items():
        attributes[f"nodes_{way}nodeids"] = [children[place][1] for children in trees.children]
        attributes[f"nodes_{way}leafs"] = [int(children[place][0]) for children in trees.children]
    if members:
        attributes["membership_values"] = numpy_helper.from_array(np.array(members, dtype))
    return attributes


def draw_rows(random: np.random.Generator, rows: int, features: int, dtype: str, missing: bool = True) -> Array:
    """Features that are halves, as thresholds are, other numbers, infinities and NaN."""
    x = np.where(
        random.random((rows, features)) < 0.5,
        random.integers(-4, 5, (rows, features)) / 2,
        random.normal(size=(rows, features)),
    )
    if missing:
        x[random.random(x.shape) < 0.1] = np.nan
        x[random.random(x.shape) < 0.02] = np.inf
    return x.astype(dtype)
