"""The rows of results that are in memory while groups roll, and the buffers that have them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, OpResult, SSAValue

from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.row_map import RowMap, Steps
from aotc.passes.kernel.spatial_tiling import row_axis

_UNIT = 4
"""Rows begin at multiples of this many bytes: they are moved as words."""


def type_bytes(kind: TensorType) -> int:
    """The size in memory of a tensor of a type."""
    return math.prod(kind.get_shape()) * byte_width(kind.element_type)


@dataclass(frozen=True)
class Read:
    """Rows of another group's result that a group reads."""

    value: SSAValue
    """The result."""
    rows: RowMap
    last: int
    """How many rows are computed of what reads them; then none are needed any more."""

    def first(self, made: Steps) -> Steps:
        """The first row that is still needed where so many are computed."""
        return np.where(made < self.last, self.rows.first(made), self.rows.extent)

    def first_at(self, b: LoopBuilder, made: Scalar) -> Scalar:
        """As `first`, where kernels run."""
        first, end = self.rows.first_at(b, made), np.array([self.last])
        if int(self.rows.first(end)[0]) >= self.rows.extent:
            return first
        return b.select(b.compare("lt", made, self.last), first, b.index(self.rows.extent))


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

    @cached_property
    def length(self) -> int:
        """Elements from one row to the next."""
        unit = max(_UNIT // byte_width(element_type_of(self.value)), 1)
        if any(read.rows.unit > 1 for _, read in self.readers):
            unit = 1  # of what is seen without an axis of rows, nothing lies between them
        return ceil_div(self.size, unit) * unit

    @cached_property
    def size(self) -> int:
        """Elements of a row."""
        shape = shape_of(self.value)
        return math.prod(shape[row_axis(shape) + 1 :])

    @cached_property
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

    @property
    def types(self) -> list[TensorType]:
        """Of each buffer."""
        return [TensorType(kind, [size]) for size, kind in self._sizes]

    @property
    def bytes(self) -> list[int]:
        """Of each buffer."""
        return [size * byte_width(kind) for size, kind in self._sizes]

    @cached_property
    def _sizes(self) -> list[tuple[int, Attribute]]:
        sizes: dict[int, tuple[int, Attribute]] = {}
        for ring, number in zip(self.rings, self.numbers, strict=True):
            before, _ = sizes.get(number, (0, None))
            sizes[number] = (max(before, ring.rows * ring.length), element_type_of(ring.value))
        return list(sizes.values())


def _may_share(one: Ring, other: Ring) -> bool:
    return one.passing and (one.stages.stop <= other.stages.start or other.stages.stop <= one.stages.start)
