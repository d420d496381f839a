"""Matrix multiplication.

Every result element accumulates in a register, in index order, in the compute type of its elements (f16 and bf16 in
f32; integers wrap).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def

from aotc.dialects.graph import arrays
from aotc.dialects.graph.interfaces import (
    Array,
    Prologue,
    ShapeError,
    element_type_of,
    shape_of,
)
from aotc.dialects.graph.loops import LoopBuilder, Reader, Writer
from aotc.dialects.graph.packed.matmul import Elements, PackColumnsOp, PackedMatMulOp, ProductOp
from aotc.dialects.graph.packed.strassen import StrassenMatMulOp, StrassenWeightOp
from aotc.dialects.graph.scalars import Scalar
from aotc.dialects.graph.schedule import Machine, Schedule, schedule_of
from aotc.dialects.graph.shapes import broadcast
from aotc.dialects.graph.structure import ConstantOp
from aotc.passes.kernel.builders.tile_builder import NotTileable, TileBuilder
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.costs.products import product_schedule
from aotc.passes.kernel.costs.strassen import (
    ProductSizes,
    StrassenAttr,
    choose_strassen,
    strassen_choices,
    strassen_schedule,
)

if TYPE_CHECKING:
    from aotc.passes.kernel.layouts import Layouts


@irdl_op_definition
class MatMulOp(ProductOp):
    """A product with matrices rhs [..., K, N]; `transpose_rhs` says that they are stored [..., N, K]."""

    name = "graph.matmul"
    transpose_rhs = opt_prop_def(BoolAttr)
    MATRIX_RANK: ClassVar[int] = 2

    def sizes(self) -> tuple[tuple[int, ...], int, int, int]:
        lhs, rhs = shape_of(self.lhs), shape_of(self.rhs)
        if len(lhs) < 2 or len(rhs) < 2:
            raise ShapeError(f"operands must be matrices or batches of them, found {list(lhs)} and {list(rhs)}")
        m, k = reversed(lhs[-2:]) if self.flag("transpose_lhs") else lhs[-2:]
        depth, n = reversed(rhs[-2:]) if self.flag("transpose_rhs") else rhs[-2:]
        if k != depth:
            raise ShapeError(f"{list(lhs)} and {list(rhs)} do not multiply: inner dimensions are {k} and {depth}")
        return broadcast(lhs[:-2], rhs[:-2]), m, n, k

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        dtype = operands[0].dtype
        lhs, rhs = (arrays.widen(operand) for operand in operands)
        if self.flag("transpose_lhs"):
            lhs = lhs.swapaxes(-1, -2)
        if self.flag("transpose_rhs"):
            rhs = rhs.swapaxes(-1, -2)
        return [arrays.convert(np.matmul(lhs, rhs), dtype)]

    def right(self, b: LoopBuilder, read: Reader, outer: Sequence[Scalar], column: Scalar) -> Elements:
        matrix = self.matrix(b, outer)
        return lambda k: read([*matrix, *((column, k) if self.flag("transpose_rhs") else (k, column))])

    def prologue(self, operand: int) -> Prologue:
        return Prologue.MOVED

    def schedule_on(self, machine: Machine) -> Schedule | None:
        _, m, n, depth = self.sizes()
        if isinstance(algorithm := self.attributes.get(self.ALGORITHM), StrassenAttr):
            sizes, lanes = self._sizes(), lanes_of_products(machine, element_type_of(self.lhs))
            rows = min(algorithm.rows.data, m + 1) // 2
            return strassen_schedule(machine, element_type_of(self.lhs), rows, sizes.left(lanes), sizes.upper)
        streamed = isinstance(self.rhs.owner, ConstantOp)
        return product_schedule(machine, element_type_of(self.lhs), m, n, depth, streamed=streamed)

    def algorithm_on(self, machine: Machine) -> Attribute | None:
        """Strassen's, where that takes less time."""
        return choose_strassen(machine, element_type_of(self.lhs), self._sizes()) if self._is_strassen() else None

    def algorithms_on(self, machine: Machine) -> Sequence[Attribute]:
        return strassen_choices(machine, element_type_of(self.lhs), self._sizes()) if self._is_strassen() else ()

    def _is_strassen(self) -> bool:
        """Whether the operands are what Strassen is for: rows as they lie, times one constant matrix."""
        single = len(shape_of(self.rhs)) == 2 and not self.flag("transpose_lhs")
        return single and isinstance(self.rhs.owner, ConstantOp)

    def _sizes(self) -> ProductSizes:
        batch, m, n, depth = self.sizes()
        return ProductSizes(math.prod(batch), m, n, depth)

    def lay_out(self, layouts: Layouts) -> SSAValue | None:
        """A constant is packed at compile time; rows are packed to columns where they are to be multiplied."""
        schedule, transposed = schedule_of(self), self.flag("transpose_rhs")
        if schedule is None or not (transposed or layouts.is_constant(self.rhs)):
            return None
        width = schedule.tile[1] * schedule.lanes
        if isinstance(algorithm := self.attributes.get(self.ALGORITHM), StrassenAttr):
            left = self._sizes().left(schedule.lanes)
            weight = StrassenWeightOp.get(self.rhs, left=left, width=width, transpose=transposed or None)
            columns, rows = shape_of(self.result)[-1], algorithm.rows.data
            by_seven = StrassenMatMulOp.get(self.lhs, layouts.add(weight), columns=columns, left=left, block_rows=rows)
            return layouts.scheduled(by_seven, schedule)
        panels = layouts.add(PackColumnsOp.get(self.rhs, width=width, transpose=transposed or None))
        product = PackedMatMulOp.get(
            self.lhs, panels, columns=shape_of(self.result)[-1], transpose_lhs=self.flag("transpose_lhs") or None
        )
        return layouts.scheduled(product, schedule)

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        if self.flag("transpose_rhs"):
            raise NotTileable("the columns of a transposed operand do not lie along the lanes")
        super().tiled_loops(b, reads, writes, schedule)
