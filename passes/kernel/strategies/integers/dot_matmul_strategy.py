"""Products of 8-bit integers with a constant matrix on register tiles: dot products of four steps of the reduction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import TransposeOp
from aotc.dialects.graph.packed.integers.dot_products import GROUP, PackedDotMatMulOp, ZeroPointBiasOp
from aotc.dialects.graph.packed.products.packed_matmul import column_panels
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.dialects.graph.schedules import MatmulSchedule, Schedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.costs.dot_cost import dot_machine
from aotc.passes.kernel.costs.product_cost import product_cycles, product_schedule
from aotc.passes.kernel.layouts import Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.products.matmul_nest import MatmulNest, Place, Products, StepFactors, prefetch_panel
from aotc.passes.kernel.strategies.integers.dot_conv_strategy import complements
from aotc.passes.kernel.strategy import KernelStrategy, Prologue


def _schedule(machine: Machine, sizes: tuple[Sequence[int], int, int, int]) -> Schedule | None:
    _, rows, columns, depth = sizes
    return product_schedule(dot_machine(machine), i32, rows, columns, depth // GROUP, streamed=True)


def _panel_width(schedule: MatmulSchedule, columns: int) -> int:
    """Columns of a panel in memory: those of NR registers; of a matrix that has fewer, as many as there are, rounded up
    so that a row is whole words of 16 bytes."""
    return min(schedule.nr * schedule.lanes, ceil_div(columns, GROUP) * GROUP)


def _cycles(machine: Machine, schedule: MatmulSchedule, sizes: tuple[Sequence[int], int, int, int]) -> float:
    batch, rows, columns, depth = sizes
    return math.prod(batch) * product_cycles(dot_machine(machine), schedule, rows, columns, depth // GROUP)


class DotMatMulStrategy(KernelStrategy[MatMulOp]):
    """Lowers to `graph.packed_dot_matmul`."""

    SCHEDULES = (MatmulSchedule,)
    SUMS_INTEGERS = True

    def schedule(self, op: MatMulOp, machine: Machine) -> Schedule | None:
        kinds = element_type_of(op.lhs), element_type_of(op.rhs)
        if (
            kinds not in ((i8, i8), (UI8, i8))
            or op.zero_points[1]
            or op.transpose_lhs
            or len(shape_of(op.rhs)) != 2
            or not Layouts.is_constant(op.rhs)
        ):
            return None
        return _schedule(machine, op.sizes())

    def cost(self, op: MatMulOp, schedule: MatmulSchedule, machine: Machine) -> float:
        return _cycles(machine, schedule, op.sizes())

    def lower(self, op: MatMulOp, layouts: Layouts, schedule: MatmulSchedule) -> SSAValue | None:
        transposed = op.transpose_rhs
        columns = op.rhs if transposed else layouts.add(TransposeOp.get(op.rhs, permutation=[1, 0]))
        none: list[int] = []
        complement = complements(op.lhs, layouts)
        start = ZeroPointBiasOp.get(
            columns,
            None,
            zero_point=op.zero_points[0],
            extents=none,
            strides=none,
            pads=none,
            dilations=none,
            complement=complement,
        )
        width = _panel_width(schedule, op.sizes()[2])
        panels = column_panels(2, width, transposed=transposed).interleaved(GROUP)
        operands = op.lhs, layouts.packed(op.rhs, panels), layouts.add(start)
        return layouts.scheduled(PackedDotMatMulOp.get(*operands, complement=complement), schedule)


class PackedDotMatMulStrategy(KernelStrategy[PackedDotMatMulOp]):
    """`graph.packed_dot_matmul`: panels of NR vectors are streamed."""

    SCHEDULES = (MatmulSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: PackedDotMatMulOp, machine: Machine) -> Schedule | None:
        return _schedule(machine, op.sizes())

    def cost(self, op: PackedDotMatMulOp, schedule: MatmulSchedule, machine: Machine) -> float:
        return _cycles(machine, schedule, op.sizes())

    def nest(self, nest: Nest[PackedDotMatMulOp, MatmulSchedule]) -> None:
        op, b, schedule, (left, right, start) = nest.op, nest.b, nest.schedule, nest.reads
        batch, rows, columns, depth = op.sizes()
        panel = shape_of(op.rhs)[-2:]
        if panel[-1] != _panel_width(schedule, columns) * GROUP:
            raise NotVectorizable("the panels have another width than the register tile")
        products = Products(GROUP, narrow_pairs=op.narrow, complement=op.complement)

        def factors(place: Place, present: int | None = None) -> StepFactors:
            wide = products.tile(place.tile, present)
            row = wide.index(b, place.first, {0: 1})
            stored = panel[-1] if panel[-1] % wide.shape[-1] else None  # whole registers, but where columns are few
            lanes = replace(wide, valid=stored).index(b, 0, {-2: wide.shape[-1], -1: 1})

            def at(k: Scalar) -> tuple[Scalar, Scalar]:
                prefetch_panel(b, schedule, right, [place.panel + 1], place.first, (rows, 1), panel, k)
                return left([*place.outer, row, k * GROUP]), right([place.panel, k, lanes])

            return at

        def store(place: Place, total: Scalar) -> None:
            if depth % GROUP:
                total = products.add(b, *factors(place, depth % GROUP)(b.index(depth // GROUP)), total)
            total = total + b.splat(start([place.column]), place.tile)
            nest.write([*place.outer, place.row, place.column], total)

        MatmulNest(b, schedule, i32, batch, (rows, columns, depth // GROUP), factors, store, products=products).emit()
