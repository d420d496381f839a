"""Rows of tensors: which ones a group needs for one of its results, and how several groups keep pace.

All groups of a `graph.rolled` go on at every step as far as they can: those that read only what is whole compute an
equal share of their rows, all others the rows for which there is enough. So what each has computed after a step follows
from what those that it reads have, and the rings of rows are as long as the most that lies between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import byte_width, is_encoded
from aotc.dialects.graph.interfaces import (
    AnchorOp,
    ElementOp,
    Fusion,
    ShapeError,
    element_type_of,
    shape_of,
    viewed_whole,
)
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp, FusedOp, YieldOp
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.spatial_tiling import row_axis
from aotc.passes.kernel.strategy import strategy_of

ROLL = "roll"
"""The attribute of a group: the number of the kernel that computes it row by row with others, in its block."""

Steps: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
"""A number for each step."""
RowReads: TypeAlias = Sequence[tuple[SlidingWindow | None, ...]]
"""For each operand of a group, the windows over rows by which it reads rows for one of its results; None: any."""

_UNIT = 4
"""Rows begin at multiples of this many bytes: they are moved as words."""


@dataclass(frozen=True)
class Read:
    """Rows of another group's result that a group reads."""

    value: SSAValue
    """The result."""
    window: SlidingWindow

    def available(self, rows: Steps) -> Steps:
        """How many rows can be computed where so many are there, those behind the last one included."""
        return np.maximum(rows + self._more, 0) // self.window.stride

    def available_at(self, b: LoopBuilder, rows: Scalar) -> Scalar:
        """As `available`, where kernels run."""
        more = self._more
        return (b.max(rows + more, 0) if more < 0 else rows + more) / self.window.stride

    @property
    def _more(self) -> int:
        return self.window.before + self.window.stride - self.window.span

    def first(self, rows: Steps) -> Steps:
        """The first row that is needed where so many are computed."""
        return np.maximum(rows * self.window.stride - self.window.before, 0)

    def first_at(self, b: LoopBuilder, rows: Scalar) -> Scalar:
        """As `first`, where kernels run."""
        return b.max(rows * self.window.stride - self.window.before, 0)


@dataclass(frozen=True)
class Stage:
    """A group that is computed row by row."""

    group: FusedOp
    reads: tuple[Read, ...]
    """The rows that are read of groups of the same kernel."""

    @property
    def axis(self) -> int:
        """Of the results, that of rows."""
        return row_axis(shape_of(self.group.results[0]))

    @property
    def rows(self) -> int:
        """How many rows the results have."""
        return shape_of(self.group.results[0])[self.axis]


@dataclass(frozen=True)
class Ring:
    """The rows of a group's result that are in memory."""

    value: OpResult
    stage: int
    readers: tuple[tuple[int, Read], ...]
    """The stages that read it, by number."""
    rows: int
    moved: int
    """How many rows are moved in all."""
    passing: bool
    """Whether no row is there between steps."""

    @property
    def length(self) -> int:
        """Elements from one row to the next."""
        shape, unit = shape_of(self.value), max(_UNIT // byte_width(element_type_of(self.value)), 1)
        return ceil_div(math.prod(shape[row_axis(shape) + 1 :]), unit) * unit

    @property
    def stages(self) -> range:
        """Those during which there are rows."""
        return range(self.stage, max(number for number, _ in self.readers) + 1)


@dataclass(frozen=True)
class Buffers:
    """The memory of rings."""

    rings: tuple[Ring, ...]
    numbers: tuple[int, ...]
    """For each ring its buffer: several rings whose rows are never there at the same time have one."""

    @staticmethod
    def of(rings: Sequence[Ring]) -> Buffers:
        """Each ring that is there between steps has its own buffer; the others take the first one that is free."""
        numbers: list[int] = []
        taken: list[list[Ring]] = []
        for ring in rings:
            kind = element_type_of(ring.value)
            free = (
                number
                for number, others in enumerate(taken)
                if ring.passing
                and all(_may_share(other, ring) and element_type_of(other.value) == kind for other in others)
            )
            if (number := next(free, None)) is None:
                number = len(taken)
                taken.append([])
            taken[number].append(ring)
            numbers.append(number)
        return Buffers(tuple(rings), tuple(numbers))

    @cached_property
    def types(self) -> list[TensorType]:
        """Of each buffer."""
        sizes: dict[int, tuple[int, Attribute]] = {}
        for ring, number in zip(self.rings, self.numbers, strict=True):
            before, _ = sizes.get(number, (0, None))
            sizes[number] = (max(before, ring.rows * ring.length), element_type_of(ring.value))
        return [TensorType(kind, [size]) for size, kind in sizes.values()]

    @property
    def bytes(self) -> list[int]:
        """Of each buffer."""
        return [kind.get_shape()[0] * byte_width(kind.element_type) for kind in self.types]


def _may_share(one: Ring, other: Ring) -> bool:
    return one.passing and (one.stages.stop <= other.stages.start or other.stages.stop <= one.stages.start)


class Rolling:
    """How groups in a row are computed together."""

    def __init__(self, ops: Iterable[Operation] = ()) -> None:
        """`ops` are the operations of a block, in order; views among them take no part. Raises ShapeError."""
        self.stages: list[Stage] = []
        self._made: dict[SSAValue, int] = {}
        """The stages that compute values."""
        for op in ops:
            if isinstance(op, FusedOp):
                self.add(op, row_reads(op))

    def add(self, group: FusedOp, windows: RowReads) -> None:
        """One more group, behind the others; raises ShapeError, which says why, where it cannot be computed row by
        row."""
        reads: list[Read] = []
        for value, argument, each in zip(group.inputs, group.block.args, windows, strict=True):
            root = viewed_whole(value)
            if root not in self._made:
                continue
            for window in each:
                extents = (shape_of(some)[row_axis(shape_of(some))] for some in (argument, root))
                if window is None or {*extents} != {window.extent}:
                    raise ShapeError(f"a group reads other rows than its own of {root.type}")
                reads.append(Read(root, window))
        self._made |= dict.fromkeys(group.results, len(self.stages))
        self.stages.append(Stage(group, tuple(dict.fromkeys(reads))))

    def made_in(self, value: SSAValue) -> int:
        """The number of the stage that computes a value."""
        return self._made[value]

    @property
    def pace(self) -> int:
        """How many steps take all rows of what reads only what is whole."""
        return max(stage.rows for stage in self.stages if not stage.reads)

    def progress(self) -> list[Steps]:
        """For each stage, how many rows are available at first and after every step, those behind its last included:
        what is below a picture comes row by row, too."""
        count, lasts = self.pace, [stage.rows for stage in self.stages]
        while True:
            steps = np.arange(count + 1)
            found: list[Steps] = []
            for stage in self.stages:
                if not stage.reads:
                    found.append(-(-steps * stage.rows // self.pace))
                    continue
                each = [read.available(found[self._made[read.value]]) for read in stage.reads]
                found.append(np.minimum.reduce(each) * (steps > 0))
            done = max(int(np.searchsorted(made, last)) for made, last in zip(found, lasts, strict=True))
            if done <= count:
                return [made[: done + 1] for made in found]
            count *= 2

    def rings(self) -> list[Ring]:
        """Of each value that another stage reads, in order."""
        progress = [np.minimum(made, stage.rows) for made, stage in zip(self.progress(), self.stages, strict=True)]
        readers: dict[SSAValue, list[tuple[int, Read]]] = {}
        for number, stage in enumerate(self.stages):
            for read in stage.reads:
                readers.setdefault(read.value, []).append((number, read))
        rings: list[Ring] = []
        for value, stage in self._made.items():
            if value in readers:
                assert isinstance(value, OpResult)
                made = progress[stage]
                first = np.minimum.reduce([made, *(read.first(progress[number]) for number, read in readers[value])])
                rows, kept = int((made[1:] - first[:-1]).max()), made - first
                moved = int((kept[1:] * (np.diff(first) > 0)).sum())
                rings.append(Ring(value, stage, tuple(readers[value]), rows, moved, not kept.any()))
        return rings

    def scratch(self) -> list[TensorType]:
        """The types of all scratch buffers: those of rings, then those of anchors."""
        inner = [result for stage in self.stages for result in inner_scratch(stage.group)]
        return [*Buffers.of(self.rings()).types, *(TensorType(element_type_of(x), shape_of(x)) for x in inner)]


def anchor_of(group: FusedOp) -> AnchorOp | None:
    """The anchor of a group."""
    return next((op for op in group.block.ops if isinstance(op, AnchorOp)), None)


def inner_scratch(group: FusedOp) -> Sequence[OpResult]:
    """The scratch buffers of a group's anchor."""
    anchor = anchor_of(group)
    return () if anchor is None else anchor.scratch()


def row_reads(group: FusedOp) -> RowReads:
    """How a group reads its operands to compute one row of its results; raises ShapeError where it cannot."""
    values, shape = group.yield_op.values, shape_of(group.results[0])
    if any(shape_of(result) != shape for result in group.results):
        raise ShapeError("results of several shapes")
    if any(is_encoded(element_type_of(value)) for value in (*group.inputs, *group.results)):
        raise ShapeError("encoded elements")
    if shape[row_axis(shape)] == 1:
        raise ShapeError("a single row")
    same = SlidingWindow(shape[row_axis(shape)], 1, 1, 1, 0, 0)
    needed: dict[SSAValue, dict[SlidingWindow | None, None]] = {value: {same: None} for value in values}
    for op in reversed(list(group.block.ops)):
        if isinstance(op, YieldOp | ConstantOp):
            continue
        windows = needed.get(op.results[0], {})
        if isinstance(op, AnchorOp):
            rows = strategy_of(op).row_windows(op)
            if rows is None or shape_of(op.results[0]) != shape or {*windows} != {same}:
                raise ShapeError(f"{op.name} has no rows")
            for place, value in enumerate(op.operands):
                needed.setdefault(value, {})[rows.get(place)] = None
            continue
        assert isinstance(op, ElementOp)
        for value in op.operands:
            aligned = op.FUSION is Fusion.POINTWISE and shape_of(value) == shape_of(op.results[0])
            needed.setdefault(value, {}).update(windows if aligned else {None: None})
    return [tuple(needed.get(argument, {})) for argument in group.block.args]
