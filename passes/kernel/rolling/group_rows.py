"""The rows that a group, or a join, reads of its operands to compute one row of its results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Operation, OpResult, SSAValue

from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.dtypes import is_encoded
from aotc.dialects.graph.gradual import GradualOp
from aotc.dialects.graph.interfaces import (
    AnchorOp,
    ElementOp,
    Fusion,
    GraphOp,
    ShapeError,
    element_type_of,
    is_join,
    is_view,
    shape_of,
    viewed_whole,
)
from aotc.dialects.graph.schedules import schedule_of
from aotc.dialects.graph.shapes import same_axis
from aotc.dialects.graph.structure import ConstantOp, FusedOp, YieldOp
from aotc.passes.kernel.builders.expressions import Permuted, permuted
from aotc.passes.kernel.strategy import strategy_of

RowReads: TypeAlias = Sequence[tuple[AxisReads | None, ...]]
"""For each operand the ways in which it is read; None: any rows."""


def anchor_of(group: FusedOp) -> AnchorOp | None:
    """The anchor of a group."""
    return next((op for op in group.block.ops if isinstance(op, AnchorOp)), None)


def inner_scratch(group: FusedOp) -> Sequence[OpResult]:
    """The scratch buffers of a group's anchor."""
    anchor = anchor_of(group)
    return () if anchor is None else anchor.scratch()


def gradual_anchor(group: FusedOp) -> GradualOp | None:
    """The anchor of a group, where that reduces slices along the rows of an operand as they come."""
    anchor = anchor_of(group)
    if not isinstance(anchor, GradualOp) or schedule_of(anchor) is not None:
        return None
    slices = anchor.slices()
    return None if slices is None else anchor


@dataclass(frozen=True)
class RowView:
    """The rows of another value that rows of a value are."""

    root: SSAValue
    """The value that it is a view of, or a view of one of its views."""
    reads: AxisReads | None
    """Which rows; None: they are none, or parts of some."""
    merged: bool = False
    """Whether the value has no axis of these rows, but all elements in their order."""

    @staticmethod
    def of(value: SSAValue, axis: int, unit: int = 1) -> RowView:
        """That of rows along an axis, each of so many neighbours."""
        if unit > 1:
            root, shape = viewed_whole(value), shape_of(value)
            apart = [*shape[:axis], shape[axis] // unit, unit, *shape[axis + 1 :]]
            own = same_axis(shape_of(root), apart, axis)
            return RowView(root, None if own is None or math.prod(shape[:axis]) > 1 else AxisReads(own), True)
        root, reads = value, AxisReads(axis)
        while isinstance(root, OpResult) and isinstance(op := root.op, GraphOp) and is_view(op):
            own = None if reads is None else op.reads_along(reads.axis)
            reads = None if reads is None or own is None or 0 not in own else reads.through(own[0])
            root = op.operands[0]
        if reads is None or _row_size(root, reads.axis) == _row_size(value, axis):
            return RowView(root, reads)
        outermost = math.prod(shape_of(root)[: reads.axis]) * math.prod(shape_of(value)[:axis]) == 1
        return RowView(root, reads if outermost and viewed_whole(value) is root else None, True)


def _row_size(value: SSAValue, axis: int) -> int:
    return math.prod(extent for other, extent in enumerate(shape_of(value)) if other != axis)


@dataclass(frozen=True)
class GroupRows:
    """The rows that a group, or a join, computes or reduces, and how it reads its operands for each of them."""

    axis: int
    """Of the results, that of rows."""
    count: int
    reads: RowReads

    sources: tuple[Permuted, ...]
    """The values that are computed row by row, of one shape, and how results are these with their axes permuted."""

    @staticmethod
    def choices(op: Operation) -> Sequence[GroupRows]:
        """Those of its results, and of what is permuted to them, as planes of what has its channels last; along each
        axis for which there are some, the outermost first. Raises ShapeError, which says why, where there are none."""
        if any(is_encoded(element_type_of(value)) for value in (*op.operands, *op.results)):
            raise ShapeError("encoded elements")
        values = op.yield_op.values if isinstance(op, FusedOp) else op.results
        plain = [(value, tuple(range(len(shape_of(value))))) for value in values]
        before = map(permuted, values) if isinstance(op, FusedOp) else plain
        found, why = list[GroupRows](), "a single row"
        for sources in dict.fromkeys([tuple(plain), tuple(before)]):
            shape = shape_of(sources[0][0])
            for axis, extent in enumerate(shape):
                try:
                    if any(shape_of(value) != shape for value, _ in sources):
                        raise ShapeError("results of several shapes")
                    if isinstance(op, FusedOp) and (reduced := _reduced(op)) is not None:
                        count, reads = reduced
                        return [GroupRows(0, count, _reads(op, sources, None, {0: reads}), sources)]
                    if extent > 1:
                        found.append(GroupRows(axis, extent, _own_reads(op, sources, axis), sources))
                except ShapeError as error:
                    why = str(error)
        if not found:
            raise ShapeError(why)
        return found


def _reduced(group: FusedOp) -> tuple[int, AxisReads] | None:
    """How many slices the anchor reduces as they come, and those that it reads."""
    if (op := gradual_anchor(group)) is None or (slices := op.slices()) is None:
        return None
    return slices.count, AxisReads(slices.axis, slices.step, 1, slices.first, slices.first)


def _own_reads(op: Operation, sources: Sequence[Permuted], axis: int) -> RowReads:
    """How a group, or a join, reads its operands for one row along an axis of `sources`."""
    if isinstance(op, FusedOp):
        anchor = anchor_of(op)
        own = None if anchor is None else strategy_of(anchor).row_reads(anchor, axis)
        return _reads(op, sources, AxisReads(axis), own)
    reads = op.reads_along(axis) if isinstance(op, GraphOp) and is_join(op) else None
    if reads is None:
        raise ShapeError(f"{op.name} has no rows")
    return [(reads[place],) for place in range(len(op.operands))]


def _reads(
    group: FusedOp,
    sources: Sequence[Permuted],
    results: AxisReads | None,
    of_anchor: Mapping[int, AxisReads] | None,
) -> RowReads:
    """How a group reads its operands for a row of `sources`, which are read as `results`, where its anchor reads its
    own as `of_anchor`."""
    shape = shape_of(sources[0][0])
    needed: dict[SSAValue, dict[AxisReads | None, None]] = {value: {results: None} for value, _ in sources}
    for op in reversed(list(group.block.ops)):
        if isinstance(op, YieldOp | ConstantOp):
            continue
        ways = needed.get(op.results[0], {})
        if isinstance(op, AnchorOp):
            if of_anchor is None or shape_of(op.results[0]) != shape or {*ways} != {results}:
                raise ShapeError(f"{op.name} has no rows")
            for place, value in enumerate(op.operands):
                needed.setdefault(value, {})[of_anchor.get(place)] = None
            continue
        assert isinstance(op, ElementOp)
        for way in ways:
            own = None if way is None else _element_reads(op, way.axis)
            for place, value in enumerate(op.operands):
                known = None if own is None else own.get(place)
                if way is not None and way.unit > 1 and known != AxisReads(way.axis):
                    known = None  # neighbours of a row may be apart
                needed.setdefault(value, {})[None if way is None or known is None else way.through(known)] = None
    return [tuple(needed.get(argument, {})) for argument in group.block.args]


def _element_reads(op: ElementOp, axis: int) -> Mapping[int, AxisReads] | None:
    """As `reads_along`; what is elementwise reads each operand of its shape, or that is repeated to it, row by row."""
    found = op.reads_along(axis)
    if found is not None or op.FUSION is not Fusion.POINTWISE:
        return found
    if (along := op.operand_axes(axis)) is not None:
        return {place: AxisReads(own) for place, own in along.items()}
    shape = shape_of(op.results[0])
    return {place: AxisReads(axis) for place, value in enumerate(op.operands) if shape_of(value) == shape}


def part_places(join: Operation) -> tuple[int, Sequence[int]]:
    """The axis of a join's result along which its operands lie one after the other, and where each begins."""
    assert isinstance(join, GraphOp)
    if (known := join.part_starts()) is not None:
        return known
    offsets, shape = join.part_offsets(), shape_of(join.results[0])
    assert offsets is not None
    differing = (axis for axis, extent in enumerate(shape) if any(shape_of(x)[axis] != extent for x in join.operands))
    axis = next(differing, 0)
    return axis, [offset // math.prod(shape[axis + 1 :]) for offset in offsets]
