"""Matrix products, those with a matrix packed into panels of columns, and the packing.

Panels may be of integers of few bits, scaled in blocks, several of them in a word: a word of 32 bits holds neighbours
along the reduction, so that a register of words is as many steps of as many columns as it has lanes, each one a shift
and a mask away.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_result_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import compute_type, is_float
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import (
    Array,
    ConstantPackerOp,
    ParallelOp,
    ShapeError,
    element_type_of,
    narrowest_element_type,
    shape_of,
)
from aotc.dialects.graph.packed.layout import Layout, Mode, blocks
from aotc.dialects.graph.schedules import FewBitsSchedule, MatmulScheduledOp, schedule_of
from aotc.dialects.graph.shapes import broadcast, broadcast_index, ceil_div
from aotc.dialects.properties import float_prop, int_prop, opt_bool_prop, opt_int_prop


def column_panels(rank: int, width: int, *, transposed: bool = False) -> Layout:
    """A matrix [.., K, N] (`transposed`: [.., N, K]) as panels of `width` columns: [.., ceil(N / width), K, width]."""
    row, column = (rank - 1, rank - 2) if transposed else (rank - 2, rank - 1)
    panel, lane = blocks(column, width)
    return Layout("columns", (*((Mode(dim),) for dim in range(rank - 2)), (panel,), (Mode(row),), (lane,)))


Elements: TypeAlias = Callable[[Scalar], Scalar]
"""The elements of a row or column, by their position along the reduction."""


class SizedProductOp(ParallelOp, ABC):
    """A product of matrices, for each index of batch dimensions."""

    @abstractmethod
    def sizes(self) -> tuple[tuple[int, ...], int, int, int]:
        """The batch shape, M, N and K; raises ShapeError."""

    def operations(self) -> int:
        batch, *sizes = self.sizes()
        return 2 * math.prod((*batch, *sizes))


class ProductOp(SizedProductOp, ABC):
    """lhs [.., M, K] times a matrix [K, N] for each index of the batch dimensions, which broadcast: [.., M, N].

    `transpose_lhs` says that lhs is stored [.., K, M].
    """

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    transpose_lhs = opt_bool_prop()

    MATRIX_RANK: ClassVar[int]
    """How many dimensions of rhs, the last ones, are a matrix."""

    @abstractmethod
    def right(self, b: Builder, read: Reader, outer: Sequence[Scalar], column: Scalar) -> Elements:
        """A column of the matrix."""

    def infer_types(self) -> Sequence[TensorType]:
        batch, m, n, _ = self.sizes()
        return [TensorType(self.product_type(), [*batch, m, n])]

    def product_type(self) -> Attribute:
        """The result's element type; raises ShapeError."""
        return narrowest_element_type(self.lhs, self.rhs)

    def multiplied(self, b: Builder, *values: Scalar) -> list[Scalar]:
        """Elements of lhs and rhs as they are multiplied."""
        return list(values)

    def left(self, b: Builder, read: Reader, outer: Sequence[Scalar], row: Scalar) -> Elements:
        """A row of lhs."""
        batch = broadcast_index(b, outer, shape_of(self.lhs)[:-2])
        return lambda k: read([*batch, *((k, row) if self.transpose_lhs else (row, k))])

    def matrix(self, b: Builder, outer: Sequence[Scalar]) -> list[Scalar]:
        """The index of a matrix in rhs."""
        return broadcast_index(b, outer, shape_of(self.rhs)[: -self.MATRIX_RANK])

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        *outer, row, column = index
        left, right = self.left(b, reads[0], outer, row), self.right(b, reads[1], outer, column)

        def term(at: list[Scalar]) -> Scalar:
            x, y = self.multiplied(b, left(at[0]), right(at[0]))
            return x * y

        return b.sum([(0, self.sizes()[-1])], b.const(0, element_type_of(self.result)), term)


@irdl_op_definition
class PackedMatMulOp(ProductOp, MatmulScheduledOp):
    """A product with matrices [.., K, `columns`] packed by `column_panels`.

    The optional result `partials` [M, width] is a scratch buffer for sums of one panel whose reduction is blocked
    (`kc` of its schedule).
    """

    name = "graph.packed_matmul"
    columns = int_prop()
    COMPUTED: ClassVar[int | None] = 1
    result = result_def(TensorType)
    partials = opt_result_def(TensorType)
    MATRIX_RANK: ClassVar[int] = 3

    def sizes(self) -> tuple[tuple[int, ...], int, int, int]:
        lhs, rhs = shape_of(self.lhs), shape_of(self.rhs)
        if len(lhs) < 2 or len(rhs) < 3:
            raise ShapeError(f"operands must be matrices or batches of them, found {list(lhs)} and {list(rhs)}")
        m, depth = reversed(lhs[-2:]) if self.transpose_lhs else lhs[-2:]
        columns = self.columns
        if rhs[-2] != depth or rhs[-3] != ceil_div(columns, rhs[-1]):
            raise ShapeError(f"{list(lhs)} and panels {list(rhs)} of {columns} columns do not multiply")
        return broadcast(lhs[:-2], rhs[:-3]), m, columns, depth

    def infer_types(self) -> Sequence[TensorType]:
        (result,) = super().infer_types()
        partials = TensorType(compute_type(result.element_type), [result.get_shape()[-2], shape_of(self.rhs)[-1]])
        return [result, partials][: len(self.results)]

    def right(self, b: Builder, read: Reader, outer: Sequence[Scalar], column: Scalar) -> Elements:
        width = b.index(shape_of(self.rhs)[-1])
        panel, lane = column / width, b.rem(column, width)
        matrix = self.matrix(b, outer)
        return lambda k: read([*matrix, panel, k, lane])


WORD_BITS = 32
"""Bits of a word."""
UNPACKING = 3
"""Operations that make a register of f32 of a register of words: a shift, a mask, a conversion."""
OTHERS = 4
"""Registers beside sums and words: what is broadcast, what is unpacked, the mask, one to spare."""
WIDEST = 4
"""Vectors of columns that one row of words has: a shift of the words is shared by no more."""


@irdl_op_definition
class PackFewBitsOp(ConstantPackerOp):
    """A matrix [K, N] (with `transpose`: [N, K]) of integers of few bits as panels of words: [ceil(N / width), words,
    width].

    Bits j * `bits` to (j + 1) * `bits` of word w of a column are its element k = w * 32 / bits + j plus `offset`, which
    makes it unsigned. What is missing is zero.
    """

    name = "graph.pack_few_bits"
    x = operand_def(TensorType)
    bits = int_prop()
    offset = int_prop()
    width = int_prop()
    transpose = opt_bool_prop()
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x="K N integer")
        expect_within(self, "width", 1)
        if self.bits not in (2, 4, 8):
            raise ShapeError(f"bits must be 2, 4 or 8, found {self.bits}")
        return [TensorType(i32, self.layout.packed(shape_of(self.x))[1:])]

    @property
    def layout(self) -> Layout:
        """Of the elements: by their places in a word, [32 / bits, panels, words, width]."""
        row, column = (1, 0) if self.transpose else (0, 1)
        (word, place), (panel, lane) = blocks(row, WORD_BITS // self.bits), blocks(column, self.width)
        return Layout("few_bits", ((place,), (panel,), (word,), (lane,)))

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array]:
        bits = self.bits
        fields = (operands[0].astype(np.int16) + np.int16(self.offset)).astype(np.uint8)
        words = np.zeros(shape_of(self.result), np.uint32)
        for place, field in enumerate(self.layout.pack(fields & np.uint8(2**bits - 1))):
            words |= field.astype(np.uint32) << np.uint32(place * bits)
        return [words.view(np.int32)]


@irdl_op_definition
class FewBitsMatMulOp(SizedProductOp):
    """lhs [.., M, K] times a matrix [K, `columns`] packed by `pack_few_bits`: [.., M, columns] of type `to`.

    Element (k, n) of the matrix is (integer - zero point) * scale, both of column n and block k / `block`: `scales` and
    `points` are panels as of `column_panels`, [panels, blocks, width]. The zero point is `point`, plus an element of
    `points` where there are any.

    The optional result `panel` is a scratch buffer for `kc` rows of a panel as f32 (as the schedule has it); where K is
    more than that, followed by as many rows of partial sums as lhs has in all.
    """

    name = "graph.few_bits_matmul"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    scales = operand_def(TensorType)
    points = opt_operand_def(TensorType)
    columns = int_prop()
    bits = int_prop()
    block = int_prop()
    point = float_prop()
    to = prop_def(Attribute)
    kc = opt_int_prop()
    COMPUTED: ClassVar[int | None] = 1
    result = result_def(TensorType)
    panel = opt_result_def(TensorType)

    @property
    def count(self) -> int:
        """Elements of a word."""
        return WORD_BITS // self.bits

    def sizes(self) -> tuple[tuple[int, ...], int, int, int]:
        *batch, rows, depth = shape_of(self.lhs)
        return tuple(batch), rows, self.columns, depth

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, lhs=".. M K", rhs="panels words width+ i32")
        lhs, rhs = shape_of(self.lhs), shape_of(self.rhs)
        columns, bits, block = self.columns, self.bits, self.block
        if bits not in (2, 4, 8) or block < 1 or (block % self.count and block < lhs[-1]):
            raise ShapeError(f"blocks of {block} elements of {bits} bits are not whole words")
        if rhs[:2] != (ceil_div(columns, rhs[-1]), ceil_div(lhs[-1] * bits, WORD_BITS)):
            raise ShapeError(f"{list(lhs)} and panels {list(rhs)} of {columns} columns do not multiply")
        panels = f"{rhs[0]} {ceil_div(lhs[-1], block)} {rhs[-1]}"
        expect(self, scales=panels, points=panels)
        if compute_type(element_type_of(self.lhs)) != f32 or compute_type(element_type_of(self.scales)) != f32:
            raise ShapeError(f"rows and scales are f32 or narrower, found {self.lhs.type} and {self.scales.type}")
        if not is_float(self.to):
            raise ShapeError(f"the result is of floats, found {self.to}")
        result = TensorType(self.to, [*lhs[:-1], columns])
        if self.kc is None:
            return [result]
        kc = self.kc
        if kc < lhs[-1] and (kc % self.count or (block < lhs[-1] and kc % block and block % kc)):
            raise ShapeError(f"kc = {kc} is not in whole words and blocks of {block}")
        return [result, TensorType(f32, [kc + (math.prod(lhs[:-1]) if kc < lhs[-1] else 0), rhs[-1]])]

    def verify_(self) -> None:
        super().verify_()
        schedule = schedule_of(self)
        if isinstance(schedule, FewBitsSchedule) and schedule.kc != (self.kc):
            raise VerifyException(f"kc = {schedule.kc} of the schedule is not that of the operation")

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        width, bits, block = shape_of(self.rhs)[-1], self.bits, self.block
        points = reads[3] if self.points is not None else None
        *row, column = index
        panel, lane = column / width, b.rem(column, b.index(width))

        def term(at: list[Scalar]) -> Scalar:
            (k,) = at
            shift = b.cast(b.rem(k, b.index(self.count)) * bits, i32)
            field = b.shift_right(reads[1]([panel, k / self.count, lane]), shift) & (2**bits - 1)
            place = [panel, k / block, lane]
            value = b.cast(field, f32) - self.point
            if points is not None:
                value = value - b.cast(b.decode(points(place)), f32)
            x = b.cast(reads[0]([*row, k]), f32)
            return x * (value * b.cast(reads[2](place), f32))

        return b.cast(b.sum([(0, shape_of(self.lhs)[-1])], b.const(0, f32), term), self.to)
