"""Groups that are computed row by row, and how they keep pace.

All groups of a `graph.rolled` go on at every step as far as they can: those that read only what is whole compute an
equal share of their rows, all others the rows for which there is enough. So what each has computed after a step follows
from what those that it reads have, and the rings of rows are as long as the most that lies between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, OpResult, SSAValue

from aotc.dialects.array_builder import ArrayBuilder
from aotc.dialects.graph.gradual import GradualOp
from aotc.dialects.graph.interfaces import ShapeError, element_type_of, shape_of, viewed_whole
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import FusedOp
from aotc.passes.kernel.builders.expressions import Permuted
from aotc.passes.kernel.rolling.group_rows import GroupRows, anchor_of, gradual_anchor, inner_scratch
from aotc.passes.kernel.rolling.rings import Buffers, Read, Ring
from aotc.passes.kernel.row_map import RowMap, Steps
from aotc.passes.kernel.spatial_tiling import row_axis
from aotc.passes.kernel.strategy import strategy_of

ROLL = "roll"
"""The attribute of a group: the number of the kernel that computes it row by row with others, in its block."""

_NARROW = 6
"""The least rows of a step where each is a single position."""


@dataclass(frozen=True)
class Stage:
    """A group that is computed row by row."""

    group: FusedOp
    rows: int
    """How many there are: of the results, or of what is reduced to them."""
    reads: tuple[Read, ...]
    """The rows that are read of groups of the same kernel."""
    others: tuple[tuple[SSAValue, RowMap | None], ...]
    """Values that are whole and read, too, and which rows; None: any."""
    sources: tuple[Permuted, ...]
    """The values that are computed row by row, which are results with their axes permuted."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of `sources`."""
        return shape_of(self.sources[0][0])

    @cached_property
    def axis(self) -> int:
        """Of `sources`, that of rows."""
        return row_axis(self.shape)

    @property
    def gives_rows(self) -> bool:
        """Whether results come row by row, in memory one behind the other."""
        return self.reduction is None and all(list(axes) == sorted(axes) for _, axes in self.sources)

    @cached_property
    def at_once(self) -> int:
        """How many rows are computed at once."""
        anchor = anchor_of(self.group)
        return 1 if anchor is None or self.reduction is not None else strategy_of(anchor).rows_at_once(anchor)

    @cached_property
    def is_narrow(self) -> bool:
        """Whether a row is a single position with its channels."""
        return self.reduction is not None or self.axis >= len(self.shape) - 2

    @cached_property
    def reduction(self) -> GradualOp | None:
        """The anchor that reduces rows as they come."""
        return gradual_anchor(self.group)

    @property
    def partial(self) -> list[TensorType]:
        """Buffers for partial results: of each element one after the other."""
        if (op := self.reduction) is None:
            return []
        return [TensorType(value.dtype, [math.prod(shape_of(op.result))]) for value in op.start(ArrayBuilder())]

    @cached_property
    def whole(self) -> Mapping[SSAValue, Sequence[tuple[SSAValue, RowMap | None]]]:
        """The same values by what they are views of."""
        found: dict[SSAValue, list[tuple[SSAValue, RowMap | None]]] = {}
        for value, rows in self.others:
            found.setdefault(viewed_whole(value), []).append((value, rows))
        return found

    @cached_property
    def scratch(self) -> list[TensorType]:
        """Its scratch buffers: those for partial results, then its anchor's."""
        inner = inner_scratch(self.group)
        return [*self.partial, *(TensorType(element_type_of(each), shape_of(each)) for each in inner)]


class Rolling:
    """How groups in a row are computed together."""

    def __init__(self, ops: Iterable[Operation] = ()) -> None:
        """`ops` are the operations of a block, in order; views among them take no part. Raises ShapeError."""
        self.stages: list[Stage] = []
        self._made: dict[SSAValue, int] = {}
        """The stages that compute values."""
        self._available: tuple[tuple[int, int], int, list[Steps]] = (0, 0), 0, []
        """The pace, rows of a step, steps, and for each of the first stages the rows that are available after these."""
        self._readers: dict[SSAValue, list[tuple[int, Read]]] = {}
        """The stages that read what others compute, by number."""
        self._progress: list[Steps] | None = None
        self._rings: dict[SSAValue, Ring] = {}
        """Those that were found for these readers and steps."""
        for op in ops:
            if isinstance(op, FusedOp):
                self.add(op, GroupRows.of(op))

    def add(self, group: FusedOp, rows: GroupRows) -> None:
        """One more group, behind the others, with its rows or others that it may compute; raises ShapeError, which says
        why, where it cannot be computed row by row."""
        try:
            self._add(group, rows)
        except ShapeError:
            if rows.otherwise is None:
                raise
            self.add(group, rows.otherwise)

    def _add(self, group: FusedOp, rows: GroupRows) -> None:
        reads: list[Read] = []
        others: list[tuple[SSAValue, RowMap | None]] = []
        for value, argument, each in zip(group.inputs, group.block.args, rows.maps, strict=True):
            root = viewed_whole(value)
            if root not in self._made:
                others += [(value, found) for found in each]
                continue
            if not self.stages[self._made[root]].gives_rows:
                raise ShapeError(f"a group reads what has no rows before its end, {root.type}")
            for found in each:
                if found is None or not _are_rows(found, shape_of(argument), shape_of(root)):
                    raise ShapeError(f"a group reads other rows than its own of {root.type}")
                reads.append(Read(root, found, rows.count))
        for read in dict.fromkeys(reads):
            self._readers.setdefault(read.value, []).append((len(self.stages), read))
            self._rings.pop(read.value, None)
        self._progress = None
        self._made |= dict.fromkeys(group.results, len(self.stages))
        self.stages.append(Stage(group, rows.count, tuple(dict.fromkeys(reads)), tuple(others), rows.sources))

    def made_in(self, value: SSAValue) -> int:
        """The number of the stage that computes a value."""
        return self._made[value]

    @property
    def pace(self) -> int:
        """The most rows of what reads only what is whole."""
        return max(stage.rows for stage in self.stages if not stage.reads)

    @property
    def at_once(self) -> int:
        """How many rows each step takes of the most: one; or some that are computed at once, where they are narrow."""
        if not all(stage.is_narrow for stage in self.stages):
            return 1
        unit = math.lcm(*(stage.at_once for stage in self.stages))
        return ceil_div(_NARROW, unit) * unit

    def progress(self) -> list[Steps]:
        """For each stage, how many rows are available at first and after every step, those behind its last included:
        what is below a picture comes row by row, too."""
        if self._progress is not None:
            return self._progress
        pace, at_once, lasts = self.pace, self.at_once, [stage.rows for stage in self.stages]
        before, count, found = self._available
        if before != (pace, at_once):
            count, found = ceil_div(pace, at_once), []
            self._rings = {}
        while True:
            steps = np.arange(count + 1) * at_once
            for stage in self.stages[len(found) :]:
                if not stage.reads:
                    found.append(-(-steps * stage.rows // pace))
                    continue
                each = [read.rows.available(found[self._made[read.value]]) for read in stage.reads]
                found.append(np.minimum.reduce(each) * (steps > 0))
            done = max(int(np.searchsorted(made, last)) for made, last in zip(found, lasts, strict=True))
            if done <= count:
                self._available = (pace, at_once), count, found
                self._progress = [made[: done + 1] for made in found]
                return self._progress
            count, found = count * 2, []

    def rings(self) -> list[Ring]:
        """Of each value that another stage reads, in order."""
        progress = self.progress()  # later stages, and more steps, change nothing for those that are done
        return [self._ring(value, progress) for value in self._made if value in self._readers]

    def _ring(self, value: SSAValue, progress: Sequence[Steps]) -> Ring:
        if value not in self._rings:
            assert isinstance(value, OpResult)
            stage, readers = self._made[value], self._readers[value]
            made = np.minimum(progress[stage], self.stages[stage].rows)
            needed = [read.first(np.minimum(progress[number], self.stages[number].rows)) for number, read in readers]
            first = np.minimum.reduce([made, *needed])
            rows, kept = int((made[1:] - first[:-1]).max()), made - first
            moved = int((kept[1:] * (np.diff(first) > 0)).sum())
            self._rings[value] = Ring(value, stage, tuple(readers), rows, moved, not kept.any())
        return self._rings[value]

    def scratch(self) -> list[TensorType]:
        """The types of all scratch buffers: those of rings, then those of stages."""
        return [*Buffers.of(self.rings()).types, *(kind for stage in self.stages for kind in stage.scratch)]


def _are_rows(rows: RowMap, shape: Sequence[int], root: Sequence[int]) -> bool:
    """Whether rows of a view, of `shape`, are those of what it is a view of."""
    axis, of_root = rows.axis, row_axis(root)
    sizes = [rows.unit * math.prod(shape[axis + 1 :]), math.prod(root[of_root + 1 :])]
    return (
        math.prod(shape[:axis]) == 1
        and shape[axis] == rows.extent * rows.unit
        and root[of_root] == rows.extent
        and sizes[0] == sizes[1]
    )
