"""A faster kernel for an operator of aotc: frames `[M, K]` times one computed template `[K, 1]`, as dot products.

aotc keeps columns of the result in the lanes of its register tiles, of which one column fills one lane. Where frames
are long, as in correlation with a template that adapts, it is faster to have their samples in the lanes and to add
these up at the end of each frame. The cost decides which of the two is taken; short frames stay with aotc, and so do
weights, which aotc packs at compile time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from xdsl.irdl import irdl_attr_definition

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.schedules import Schedule, ScheduleAttr
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import Tile
from aotc.passes.kernel.costs.lanes import lanes_of
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.strategy import KernelStrategy


@dataclass(frozen=True)
class DotSchedule(Schedule):
    """Sums along the lanes, reduced across them at the end of each row."""

    sums: int
    """Vector registers of partial sums, which hide the latency of their multiply-adds."""


@irdl_attr_definition
class DotScheduleAttr(ScheduleAttr[DotSchedule]):
    """`#signal.dot_schedule<lanes = 16, sums = 4>`."""

    name = "signal.dot_schedule"


class DotStrategy(KernelStrategy[MatMulOp]):
    """`graph.matmul` with one column that is no constant."""

    SCHEDULES = (DotSchedule,)

    def schedule(self, op: MatMulOp, machine: Machine) -> DotSchedule | None:
        _, _, columns, depth = op.sizes()
        lanes = lanes_of(machine, element_type_of(op.lhs))
        if lanes == 1 or columns != 1 or depth < lanes or op.transpose_lhs:
            return None
        if len(shape_of(op.rhs)) != 2 or isinstance(op.rhs.owner, ConstantOp):
            return None
        return DotSchedule(lanes, min(4, depth // lanes))

    def cost(self, op: MatMulOp, schedule: Schedule, machine: Machine) -> float:
        """Two loads for each multiply-add; then lanes are added to lanes, and the tail one by one."""
        assert isinstance(schedule, DotSchedule)
        rows, depth = math.prod(shape_of(op.result)), op.sizes()[3]
        steps, tail = divmod(depth, schedule.lanes * schedule.sums)
        in_turn = math.log2(schedule.lanes) + tail
        return rows * (2 * steps * schedule.sums / machine.tiles.loads + in_turn * machine.tiles.latency)

    def candidates(self, op: MatMulOp, schedule: Schedule, machine: Machine) -> Iterable[Schedule]:
        assert isinstance(schedule, DotSchedule)
        return (replace(schedule, sums=sums) for sums in (1, 2, 4, 8))

    def nest(self, nest: Nest[MatMulOp, DotSchedule]) -> None:
        op, b, schedule = nest.op, nest.b, nest.schedule
        batch, rows, _, depth = op.sizes()
        tile = Tile((schedule.sums, schedule.lanes))
        step = schedule.sums * schedule.lanes
        whole = depth // step * step

        def at(index: list[Scalar]) -> None:
            *outer, row = index
            left, right = op.left(b, nest.reads[0], outer, row), op.right(b, nest.reads[1], outer, b.index(0))

            def add_tile(k: Scalar, sums: list[Scalar]) -> list[Scalar]:
                lanes = tile.index(b, k, {-2: schedule.lanes, -1: 1})
                return [b.fma(left(lanes), right(lanes), sums[0])]

            def add(k: Scalar, total: list[Scalar]) -> list[Scalar]:
                return [b.fma(left(k), right(k), total[0])]

            zeros = b.splat(0, tile, element_type_of(op.lhs))
            (sums,) = b.loop(0, whole, step, [zeros], add_tile)
            (total,) = b.loop(whole, depth, 1, [b.total("add", sums)], add)
            nest.write([*index, b.index(0)], total)

        b.parallel_for([*batch, rows], at)


STRATEGIES = {MatMulOp: (DotStrategy(),)}
