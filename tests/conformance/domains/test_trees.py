"""Tree ensembles drawn at random, by every route, against onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import SCALAR, Array, assert_close, assert_same_bits, by_c_and_llvm, by_every_route, reference
from ml_cases import MODE_NUMBERS, Trees, as_version_3, as_version_5, draw_rows, draw_trees, ml_model
from onnx import ModelProto, TensorProto, helper

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.dialects.graph.interfaces import element_type_of
from aotc.dialects.graph.trees.leaf_sums import UI16, GatherSumOp, VoteSumOp
from aotc.dialects.graph.trees.packed import MaskedTreeLeavesOp
from aotc.executor import compiled_in_process
from aotc.frontend.onnx.importers.ml.ensembles import Forest, number_for_missing
from aotc.frontend.onnx.tensors import ONNX_TYPES
from aotc.machines.targets import lookup
from aotc.pipeline.options import CompileOptions

TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]


def compare(proto: ModelProto, feed: dict[str, Array], folder: Path | None = None) -> None:
    """Every output is onnxruntime's; with a folder, by all routes, which agree bit by bit."""
    wanted = reference(proto, feed)
    assert wanted is not None
    outputs = [value.name for value in proto.graph.output]
    if folder is None:
        found = {"by definition": aotc.compile(proto, optimize=0)(feed)}
    else:
        found = {how: each(feed) for how, each in by_every_route(proto, folder, threads=False).items()}
        assert_same_bits(found)
    for how, computed in found.items():
        for name, value in zip(outputs, wanted, strict=True):
            assert_close(f"{name} {how}", computed[name], value)


def single(random: np.random.Generator, targets: int, modes: list[str], **options: Any) -> Trees:
    """Trees whose leaves have one weight each."""
    choices = [[target] for target in range(targets)]
    return draw_trees(random, trees=9, depth=4, features=5, modes=modes, targets=choices, **options)


@pytest.mark.parametrize("aggregate", ["MIN", "MAX", "SUM", "AVERAGE"])
def test_a_leaf_with_several_weights_for_a_target(aggregate: str) -> None:
    random = np.random.default_rng(29)
    choices = [[0, 0, 1], [1, 2, 2, 2], [0, 1, 2]]
    trees = draw_trees(random, trees=7, depth=4, features=5, modes=MODE_NUMBERS[:4], targets=choices)
    attributes = as_version_3(trees, "target") | {"n_targets": 3, "aggregate_function": aggregate}
    feed = {"x": draw_rows(random, 40, 5, "float32")}
    compare(ml_model("TreeEnsembleRegressor", 3, feed, **attributes), feed)


@pytest.mark.parametrize("mode", MODE_NUMBERS[:6])
def test_every_mode_with_missing_values(mode: str) -> None:
    random = np.random.default_rng(MODE_NUMBERS.index(mode))
    for missing in (True, False):
        trees = single(random, 1, [mode])
        attributes = as_version_3(trees, "target") | {"n_targets": 1}
        if not missing:
            del attributes["nodes_missing_value_tracks_true"]
        feed = {"x": draw_rows(random, 60, 5, "float32")}
        compare(ml_model("TreeEnsembleRegressor", 3, feed, **attributes), feed)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 3])
def test_regressors(aggregate: str, targets: int, tmp_path: Path) -> None:
    random = np.random.default_rng(targets)
    # onnxruntime forgets the base value of a target that no tree speaks of
    several = [list(range(targets))] if aggregate in ("SUM", "AVERAGE") else [[t] for t in range(targets)]
    trees = draw_trees(random, trees=11, depth=5, features=6, modes=MODE_NUMBERS[:4], targets=several)
    base = random.uniform(-1, 1, targets).astype(np.float32).tolist() if aggregate in ("SUM", "AVERAGE") else None
    attributes = as_version_3(trees, "target") | {"n_targets": targets, "aggregate_function": aggregate}
    feed = {"x": draw_rows(random, 40, 6, "float32")}
    proto = ml_model("TreeEnsembleRegressor", 3, feed, base_values=base, **attributes)
    compare(proto, feed, tmp_path)


@pytest.mark.parametrize("targets", [1, 2])
def test_a_leaf_has_weights_of_one_target_again(targets: int) -> None:
    """Where it is the only target, onnxruntime takes the first: skl2onnx writes the number of a leaf once for each
    class (`decision_leaf`)."""
    random = np.random.default_rng(targets)
    trees = draw_trees(random, trees=4, depth=4, features=5, modes=["BRANCH_LEQ"], targets=[list(range(targets))])
    attributes = as_version_3(trees, "target") | {"n_targets": targets}
    for name in ("target_treeids", "target_nodeids", "target_ids"):
        attributes[name] = np.repeat(attributes[name], 3).tolist()
    attributes["target_weights"] = random.uniform(-1, 1, len(attributes["target_ids"])).astype(np.float32).tolist()
    feed = {"x": draw_rows(random, 40, 5, "float32")}
    compare(ml_model("TreeEnsembleRegressor", 3, feed, **attributes), feed)


@pytest.mark.parametrize("features", [5, 40, 100, 150])
@pytest.mark.parametrize("depth", [0, 3, 5, 7])
def test_trees_of_all_sizes(depth: int, features: int, tmp_path: Path) -> None:
    """Of small trees all nodes are asked at once where registers hold the features; large ones are walked down."""
    random = np.random.default_rng(features + depth)
    trees = draw_trees(random, trees=35, depth=depth, features=features, modes=["BRANCH_LEQ"], targets=[[0]])
    attributes = as_version_3(trees, "target") | {"n_targets": 1}
    if features == 40:
        del attributes["nodes_missing_value_tracks_true"]
    feed = {"x": draw_rows(random, 70, features, "float32")}
    compare(ml_model("TreeEnsembleRegressor", 3, feed, **attributes), feed, tmp_path)


@pytest.mark.skipif("+avx2" not in lookup("host").features.split(","), reason="a processor without AVX2")
@pytest.mark.parametrize("features", [5, 16, 31])
def test_small_trees_by_avx2(features: int, tmp_path: Path) -> None:
    """All nodes are asked, eight trees at a time, on two copies of the features where these fit as well."""
    random = np.random.default_rng(features)
    trees = draw_trees(random, trees=21, depth=5, features=features, modes=["BRANCH_LEQ"], targets=[[0]])
    attributes = as_version_3(trees, "target") | {"n_targets": 1}
    if features == 31:
        del attributes["nodes_missing_value_tracks_true"]
    feed = {"x": draw_rows(random, 70, features, "float32")}
    proto = ml_model("TreeEnsembleRegressor", 3, feed, **attributes)
    options = CompileOptions.of(target="x86-64-v3")
    scheduled = lower(proto, replace(options, stop_after="schedule")).module
    assert any(isinstance(op, MaskedTreeLeavesOp) for op in scheduled.walk())
    by_c, by_llvm = (each(feed) for each in by_c_and_llvm(proto, tmp_path, options))
    wanted = reference(proto, feed)
    assert wanted is not None
    for name, value in zip(by_llvm, wanted, strict=True):
        assert_close(name, by_llvm[name], value)
        assert by_llvm[name].tobytes() == by_c[name].tobytes()


@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("trees", [2, 70])
def test_a_single_row(trees: int, depth: int, tmp_path: Path) -> None:
    """Without vectors a kernel for each of a few trees, and one for many."""
    random = np.random.default_rng(trees + depth)
    drawn = draw_trees(
        random, trees=trees, depth=depth, features=4, modes=["BRANCH_LEQ"], targets=[[0]], only_leaves=False
    )
    feed = {"x": draw_rows(random, 1, 4, "float32")}
    proto = ml_model("TreeEnsembleRegressor", 3, feed, **as_version_3(drawn, "target") | {"n_targets": 1})
    compare(proto, feed, tmp_path)


def test_what_most_leaves_say_comes_first() -> None:
    """Small numbers of leaves take less code."""
    random = np.random.default_rng(1)
    drawn = draw_trees(random, trees=5, depth=4, features=4, modes=["BRANCH_LEQ"], targets=[[0, 1]])
    given = as_version_3(drawn, "target") | {"n_targets": 2}
    leaves = range(len(given["target_weights"]) // 2)
    said = [1.0 if each == 0 else 2.0 if each < len(leaves) // 3 else 3.0 for each in leaves]
    given["target_weights"] = [weight for each in said for weight in (each, -each)]
    proto = ml_model("TreeEnsembleRegressor", 3, {"x": draw_rows(random, 1, 4, "float32")}, **given)
    compilation = lower(proto, CompileOptions.of(stop_after="import"))
    (table,) = [op.table for op in compilation.module.walk() if isinstance(op, GatherSumOp)]
    known = known_array(table, compilation.store)
    assert known is not None
    assert known.tolist() == [[3.0, -3.0], [2.0, -2.0], [1.0, -1.0]]


@pytest.mark.parametrize("many", [0, 3, 1000])
def test_votes_are_the_floats_that_they_stand_for(many: int) -> None:
    """A core with an FPU divides votes again; to the same bits as the table of floats. `many` leaves have more votes
    than bytes hold: where these are few they take two rows, and 8 bits do."""
    random = np.random.default_rng(5)
    trees, targets = 7, 3
    drawn = draw_trees(random, trees=trees, depth=6, features=4, modes=["BRANCH_LEQ"], targets=[list(range(targets))])
    given = as_version_3(drawn, "target") | {"n_targets": targets}
    votes = random.integers(0, 60, [len(given["target_weights"]) // targets, targets])
    votes[:, 0] += 1
    votes[:many] += random.integers(300, 900, votes[:many].shape)
    given["target_weights"] = (votes / votes.sum(1, keepdims=True) / trees).astype(np.float32).reshape(-1).tolist()
    feed = {"x": draw_rows(random, 20, 4, "float32")}
    proto = ml_model("TreeEnsembleRegressor", 3, feed, **given)
    found: list[Array] = []
    for level in ("0", "2", "s"):
        options: dict[str, Any] = {"target": SCALAR, "optimize": level}
        scheduled = lower(proto, CompileOptions.of(stop_after="schedule", **options)).module
        sums = [op for op in scheduled.walk() if isinstance(op, VoteSumOp)]
        assert len(sums) == (level != "0")
        assert all((op.wide is not None) == (many == 3) for op in sums)
        assert all((element_type_of(op.table) == UI16) == (many == 1000) for op in sums)
        found += compiled_in_process(lower(proto, in_process(CompileOptions.of(**options))))(feed).values()
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


@pytest.mark.parametrize("missing", ["as zero", "to the first child", "as one"])
def test_missing_features_that_a_number_stands_for(missing: str, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    trees = single(random, 1, ["BRANCH_LEQ"])
    number = {"as zero": 0, "to the first child": -np.inf, "as one": 1}[missing]
    trees.missing = [int(threshold >= number) for threshold in trees.thresholds]
    thresholds, ways = np.array(trees.thresholds, np.float32), np.array(trees.missing, np.bool_)
    none = np.zeros(0, np.int64)
    found = number_for_missing(Forest(none, thresholds, none, none, ways, 0, none, 0, none))
    assert found is not None and ((found <= thresholds) == ways).all()
    mixed = np.arange(len(ways)) % 2 == 0
    assert number_for_missing(Forest(none, thresholds, none, none, mixed, 0, none, 0, none)) is None
    feed = {"x": draw_rows(random, 60, 5, "float32")}
    assert np.isnan(feed["x"]).any()
    proto = ml_model("TreeEnsembleRegressor", 3, feed, **as_version_3(trees, "target") | {"n_targets": 1})
    compare(proto, feed, tmp_path)


@pytest.mark.parametrize("transform", TRANSFORMS[:4])
def test_regressors_of_several_targets_have_post_transforms(transform: str) -> None:
    random = np.random.default_rng(3)
    trees = draw_trees(random, trees=5, depth=3, features=4, modes=["BRANCH_LEQ"], targets=[[0, 1, 2]])
    feed = {"x": draw_rows(random, 20, 4, "float32")}
    attributes = as_version_3(trees, "target") | {"n_targets": 3, "post_transform": transform}
    compare(ml_model("TreeEnsembleRegressor", 1, feed, **attributes), feed)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_single_target_has_no_post_transform_but_probit(transform: str) -> None:
    random = np.random.default_rng(8)
    trees = draw_trees(random, trees=1, depth=3, features=4, modes=["BRANCH_LEQ"], targets=[[0]], low=0.2)
    trees.leaf_weights = [[(target, weight * 0.9) for target, weight in each] for each in trees.leaf_weights]
    feed = {"x": draw_rows(random, 20, 4, "float32")}
    attributes = as_version_3(trees, "target") | {"n_targets": 1, "post_transform": transform}
    compare(ml_model("TreeEnsembleRegressor", 1, feed, **attributes), feed)
    inner = draw_trees(
        random, trees=1, depth=2, features=4, modes=["BRANCH_LEQ"], targets=[[0]], low=0.2, only_leaves=False
    )
    inner.leaf_weights = [[(target, weight * 0.9) for target, weight in each] for each in inner.leaf_weights]
    numbered = as_version_5(inner, "float32") | {"n_targets": 1, "post_transform": TRANSFORMS.index(transform)}
    compare(ml_model("TreeEnsemble", 5, feed, **numbered), feed)


@pytest.mark.parametrize("dtype", ["float64", "int64", "int32"])
def test_other_types_of_features(dtype: str) -> None:
    """onnxruntime has no regressors of integers."""
    random = np.random.default_rng(4)
    trees = single(random, 3, ["BRANCH_LEQ", "BRANCH_LT"])
    feed = {"x": draw_rows(random, 30, 5, "float64", dtype == "float64").astype(dtype)}
    attributes = as_version_3(trees, "class", "float64" if dtype == "float64" else "float32")
    compare(ml_model("TreeEnsembleClassifier", 3, feed, 2, classlabels_int64s=[0, 1, 2], **attributes), feed)
    attributes = as_version_3(trees, "target") | {"n_targets": 3}
    real = {"x": feed["x"].astype(np.float32)}
    (wanted,) = reference(ml_model("TreeEnsembleRegressor", 3, real, **attributes), real) or []
    found = aotc.compile(ml_model("TreeEnsembleRegressor", 3, feed, **attributes))(feed)
    assert_close("y0", found["y0"], wanted)


@pytest.mark.parametrize("dtype", ["int16", "uint8", "int8"])
def test_features_that_are_cast_from_narrow_integers(dtype: str, tmp_path: Path) -> None:
    random = np.random.default_rng(9)
    feed = {"i": random.integers(*np.iinfo(dtype).min + np.array([0, 255]), (30, 5)).astype(dtype)}
    for shift in (0.0, -70000.0):  # the latter is below all integers
        trees = single(random, 3, ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT"])
        trees.thresholds = [
            float(random.integers(-200, 300)) / 2 + shift * (n == 0) for n in range(len(trees.thresholds))
        ]
        attributes = as_version_3(trees, "target") | {"n_targets": 3}
        proto = ml_model("TreeEnsembleRegressor", 3, {"x": feed["i"].astype(np.float32)}, **attributes)
        cast = helper.make_node("Cast", ["i"], ["x"], to=TensorProto.FLOAT)
        proto.graph.node.insert(0, cast)
        proto.graph.input[0].CopyFrom(helper.make_tensor_value_info("i", ONNX_TYPES[ELEMENT_TYPES[dtype]], (30, 5)))
        compare(proto, feed, tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("aggregate", [0, 1, 2, 3])
def test_version_5_with_sets(dtype: str, aggregate: int, tmp_path: Path) -> None:
    random = np.random.default_rng(5 + aggregate)
    trees = single(random, 3, [*MODE_NUMBERS, "BRANCH_MEMBER"], only_leaves=False)
    attributes = as_version_5(trees, dtype) | {"n_targets": 3, "aggregate_function": aggregate}
    x = draw_rows(random, 50, 5, dtype)
    x[:25] = random.integers(0, 10, (25, 5))  # onnxruntime knows sets of natural numbers only
    feed = {"x": x}
    compare(ml_model("TreeEnsemble", 5, feed, **attributes), feed, tmp_path)


CLASSIFIERS: list[tuple[str, list[int], list[list[int]], float, int]] = [
    ("three, all in each leaf", [0, 1, 2], [[0, 1, 2]], -1, 0),
    ("three, one in each leaf", [5, 7, -2], [[0], [1], [2]], -1, 0),
    ("three with base values", [0, 1, 2], [[0], [1], [2]], -1, 3),
    ("two, positive, the first", [3, 9], [[0]], 0, 0),
    ("two, mixed, the first", [3, 9], [[0]], -1, 0),
    ("two, mixed, the first, a base value", [3, 9], [[0]], -1, 1),
    ("two, positive, the second", [0, 1], [[1]], 0, 0),
    ("two, both in each leaf", [0, 1], [[0, 1]], 0, 0),
    ("two, both in each leaf, mixed", [0, 1], [[0, 1]], -1, 0),
    ("two, the second, base values", [0, 1], [[1]], -1, 2),
    ("two, the first, base values", [0, 1], [[0]], -1, 2),
    ("two, both in each leaf, base values", [0, 1], [[0, 1]], -1, 2),
]


@pytest.mark.parametrize("transform", TRANSFORMS[:4])
@pytest.mark.parametrize("case", CLASSIFIERS, ids=lambda case: case[0].replace(" ", "-"))
def test_classifiers(case: tuple[str, list[int], list[list[int]], float, int], transform: str) -> None:
    _, known, targets, low, base = case
    random = np.random.default_rng(6)
    trees = draw_trees(
        random, trees=6, depth=3, features=4, modes=["BRANCH_LEQ", "BRANCH_GT"], targets=targets, low=low
    )
    feed = {"x": draw_rows(random, 50, 4, "float32")}
    attributes = as_version_3(trees, "class") | {"classlabels_int64s": known, "post_transform": transform}
    bases = random.uniform(-1, 1, base).astype(np.float32).tolist() if base else None
    compare(ml_model("TreeEnsembleClassifier", 3, feed, 2, base_values=bases, **attributes), feed)


@pytest.mark.parametrize("base", [0, 2])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_rows_whose_leaves_say_one_class_of_two(transform: str, base: int, tmp_path: Path) -> None:
    """As if the trees knew that class alone; onnxruntime leaves the second probit of such rows unwritten."""
    random = np.random.default_rng(base)
    trees = draw_trees(
        random, trees=1, depth=4, features=4, modes=["BRANCH_LEQ"], targets=[[0], [1], [0, 1]], only_leaves=False
    )
    feed = {"x": draw_rows(random, 60, 4, "float32")}
    attributes = as_version_3(trees, "class") | {"classlabels_int64s": [4, 9], "post_transform": transform}
    bases = random.uniform(-1, 1, base).astype(np.float32).tolist() if base else None
    proto = ml_model("TreeEnsembleClassifier", 3, feed, 2, base_values=bases, **attributes)
    if transform == "PROBIT" and not base:
        del proto.graph.output[1]
    compare(proto, feed, tmp_path if transform == "NONE" else None)
