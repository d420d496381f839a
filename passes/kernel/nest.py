"""A loop nest while it is written: the one argument of all that writes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from xdsl.ir import SSAValue

from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.graph.interfaces import AnchorOp, GraphOp, shape_of
from aotc.dialects.graph.schedules import Schedule
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.builders.tile_builder import TileBuilder

Op = TypeVar("Op", bound=GraphOp, covariant=True)
S = TypeVar("S", bound=Schedule)


@dataclass(frozen=True)
class LoopNest(Generic[Op]):
    """The scalar loops of an operation: what they compute, what writes them, where elements come from and go to."""

    op: Op
    b: LoopBuilder
    reads: Sequence[Reader]
    """Of the operands, then of the scratch buffers."""
    writes: Sequence[Writer]
    """Of the results, scratch buffers included."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the first result."""
        return shape_of(self.op.results[0])

    def reader(self, value: SSAValue | None) -> Reader | None:
        """That of an operand or a scratch buffer; None for one that is absent."""
        if value is None:
            return None
        scratch = self.op.scratch() if isinstance(self.op, AnchorOp) else ()
        return self.reads[[*self.op.operands, *scratch].index(value)]

    def write(self, index: Sequence[Scalar], value: Scalar) -> None:
        """Write an element of the first result."""
        self.writes[0](index, value)


@dataclass(frozen=True)
class Nest(LoopNest[Op], Generic[Op, S]):
    """The loops of an operation on register tiles, as a schedule says."""

    b: TileBuilder
    schedule: S

    @property
    def lanes(self) -> int:
        """Of a vector register."""
        return self.schedule.lanes

    @classmethod
    def of(cls, nest: Nest[Op, S], **more: Any) -> Self:
        """The same, as one of a class that knows how these loops are written."""
        return cls(nest.op, nest.b, nest.reads, nest.writes, nest.schedule, **more)

    def emit(self) -> None:
        """Write the loops, where the class knows them; every element of the results is written once."""
        raise NotImplementedError
