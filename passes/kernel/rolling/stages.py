"""Groups and joins that are computed row by row, and the rows between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, OpResult, SSAValue

from aotc.dialects.array_builder import ArrayBuilder
from aotc.dialects.graph.compound.rolled import RolledOp
from aotc.dialects.graph.gradual import GradualOp
from aotc.dialects.graph.interfaces import ShapeError, bytes_of, element_type_of, is_join, shape_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import FusedOp
from aotc.passes.kernel.builders.expressions import Permuted
from aotc.passes.kernel.rolling.group_rows import (
    GroupRows,
    RowView,
    anchor_of,
    gradual_anchor,
    inner_scratch,
    part_places,
)
from aotc.passes.kernel.rolling.pace import Actor, Link, Pace
from aotc.passes.kernel.rolling.rings import Buffers, PartPlace, Read, Ring
from aotc.passes.kernel.strategy import strategy_of

ROLL = "roll"
"""The attribute of a group, or a join: the number of the kernel that computes it row by row with others."""

STREAMED = "streamed"
"""The attribute of a group that goes on with the rows of an input that comes by rows: one kernel computes them all."""

_NARROW = 6
"""The least rows of a step where each is a single position."""


@dataclass(frozen=True)
class Stage:
    """A group, or a join, that is computed row by row."""

    op: Operation
    axis: int
    """Of `sources`, that of rows."""
    rows: int
    """How many there are: of the results, or of what is reduced to them."""
    reads: tuple[Read, ...]
    """The rows that are read of stages of the same kernel."""
    others: tuple[tuple[SSAValue, Read | None], ...]
    """Values that are whole and read, too, and which rows; None: any."""
    sources: tuple[Permuted, ...]
    """The values that are computed row by row, which are results with their axes permuted."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of `sources`."""
        return shape_of(self.sources[0][0])

    def axis_of(self, value: SSAValue) -> int | None:
        """The axis of rows of a result; None where it has no rows before the end."""
        _, axes = self.sources[list[SSAValue](self.op.results).index(value)]
        return axes.index(self.axis) if self.reduction is None and self.axis in axes else None

    @cached_property
    def at_once(self) -> int:
        """How many rows are computed at once."""
        anchor = anchor_of(self.op) if isinstance(self.op, FusedOp) and self.reduction is None else None
        return 1 if anchor is None else strategy_of(anchor).rows_at_once(anchor, self.axis)

    @cached_property
    def is_narrow(self) -> bool:
        """Whether a row is a single position with its channels."""
        extents = [extent for axis, extent in enumerate(self.shape) if axis != self.axis]
        return self.reduction is not None or sum(extent > 1 for extent in extents) < 2

    @cached_property
    def reduction(self) -> GradualOp | None:
        """The anchor that reduces rows as they come."""
        return gradual_anchor(self.op) if isinstance(self.op, FusedOp) else None

    @property
    def partial(self) -> list[TensorType]:
        """Buffers for partial results: of each element one after the other."""
        if (op := self.reduction) is None:
            return []
        return [TensorType(value.dtype, [math.prod(shape_of(op.result))]) for value in op.start(ArrayBuilder())]

    @cached_property
    def whole(self) -> Mapping[SSAValue, Sequence[tuple[SSAValue, Read | None]]]:
        """The values of `others` by what they are views of."""
        found: dict[SSAValue, list[tuple[SSAValue, Read | None]]] = {}
        for value, read in self.others:
            found.setdefault(RowView.of(value, 0).root, []).append((value, read))
        return found

    @cached_property
    def scratch(self) -> list[TensorType]:
        """Its scratch buffers: those for partial results, then its anchor's."""
        inner = inner_scratch(self.op) if isinstance(self.op, FusedOp) else ()
        return [*self.partial, *(TensorType(element_type_of(each), shape_of(each)) for each in inner)]


class Rolling:
    """How groups and joins in a row are computed together."""

    def __init__(self, ops: Iterable[Operation] = (), *, streamed: bool = False) -> None:
        """`ops` are the operations of a block, in order; views among them take no part. Where they are `streamed`, go
        on with the rows of an input, a step takes one of these at most. Raises ShapeError."""
        self.streamed = streamed
        self.stages: list[Stage] = []
        self._made: dict[SSAValue, int] = {}
        """The stages that compute values."""
        for op in ops:
            if isinstance(op, FusedOp) or is_join(op):
                self.add(op, GroupRows.choices(op))

    @staticmethod
    def of(op: RolledOp) -> Rolling:
        """How the groups and joins of a kernel are computed. Raises ShapeError."""
        return Rolling(op.block.ops, streamed=op.streamed is not None)

    def add(self, op: Operation, choices: Sequence[GroupRows]) -> None:
        """One more group, or join, behind the others, by the first choice that goes with them; raises ShapeError, which
        says why, where none does."""
        why: list[str] = []
        for rows in choices:
            try:
                stage = self._stage(op, rows)
            except ShapeError as error:
                why.append(str(error))
                continue
            self._made |= dict.fromkeys(op.results, len(self.stages))
            self.stages.append(stage)
            for known in ("pace", "places"):
                self.__dict__.pop(known, None)
            return
        raise ShapeError(why[0] if why else "a group has no rows")

    def _stage(self, op: Operation, rows: GroupRows) -> Stage:
        """The stage that computes such rows; raises ShapeError where it would read others of another stage's."""
        reads, others = dict[Read, None](), list[tuple[SSAValue, Read | None]]()
        for value, ways in zip(op.operands, rows.reads, strict=True):
            for way in ways:
                view = RowView.of(value, 0) if way is None else RowView.of(value, way.axis, way.unit)
                root, own = view.root, view.reads
                if root not in self._made:
                    extent = 0 if way is None else shape_of(value)[way.axis] // way.unit
                    others.append((value, None if way is None else Read(value, way, extent, rows.count)))
                    continue
                stage = self.stages[self._made[root]]
                if (axis := stage.axis_of(root)) is None:
                    raise ShapeError(f"a group reads what has no rows before its end, {root.type}")
                if way is None or own is None or own.axis != axis:
                    raise ShapeError(f"a group reads other rows than its own of {root.type}")
                reads[Read(root, way.through(own), stage.rows, rows.count, view.merged)] = None
        return Stage(op, rows.axis, rows.count, tuple(reads), tuple(others), rows.sources)

    def written_from(self, value: SSAValue) -> range:
        """The stages that write rows of a value: the one that computes it, and those of parts that are in it."""
        return range(self._since(value, self.places), self._made[value] + 1)

    @cached_property
    def pace(self) -> Pace:
        """When the rows of each stage are computed."""
        return Pace(
            [
                Actor(
                    stage.rows,
                    sum(map(bytes_of, stage.op.results)),
                    tuple(Link(self._made[read.value], read.rows) for read in stage.reads),
                )
                for stage in self.stages
            ],
            self.at_once,
        )

    @property
    def at_once(self) -> int:
        """How many rows each step takes of the most: one; or some that are computed at once, where they are narrow."""
        if self.streamed or not all(stage.is_narrow for stage in self.stages):
            return 1
        unit = math.lcm(*(stage.at_once for stage in self.stages))
        return ceil_div(_NARROW, unit) * unit

    def rings(self) -> list[Ring]:
        """Of each value that another stage reads, in order."""
        progress, places = self.pace.progress, self.places
        readers: dict[SSAValue, list[tuple[int, Read]]] = {}
        for number, stage in enumerate(self.stages):
            for read in stage.reads:
                readers.setdefault(read.value, []).append((number, read))
        rings: list[Ring] = []
        for value, stage in self._made.items():
            if value in readers and value not in places:
                assert isinstance(value, OpResult)
                made = progress[stage]
                first = np.minimum.reduce([made, *(read.first(progress[number]) for number, read in readers[value])])
                rows, kept = int((made[1:] - first[:-1]).max()), made - first
                moved = int((kept[1:] * (np.diff(first) > 0)).sum())
                axis, since = self.stages[stage].axis_of(value), self._since(value, places)
                assert axis is not None  # as whatever is read row by row
                rings.append(Ring(value, axis, stage, since, tuple(readers[value]), rows, moved, not kept.any()))
        return rings

    @cached_property
    def places(self) -> dict[SSAValue, PartPlace]:
        """Where parts are written in a join: those that nothing else reads, whose rows are computed in the steps in
        which the join's are."""
        progress, found = self.pace.progress, dict[SSAValue, PartPlace]()
        for number, stage in enumerate(self.stages):
            if isinstance(stage.op, FusedOp):
                continue
            axis, starts = part_places(stage.op)
            for value, start in zip(stage.op.operands, starts, strict=True):
                alone = axis != stage.axis and value in self._made and value.has_one_use()
                if alone and np.array_equal(progress[self._made[value]], progress[number]):
                    found[value] = PartPlace(stage.op.results[0], axis, start)
        return found

    def _since(self, value: SSAValue, places: Mapping[SSAValue, PartPlace]) -> int:
        """The first stage that writes rows of a value."""
        parts = (part for part, place in places.items() if place.whole is value)
        return min([self._made[value], *(self._since(part, places) for part in parts)])

    def scratch(self) -> list[TensorType]:
        """The types of all scratch buffers: those of rings, then those of stages."""
        return [*Buffers.of(self.rings()).types, *(kind for stage in self.stages for kind in stage.scratch)]
