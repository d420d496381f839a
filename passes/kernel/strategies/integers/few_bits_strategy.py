"""Products of floats with matrices of integers of few bits, scaled in blocks, which stay packed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from xdsl.dialects.builtin import IntegerType, f32, i8
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import ELEMENT_TYPES, compute_type, is_float, is_unsigned
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.interfaces import element_type_of, producer, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import BroadcastOp, ReshapeOp
from aotc.dialects.graph.packed.products.packed_matmul import WORD_BITS, FewBitsMatMulOp, PackFewBitsOp, column_panels
from aotc.dialects.graph.quantized.nibbles import FewBitsMatrix
from aotc.dialects.graph.schedules import FewBitsSchedule, Schedule
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.costs.few_bits_cost import few_bits_cycles, few_bits_schedule
from aotc.passes.kernel.layouts import Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.products.few_bits_nest import FewBitsNest, row_axis
from aotc.passes.kernel.strategy import KernelStrategy, Prologue

Product = TypeVar("Product", MatMulOp, FewBitsMatMulOp)


def _sizes(op: MatMulOp | FewBitsMatMulOp) -> tuple[int, int, int, int]:
    """How many rows are neighbours, how often there are so many, N and K."""
    batch, rows, columns, depth = op.sizes()
    extents = (*batch, rows)
    repeats = extents[row_axis(extents)]
    return repeats, math.prod(extents) // max(repeats, 1), columns, depth


class _Tiled(KernelStrategy[Product]):
    """Conditions on both operations."""

    SCHEDULES = (FewBitsSchedule,)

    def cost(self, op: Product, schedule: FewBitsSchedule, machine: Machine) -> float:
        rows, times, columns, depth = _sizes(op)
        return few_bits_cycles(machine, schedule, rows, columns, depth, times)

    def candidates(self, op: Product, schedule: FewBitsSchedule, machine: Machine) -> Iterator[Schedule]:
        """And the other place to unpack to."""
        yield from super().candidates(op, schedule, machine)
        yield replace(schedule, kc=op.sizes()[-1] if schedule.kc is None else None)


class FewBitsStrategy(_Tiled[MatMulOp]):
    """Lowers to `graph.few_bits_matmul`."""

    KEEPS_PACKED = True
    PROLOGUES = (Prologue.MOVED,)
    BROADCASTS = True

    def schedule(self, op: MatMulOp, machine: Machine) -> Schedule | None:
        matrix = FewBitsMatrix.of(op.rhs, op.transpose_rhs)
        kind = element_type_of(op.lhs)
        if matrix is None or op.transpose_lhs or not is_float(kind) or compute_type(kind) != f32:
            return None
        count, depth = WORD_BITS // matrix.bits, op.sizes()[-1]
        if compute_type(element_type_of(matrix.scales)) != f32 or (matrix.block % count and matrix.block < depth):
            return None
        return few_bits_schedule(machine, *_sizes(op), count, matrix.block)

    def lower(self, op: MatMulOp, layouts: Layouts, schedule: FewBitsSchedule) -> SSAValue | None:
        matrix = FewBitsMatrix.of(op.rhs, op.transpose_rhs)
        if matrix is None:
            return None
        width = schedule.nr * schedule.lanes
        kind = element_type_of(matrix.values)
        assert isinstance(kind, IntegerType)
        offset = 0 if is_unsigned(kind) else 2 ** (matrix.bits - 1)
        words = PackFewBitsOp.get(
            matrix.values, bits=matrix.bits, offset=offset, width=width, transpose=matrix.transposed
        )
        point, points = _known_point(matrix), None
        if point is None:
            assert matrix.points is not None
            given = matrix.points
            if not is_float(element_type_of(given)):  # a byte each, as memory holds them
                given = layouts.add(CastOp.get(given, to=ELEMENT_TYPES["uint8"] if is_unsigned(kind) else i8))
            points = self._table(given, matrix, op, width, layouts)
        product = FewBitsMatMulOp.get(
            op.lhs,
            layouts.add(words),
            self._table(matrix.scales, matrix, op, width, layouts),
            points,
            columns=op.sizes()[2],
            bits=matrix.bits,
            block=matrix.block,
            point=float(offset + (point or 0)),
            to=element_type_of(op.result),
            kc=schedule.kc,
            panel=schedule.kc is not None,
        )
        return layouts.scheduled(product, schedule)

    def _table(self, value: SSAValue, matrix: FewBitsMatrix, op: MatMulOp, width: int, layouts: Layouts) -> SSAValue:
        """Scales or zero points in panels."""
        columns = op.sizes()[2]
        if shape_of(value) in ((), (1,)):
            blocks = -(-op.sizes()[3] // matrix.block)
            value = layouts.add(BroadcastOp.get(value, shape=[blocks, columns]))
        elif len(shape_of(value)) == 1:
            value = layouts.add(ReshapeOp.get(value, shape=[1, columns]))
        elif matrix.transposed:
            return layouts.packed(value, column_panels(2, width, transposed=True))
        return layouts.packed(value, column_panels(2, width))


def _known_point(matrix: FewBitsMatrix) -> float | None:
    """The one zero point; None where there are several."""
    if matrix.points is None:
        return 0
    constant = producer(matrix.points, ConstantOp)
    if constant is None or shape_of(matrix.points) not in ((), (1,)):
        return None
    return float(constant.inline_array().reshape(()))


class FewBitsMatMulStrategy(_Tiled[FewBitsMatMulOp]):
    """`graph.few_bits_matmul`: panels of words are streamed."""

    PROLOGUES = (Prologue.MOVED, Prologue.STORED)

    def schedule(self, op: FewBitsMatMulOp, machine: Machine) -> Schedule | None:
        return few_bits_schedule(machine, *_sizes(op), op.count, op.block)

    def nest(self, nest: Nest[FewBitsMatMulOp, FewBitsSchedule]) -> None:
        if shape_of(nest.op.rhs)[-1] != nest.schedule.nr * nest.lanes:
            raise NotVectorizable("the panels have another width than the register tile")
        FewBitsNest.of(nest).emit()
