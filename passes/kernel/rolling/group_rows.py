"""The rows that a group reads of its operands to compute one row of its results."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import OpResult, SSAValue

from aotc.dialects.dtypes import is_encoded
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, Fusion, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.structure import ConstantOp, FusedOp, YieldOp
from aotc.passes.kernel.rolling.window_rows import WindowRows
from aotc.passes.kernel.row_map import RowMap, RowMaps
from aotc.passes.kernel.spatial_tiling import row_axis
from aotc.passes.kernel.strategy import strategy_of


def anchor_of(group: FusedOp) -> AnchorOp | None:
    """The anchor of a group."""
    return next((op for op in group.block.ops if isinstance(op, AnchorOp)), None)


def inner_scratch(group: FusedOp) -> Sequence[OpResult]:
    """The scratch buffers of a group's anchor."""
    anchor = anchor_of(group)
    return () if anchor is None else anchor.scratch()


def row_maps(group: FusedOp) -> RowMaps:
    """How a group reads its operands to compute one row of its results; raises ShapeError where it cannot."""
    values, shape = group.yield_op.values, shape_of(group.results[0])
    if any(shape_of(result) != shape for result in group.results):
        raise ShapeError("results of several shapes")
    if any(is_encoded(element_type_of(value)) for value in (*group.inputs, *group.results)):
        raise ShapeError("encoded elements")
    axis = row_axis(shape)
    if shape[axis] == 1:
        raise ShapeError("a single row")
    same = WindowRows.same(axis, shape[axis])
    needed: dict[SSAValue, dict[RowMap | None, None]] = {value: {same: None} for value in values}
    for op in reversed(list(group.block.ops)):
        if isinstance(op, YieldOp | ConstantOp):
            continue
        maps = needed.get(op.results[0], {})
        if isinstance(op, AnchorOp):
            rows = strategy_of(op).row_maps(op)
            if rows is None or shape_of(op.results[0]) != shape or {*maps} != {same}:
                raise ShapeError(f"{op.name} has no rows")
            for place, value in enumerate(op.operands):
                needed.setdefault(value, {})[rows.get(place)] = None
            continue
        assert isinstance(op, ElementOp)
        for value in op.operands:
            aligned = op.FUSION is Fusion.POINTWISE and shape_of(value) == shape_of(op.results[0])
            needed.setdefault(value, {}).update(maps if aligned else {None: None})
    return [tuple(needed.get(argument, {})) for argument in group.block.args]
