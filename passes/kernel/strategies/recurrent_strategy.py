"""Recurrent layers: weights in panels, products on register tiles; without vectors, several columns at once."""

from dataclasses import replace

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import byte_width, compute_type
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.packed.products.packed_matmul import column_panels
from aotc.dialects.graph.recurrent.recurrence import RecurrenceOp
from aotc.dialects.graph.recurrent.rows import Rows
from aotc.dialects.graph.schedules import RecurrenceSchedule, Schedule, SumsSchedule
from aotc.machines.machine import Core, Machine
from aotc.passes.kernel.costs.dot_cost import dot_machine
from aotc.passes.kernel.costs.product_cost import product_schedule
from aotc.passes.kernel.costs.recurrent_cost import Ahead, Layer, Lead, ahead, lead
from aotc.passes.kernel.costs.sums_cost import scheduled_cycles
from aotc.passes.kernel.layouts import Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.products.recurrent_nest import TileRows
from aotc.passes.kernel.projections import following, given, preceding, single
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies


class RecurrenceStrategy(KernelStrategy[RecurrenceOp]):
    """On vectors: each step streams the packed weights once for MR rows."""

    SCHEDULES = (RecurrenceSchedule,)

    def schedule(self, op: RecurrenceOp, machine: Machine) -> Schedule | None:
        steps, batch, units = op.sizes
        rows = 1 if op.alone else batch
        kind, group = element_type_of(op.x), op.INTERLEAVED
        if group > 1:
            machine, kind = dot_machine(machine), i32
        found = product_schedule(machine, kind, rows, op.columns, units // group)
        if found is None:
            return None
        gates = max(machine.use.chain // (op.GATES * found.mr), 1)
        weights = sum(columns * units * byte_width(element_type_of(matrix)) for matrix, columns in op.matrices())
        # from beyond L2 a strip is read faster forward, as processors prefetch it
        turned = steps > 1 and weights <= machine.l2
        found = RecurrenceSchedule(found.lanes, found.mr, found.nr, found.unroll, gates, turned)
        own, next_ = _plan(op, machine)
        if own is not None:
            found = replace(found, ahead=own.rows, across=own.across, beside=own.beside)
        return found if next_ is None else replace(found, leading=next_.steps, following=next_.beside)

    def lower(self, op: RecurrenceOp, layouts: Layouts, schedule: RecurrenceSchedule) -> SSAValue | None:
        matrices = [value for value, _ in op.matrices()]
        if any(len(shape_of(value)) == 3 for value in matrices):
            return None
        panels = column_panels(2, schedule.nr * schedule.lanes, transposed=True)
        panels = panels if op.INTERLEAVED == 1 else panels.interleaved(op.INTERLEAVED)
        packed = {value: layouts.packed(value, panels) for value in matrices}
        new = op.clone()
        new.operands = [packed.get(value, value) for value in op.operands]
        return layouts.scheduled(new, schedule)

    def prologue(self, op: RecurrenceOp, operand: int) -> Prologue:
        return Prologue.COMPUTED if op.operands[operand] in (op.x, op.initial_h) else Prologue.STORED

    def nest(self, nest: Nest[RecurrenceOp, RecurrenceSchedule]) -> None:
        rows = TileRows(nest.b, nest.schedule, compute_type(element_type_of(nest.op.x)))
        nest.op.nest(nest.b, nest.reads, nest.writes, rows)


def _layer(op: RecurrenceOp, machine: Machine) -> Layer | None:
    """A layer of a single row that may multiply its inputs itself, or does; None if they are multiplied otherwise."""
    found = given(op) if single(op) else None
    tile = product_schedule(machine, f32, 1, op.columns, op.sizes[2])
    if found is None or tile is None:
        return None
    return Layer(machine, tile.lanes, tile.nr, op.sizes[0], op.columns, (op.sizes[2], shape_of(found.rows)[-1]))


def _plan(op: RecurrenceOp, machine: Machine) -> tuple[Ahead | None, Lead | None]:
    """The tile of a layer's own inputs, and what it multiplies for the following layer."""
    layer = _layer(op, machine)
    if layer is None:
        return None, None
    begun, across = op.begun_steps, None
    if op.begun is None and (before := preceding(op)) is not None:
        _, lead_before = _plan(before, machine)
        begun = 0 if lead_before is None else lead_before.steps
    if begun and (alone := ahead(layer)) is not None:
        across = alone.across  # the weight was packed for this before
    own = ahead(layer, begun, across)
    if (after := following(op)) is None or (then := _layer(after, machine)) is None:
        return own, None
    tile = ahead(then)
    return own, None if tile is None else lead(layer, own, begun, then, tile)


class ScalarRecurrenceStrategy(KernelStrategy[RecurrenceOp]):
    """In the registers of a core without vectors: several columns of a product share each element of the state."""

    ON_VECTORS = False
    SCHEDULES = (SumsSchedule,)
    TILES = False
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: RecurrenceOp, core: Core) -> Schedule | None:
        costs, registers = core.scalars.sums, core.scalars.float_registers or core.scalars.registers
        columns = max(min(costs.most_small if core.small else costs.most, op.columns, registers // 2), 1)
        unroll = 1 if core.small else min(max(costs.unrolled // columns, 1), op.sizes[2])
        return SumsSchedule(1, 1, columns, unroll=max(unroll, 1))

    def cost(self, op: RecurrenceOp, schedule: SumsSchedule, core: Core) -> float:
        """Of the products with the state: what is done for each unit is the same in every way."""
        steps, batch, units = op.sizes
        return sum(
            steps * batch * scheduled_cycles(core.scalars, schedule, 1, columns, 1, units, floats=True)
            for _, columns in op.matrices()
        )

    def nest(self, nest: Nest[RecurrenceOp, SumsSchedule]) -> None:
        rows = Rows(nest.b, nest.schedule.columns, nest.schedule.unroll)
        nest.op.nest(nest.b, nest.reads, nest.writes, rows)


STRATEGIES: Strategies = {RecurrenceOp: (RecurrenceStrategy(), ScalarRecurrenceStrategy())}
