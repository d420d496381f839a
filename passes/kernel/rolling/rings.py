"""The rows of results that are in memory while groups roll, and the buffers that have them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, OpResult, SSAValue

from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.passes.kernel.builders.loop_builder import LoopBuilder

_UNIT = 4
"""Rows begin at multiples of this many bytes: they are moved as words."""

Steps: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
"""A number for each step."""


def type_bytes(kind: TensorType) -> int:
    """The size in memory of a tensor of a type."""
    return math.prod(kind.get_shape()) * byte_width(kind.element_type)


@dataclass(frozen=True)
class Read:
    """Rows of another stage's result that a stage reads."""

    value: SSAValue
    """The result."""
    rows: AxisReads
    extent: int
    """How many rows the result has."""
    last: int
    """How many rows are computed of what reads them; then none are needed any more."""
    merged: bool = False
    """Whether they are read in a view that has no axis of rows."""

    def first(self, made: Steps) -> Steps:
        """The first row that is still needed where so many are computed."""
        first = np.maximum(made * self.rows.stride + self.rows.low, 0) // self.rows.per
        return np.where(made < self.last, first, self.extent)

    def first_at(self, b: LoopBuilder, made: Scalar) -> Scalar:
        """As `first`, where kernels run."""
        rows = self.rows
        place = made * rows.stride + rows.low
        first = (b.max(place, 0) if rows.low < 0 else place) / rows.per
        if (self.last * rows.stride + rows.low) // rows.per >= self.extent:
            return first
        return b.select(b.compare("lt", made, self.last), first, b.index(self.extent))


@dataclass(frozen=True)
class PartPlace:
    """Where a part of a join is written, which needs no rows of its own."""

    whole: OpResult
    axis: int
    """Along which parts lie one after the other."""
    start: int


@dataclass(frozen=True)
class Ring:
    """The rows of a group's result that are in memory."""

    value: OpResult
    axis: int
    """That of rows."""
    stage: int
    since: int
    """The first stage that writes rows: that of the value, or one of a part."""
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
        if self.size == 1 or any(read.merged for _, read in self.readers):
            unit = 1  # of what is seen without an axis of rows, nothing lies between them
        return ceil_div(self.size, unit) * unit

    @cached_property
    def size(self) -> int:
        """Elements of a row."""
        shape = shape_of(self.value)
        return math.prod(shape) // shape[self.axis]

    @cached_property
    def stages(self) -> range:
        """Those during which there are rows."""
        return range(self.since, max(number for number, _ in self.readers) + 1)


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
