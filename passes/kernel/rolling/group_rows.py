"""The rows that a group reads of its operands to compute one row of its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import OpResult, SSAValue

from aotc.dialects.dtypes import is_encoded
from aotc.dialects.graph.gradual import GradualOp, Slices
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, Fusion, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.packed.pack import UnpackOp
from aotc.dialects.graph.schedules import schedule_of
from aotc.dialects.graph.structure import ConstantOp, FusedOp, YieldOp
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.expressions import Permuted, permuted
from aotc.passes.kernel.rolling.window_rows import WindowRows
from aotc.passes.kernel.row_map import RowMap
from aotc.passes.kernel.spatial_tiling import row_axis
from aotc.passes.kernel.strategy import strategy_of


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
class GroupRows:
    """The rows that a group computes, or reduces, and how it reads its operands for each of them."""

    count: int
    maps: tuple[tuple[RowMap | None, ...], ...]
    """For each operand the ways in which it is read; None: any rows."""
    sources: tuple[Permuted, ...]
    """The values that are computed row by row, of one shape, and how results are these with their axes permuted."""
    otherwise: GroupRows | None = None
    """Other rows that the group may compute as well."""

    @staticmethod
    def of(group: FusedOp) -> GroupRows:
        """Those of a group: of its results; or of what is permuted to them, as planes of what has its channels last.
        Raises ShapeError where it has none."""
        if any(is_encoded(element_type_of(value)) for value in (*group.inputs, *group.results)):
            raise ShapeError("encoded elements")
        values = group.yield_op.values
        plain = [(value, tuple(range(len(shape_of(value))))) for value in values]
        found: list[GroupRows] = []
        for sources in dict.fromkeys([tuple(map(permuted, values)), tuple(plain)]):
            try:
                found.append(_rows_of(group, sources, found[0] if found else None))
            except ShapeError:
                if sources == tuple(plain) and not found:
                    raise
        return found[-1]


def _rows_of(group: FusedOp, sources: tuple[Permuted, ...], otherwise: GroupRows | None) -> GroupRows:
    shape = shape_of(sources[0][0])
    if any(shape_of(value) != shape for value, _ in sources):
        raise ShapeError("results of several shapes")
    reduction = gradual_anchor(group)
    if reduction is not None and (slices := reduction.slices()) is not None:
        maps = _maps(group, sources, None, {0: _reduced(reduction, slices)})
        return GroupRows(slices.count, maps, sources, otherwise)
    axis = row_axis(shape)
    if shape[axis] == 1:
        raise ShapeError("a single row")
    anchor = anchor_of(group)
    rows = None if anchor is None else strategy_of(anchor).row_maps(anchor)
    maps = _maps(group, sources, WindowRows.same(axis, shape[axis]), rows)
    return GroupRows(shape[axis], maps, sources, otherwise)


def _reduced(op: GradualOp, slices: Slices) -> WindowRows:
    """The rows of the first operand that are reduced: one for each slice."""
    extent, step = shape_of(op.operands[0])[slices.axis], slices.step
    return WindowRows(slices.axis, SlidingWindow(extent, 1, step, 1, -slices.first, 0))


def _maps(
    group: FusedOp, sources: Sequence[Permuted], results: RowMap | None, of_anchor: Mapping[int, RowMap] | None
) -> tuple[tuple[RowMap | None, ...], ...]:
    """How a group reads its operands for a row of `sources`, which are read as `results`, where its anchor reads its
    own operands as `of_anchor`."""
    shape = shape_of(sources[0][0])
    needed: dict[SSAValue, dict[RowMap | None, None]] = {value: {results: None} for value, _ in sources}
    for op in reversed(list(group.block.ops)):
        if isinstance(op, YieldOp | ConstantOp):
            continue
        maps = needed.get(op.results[0], {})
        if isinstance(op, AnchorOp):
            if of_anchor is None or shape_of(op.results[0]) != shape or {*maps} != {results}:
                raise ShapeError(f"{op.name} has no rows")
            for place, value in enumerate(op.operands):
                needed.setdefault(value, {})[of_anchor.get(place)] = None
            continue
        assert isinstance(op, ElementOp)
        for value in op.operands:
            needed.setdefault(value, {}).update({_before(op, value, rows): None for rows in maps})
    return tuple(tuple(needed.get(argument, {})) for argument in group.block.args)


def _before(op: ElementOp, operand: SSAValue, rows: RowMap | None) -> RowMap | None:
    """How an operand is read where the result of `op` is read as `rows`."""
    if rows is None or (op.FUSION is Fusion.POINTWISE and shape_of(operand) == shape_of(op.results[0])):
        return rows
    axis = None
    if isinstance(op, UnpackOp):
        axis = op.layout.data.axis_of(rows.axis)
    elif (axes := op.permuted_axes()) is not None:
        axis = axes[rows.axis]
    return None if axis is None else replace(rows, axis=axis)
