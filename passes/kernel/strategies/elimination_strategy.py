"""Gaussian elimination on register tiles: the columns of a row lie along the lanes."""

from __future__ import annotations

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.matrices.elimination import Column, Columns, EliminationOp
from aotc.dialects.graph.schedules import ElementwiseSchedule
from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import Tile
from aotc.passes.kernel.costs.lanes import lanes_of
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies

REGISTERS = 4
"""The most registers of a row at a time: enough independent differences to hide the latency of one."""


class EliminationStrategy(KernelStrategy[EliminationOp]):
    """Whole registers from the one on that holds the first column, where a row fills one."""

    SCHEDULES = (ElementwiseSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: EliminationOp, machine: Machine) -> ElementwiseSchedule | None:
        lanes, size = lanes_of(machine, element_type_of(op.x)), shape_of(op.x)[-1]
        if lanes == 1 or size < lanes:
            return None
        return ElementwiseSchedule(lanes, min(ceil_div(size, lanes), REGISTERS))

    def nest(self, nest: Nest[EliminationOp, ElementwiseSchedule]) -> None:
        nest.op.nest(nest.b, nest.reads, nest.writes, _columns(nest.b, nest.schedule))


def _columns(b: TileBuilder, schedule: ElementwiseSchedule) -> Columns:
    lanes = schedule.lanes

    def columns_of(low: int, end: int, first: Scalar, body: Column) -> None:
        for part in segments(end - low, schedule.registers * lanes):
            tile = Tile((ceil_div(part.size, lanes), lanes), part.size if part.size % lanes else None)
            start, stop = low + part.start, low + part.stop
            # the tile that holds `first`, if it is in this part
            before = b.max(first - start, 0) / b.index(part.size) * part.size
            b.sequential_range(
                before + start, stop, part.size, lambda column, tile=tile: body(tile.index(b, column, {0: lanes, 1: 1}))
            )

    return columns_of


STRATEGIES: Strategies = {EliminationOp: (EliminationStrategy(),)}
