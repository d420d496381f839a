"""Permute constant weights at compile time instead of the sums' other operand at run time.

A sum of products does not depend on the order of its terms. Where a transpose only changes the order along the axis
that contractions with constants sum over, the constants' rows are permuted and the transpose goes. Between the two may
stand reshapes and operations that treat all elements alike; on the constant's side, what widens it.

Before:
```mlir
%0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x25x20xf32>) -> tensor<1x25x20x8xf32>
%1 = graph.reshape %0 {shape = array<i64: 1, 4000>} : (tensor<1x25x20x8xf32>) -> tensor<1x4000xf32>
%2 = graph.matmul %1, %w : (tensor<1x4000xf32>, tensor<4000x4xf32>) -> tensor<1x4xf32>
```
After:
```mlir
%3 = graph.reshape %w {shape = array<i64: 25, 20, 8, 4>} : (tensor<4000x4xf32>) -> tensor<25x20x8x4xf32>
%4 = graph.transpose %3 {permutation = array<i64: 2, 0, 1, 3>} : (tensor<25x20x8x4xf32>) -> tensor<8x25x20x4xf32>
%5 = graph.reshape %4 {shape = array<i64: 4000, 4>} : (tensor<8x25x20x4xf32>) -> tensor<4000x4xf32>
%0 = graph.reshape %x {shape = array<i64: 1, 25, 20, 8>} : (tensor<1x8x25x20xf32>) -> tensor<1x25x20x8xf32>
%1 = graph.reshape %0 {shape = array<i64: 1, 4000>} : (tensor<1x25x20x8xf32>) -> tensor<1x4000xf32>
%2 = graph.matmul %1, %5 : (tensor<1x4000xf32>, tensor<4000x4xf32>) -> tensor<1x4xf32>
```
`fold-constants` does the rest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.interfaces import ElementOp, GraphOp, shape_of
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.structure import ConstantOp


class AbsorbTransposesPass(ModulePass):
    name = "absorb-transposes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in graph_operations(op):
            if isinstance(each, TransposeOp) and each.view_offset() is None and (permuted := _weights_to_permute(each)):
                for weight in permuted:
                    _permute(*weight)
                view = ReshapeOp.get(each.x, shape=shape_of(each.result))
                view.location = each.location
                Rewriter.replace_op(each, view)


@dataclass(frozen=True)
class _Order:
    """A new order along an axis: seen as the axes of `shape`, they are permuted."""

    shape: tuple[int, ...]
    permutation: tuple[int, ...]


_Weight: TypeAlias = tuple[GraphOp, int, int, _Order]
"""A contraction, which of its operands is to be permuted, along which axis, and how."""


def _weights_to_permute(transpose: TransposeOp) -> list[_Weight]:
    """The weights whose permutation replaces `transpose`; none where it has a reader that cannot do without."""
    values: set[SSAValue] = {transpose.result}
    pending: list[SSAValue] = [transpose.result]
    members: set[Operation] = set()
    found: list[_Weight] = []
    while pending:
        value = pending.pop()
        for use in value.uses:
            reader = use.operation
            if isinstance(reader, ReshapeOp) or _treats_all_alike(reader, value):
                if reader not in members:
                    members.add(reader)
                    values.add(reader.results[0])
                    pending.append(reader.results[0])
                continue
            weight = _weight(reader, use.index, transpose)
            if weight is None:
                return []
            found.append(weight)
    is_closed = all(value in values or math.prod(shape_of(value)) == 1 for op in members for value in op.operands)
    return found if is_closed else []


def _treats_all_alike(op: Operation, value: SSAValue) -> bool:
    """Whether element i of the result is one function, the same for all i, of element i of `value`."""
    return (
        isinstance(op, ElementOp)
        and op.is_movable
        and all(shape_of(other) == shape_of(value) or math.prod(shape_of(other)) == 1 for other in op.operands)
    )


def _weight(reader: Operation, place: int, transpose: TransposeOp) -> _Weight | None:
    """The constant operand of `reader` that can be permuted instead of operand `place`, if there is one."""
    axes = reader.contracted_axes() if isinstance(reader, GraphOp) else None
    if axes is None or place > 1:
        return None
    assert isinstance(reader, GraphOp)
    order = _order(transpose, shape_of(reader.operands[place]), axes[place])
    weight, axis = 1 - place, axes[1 - place]
    if order is None or not _is_permutable(reader.operands[weight], axis):
        return None
    return reader, weight, axis, order


# --- the order of the terms ------------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class _Piece:
    """An axis of the transpose's operand, or a factor of one; in that operand's order."""

    axis: int
    position: int
    extent: int


def _order(transpose: TransposeOp, shape: Sequence[int], axis: int) -> _Order | None:
    """How to permute weights for `axis` of `shape`, a view of the transposed tensor, to be a view of its operand.

    None where the transpose moves anything across that axis' bounds, or changes the order of what is outside of it.
    """
    extents = shape_of(transpose.result)
    if 0 in extents:
        return None
    pieces = [_Piece(place, 0, extents[i]) for i, place in enumerate(transpose.ints("permutation")) if extents[i] > 1]
    if (outside := _cut(pieces, math.prod(shape[:axis]))) is None:
        return None
    if (inside := _cut(outside[1], shape[axis])) is None:
        return None
    (outer, _), (along, inner) = outside, inside
    if sorted([*outer, *along, *inner]) != [*outer, *sorted(along), *inner]:
        return None
    return _Order(tuple(piece.extent for piece in along), tuple(along.index(piece) for piece in sorted(along)))


def _cut(pieces: list[_Piece], size: int) -> tuple[list[_Piece], list[_Piece]] | None:
    """The leading pieces with `size` elements and the rest; None where the cut is not between two factors."""
    before: list[_Piece] = []
    for number, piece in enumerate(pieces):
        if size == 1:
            return before, pieces[number:]
        if size % piece.extent == 0:
            before.append(piece)
            size //= piece.extent
        elif piece.extent % size == 0:
            outer = _Piece(piece.axis, piece.position, size)
            inner = _Piece(piece.axis, piece.position + 1, piece.extent // size)
            return [*before, outer], [inner, *pieces[number + 1 :]]
        else:
            return None
    return before, []


# --- the weights -----------------------------------------------------------------------------------------------------


def _is_permutable(value: SSAValue, axis: int) -> bool:
    """Whether `value` comes from constants that can be permuted along `axis` without being stored twice."""
    if not isinstance(value, OpResult):
        return False
    op = value.op
    is_small = isinstance(op, ConstantOp) and op.key is None
    if not is_small and len(list(value.uses)) > 1:
        return False
    if isinstance(op, ConstantOp):
        return True
    axes = op.operand_axes(axis) if isinstance(op, ElementOp) else None
    return axes is not None and all(_is_permutable(op.operands[place], own) for place, own in axes.items())


def _permute(reader: Operation, place: int, axis: int, order: _Order) -> None:
    """Let `reader` read its operand `place` permuted along `axis`, permuting the constants that it comes from."""
    value = reader.operands[place]
    assert isinstance(value, OpResult)
    if isinstance(value.op, ElementOp):
        axes = value.op.operand_axes(axis)
        assert axes is not None
        for inner, own in axes.items():
            _permute(value.op, inner, own, order)
        return
    assert isinstance(value.op, ConstantOp)
    shape = shape_of(value)
    wide = ReshapeOp.get(value, shape=[*shape[:axis], *order.shape, *shape[axis + 1 :]])
    behind = range(axis + len(order.shape), len(shape) - 1 + len(order.shape))
    permutation = [*range(axis), *(axis + moved for moved in order.permutation), *behind]
    permuted = TransposeOp.get(wide.result, permutation=permutation)
    narrow = ReshapeOp.get(permuted.result, shape=shape)
    for op in (wide, permuted, narrow):
        op.location = value.op.location
    Rewriter.insert_op([wide, permuted, narrow], InsertPoint.after(value.op))
    reader.operands[place] = narrow.result
