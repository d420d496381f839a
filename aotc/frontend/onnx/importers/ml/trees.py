"""Ensembles of decision trees: the walk to the leaves, what they say, put together; then post transforms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32

from aotc.dialects.dtypes import byte_width, is_float
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.interfaces import element_type_of, producer
from aotc.frontend.onnx.importers.ml import ensembles
from aotc.frontend.onnx.importers.ml.scores import (
    DOMAIN,
    best,
    column,
    decided,
    label_of,
    labels,
    rows,
    transformed,
    transformed_targets,
    transformed_two,
    zeros,
)
from aotc.frontend.onnx.node import Tensor, joined
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.model.weight_store import Array

_AGGREGATES = {"AVERAGE": "mean", "SUM": "sum", "MIN": "min", "MAX": "max"}
"""Kinds of reductions, in the order of the numbers that TreeEnsemble has for them."""

_FEW = 8
"""Targets whose sums a processor has registers for; of more, what leaves say is gathered, then reduced on vectors."""

Ensemble: TypeAlias = tuple[ensembles.Nodes, ensembles.Weights]
"""The trees of a node, and what their leaves say."""


@onnx_op("TreeEnsembleRegressor", domain=DOMAIN)
def tree_ensemble_regressor(node: Node) -> Tensor:
    targets = node.attr("n_targets", 1)
    scores = _Scores(node, _ensemble(node, "target"), targets, node.attr("aggregate_function", "SUM")).scores()
    base = _values(node, "base_values")
    if base.size not in (0, 1, targets):
        node.fail("invalid-attribute", f"base_values has {base.size} values for {targets} targets")
    if base.size == targets:
        scores += node.constant(base.astype(scores.dtype))
    return transformed_targets(scores.cast(f32))


@onnx_op("TreeEnsemble", domain=DOMAIN)
def tree_ensemble(node: Node) -> Tensor:
    number = node.attr("aggregate_function", 1)
    node.require_choice("aggregate_function", number, range(len(_AGGREGATES)))
    scores = _Scores(node, _version_5(node), node.attr("n_targets", 1), list(_AGGREGATES)[number]).scores()
    return transformed_targets(scores)


@onnx_op("TreeEnsembleClassifier", domain=DOMAIN)
def tree_ensemble_classifier(node: Node) -> list[Tensor]:
    known = labels(node, "classlabels_int64s", "classlabels_strings")
    ensemble = _ensemble(node, "class")
    count = len(known)
    if not count:
        node.fail("missing-attribute", "it has no class labels", fix="give it classlabels_int64s")
    computed = _Scores(node, ensemble, count, "SUM")
    scores, base = computed.scores(), _values(node, "base_values")
    if base.size not in (0, 1, count):
        node.fail("invalid-attribute", f"base_values has {base.size} values for {count} classes")
    if count == 2:
        found = _two_classes(computed, scores, base, known)
    else:
        if base.size:
            base = np.concatenate([base, np.zeros(count - base.size)])
            scores += node.constant(base.astype(scores.dtype))
        found = [label_of(best(computed.only_present(scores)), known), transformed(scores)]
    return [found[0], found[1].cast(f32)]


def _two_classes(computed: _Scores, scores: Tensor, base: Array, known: list[int]) -> list[Tensor]:
    """Labels and scores of two classes, of which the leaves that a row reaches may say only one: as onnxruntime has
    it."""
    said = computed.said(1)
    if isinstance(said, bool):
        return _one_or_two(computed, scores, base, known, has_second=said)
    both_ways = (_one_or_two(computed, scores, base, known, has_second=has) for has in (True, False))
    labels_, scores_ = zip(*both_ways, strict=True)
    return [said.reshape(labels_[0].shape).choose(*labels_), said.choose(*scores_)]


def _one_or_two(computed: _Scores, scores: Tensor, base: Array, known: list[int], *, has_second: bool) -> list[Tensor]:
    """Labels and scores of rows of which some leaf says the second class, or none does."""
    weights = computed.weights
    first, second = column(scores, 0), column(scores, 1)
    one_class = len(np.unique(weights.targets)) == 1

    def plus(x: Tensor, number: int) -> Tensor:
        return x + float(base[number]) if base.size else x

    two: tuple[Tensor, Tensor] | None = (first, second) if has_second else None
    if base.size == 2:
        if has_second:
            second, nothing = plus(first, 1), zeros(first)
            said = computed.said(0)
            other = nothing if said is False else second.emit("neg")
            two = other if isinstance(said, bool) else said.choose(other, nothing), second
        else:
            two = plus(first, 0), zeros(first)  # onnxruntime forgets the base value of a class without trees
    else:
        first = plus(first, 0)
        two = (first, second) if has_second else None
    decisive = second if has_second else two[0] if two else first
    positive = one_class and bool((weights.values >= 0).all())
    label = decided(decisive, 0.5 if positive else 0, known if one_class else [0, 1])
    if two is not None:
        return [label, transformed(joined(two, 1))]
    return [label, transformed_two(first, negated=not positive)]


# Attributes


def _values(node: Node, name: str) -> Array:
    """A list of floats or the tensor in its place, of which the former is f32."""
    tensor = node.attr(f"{name}_as_tensor")
    return np.array(node.attr(name, []), np.float32) if tensor is None else tensor.reshape(-1)


def _ints(node: Node, name: str, count: int | None = None) -> Array:
    found = np.array(node.attr(name, []), np.int64)
    if count is not None and len(found) != count:
        node.fail("invalid-attribute", f"{name} has {len(found)} values, expected {count}")
    return found


def _tracks(node: Node, count: int) -> Array:
    """Whether NaN makes the answer of each node yes."""
    name = "nodes_missing_value_tracks_true"
    return _ints(node, name, count) > 0 if _ints(node, name).size else np.zeros(count, np.bool_)


def _ensemble(node: Node, kind: str) -> Ensemble:
    """The trees of versions 1 to 4, whose leaves are nodes; `kind` is what weights are for, a target or a class."""
    trees = _ints(node, "nodes_treeids")
    count = len(trees)
    if not count:
        node.fail("missing-attribute", "it has no nodes")
    modes: list[str] = node.attr("nodes_modes", [])
    values = _values(node, "nodes_values")
    if len(modes) != count or len(values) != count:
        node.fail("invalid-attribute", f"{count} nodes have {len(modes)} nodes_modes and {len(values)} nodes_values")
    if unknown := set(modes) - {*ensembles.MODES[:6], "LEAF"}:
        fix = "it may have LEAF, " + ", ".join(ensembles.MODES[:6])
        node.fail("invalid-attribute", f"nodes_modes has {sorted(unknown)[0]!r}", fix=fix)
    keys = zip(trees.tolist(), _ints(node, "nodes_nodeids", count).tolist(), strict=True)
    known = {key: place for place, key in enumerate(keys)}
    if len(known) < count:
        node.fail("invalid-tree", "two nodes of a tree have one number")

    def find(trees: Array, numbers: Array) -> Array:
        wanted = list(zip(trees.tolist(), numbers.tolist(), strict=True))
        if missing := [key for key in wanted if key not in known]:
            node.fail("invalid-tree", f"tree {missing[0][0]} has no node {missing[0][1]}")
        return np.array([known[key] for key in wanted], np.int64)

    missing = _tracks(node, count)
    is_leaf = np.array([mode == "LEAF" for mode in modes])
    inner = np.flatnonzero(~is_leaf)
    numbers = np.where(is_leaf, len(inner) + np.cumsum(is_leaf) - 1, np.cumsum(~is_leaf) - 1)
    ids = [_ints(node, f"nodes_{way}nodeids", count)[inner] for way in ("true", "false")]
    children = np.stack([numbers[find(trees[inner], each)] for each in ids], axis=1)
    roots = numbers[np.flatnonzero(np.diff(trees, prepend=trees[:1] - 1))]
    features = _ints(node, "nodes_featureids", count)[inner]
    asked = np.array([ensembles.MODES.index(modes[place]) for place in inner], np.int64)
    nodes = ensembles.Nodes(features, asked, values[inner], missing[inner], children, roots, int(is_leaf.sum()))
    targets = _ints(node, f"{kind}_ids")
    places = find(_ints(node, f"{kind}_treeids", len(targets)), _ints(node, f"{kind}_nodeids", len(targets)))
    weights = _values(node, f"{kind}_weights")
    if len(weights) != len(targets):
        node.fail("invalid-attribute", f"{kind}_weights has {len(weights)} values, expected {len(targets)}")
    leaf = is_leaf[places]
    return nodes, ensembles.Weights(numbers[places[leaf]] - len(inner), targets[leaf], weights[leaf])


def _version_5(node: Node) -> Ensemble:
    features = _ints(node, "nodes_featureids")
    count = len(features)
    modes = np.asarray(node.attr("nodes_modes", np.zeros(0, np.uint8))).reshape(-1).astype(np.int64)
    splits = np.asarray(node.attr("nodes_splits", np.zeros(0, np.float32))).reshape(-1)
    if len(modes) != count or len(splits) != count:
        node.fail("invalid-attribute", f"{count} nodes have {len(modes)} nodes_modes and {len(splits)} nodes_splits")
    missing = _tracks(node, count)
    ids = np.stack([_ints(node, f"nodes_{way}nodeids", count) for way in ("true", "false")], axis=1)
    leads = np.stack([_ints(node, f"nodes_{way}leafs", count) for way in ("true", "false")], axis=1) != 0
    targets = _ints(node, "leaf_targetids")
    weights = np.asarray(node.attr("leaf_weights", np.zeros(0, np.float32))).reshape(-1)
    if len(weights) != len(targets) or (ids < 0).any() or (ids >= np.where(leads, len(targets), count)).any():
        node.fail("invalid-tree", "a node leads to a node or a leaf that does not exist, or a leaf has no weight")
    members = np.asarray(node.attr("membership_values", np.zeros(0, splits.dtype))).reshape(-1)
    ends = np.flatnonzero(np.isnan(members))
    sets = [part[~np.isnan(part)] for part in np.split(members, ends)] if members.size else []
    if sets and np.isnan(members[-1]):
        sets.pop()  # each set is followed by a NaN, the last one perhaps not
    roots = _ints(node, "tree_roots")
    nodes = ensembles.Nodes(
        features, modes, splits, missing, ids + np.where(leads, count, 0), roots, len(targets), sets
    )
    return nodes, ensembles.Weights(np.arange(len(targets)), targets, weights)


# Scores


def _narrow_source(x: Tensor) -> Tensor | None:
    """The integers of at most 16 bits that real numbers are cast from; None where they are not."""
    cast_op = producer(x.value, CastOp)
    if cast_op is None or not isinstance(kind := element_type_of(cast_op.x), IntegerType):
        return None
    exact = is_float(x.kind) and byte_width(x.kind) >= 4
    return Tensor(x.node, cast_op.x) if exact and kind.width.data in (8, 16) else None


class _Scores:
    """The aggregated weights of an ensemble's leaves."""

    def __init__(self, node: Node, ensemble: Ensemble, targets: int, aggregate: str) -> None:
        node.require_choice("aggregate_function", aggregate, _AGGREGATES)
        nodes, weights = ensemble
        if targets < 1 or (weights.targets.size and not 0 <= weights.targets.min() <= weights.targets.max() < targets):
            node.fail("invalid-tree", f"a weight is for a target that does not exist, of {targets}")
        if targets == 1:  # of several weights of a leaf onnxruntime takes the first
            weights = weights.first_of_each_leaf()
        self.node = node
        self.weights = weights
        self.targets = targets
        self.kind = _AGGREGATES[aggregate]
        x = rows(node)
        thresholds = nodes.thresholds.dtype
        if not is_float(x.kind):
            x = x.cast(f32)
        dtype = x.dtype
        if thresholds != dtype and node.op_type == "TreeEnsemble":
            node.fail("invalid-type", f"nodes_splits are {thresholds}, the features {dtype}", fix="give them one type")
        try:
            self.forest = ensembles.forest(replace(nodes, thresholds=nodes.thresholds.astype(dtype)), x.shape[1])
        except ensembles.EnsembleError as error:
            node.fail("invalid-tree", str(error), fix="the model is invalid: export it again")
        narrow = _narrow_source(x)
        if narrow is not None and (integers := ensembles.on_integers(self.forest, narrow.dtype)) is not None:
            x, self.forest = narrow, integers
        if (number := ensembles.number_for_missing(self.forest)) is not None:
            x, self.forest = x.compare("eq", x).choose(x, number), replace(self.forest, missing=None)
        self.dtype = dtype
        self.trees = len(nodes.roots)
        if not self.trees:
            node.fail("missing-attribute", "it has no trees")
        self._x = x
        self._single = self._one_target_each(self.forest)
        if self._single is not None:  # one column says all
            weights = replace(weights, targets=np.zeros_like(weights.targets))
        columns = targets if self._single is None else 1
        node.require_room(nodes.leaves * columns, dtype)
        values = weights.dense(nodes.leaves, columns, self.kind).astype(dtype, copy=False)
        present = weights.present(nodes.leaves, columns)
        owners = self.forest.trees_of_leaves
        self._everywhere = node.filled([targets], 0, np.bool_)
        for tree in range(self.trees):
            of_tree = slice(None) if self._single is None else [self._single[tree]]
            self._everywhere[of_tree] |= present[owners == tree].all(0)
        said = np.unique(weights.targets)  # of the others all leaves say the same
        first, numbers = _numbered(np.hstack([values[:, said], present[:, said]]))
        self._values, self._present = values[first], present[first].astype(dtype)
        self.forest = ensembles.renumbered(self.forest, numbers)

    def _one_target_each(self, found: ensembles.Forest) -> Array | None:
        """The target of each tree, if no leaf of it says anything of another."""
        owners = found.trees_of_leaves[self.weights.leaves]
        targets = np.zeros(self.trees, np.int64)
        reached = owners >= 0
        targets[owners[reached]] = self.weights.targets[reached]
        same = bool((targets[owners[reached]] == self.weights.targets[reached]).all())
        return targets if same and len(np.unique(self.weights.leaves)) == len(self.weights.leaves) else None

    def scores(self) -> Tensor:
        """[rows, targets]."""
        absent = ensembles.NEUTRAL[self.kind]
        total = self._reduced(self._values, self.kind)
        return total.compare("eq", absent).choose(0, total) if np.isinf(absent) else total

    def only_present(self, scores: Tensor) -> Tensor:
        """Scores that are minus infinity where no leaf said anything of the target."""
        return scores if self._everywhere.all() else self._said().choose(scores, -np.inf)

    def said(self, target: int) -> Tensor | bool:
        """For which rows [rows, 1] some leaf says anything of a target, or whether one does for all or none."""
        if self._everywhere[target] or target not in self.weights.targets:
            return bool(self._everywhere[target])
        return column(self._said(), target)

    def _said(self) -> Tensor:
        """Of which targets [rows, targets] some leaf says anything."""
        return self._reduced(self._present, "max") > 0

    def _reduced(self, values: Array, kind: str) -> Tensor:
        """The values of the leaves of all trees, reduced over trees: [leaves, targets], or [leaves, 1] where each tree
        is for one target."""
        node, neutral, reduction = self.node, ensembles.NEUTRAL[kind], "sum" if kind == "mean" else kind
        roots, depths = self.forest.roots, self.forest.depths  # neighbours that take about as long are a good group
        if self._single is None:
            leaves = self._leaves(roots[np.argsort(depths, kind="stable")])
            table = Tensor(node, node.constant(values))
            if reduction == "sum" and self.targets <= _FEW:
                total = table.emit("gather_sum", leaves)
            else:
                total = table.emit("gather", leaves, axis=0).reduce(reduction, [1], keepdims=False)
        else:
            # Every target gets as many trees, some of which say nothing.
            counts = np.bincount(self._single, minlength=self.targets)
            node.require_room(self.targets * int(counts.max()), np.int64)
            padding = np.repeat(np.arange(self.targets), counts.max() - counts)
            order = np.lexsort([np.pad(depths, (0, len(padding))), np.concatenate([self._single, padding])])
            silent = len(self.forest.features) + len(values)
            roots = np.concatenate([roots, np.full(len(padding), silent)])[order]
            leaves = np.append(values.reshape(-1), np.array([neutral], self.dtype))
            grouped = self._leaves(roots).reshape([self._x.shape[0], self.targets, int(counts.max())])
            found = Tensor(node, node.constant(leaves)).emit("gather", grouped, axis=0)
            total = found.reduce(reduction, [2], keepdims=False)
        return total / self.trees if kind == "mean" else total

    def _leaves(self, roots: Array) -> Tensor:
        """The numbers of the leaves [rows, trees] that the walks from `roots` end at."""
        node, found = self.node, self.forest
        numbers = ensembles.smallest(np.concatenate([found.children.reshape(-1), roots]))
        tables: list[Any] = [ensembles.smallest(found.features), found.thresholds]
        tables += [numbers[: found.children.size].reshape(-1, 2), numbers[found.children.size :]]
        operands = [node.constant(table) for table in tables]
        missing = None if found.missing is None else node.constant(found.missing)
        leaves = len(self._values) + 1
        return self._x.emit("tree_leaves", *operands, missing, depth=found.depth, leaves=leaves, most=found.most)


def _numbered(rows: Array) -> tuple[Array, Array]:
    """Where the rows that differ are first, and the number of each of `rows` among them. Those that most leaves have
    come first: small numbers take less code, and what is read often lies together."""
    _, first, numbers, counts = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return first[order], np.argsort(order, kind="stable")[numbers.reshape(-1)]
