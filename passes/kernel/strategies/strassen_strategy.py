"""Strassen's algorithm: `graph.strassen_matmul` on a weight that was transformed into sums of quarters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, SSAValue

from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.packed.products.strassen_matmul import StrassenMatMulOp, StrassenWeightOp
from aotc.dialects.graph.schedules import MatmulSchedule, Schedule, StrassenAttr
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.costs.parts_cost import choose_parts
from aotc.passes.kernel.costs.strassen_cost import (
    ProductSizes,
    choose_strassen,
    strassen_choices,
    strassen_cycles,
    strassen_schedule,
    strassen_work,
)
from aotc.passes.kernel.layouts import Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.products.strassen_nest import StrassenNest
from aotc.passes.kernel.strategy import KernelStrategy, Prologue


class StrassenStrategy(KernelStrategy[MatMulOp]):
    """`graph.matmul` of an lhs that is not transposed with one constant matrix, where its `algorithm` says so."""

    SCHEDULES = (MatmulSchedule,)
    ALGORITHMS = (StrassenAttr,)
    PROLOGUES = (Prologue.MOVED,)

    def algorithm(self, op: MatMulOp, machine: Machine) -> Attribute | None:
        """Strassen's algorithm where that is faster."""
        return choose_strassen(machine, element_type_of(op.lhs), _sizes(op)) if _is_applicable(op) else None

    def algorithms(self, op: MatMulOp, machine: Machine) -> Sequence[Attribute]:
        return strassen_choices(machine, element_type_of(op.lhs), _sizes(op)) if _is_applicable(op) else ()

    def schedule(self, op: MatMulOp, machine: Machine) -> Schedule | None:
        if not isinstance(algorithm := op.attributes.get(op.ALGORITHM), StrassenAttr):
            return None
        sizes, kind = _sizes(op), element_type_of(op.lhs)
        left, rows = sizes.left(lanes_of_products(machine, kind)), min(algorithm.rows.data, sizes.rows + 1) // 2
        return strassen_schedule(machine, kind, rows, left, sizes.upper)

    def cost(self, op: MatMulOp, schedule: MatmulSchedule, machine: Machine) -> float:
        return strassen_cycles(machine, element_type_of(op.lhs), _sizes(op))

    def lower(self, op: MatMulOp, layouts: Layouts, schedule: MatmulSchedule) -> SSAValue | None:
        """Sums of the quarters of the constant are packed at compile time."""
        algorithm = op.attributes.get(op.ALGORITHM)
        if not isinstance(algorithm, StrassenAttr):
            return None
        left, width = _sizes(op).left(schedule.lanes), schedule.nr * schedule.lanes
        weight = StrassenWeightOp.get(op.rhs, left=left, width=width, transpose=op.transpose_rhs)
        columns, rows = shape_of(op.result)[-1], algorithm.rows.data
        product = StrassenMatMulOp.get(op.lhs, layouts.add(weight), columns=columns, left=left, block_rows=rows)
        return layouts.narrowed(layouts.scheduled(product, schedule), op.result)


def _is_applicable(op: MatMulOp) -> bool:
    single = len(shape_of(op.rhs)) == 2 and not op.transpose_lhs
    return single and isinstance(op.rhs.owner, ConstantOp)


def _sizes(op: MatMulOp) -> ProductSizes:
    batch, m, n, depth = op.sizes()
    return ProductSizes(math.prod(batch), m, n, depth)


class StrassenMatMulStrategy(KernelStrategy[StrassenMatMulOp]):
    """`graph.strassen_matmul`: seven batched matmuls of sums for each block of rows."""

    SCHEDULES = (MatmulSchedule,)
    PROLOGUES = (Prologue.MOVED, Prologue.STORED)

    def schedule(self, op: StrassenMatMulOp, machine: Machine) -> Schedule | None:
        sizes = op.sizes
        return strassen_schedule(machine, element_type_of(op.lhs), sizes.height, sizes.left, sizes.upper)

    def cost(self, op: StrassenMatMulOp, schedule: MatmulSchedule, machine: Machine) -> float:
        sizes = op.sizes
        product = ProductSizes(math.prod(sizes.batch), sizes.rows, sizes.columns, sizes.depth)
        return strassen_cycles(machine, element_type_of(op.lhs), product)

    def parts(self, op: StrassenMatMulOp, machine: Machine, threads: int) -> Mapping[str, int]:
        """Parts of the blocks of rows, and of panels."""
        sizes = op.sizes
        given = ProductSizes(math.prod(sizes.batch), sizes.rows, sizes.columns, sizes.depth)
        work = strassen_work(machine, element_type_of(op.lhs), given, sizes.block_rows, sizes.panels)
        parts = choose_parts(machine, work, threads)
        return {"row_parts": parts.rows, "panel_parts": parts.panels}

    def nest(self, nest: Nest[StrassenMatMulOp, MatmulSchedule]) -> None:
        StrassenNest.of(nest, first=nest.b.index(0)).emit()
