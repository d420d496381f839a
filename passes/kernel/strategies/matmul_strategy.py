"""Matrix products on register tiles, with a constant right matrix packed into panels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from xdsl.ir import SSAValue

from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import byte_width, compute_type
from aotc.dialects.graph.elementwise import MulOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.packed.products.packed_matmul import PackedMatMulOp, ProductOp, column_panels
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.schedules import MatmulSchedule, Schedule, ScheduleAttr
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.costs.product_cost import product_cycles, product_schedule
from aotc.passes.kernel.layouts import Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.products.matmul_nest import MatmulNest, PartialSums, Place, StepFactors, prefetch_panel
from aotc.passes.kernel.spatial_tiling import Box, SpatialTiling, TiledImplementation, whole
from aotc.passes.kernel.strategy import KernelStrategy, Prologue

Product = TypeVar("Product", bound=ProductOp)


class ProductStrategy(KernelStrategy[Product]):
    """Matrix products, whatever the layout of the operands."""

    SCHEDULES = (MatmulSchedule,)

    def schedule(self, op: Product, machine: Machine) -> Schedule | None:
        _, m, n, depth = op.sizes()
        return product_schedule(machine, element_type_of(op.lhs), m, n, depth, streamed=self.is_streamed(op))

    def is_streamed(self, op: Product) -> bool:
        """Whether the right matrix is streamed from memory panel by panel, as weights are."""
        return True

    def cost(self, op: Product, schedule: MatmulSchedule, machine: Machine) -> float:
        batch, m, n, depth = op.sizes()
        return math.prod(batch) * product_cycles(machine, schedule, m, n, depth)

    def spatial_tiling(self, op: Product, schedule: MatmulSchedule) -> SpatialTiling | None:
        """Tiles of a product [.., M, N] are some rows of one batch index."""
        if op.scratch():
            return None
        rank = len(shape_of(op.result))
        return SpatialTiling(range(rank - 2), rank - 2, schedule.mr)

    def tiled_implementation(self, op: Product, box: Box) -> TiledImplementation | None:
        """The product of a box: some rows, all columns, of some batch indices."""
        *batch, rows, columns = box
        if columns != whole(op.result)[-1] or op.scratch():
            return None

        def batches(extents: Sequence[int]) -> Box:
            last = batch[len(batch) - len(extents) :]
            return tuple(range(1) if extent == 1 else axis for extent, axis in zip(extents, last, strict=True))

        transposed = op.transpose_lhs
        outer, matrix = shape_of(op.rhs)[: -op.MATRIX_RANK], whole(op.rhs)[-op.MATRIX_RANK :]
        depth = whole(op.lhs)[-2 if transposed else -1]
        of_lhs = (depth, rows) if transposed else (rows, depth)
        return TiledImplementation(op, ((*batches(shape_of(op.lhs)[:-2]), *of_lhs), (*batches(outer), *matrix)))

    def factors(self, nest: Nest[Product, MatmulSchedule], place: Place) -> StepFactors:
        """The two factors of each reduction step of a register tile."""
        left = nest.op.left(nest.b, nest.reads[0], place.outer, place.row)
        right = nest.op.right(nest.b, nest.reads[1], place.outer, place.column)
        return lambda k: (left(k), right(k))

    def nest(self, nest: Nest[Product, MatmulSchedule]) -> None:
        def store(place: Place, total: Scalar) -> None:
            nest.write([*place.outer, place.row, place.column], total)

        (batch, *sizes), kind, partials = nest.op.sizes(), element_type_of(nest.op.lhs), PartialSums.of(nest)
        factors = partial(self.factors, nest)
        MatmulNest(nest.b, nest.schedule, kind, batch, sizes, factors, store, partials=partials).emit()


class MatMulStrategy(ProductStrategy[MatMulOp]):
    """`graph.matmul`: computed as it is, or lowered to `graph.packed_matmul`."""

    PROLOGUES = (Prologue.MOVED,)
    BROADCASTS = True

    def is_streamed(self, op: MatMulOp) -> bool:
        return isinstance(op.rhs.owner, ConstantOp)

    def lower(self, op: MatMulOp, layouts: Layouts, schedule: MatmulSchedule) -> SSAValue | None:
        """Pack the right matrix into panels where it is constant (at compile time) or transposed (when the model runs).

        Without packing, the reduction is not blocked. Packing what one row is multiplied with takes longer than the
        product, which is done without where the terms of a column are neighbours.
        """
        transposed = op.transpose_rhs
        packed = transposed or layouts.is_constant(op.rhs)
        if transposed and not layouts.is_constant(op.rhs) and self._is_one_row(op):
            terms = layouts.add(MulOp.get(op.lhs, op.rhs))
            sums = layouts.add(ReduceOp.get(terms, kind="sum", axes=[-1]))
            return layouts.add(ReshapeOp.get(sums, shape=shape_of(op.result)))
        if schedule.kc is not None and (not packed or schedule.kc >= op.sizes()[-1]):
            schedule = replace(schedule, kc=None)
            op.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(schedule)
        if not packed:
            return None
        width = schedule.nr * schedule.lanes
        panels = layouts.packed(op.rhs, column_panels(len(shape_of(op.rhs)), width, transposed=transposed))
        product = PackedMatMulOp.get(
            op.lhs,
            panels,
            columns=shape_of(op.result)[-1],
            transpose_lhs=op.transpose_lhs,
            partials=schedule.kc is not None,
        )
        return layouts.scheduled(product, schedule)

    def _is_one_row(self, op: MatMulOp) -> bool:
        """Whether the left matrix is one row, and no elements are widened to be multiplied and added up."""
        kind, other = element_type_of(op.lhs), element_type_of(op.rhs)
        return op.sizes()[1] == 1 and not op.transpose_lhs and compute_type(kind) == kind == other

    def nest(self, nest: Nest[MatMulOp, MatmulSchedule]) -> None:
        if nest.op.transpose_rhs:
            raise NotVectorizable("the columns of a transposed operand do not lie along the lanes")
        super().nest(nest)


class PackedMatMulStrategy(ProductStrategy[PackedMatMulOp]):
    """`graph.packed_matmul`: panels of NR vectors are streamed."""

    PROLOGUES = (Prologue.MOVED, Prologue.STORED)

    def factors(self, nest: Nest[PackedMatMulOp, MatmulSchedule], place: Place) -> StepFactors:
        op, b, schedule, (left_read, right, *_) = nest.op, nest.b, nest.schedule, nest.reads
        left, matrix = op.left(b, left_read, place.outer, place.row), op.matrix(b, place.outer)
        lanes = place.tile.index(b, 0, {-2: schedule.lanes, -1: 1})
        share = op.sizes()[1], byte_width(element_type_of(op.rhs))

        def at(k: Scalar) -> tuple[Scalar, Scalar]:
            following = [*matrix, place.panel + 1]
            prefetch_panel(b, schedule, right, following, place.first, share, shape_of(op.rhs)[-2:], k)
            return left(k), right([*matrix, place.panel, k, lanes])

        return at

    def nest(self, nest: Nest[PackedMatMulOp, MatmulSchedule]) -> None:
        if shape_of(nest.op.rhs)[-1] != nest.schedule.nr * nest.lanes:
            raise NotVectorizable("the panels have another width than the register tile")
        super().nest(nest)
