"""Values with a data-dependent extent along one axis: which operators carry it on, and which cannot.

Such a value has the bound of that extent, the greatest that it can be; a count, computed with it, says how much of it
is valid. What comes after that is of no meaning, so only operators that treat each part by itself may read it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from xdsl.ir import Operation, SSAValue

from aotc.dialects.graph.elementwise import BroadcastOp
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.shapes import normalize_axis
from aotc.dialects.graph.structure import CopyOp
from aotc.errors import Problem
from aotc.frontend.onnx.elements import divided, multiple
from aotc.frontend.onnx.importers.movement import cuts, padding
from aotc.frontend.onnx.importers.normalization import whole_axes
from aotc.frontend.onnx.node import Bound, Node

_FIX = "end the model before it, or fix what it depends on with --constant NAME=VALUE"
_RESHAPING = frozenset(("Flatten", "Reshape", "Squeeze", "Unsqueeze"))


class _NotElementwise(Exception):
    """An operation takes more than the element at its place."""


@dataclass(frozen=True)
class _Reader:
    """An operator that reads bounded values."""

    node: Node
    bounds: Sequence[Bound | None]

    def refuse(self, why: str = "") -> NoReturn:
        found = [(place, bound) for place, bound in enumerate(self.bounds) if bound is not None]
        position, bound = found[0]
        most = self.node.shape(position)[bound.axis]
        what = f"input {position} has a data-dependent extent along axis {bound.axis}, at most {most}"
        why = why or "the operator would take all of them as data"
        problem = Problem("data-dependent-extent", what, why, _FIX, self.node.name, self.node.op_type)
        self.node.fail_bounded(problem, [bound for _, bound in found])

    def carried(self, results: Sequence[SSAValue]) -> Bound | None:
        """The bound of the results, None where they have nothing of the parts. Raises CompileError."""
        op_type = self.node.op_type
        if self.node.domain:
            self.refuse()
        if self._is_elementwise(results):
            return self._elementwise(len(shape_of(results[0])))
        positions = [place for place, bound in enumerate(self.bounds) if bound is not None]
        if op_type == "CastLike" and positions == [1]:  # of which it takes the type
            return None
        if op_type == "Concat" and len(positions) == len(self.bounds):
            return self._concat()
        if op_type in ("Gather", "GatherND") and positions == [1]:
            return self._gathered()
        bound = self.bounds[positions[0]]
        assert bound is not None
        if op_type == "RoiAlign" and positions == [1, 2] and bound == self.bounds[2]:
            return bound
        if len(positions) > 1:
            self.refuse()
        axis = axis_of_result(self.node, positions[0], bound.axis, shape_of(results[0]))
        if axis is not None:
            return replace(bound, axis=axis)
        if positions != [0]:
            self.refuse()
        shape = self.node.shape(0)
        if op_type == "Transpose":
            permutation = self.node.attr("perm", list(range(len(shape)))[::-1])
            axis = [normalize_axis(each, len(shape)) for each in permutation].index(bound.axis)
        elif op_type in _RESHAPING:
            return self._reshaped(bound, shape_of(results[0]))
        elif op_type == "Gather":
            before = self.node.axis(0) < bound.axis
            axis = bound.axis + (len(self.node.shape(1)) - 1 if before else 0)
        elif op_type == "Slice" and bound.axis not in {each.axis for each in cuts(self.node)}:
            axis = bound.axis
        if axis is None:
            self.refuse()
        return replace(bound, axis=axis)

    def _is_elementwise(self, results: Sequence[SSAValue]) -> bool:
        """Whether what the node became computes each element of the results from those at its place."""
        given = {value: bound is not None for value, bound in zip(self.node.inputs, self.bounds, strict=True)}
        depends = {value: bounded for value, bounded in given.items() if value is not None}

        def visit(value: SSAValue) -> bool:
            """Whether a value depends on a bounded one. Raises _NotElementwise."""
            if value not in depends:
                op = value.owner
                operands = [visit(operand) for operand in op.operands] if isinstance(op, Operation) else []
                depends[value] = any(operands)
                if depends[value] and not isinstance(op, BroadcastOp | CopyOp):
                    raise _NotElementwise
            return depends[value]

        try:
            found = [visit(value) for value in results]
        except _NotElementwise:
            return False
        return any(found)

    def _elementwise(self, rank: int) -> Bound:
        found = {
            replace(bound, axis=bound.axis - len(self.node.shape(place)) + rank)
            for place, bound in enumerate(self.bounds)
            if bound is not None
        }
        if len(found) > 1:
            self.refuse("its inputs have different numbers of parts")
        (own_bound,) = found
        axis = own_bound.axis
        for place, bound in enumerate(self.bounds):
            if bound is None and self.node.optional(place) is not None:
                shape = self.node.shape(place)
                own = axis - rank + len(shape)
                if own >= 0 and shape[own] != 1:
                    self.refuse("another input has a fixed number of parts")
        return own_bound

    def _reshaped(self, bound: Bound, target: Sequence[int]) -> Bound:
        """The same elements come first: in as many parts, in more and smaller ones, or in fewer and larger ones."""
        source = self.node.shape(0)
        before, size = math.prod(source[: bound.axis]), math.prod(source[bound.axis + 1 :])
        sizes = {
            place: math.prod(target[place + 1 :])
            for place in range(len(target))
            if math.prod(target[:place]) == before and math.prod(target) > 0
        }
        for place, own in sizes.items():
            if own == size:
                return replace(bound, axis=place)
        for place, own in sizes.items():
            if size % own == 0:
                return replace(bound, axis=place, count=multiple(self.node, bound.count, size // own))
        shape = self.node.known(1)
        for place, own in sizes.items():
            inferred = shape is not None and place < shape.size and shape[place] == -1
            if inferred and own % size == 0 and (count := divided(self.node, bound.count, own // size)) is not None:
                return replace(bound, axis=place, count=count)
        self.refuse()

    def _concat(self) -> Bound:
        first, *others = self.bounds
        assert first is not None
        if any(bound != first for bound in others):
            self.refuse("the parts would not be side by side")
        return first

    def _gathered(self) -> Bound:
        bound = self.bounds[1]
        assert bound is not None
        if self.node.op_type == "Gather":
            return replace(bound, axis=bound.axis + self.node.axis(0))
        if self.node.attr("batch_dims", 0) or bound.axis == len(self.node.shape(1)) - 1:
            self.refuse()
        return bound


def carry(node: Node, bounds: Sequence[Bound | None], results: Sequence[SSAValue]) -> Bound | None:
    """The bound of the results of a node that reads values with `bounds`, one for each input; None where they have none
    of the parts. Raises CompileError where its operator does not treat each part by itself."""
    return _Reader(node, bounds).carried(results)


def refuse(node: Node, bounds: Sequence[Bound]) -> NoReturn:
    """Raise the problem of a node with a body that reads such values."""
    what, why = "an input has a data-dependent extent", "its body would take all of them as data"
    node.fail_bounded(Problem("data-dependent-extent", what, why, _FIX, node.name, node.op_type), bounds)


def misfit(node: Node, bounds: Sequence[Bound | None], problem: Problem) -> NoReturn:
    """Raise what is wrong with shapes, as a node found that reads values with `bounds`, of their greatest extents:
    there is nothing wrong perhaps with the true ones."""
    _Reader(node, bounds).refuse(f"with so many, {problem.what}")


_BATCHED = frozenset(
    (
        *("AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace", "GlobalAveragePool"),
        *("GlobalLpPool", "GlobalMaxPool", "GroupNormalization", "InstanceNormalization", "LRN", "LpPool", "MaxPool"),
        "SpaceToDepth",
    )
)
"""Their first input is a batch along its first axis."""

_OTHER_AXES = ("CumProd", "CumSum", "Hardmax", "LpNormalization", "TopK")
"""Operators along one axis that leave the others as they are."""


def axis_of_result(node: Node, position: int, axis: int, result: Sequence[int]) -> int | None:
    """The axis of the (first) result that has the parts of input `position` along `axis`; None where none has, or where
    the operator makes more of them than each by itself."""
    shape, op_type = node.shape(position), node.op_type
    if op_type == "MatMul":
        return _of_product(node, position, axis, len(result))
    if position != 0:
        return None
    if op_type in _BATCHED:
        return 0 if axis == 0 and not node.attr("training_mode", 0) else None
    if op_type == "Gemm":
        rows = 1 if node.attr("transA", 0) else 0
        bias = () if node.optional(2) is None else node.shape(2)
        return 0 if axis == rows and (len(bias) < 2 or bias[0] == 1) else None
    if op_type in ("LayerNormalization", "RMSNormalization"):
        return axis if axis < normalize_axis(node.attr("axis", -1), len(shape)) else None
    if op_type in ("ArgMax", "ArgMin") or op_type.startswith("Reduce"):
        return _unreduced(axis, whole_axes(node), bool(node.attr("keepdims", 1)))
    if op_type in _OTHER_AXES or (op_type in ("Split", "Softmax", "LogSoftmax") and node.opset >= 13):
        return None if axis in whole_axes(node) else axis
    if op_type in ("Resize", "Upsample"):
        return axis if _is_as_long(node, axis) else None
    if op_type == "Pad":
        return None if any(amounts[axis] for amounts in padding(node)) else axis
    if op_type == "Tile":
        return axis if result[axis] == shape[axis] else None
    return None


def _is_as_long(node: Node, axis: int) -> bool:
    """Whether a resize leaves an axis as it is, however many parts it has."""
    rank = len(node.shape(0))
    if node.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
        return False
    if node.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
        return False
    axes = [normalize_axis(each, rank) for each in node.attr("axes", list(range(rank)))]
    if axis not in axes:
        return True
    if node.opset >= 11 and node.optional(3) is not None:
        return bool(node.constant_input(3, "the sizes")[axes.index(axis)] == node.shape(0)[axis])
    if node.opset < 7:
        return axis < 2
    scales = node.attr("scales") if node.opset < 9 else node.constant_input(2 if node.opset >= 11 else 1, "the scales")
    return bool(scales[axes.index(axis)] == 1)


def _unreduced(axis: int, axes: Sequence[int], keepdims: bool) -> int | None:
    if axis in axes:
        return None
    return axis if keepdims else axis - sum(each < axis for each in axes)


def _of_product(node: Node, position: int, axis: int, rank: int) -> int | None:
    own, other = node.shape(position), node.shape(1 - position)
    if len(own) < 2 or axis == len(own) - (1 if position == 0 else 2):  # which is summed up
        return None
    from_end = axis - len(own)
    if from_end >= -2:
        if len(other) == 1:
            return rank - 1
        return rank + from_end
    if len(other) >= -from_end and other[from_end] != 1:  # a batch of the other operand has a fixed number of parts
        return None
    return rank + from_end + (1 if len(other) == 1 else 0)
