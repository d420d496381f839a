"""Tree ensembles as ONNX writes them, brought to one form: nodes that compare with <=, leaves behind them.

`Nodes` is the form that the versions of the operators have in common, `Forest` what `graph.tree_leaves` reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aotc.dialects.dtypes import DType
from aotc.model.weight_store import Array

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
"""Comparisons of a node, in the order of their numbers."""

_SWAPPED = ("BRANCH_GTE", "BRANCH_GT")
_EQUALITIES = ("BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")


NEUTRAL = {"mean": 0.0, "sum": 0.0, "min": np.inf, "max": -np.inf}
"""The value of a target that a leaf says nothing of, by kind of reduction."""

_NO_TREES = np.zeros(0, np.int64)


class EnsembleError(Exception):
    """The attributes of a tree ensemble contradict each other; the message says how."""


@dataclass(frozen=True)
class Nodes:
    """The inner nodes of all trees, M of them, and where the L leaves are: child M + l is leaf l."""

    features: Array
    modes: Array
    """Indices into `MODES`."""
    thresholds: Array
    missing: Array
    """Whether a NaN makes the answer yes."""
    children: Array
    """[M, 2]: where yes leads, and where no."""
    roots: Array
    leaves: int
    members: Sequence[Array] = ()
    """For each node of the mode BRANCH_MEMBER, in order, the values that it asks for."""


@dataclass(frozen=True)
class Forest:
    """The operands of `graph.tree_leaves`, and its depth."""

    features: Array
    thresholds: Array
    children: Array
    roots: Array
    missing: Array | None
    depth: int
    depths: Array
    """The mean depth of the leaves of each tree."""
    most: int | None
    """The most nodes of a tree; None where a tree comes to a node on several ways."""
    trees_of_leaves: Array
    """A tree that has the leaf, for each leaf; -1 where none has it. Nothing once leaves were put together."""


def forest(nodes: Nodes, features: int) -> Forest:
    """`nodes` on rows of so many features, with comparisons by <= only. Raises EnsembleError.

    Whatever exists in two's complement or IEEE 754 has a predecessor: x < t is x <= p. The opposite of a comparison has
    its children swapped. x == t is x <= t and not x <= p, and the members of a set are searched for in order.
    """
    count = len(nodes.features)
    if count and not (nodes.features.min() >= 0 and nodes.features.max() < features):
        worst = int(max(nodes.features.max(), -nodes.features.min(), key=abs))
        raise EnsembleError(f"a node asks for feature {worst} of rows of {features}")
    if nodes.modes.size and not (nodes.modes.min() >= 0 and nodes.modes.max() < len(MODES)):
        raise EnsembleError(f"a node has mode {int(nodes.modes.max())}, the modes are 0 to {len(MODES) - 1}")
    for name, numbers in (("child", nodes.children), ("root", nodes.roots)):
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < count + nodes.leaves):
            raise EnsembleError(f"the {name} of a node or a tree does not exist")
    parents = np.bincount(np.concatenate([nodes.children.reshape(-1), nodes.roots]), minlength=count)[:count]
    if parents.max(initial=0) > 1:
        raise EnsembleError(f"two nodes lead to node {int(parents.argmax())}: that is not a tree")
    found = _Rows(nodes).forest()
    return _walked(found, nodes.leaves)


class _Rows:
    """The nodes while they are rewritten; those that a comparison takes more come behind."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.count = len(nodes.features)
        self.features: list[Any] = []
        self.thresholds: list[Any] = []
        self.children: list[tuple[int, int]] = []
        """As in `Nodes`, but with nodes that were added numbered from -1 downwards."""
        self.never = np.array(np.nan, nodes.thresholds.dtype)

    def forest(self) -> Forest:
        nodes = self.nodes
        names = np.array(MODES)[nodes.modes] if self.count else np.array([], str)
        before = np.nextafter(nodes.thresholds, np.array(-np.inf, nodes.thresholds.dtype))
        before = np.where(nodes.thresholds == -np.inf, self.never, before)
        strict = (names == "BRANCH_LT") | (names == "BRANCH_GTE")
        thresholds = np.where(strict, before, nodes.thresholds).astype(nodes.thresholds.dtype)
        swapped = np.isin(names, _SWAPPED) & ~np.isnan(nodes.thresholds)  # to which nothing compares
        children = np.where(swapped[:, None], nodes.children[:, ::-1], nodes.children).astype(np.int64)
        missing = np.where(swapped, ~nodes.missing, nodes.missing)
        sets = iter(nodes.members)
        for row in np.flatnonzero(np.isin(names, _EQUALITIES)):
            yes, no = nodes.children[row].tolist()
            members = next(sets, None) if names[row] == "BRANCH_MEMBER" else thresholds[row : row + 1]
            if members is None:
                raise EnsembleError("a node of the mode BRANCH_MEMBER has no members")
            if names[row] == "BRANCH_NEQ":
                yes, no = no, yes
            missing[row] &= names[row] != "BRANCH_NEQ"  # NaN differs from everything
            ordered = np.unique(members[~np.isnan(members)]).astype(thresholds.dtype)
            thresholds[row], children[row] = self._search(nodes.features[row], ordered, yes, no)
            if missing[row] and not ordered.size:
                children[row, 0] = yes
        added = np.array(self.children, np.int64).reshape(-1, 2)
        total = self.count + len(added)
        numbers = np.concatenate([children, added])
        moved = np.where(numbers >= self.count, numbers + len(added), numbers)
        numbers = np.where(numbers < 0, self.count - 1 - numbers, moved)
        roots = np.where(nodes.roots >= self.count, nodes.roots + len(added), nodes.roots)
        extended = np.concatenate([missing, np.zeros(len(added), np.bool_)])
        features = np.concatenate([nodes.features, np.array(self.features, np.int64)]).astype(np.int64)
        values = np.concatenate([thresholds, np.array(self.thresholds, thresholds.dtype)])
        if not total:  # tables have an element
            features, values = np.zeros(1, np.int64), self.never.reshape(1)
            numbers, roots, extended = np.ones([1, 2], np.int64), roots + 1, np.zeros(1, np.bool_)
        return Forest(features, values, numbers, roots, extended if extended.any() else None, 0, roots, 0, roots)

    def _search(self, feature: Any, members: Array, yes: int, no: int) -> tuple[Any, tuple[int, int]]:
        """Threshold and children of a node from which a value among `members`, ascending, comes to `yes`."""
        if not members.size:
            return self.never, (no, no)
        middle = (len(members) - 1) // 2
        value = members[middle]
        before = self.never if value == -np.inf else np.nextafter(value, np.array(-np.inf, value.dtype))
        lesser = no if middle == 0 else self._add(feature, *self._search(feature, members[:middle], yes, no))
        greater = members[middle + 1 :]
        right = self._add(feature, *self._search(feature, greater, yes, no)) if greater.size else no
        return value, (self._add(feature, before, (lesser, yes)), right)

    def _add(self, feature: Any, threshold: Any, children: tuple[int, int]) -> int:
        self.features.append(feature)
        self.thresholds.append(threshold)
        self.children.append(children)
        return -len(self.children)


def _walked(found: Forest, leaves: int) -> Forest:
    """`found` with the greatest number of steps from a root to a leaf, the mean for each tree, the most nodes of one,
    and a tree of each leaf.

    Raises EnsembleError where a walk has no end.
    """
    count, roots = len(found.features), len(found.roots)
    trees = np.full(leaves, -1, np.int64)
    ends, steps, nodes = np.zeros([3, roots], np.int64)
    owners, front = np.arange(roots), found.roots.astype(np.int64)
    depth, visits = 0, [np.empty([2, 0], np.int64)]
    while True:
        at_leaf = front >= count
        trees[front[at_leaf] - count] = owners[at_leaf]
        arrived = np.bincount(owners[at_leaf], minlength=roots)
        ends, steps = ends + arrived, steps + depth * arrived
        owners, front = owners[~at_leaf], front[~at_leaf]
        nodes = nodes + np.bincount(owners, minlength=roots)
        if not front.size:
            met = np.concatenate(visits, axis=1)
            is_shared = np.unique(met, axis=1).shape[1] < met.shape[1]
            most, depths = None if is_shared else int(nodes.max(initial=0)), steps / np.maximum(ends, 1)
            return replace(found, depth=depth, depths=depths, most=most, trees_of_leaves=trees)
        depth += 1
        if depth > count:
            raise EnsembleError("the nodes of a tree lead back to themselves")
        edges = np.stack([np.repeat(owners, 2), found.children[front].reshape(-1)])
        visits.append(edges[:, edges[1] < count])
        owners, front = np.unique(edges, axis=1)


def number_for_missing(found: Forest) -> float | None:
    """A number that takes the ways of NaN at all nodes; None where there is none, or NaN is as any other number.

    (LightGBM takes a missing feature for 0 unless it is told otherwise, which becomes a way for each node.)
    """
    if found.missing is None:
        return None
    yes, no = found.thresholds[found.missing], found.thresholds[~found.missing]
    least = yes.min()
    return float(least) if not np.isnan(least) and (no[~np.isnan(no)] < least).all() else None


def on_integers(found: Forest, dtype: DType) -> Forest | None:
    """`found` for features that are integers of `dtype`: x <= t is x <= floor(t). None where a threshold is below all
    integers of that type: no integer says never."""
    limits = np.iinfo(dtype)
    floors = np.floor(found.thresholds)
    if not (floors >= limits.min).all():
        return None
    return replace(found, thresholds=np.minimum(floors, limits.max).astype(dtype), missing=None)


def renumbered(found: Forest, leaves: Array) -> Forest:
    """`found` with leaf l called leaves[l]."""
    count = len(found.features)

    def new(numbers: Array) -> Array:
        return np.where(numbers < count, numbers, count + leaves[np.maximum(numbers - count, 0)])

    return replace(found, children=new(found.children), roots=new(found.roots), trees_of_leaves=_NO_TREES)


def smallest(numbers: Array) -> Array:
    """Numbers from 0 on in the smallest of the unsigned 8 and 16 bit and the 32 bit type that holds them."""
    most = int(numbers.max(initial=0))
    return numbers.astype(np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.int32)


@dataclass(frozen=True)
class Weights:
    """The addends of leaves to targets: leaf, target and weight of each."""

    leaves: Array
    targets: Array
    values: Array

    def first_of_each_leaf(self) -> Weights:
        """Without what follows the first weight of a leaf."""
        _, first = np.unique(self.leaves, return_index=True)
        return Weights(self.leaves[first], self.targets[first], self.values[first])

    def dense(self, leaves: int, targets: int, kind: str) -> Array:
        """[leaves, targets]: the weights of a leaf for a target reduced by `kind`, and the neutral element of that
        where a leaf says nothing of a target."""
        found = np.full([leaves, targets], NEUTRAL[kind], self.values.dtype)
        {"min": np.minimum, "max": np.maximum}.get(kind, np.add).at(found, (self.leaves, self.targets), self.values)
        return found

    def present(self, leaves: int, targets: int) -> Array:
        """[leaves, targets]: whether a leaf says anything of a target."""
        found = np.zeros([leaves, targets], np.bool_)
        found[self.leaves, self.targets] = True
        return found
