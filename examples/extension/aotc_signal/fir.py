"""A faster kernel for an operator of aotc on cores without vectors: filters along time, as convolutions of one channel.

aotc keeps sums of neighbouring positions and of several outputs in the registers of such a core, and loads the sample
of each position at each tap. Neighbouring positions see the same samples, one tap later: here each is loaded once for a
block of taps. Of many outputs, which share the samples in aotc's way, that is slower; the cost decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.irdl import irdl_attr_definition

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.schedules import Schedule, ScheduleAttr
from aotc.dialects.graph.shapes import segments
from aotc.machines.machine import Core
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.strategy import KernelStrategy


@dataclass(frozen=True)
class FirSchedule(Schedule):
    """Sums of neighbouring positions, of which a block of taps is added at a time."""

    positions: int
    taps: int


@irdl_attr_definition
class FirScheduleAttr(ScheduleAttr[FirSchedule]):
    """`#signal.fir_schedule<lanes = 1, positions = 4, taps = 4>`."""

    name = "signal.fir_schedule"


class FirStrategy(KernelStrategy[ConvOp]):
    """`graph.conv` of f32 along one axis, of one channel, without padding, with neighbouring taps and positions."""

    ON_VECTORS = False
    SCHEDULES = (FirSchedule,)

    def schedule(self, op: ConvOp, core: Core) -> FirSchedule | None:
        window, *others = op.windows()
        if not core.fpu or core.small or element_type_of(op.x) != f32 or others or shape_of(op.x)[1] != 1:
            return None
        if (window.stride, window.dilation, window.before, window.after) != (1, 1, 0, 0):
            return None
        most = core.scalars.sums.most
        return FirSchedule(1, min(most, window.positions), min(most, window.size))

    def cost(self, op: ConvOp, schedule: FirSchedule, core: Core) -> float:
        """Of each tile the weights and samples of a block of taps, and its multiply-adds."""
        costs, (images, outputs, positions) = core.scalars.sums, shape_of(op.result)

        def block(rows: int, taps: int) -> float:
            return taps + (rows + taps - 1) + rows * taps + costs.loop

        def tile(rows: int) -> float:
            blocks = segments(op.windows()[0].size, schedule.taps)
            return sum(part.count * block(rows, part.size) for part in blocks) + rows * costs.result + costs.tile

        return images * outputs * sum(part.count * tile(part.size) for part in segments(positions, schedule.positions))

    def nest(self, nest: Nest[ConvOp, FirSchedule]) -> None:
        op, b, schedule, (images, outputs, positions) = nest.op, nest.b, nest.schedule, nest.shape
        (window,), zero = op.windows(), b.index(0)

        def tile(image: Scalar, output: Scalar, first: Scalar, rows: int) -> None:
            def add(tap: Scalar, sums: list[Scalar], taps: int) -> list[Scalar]:
                samples = [nest.reads[0]([image, zero, first + tap + number]) for number in range(rows + taps - 1)]
                for number in range(taps):
                    weight = nest.reads[1]([output, zero, tap + number])
                    sums = [b.fma(samples[row + number], weight, total) for row, total in enumerate(sums)]
                return sums

            sums = [op.initial(b, nest.reads, [output])] * rows
            for part in segments(window.size, schedule.taps):
                sums = b.loop(
                    part.start, part.stop, part.size, sums, lambda tap, now, part=part: add(tap, now, part.size)
                )
            for row, total in enumerate(sums):
                nest.write([image, output, first + row], total)

        def line(index: list[Scalar]) -> None:
            image, output = index
            b.parallel_segments(positions, schedule.positions, lambda first, rows: tile(image, output, first, rows))

        b.parallel_for([images, outputs], line)


STRATEGIES = {ConvOp: (FirStrategy(),)}
