"""Drawing operators of ai.onnx.ml: trees, linear models, support vector machines, features and labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from onnx import numpy_helper

from fuzz.drafts import LEARNED, MOVES, STEPS, Draft, Drawer, Value
from fuzz.oracle import Refused

TRANSFORMS = ("NONE", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def _floats(d: Draft, count: int) -> list[float]:
    return [float(np.float32(number)) for number in d.rng.uniform(-1, 1, count)]


def _since(d: Draft, version: int) -> None:
    if d.versions[LEARNED] < version:
        raise Refused("a later operator")


def _features(d: Draft, count: int, exact: bool = False) -> Value:
    """Rows of `count` features; with `exact` many are halves, as thresholds are."""
    dtype = d.pick(("float32", "float32", "float32", "float64", "int64", "int32"))
    x = d.array(dtype, (d.number(1, 9), count))
    if exact and dtype.startswith("float"):
        x = np.where(d.rng.random(x.shape) < 0.6, np.round(2 * x) / 2, x).astype(dtype)
    return d.known(x, d.chance(0.1), fixed=exact)


@dataclass
class _Trees:
    """Trees as rows of nodes; a leaf has a weight for a target."""

    rows: list[tuple[int, int, int, float, str, int, int, int]] = field(default_factory=list[Any])
    """Tree, node, feature, threshold, mode, yes, no, whether what is missing goes to yes."""
    weights: list[tuple[int, int, int, float]] = field(default_factory=list[Any])
    """Tree, node, target, weight."""


def _grown(
    d: Draft, count: int, features: int, targets: int, modes: tuple[str, ...], low: float, whole: bool
) -> _Trees:
    """Trees; with `whole`, each leaf has a weight for every target."""
    found = _Trees()
    missing = d.number(0, 1)

    def grow(tree: int, node: int, depth: int) -> int:
        """Nodes from number `node` on; the first number after them."""
        place = len(found.rows)
        if depth == 0 or d.chance(0.2):
            found.rows.append((tree, node, 0, 0.0, "LEAF", 0, 0, 0))
            for target in range(targets) if whole or d.chance(0.3) else [d.number(0, targets - 1)]:
                for _ in range(2 if targets > 1 and d.chance(0.1) else 1):  # of one target onnxruntime takes the first
                    found.weights.append((tree, node, target, float(np.float32(d.rng.uniform(low, 1)))))
            return node + 1
        found.rows.append((tree, node, 0, 0.0, "", 0, 0, 0))
        no = grow(tree, node + 1, depth - 1)
        end = grow(tree, no, depth - 1)
        row = tree, node, d.number(0, features - 1), d.number(-4, 4) / 2, d.pick(modes), node + 1, no
        found.rows[place] = (*row, d.number(0, 1) * missing)
        return end

    for tree in range(count):
        grow(tree, 0, d.pick((0, 1, 2, 3, 4, 4, 6, 8)))  # from 32 nodes on trees are walked otherwise
    return found


def _old_trees(op_type: str, d: Draft) -> None:
    """Ensembles as they are written before version 5."""
    if d.versions[LEARNED] > 3:
        raise Refused("deprecated")
    classifies = op_type == "TreeEnsembleClassifier"
    features, targets = d.number(1, 5), d.number(1, 3)
    modes = d.pick(((d.pick(MODES),), MODES[:4], MODES))
    whole = targets == 1 or d.chance(0.4)
    trees = _grown(d, d.number(1, 12), features, targets, modes, 0.1 if classifies else -1, whole)
    kind = "class" if classifies else "target"
    names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    rows = list(zip(*trees.rows, strict=True))
    some: dict[str, Any] = {f"nodes_{name}": list(each) for name, each in zip(names, rows, strict=False)}
    if d.chance(0.5):
        some["nodes_missing_value_tracks_true"] = list(rows[7])
    weights = zip(*trees.weights, strict=True)
    some |= {
        f"{kind}_{name}": list(each)
        for name, each in zip(("treeids", "nodeids", "ids", "weights"), weights, strict=True)
    }
    some["post_transform"] = d.pick(TRANSFORMS)
    if classifies:
        some["classlabels_int64s"] = [int(n) for n in d.rng.permutation(9)[: max(targets, 2)]]
    else:
        some |= {"n_targets": targets, "aggregate_function": d.pick(("SUM", "SUM", "AVERAGE", "MIN", "MAX"))}
    if whole and d.chance(0.6):  # to a target that a row does not reach onnxruntime does not add it
        some["base_values"] = _floats(d, max(targets, 2) if classifies else targets)
    x = _features(d, features, exact=True)
    d.add(op_type, [x], 2 if classifies else 1, domain=LEARNED, **some)


def _new_trees(d: Draft) -> None:
    _since(d, 5)
    features, targets = d.number(1, 5), d.number(1, 3)
    modes = d.pick(((d.pick(MODES),), MODES))
    dtype = d.pick(("float32", "float32", "float64"))
    rows: list[tuple[int, float, int, tuple[int, int], tuple[int, int], int]] = []
    leaves: list[tuple[int, float]] = []
    roots: list[int] = []

    def grow(depth: int, root: bool = False) -> tuple[int, int]:
        """Whether it is a leaf, and its number."""
        if not root and (depth == 0 or d.chance(0.2)):
            leaves.append((d.number(0, targets - 1), float(np.float32(d.rng.uniform(-1, 1)))))
            return 1, len(leaves) - 1
        place = len(rows)
        rows.append((0, 0.0, 0, (0, 0), (0, 0), 0))
        yes, no = grow(depth - 1), grow(depth - 1)
        mode = MODES.index(d.pick(modes))
        rows[place] = d.number(0, features - 1), d.number(-4, 4) / 2, mode, yes, no, d.number(0, 1)
        return 0, place

    for _ in range(d.number(1, 8)):
        roots.append(grow(d.pick((1, 2, 3, 4, 4, 6, 8)), True)[1])
    x = d.known(d.array(dtype, (d.number(1, 9), features)), d.chance(0.1), fixed=True)
    x = d.known((np.round(2 * x.array) / 2).astype(dtype), x.constant, fixed=True)
    d.add(
        "TreeEnsemble",
        [x],
        domain=LEARNED,
        nodes_featureids=[row[0] for row in rows],
        nodes_splits=numpy_helper.from_array(np.array([row[1] for row in rows], dtype)),
        nodes_modes=numpy_helper.from_array(np.array([row[2] for row in rows], np.uint8)),
        nodes_trueleafs=[row[3][0] for row in rows],
        nodes_truenodeids=[row[3][1] for row in rows],
        nodes_falseleafs=[row[4][0] for row in rows],
        nodes_falsenodeids=[row[4][1] for row in rows],
        nodes_missing_value_tracks_true=[row[5] for row in rows],
        tree_roots=roots,
        leaf_targetids=[leaf[0] for leaf in leaves],
        leaf_weights=numpy_helper.from_array(np.array([leaf[1] for leaf in leaves], dtype)),
        n_targets=targets,
        # onnxruntime takes 1, a softmax, for LOGISTIC, and 2 for SOFTMAX; its softmax of doubles is of single precision
        post_transform=3 if d.chance(0.2) and dtype == "float32" else 0,
        aggregate_function=d.pick((0, 1, 1, 2, 3)),
    )


def _linear(op_type: str, d: Draft) -> None:
    features, targets = d.number(1, 6), d.number(1, 4)
    x = _features(d, features)
    some: dict[str, Any] = {"post_transform": d.pick(TRANSFORMS)}
    if op_type == "LinearRegressor":
        some |= {"coefficients": _floats(d, features * targets), "targets": targets}
        if d.chance(0.6):
            some["intercepts"] = _floats(d, targets)
        d.add(op_type, [x], domain=LEARNED, **some)
        return
    some |= {"coefficients": _floats(d, features * targets), "intercepts": _floats(d, targets)}
    some["classlabels_ints"] = [int(n) for n in d.rng.permutation(9)[: max(targets, 2)]]
    d.add(op_type, [x], 2, domain=LEARNED, **some)


def _vectors(op_type: str, d: Draft) -> None:
    features = d.number(1, 5)
    x = _features(d, features)
    kernel = d.pick(("LINEAR", "POLY", "RBF", "SIGMOID"))
    some: dict[str, Any] = {"kernel_type": kernel, "kernel_params": [0.3, 0.5, 2.0]}
    if op_type == "SVMRegressor":
        count = d.number(1, 6)
        some |= {"coefficients": _floats(d, count), "support_vectors": _floats(d, count * features)}
        d.add(op_type, [x], domain=LEARNED, n_supports=count, rho=_floats(d, 1), **some)
        return
    classes = d.number(2, 4)
    sizes = [d.number(1, 3) for _ in range(classes)]
    pairs = classes * (classes - 1) // 2
    some |= {
        "coefficients": _floats(d, (classes - 1) * sum(sizes)),
        "support_vectors": _floats(d, sum(sizes) * features),
        "vectors_per_class": sizes,
        "rho": _floats(d, pairs),
        "classlabels_ints": [int(n) for n in d.rng.permutation(9)[:classes]],
    }
    if d.chance(0.4):
        some |= {"prob_a": [-1 - abs(number) for number in _floats(d, pairs)], "prob_b": _floats(d, pairs)}
    d.add(op_type, [x], 2, domain=LEARNED, **some)


def _rows(d: Draft) -> Value:
    return _features(d, d.number(1, 6))


def _normalizer(d: Draft) -> None:
    d.add("Normalizer", [_rows(d)], domain=LEARNED, norm=d.pick(("MAX", "L1", "L2")))


def _scaler(d: Draft) -> None:
    x = _rows(d)
    count = d.pick((1, x.shape[1]))
    d.add("Scaler", [x], domain=LEARNED, offset=_floats(d, count), scale=_floats(d, count))


def _binarizer(d: Draft) -> None:
    d.add("Binarizer", [d.take(("float32",), ranks=(1, 3), exact=True)], how=STEPS, domain=LEARNED, threshold=0.25)


def _imputer(d: Draft) -> None:
    x = d.fresh("float32", (d.number(1, 6), d.number(1, 4)), constant=False)
    holes = np.where(d.rng.random(x.shape) < 0.4, np.float32(7), x.array)
    given = {"imputed_value_floats": _floats(d, d.pick((1, x.shape[1]))), "replaced_value_float": 7.0}
    d.add("Imputer", [d.known(holes, False, fixed=True)], how=STEPS, domain=LEARNED, **given)


def _encoder(d: Draft) -> None:
    x = d.fresh(d.pick(("int64", "int32", "float32")), d.shape(low=1, high=2), 0, 6, constant=False)
    if x.dtype == "float32":
        x = d.known(np.round(x.array), False, fixed=True)
    d.add("OneHotEncoder", [x], how=STEPS, domain=LEARNED, cats_int64s=[0, 2, 3, 5], zeros=1)


def _vectorizer(d: Draft) -> None:
    rows = d.number(1, 5)
    widths = [d.number(1, 4) for _ in range(d.number(1, 3))]
    given = [d.fresh("float32", (rows, width)) for width in widths]
    d.add("FeatureVectorizer", given, domain=LEARNED, inputdimensions=widths)


def _extractor(d: Draft) -> None:
    x = d.take(("float32", "float64", "int64", "int32"), ranks=(1, 3))
    places = d.fresh("int64", (d.number(1, 4),), 0, x.shape[-1] - 1)
    d.add("ArrayFeatureExtractor", [x, places], how=MOVES, domain=LEARNED)


def _labels(d: Draft) -> None:
    _since(d, 2)
    count = d.number(1, 9)
    keys = [int(n) for n in d.rng.choice(np.arange(-9, 10), count, replace=False)]
    x = d.fresh("int64", d.shape(low=1, high=2), -9, 9, constant=False)
    if d.chance(0.5):
        values: dict[str, Any] = {
            "values_int64s": [int(n) for n in d.rng.integers(-50, 50, count)],
            "default_int64": -7,
        }
    else:
        values = {"values_floats": _floats(d, count), "default_float": 0.5}
    d.add("LabelEncoder", [x], how=STEPS, domain=LEARNED, keys_int64s=keys, **values)


DRAWERS: dict[str, Drawer] = {
    f"{LEARNED}.{name}": drawer
    for name, drawer in {
        **{name: partial(_old_trees, name) for name in ("TreeEnsembleClassifier", "TreeEnsembleRegressor")},
        "TreeEnsemble": _new_trees,
        **{name: partial(_linear, name) for name in ("LinearClassifier", "LinearRegressor")},
        **{name: partial(_vectors, name) for name in ("SVMClassifier", "SVMRegressor")},
        "Normalizer": _normalizer,
        "Scaler": _scaler,
        "Binarizer": _binarizer,
        "Imputer": _imputer,
        "OneHotEncoder": _encoder,
        "FeatureVectorizer": _vectorizer,
        "ArrayFeatureExtractor": _extractor,
        "LabelEncoder": _labels,
    }.items()
}
"""Operator -> what draws it."""
