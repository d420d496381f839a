"""Operators that take all parts along an axis as data, on inputs whose extent along it is data-dependent (`Bound`).

What comes after the count is replaced by what does not matter:
the neutral element of a reduction, what a scatter has written already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import is_float
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.shapes import broadcast, normalize_axis
from aotc.frontend.onnx.elements import extents, sums
from aotc.frontend.onnx.importers.indexing import counted_top_k
from aotc.frontend.onnx.importers.movement import counted_cut, cut, cuts
from aotc.frontend.onnx.importers.normalization import whole_axes
from aotc.frontend.onnx.node import Bound, Node, Tensor, joined
from aotc.frontend.onnx.registry import IMPORTERS, bounded_op, listed

_Results = Sequence[SSAValue | None] | None
"""None where an importer has nothing to do with the bounds: the operator treats each part by itself, or is refused."""

_NEUTRAL = {
    **dict.fromkeys(("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceSum", "ReduceSumSquare"), "sum"),
    "ReduceLogSumExp": "max",  # of which the exponential is 0
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceProd": "prod",
}

_SCATTERED = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}


@bounded_op(*_NEUTRAL)
def reduction(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    bound = _whole(node, bounds)
    return None if bound is None else _plain(node, [_masked(node.tensor(0), bound, _NEUTRAL[node.op_type])])


@bounded_op("ReduceMean")
def mean(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    bound, axes = _whole(node, bounds), whole_axes(node)
    if bound is None:
        return None
    x = node.tensor(0).widened()
    total = _masked(x, bound, "sum").reduce("sum", axes, bool(node.attr("keepdims", 1)))
    others = math.prod(x.shape[axis] for axis in axes if axis != bound.axis)
    result = total / (Tensor(node, bound.count) * others).cast(x.kind)
    return [result.cast(node.element_type(0)).value]


@bounded_op("ArgMax", "ArgMin")
def extremum(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    """The first of equals is before what comes after the count; the last of them may not be."""
    bound = _whole(node, bounds)
    if bound is None or node.attr("select_last_index", 0):
        return None
    return _plain(node, [_masked(node.tensor(0), bound, node.op_type.removeprefix("Arg").lower())])


@bounded_op("Softmax", "LogSoftmax")
def softmax(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    bound = _whole(node, bounds)
    if bound is None or node.opset < 13:
        return None
    return _along(node, bound, _masked(node.tensor(0), bound, "max"))


@bounded_op("CumSum", "CumProd")
def cumulative(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    bound = _whole(node, bounds)
    if bound is None:
        return None
    x = node.tensor(0)
    if node.attr("reverse", 0):
        x = _masked(x, bound, node.op_type.removeprefix("Cum").lower())
    return _along(node, bound, x)


@bounded_op("Shape")
def shape(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    (bound,) = bounds
    assert bound is not None
    whole = list(node.shape(0))
    parts = [Tensor(node, bound.count).reshape([1])]
    if bound.axis:
        parts.insert(0, Tensor(node, node.constant(whole[: bound.axis], np.int64)))
    if after := whole[bound.axis + 1 :]:
        parts.append(Tensor(node, node.constant(after, np.int64)))
    known = joined(parts, 0)
    start, stop, _ = slice(node.attr("start", 0), node.attr("end")).indices(len(whole))
    return [cut(known, {0: (start, 1, max(stop - start, 0))}).value]


@bounded_op("Size")
def size(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    (bound,) = bounds
    assert bound is not None
    others = math.prod(extent for axis, extent in enumerate(node.shape(0)) if axis != bound.axis)
    return [(Tensor(node, bound.count) * others).value]


@bounded_op("Slice")
def slice_(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    """Along the axis of the parts: the first of them, the last, or those between."""
    bound = _only_first(bounds)
    if bound is None:
        return None
    found = cuts(node)
    own = next((each for each in found if each.axis == bound.axis), None)
    others = [each for each in found if each is not own]
    if own is None or own.step < 1 or not all(each.known for each in others):
        return None
    shape = node.shape(0)
    x = cut(node.tensor(0), {each.axis: each.range(shape[each.axis]) for each in others})
    return [counted_cut(x, own, bound).value]


@bounded_op("TopK")
def top_k(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    """Along the axis of the parts, before all of which what comes after the count would not be chosen."""
    bound = _whole(node, bounds)
    if bound is None or node.opset < 10:
        return None
    node.inputs[0] = _masked(node.tensor(0), bound, "max" if node.attr("largest", 1) else "min").value
    return _plain(node) if node.known(1) is not None else counted_top_k(node, bound)


@bounded_op("Concat")
def concat(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    """Lists of parts one behind the other, each moved up over what is none of the list before it."""
    axis = node.axis(1)
    if any(bound is not None and bound.axis != axis for bound in bounds):
        return None
    most = [node.shape(place)[axis] for place in range(len(bounds))]
    counts = [extent if bound is None else bound.count for extent, bound in zip(most, bounds, strict=True)]
    ends = sums(node, counts)
    places = every = Tensor(node, node.constant(node.numbers(sum(most))))
    for end, begin in zip(ends[:-1], accumulate(most[:-1]), strict=True):
        behind = every >= end
        moved = every + (begin - Tensor(node, end))
        places = behind.choose(moved, places)
    places = places.at_most(sum(most) - 1)
    together = node.emit("concat", [node.input(place) for place in range(len(bounds))], axis=axis)
    asked = all(bound is None or bound.asked for bound in bounds)
    return [node.bounded(node.emit("gather", together, places, axis=axis), Bound(axis, ends[-1], asked))]


@bounded_op("Gather")
def gather(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    """Of the parts those that indices name, from the count on backwards where they are negative."""
    bound, chosen = bounds
    axis = node.axis(0)
    if bound is None or bound.axis != axis:
        return None
    result = node.emit("gather", node.input(0), _from_behind(node.tensor(1), bound.count), axis=axis)
    return [result if chosen is None else node.bounded(result, replace(chosen, axis=axis + chosen.axis))]


@bounded_op("NonZero")
def non_zero(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    (bound,) = bounds
    assert bound is not None
    x = node.tensor(0)
    return _plain(node, [_meant(x, bound).choose(x, 0)])


@bounded_op("NonMaxSuppression")
def non_max_suppression(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    """Boxes from the count on have a score below all, and the least threshold leaves them out."""
    boxes, scores, *others = bounds
    if boxes is None or scores is None or any(others) or boxes.count is not scores.count:
        return None
    if (boxes.axis, scores.axis) != (1, 2):
        return None
    node.inputs += [None] * (5 - len(node.inputs))
    node.inputs[1] = _masked(node.tensor(1), scores, "max").value
    if node.inputs[4] is None:
        node.inputs[4] = node.constant(float(np.finfo(np.float32).min), np.float32)
    return _plain(node)


@bounded_op("Expand")
def expand(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    """To as many parts as the operand has, and to fixed extents along the other axes."""
    bound = _only_first(bounds)
    given, said = extents(node, 1, "the shape")
    own = node.shape(0)
    if bound is None or (said is not None and said.count is not bound.count):
        return None
    place = bound.axis - len(own)
    if said is not None and said.axis - len(given) != place:
        return None
    if said is None and len(given) >= -place and given[place] != 1:
        return None
    target = broadcast(own, given)
    result = node.input(0) if target == own else node.emit("broadcast", node.input(0), shape=target)
    return [node.bounded(result, replace(bound, axis=place + len(target)))]


@bounded_op("Reshape")
def reshape_(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    """Where the shape has the number of parts from the operand; else as any other."""
    bound = _only_first(bounds)
    if bound is None:
        return None
    given, said = extents(node, 1, "the shape")
    if said is not None and said.count is bound.count:
        node.inputs[1] = node.constant(given, np.int64)
    return None


@bounded_op("Resize")
def resize(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    """Where the sizes have the number of parts from the operand; else as any other."""
    bound = _only_first(bounds)
    if bound is None or node.optional(3) is None:
        return None
    given, said = extents(node, 3, "the sizes")
    axes = [normalize_axis(axis, len(node.shape(0))) for axis in node.attr("axes", list(range(len(node.shape(0)))))]
    if said is not None and said.count is bound.count and axes[said.axis] == bound.axis:
        node.inputs[3] = node.constant(given, np.int64)
    return None


@bounded_op("ScatterND")
def scatter_nd(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    bound = _updates(bounds)
    if bound is None or bound.axis == len(node.shape(1)) - 1:
        return None
    reduction = node.attr("reduction", "none")
    if reduction in _SCATTERED:
        return _neutral_updates(node, bound, _SCATTERED[reduction])
    indices, updates = _last_again(node, bound)
    there = node.emit("gather_nd", node.input(0), indices, batch_dims=0)
    return _plain(node, [node.input(0), indices, _any(node, bound).choose(updates, there)])


@bounded_op("ScatterElements", "Scatter")
def scatter_elements(node: Node, bounds: Sequence[Bound | None]) -> _Results:
    """Of the parts of the operand those that indices name are written, from the count on backwards where they are
    negative; of indices and updates those before their own count are read."""
    own, *others = bounds
    axis = node.axis(0)
    if others[0] != others[1] or (own is not None and own.axis != axis):
        return None
    if own is not None:
        node.inputs[1] = _from_behind(node.tensor(1), own.count).value
    values = _plain(node) if others[0] is None else _scattered(node, others[0], axis)
    if own is None or values is None:
        return values
    (value,) = values
    assert value is not None
    return [node.bounded(value, own)]


def _scattered(node: Node, bound: Bound, axis: int) -> _Results:
    reduction = node.attr("reduction", "none")
    if reduction in _SCATTERED:
        return _neutral_updates(node, bound, _SCATTERED[reduction])
    if axis == bound.axis:
        indices, updates = _last_again(node, bound)
        meant = _any(node, bound)
    else:  # a part by itself is written to
        meant = _meant(node.tensor(1), bound)
        indices, updates = meant.choose(node.input(1), 0), node.tensor(2)
    there = node.emit("gather_elements", node.input(0), indices, axis=axis)
    return _plain(node, [node.input(0), indices, meant.choose(updates, there)])


def _plain(node: Node, inputs: Sequence[Tensor | SSAValue] = ()) -> list[SSAValue | None]:
    """The outputs of the operator on inputs that are data as a whole, of which the first are `inputs`."""
    node.inputs[: len(inputs)] = listed(inputs)
    return listed(IMPORTERS["", node.op_type](node))


def _along(node: Node, bound: Bound, x: Tensor) -> _Results:
    """As `_plain`, of an operator whose result has the parts of its input."""
    (value,) = _plain(node, [x])
    assert value is not None
    return [node.bounded(value, bound)]


def _from_behind(indices: Tensor, count: SSAValue) -> Tensor:
    """Indices of parts, of which negative ones count from the last."""
    indices = indices.cast(i64)
    return (indices < 0).choose(indices + count, indices)


def _only_first(bounds: Sequence[Bound | None]) -> Bound | None:
    return bounds[0] if not any(bounds[1:]) else None


def _whole(node: Node, bounds: Sequence[Bound | None]) -> Bound | None:
    """The bound of the first input, where no other has one and the operator takes all along that axis together."""
    bound = _only_first(bounds)
    return bound if bound is not None and bound.axis in whole_axes(node) else None


def _updates(bounds: Sequence[Bound | None]) -> Bound | None:
    """The bound of indices and updates, which must be one."""
    return bounds[1] if bounds[0] is None and bounds[1] == bounds[2] else None


def _meant(x: Tensor, bound: Bound) -> Tensor:
    """Which parts come before the count, in a shape that broadcasts to that of x."""
    shape = [extent if axis == bound.axis else 1 for axis, extent in enumerate(x.shape)]
    return Tensor(x.node, x.node.constant(x.node.numbers(shape[bound.axis]).reshape(shape))) < bound.count


def _any(node: Node, bound: Bound) -> Tensor:
    return Tensor(node, bound.count) > 0


def _masked(x: Tensor, bound: Bound, kind: str) -> Tensor:
    """x, neutral to the reduction `kind` from the count on."""
    neutral = ReduceOp.MONOIDS[kind].neutral(x.kind)
    if kind == "sum" and is_float(x.kind):
        neutral = -0.0  # 0 is not: it makes 0 of -0
    return _meant(x, bound).choose(x, neutral)


def _neutral_updates(node: Node, bound: Bound, kind: str) -> _Results:
    indices, updates = node.tensor(1), node.tensor(2)
    meant = _meant(indices, bound)
    return _plain(node, [node.input(0), meant.choose(indices, 0), _masked(updates, bound, kind)])


def _last_again(node: Node, bound: Bound) -> list[Tensor]:
    """Indices and updates that repeat the last part from the count on; indices are 0 where there is none."""
    last = (Tensor(node, bound.count) - 1).at_least(0)
    every = Tensor(node, node.constant(node.numbers(node.shape(1)[bound.axis])))
    places = every.at_most(last.cast(i64))
    indices, updates = (node.tensor(place).emit("gather", places, axis=bound.axis) for place in (1, 2))
    return [_any(node, bound).choose(indices, 0), updates]
