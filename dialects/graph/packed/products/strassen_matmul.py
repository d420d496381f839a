"""Matrix products by one level of Strassen's algorithm, with a constant right matrix.

A product of 2 x 2 matrices, here of quarters of matrices, takes seven multiplications instead of eight (V. Strassen,
Gaussian elimination is not optimal, 1969): seven sums of quarters of the left matrix times seven of the right one,
which is constant, give products of which sums are the quarters of the result.

Rows are cut into blocks, each of which is 2 x 2 quarters as the weight is. The weight grows by 7 / 4. An infinity or
NaN in the operand spreads over its row of the result and the row half a block away.

Greatest error over greatest result against float64, operands as after a relu (in brackets: normally distributed):

| M x K x N | direct | Strassen |
|---|---|---|
| 128 x 768 x 768 | 3.8e-7 (5.9e-7) | 6.9e-7 (7.3e-7) |
| 128 x 3072 x 768 | 9.3e-7 (2.1e-6) | 1.3e-6 (2.2e-6) |
| 1024 x 1024 x 1024 | 5.5e-7 (9.9e-7) | 8.9e-7 (1.1e-6) |
| 128 x 768 x 768 in f64 | 6.5e-16 (1.1e-15) | 9.9e-16 (1.5e-15) |

Results that are much smaller than others of their block have the error of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer, linear_combinations
from aotc.dialects.dtypes import byte_width, compute_type, numpy_dtype
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import (
    Array,
    ConstantPackerOp,
    ShapeError,
    element_type_of,
    narrowest_element_type,
    shape_of,
)
from aotc.dialects.graph.packed.layout import Layout, Mode, blocks
from aotc.dialects.graph.schedules import MatmulScheduledOp
from aotc.dialects.graph.shapes import CACHE_LINE, ceil_div, segments
from aotc.dialects.properties import int_prop, opt_bool_prop, opt_int_prop
from aotc.mathematics.linear_combinations import terms

LEFT_SUMS = ((1, 0, 0, 1), (0, 0, 1, 1), (1, 0, 0, 0), (0, 0, 0, 1), (1, 1, 0, 0), (-1, 0, 1, 0), (0, 1, 0, -1))
"""For each product the factors of the quarters 11, 12, 21, 22 of the left matrix."""
RIGHT_SUMS = ((1, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, -1), (-1, 0, 1, 0), (0, 0, 0, 1), (1, 1, 0, 0), (0, 0, 1, 1))
"""The same of the right one."""
RESULT_SUMS = ((1, 0, 0, 1, -1, 0, 1), (0, 0, 1, 0, 1, 0, 0), (0, 1, 0, 1, 0, 0, 0), (1, -1, 1, 0, 0, 1, 0))
"""For each quarter of the result the factors of the products."""
PRODUCTS = len(LEFT_SUMS)


@irdl_op_definition
class StrassenWeightOp(ConstantPackerOp):
    """Sums of the quarters of a matrix [K, N] (with `transpose`: [N, K]) as `strassen_matmul` streams them.

    The result is [panels, 7, ceil(K / 2), width]: a panel is `width` of the `left` columns that the left quarters have.
    Missing columns and rows are zero. Computed in f64, then rounded to the type that sums are computed in (f32 of f16
    and bf16).
    """

    name = "graph.strassen_weight"
    weight = operand_def(TensorType)
    left = int_prop()
    width = int_prop()
    transpose = opt_bool_prop()
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        at, left = expect(self, weight="N K float" if self.transpose else "K N float"), self.left
        expect_within(self, "width", 1)
        if left < 1 or at["N"] > 2 * left:
            raise ShapeError(f"{at['N']} columns are not in halves of {left}")
        kind = compute_type(element_type_of(self.weight))
        return [TensorType(kind, self.layout.packed((PRODUCTS, ceil_div(at["K"], 2), left)))]

    @property
    def layout(self) -> Layout:
        """Of the sums [7, ceil(K / 2), left]."""
        panel, column = blocks(2, self.width)
        return Layout("strassen_weight", ((panel,), (Mode(0),), (Mode(1),), (column,)))

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array]:
        weight = operands[0].T if self.transpose else operands[0]
        (depth, columns), left = weight.shape, self.left
        upper = ceil_div(depth, 2)
        whole = np.pad(weight.astype(np.float64), [(0, 2 * upper - depth), (0, 2 * left - columns)])
        quarters = whole.reshape(2, upper, 2, left).swapaxes(1, 2).reshape(4, upper, left)
        combined = np.tensordot(np.array(RIGHT_SUMS, np.float64), quarters, 1)
        combined = combined.astype(numpy_dtype(element_type_of(self.result)))
        return [self.layout.pack(combined)]


class StrassenSizes:
    """The sizes of one `strassen_matmul`."""

    def __init__(self, op: StrassenMatMulOp) -> None:
        *self.batch, self.rows, self.depth = shape_of(op.lhs)
        self.columns, self.block_rows, self.left = op.columns, op.block_rows, op.left
        self.width = shape_of(op.weight)[-1]
        """Columns in a panel of the weight."""
        parts = (1 if each is None else each for each in (op.row_parts, op.panel_parts))
        self.row_parts, self.panel_parts = parts
        """Parts of the blocks of rows, and of the panels for each of these, each with scratch buffers of its own."""

    @property
    def blocks(self) -> int:
        """Blocks of rows of a left matrix."""
        return ceil_div(self.rows, self.block_rows)

    @property
    def panels(self) -> int:
        """Panels of the weight."""
        return ceil_div(self.left, self.width)

    @property
    def height(self) -> int:
        """Rows of the upper half of a block."""
        return min(self.block_rows, self.rows + 1) // 2

    @property
    def upper(self) -> int:
        """The depth of the upper half of the weight."""
        return ceil_div(self.depth, 2)


@irdl_op_definition
class StrassenMatMulOp(MatmulScheduledOp):
    """lhs [.., M, K] times a matrix [K, `columns`], of which `strassen_weight` made sums: [.., M, columns].

    Rows are multiplied in blocks of `block_rows`, the first half of a block being the upper quarters. The other results
    are scratch buffers for a block: `sums` [7, T, ceil(K / 2)] of quarters of the operand, and `products` [7, T, width]
    of one panel. T, which is half the rows, and the cache lines that K / 2 elements take are rounded up to odd
    numbers: then elements that are used together do not share a set of a cache.

    So that threads need not wait for each other, blocks are computed in `row_parts` parts, and of each the panels in
    `panel_parts`: there are two buffers for each of these, one after the other along the first axis.
    """

    name = "graph.strassen_matmul"
    lhs = operand_def(TensorType)
    weight = operand_def(TensorType)
    columns = int_prop()
    left = int_prop()
    """As for `strassen_weight`."""
    block_rows = int_prop()
    row_parts = opt_int_prop()
    """Absent: one."""
    panel_parts = opt_int_prop()
    """Absent: one."""
    COMPUTED: ClassVar[int | None] = 1
    result = result_def(TensorType)
    sums = result_def(TensorType)
    products = result_def(TensorType)

    @property
    def sizes(self) -> StrassenSizes:
        """The extents that a kernel is about."""
        return StrassenSizes(self)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, lhs=".. M K", weight="panels products depth width+")
        lhs, weight = shape_of(self.lhs), shape_of(self.weight)
        kind = narrowest_element_type(self.lhs, self.weight)
        wide = compute_type(kind)
        sizes = self.sizes
        if weight[:3] != (ceil_div(sizes.left, sizes.width), PRODUCTS, sizes.upper):
            raise ShapeError(f"{list(lhs)} and weight {list(weight)} of {sizes.left} columns do not multiply")
        if sizes.columns > 2 * sizes.left:
            raise ShapeError(f"{sizes.columns} columns are not in halves of {sizes.left}")
        if sizes.block_rows < 2 or sizes.block_rows % 2:
            raise ShapeError(f"block_rows must be even and at least 2, found {sizes.block_rows}")
        rows, panels = sizes.row_parts, sizes.panel_parts
        if not 1 <= rows <= max(sizes.blocks, 1) or not 1 <= panels <= sizes.panels:
            raise ShapeError(f"{sizes.blocks} blocks and {sizes.panels} panels are not in {rows} and {panels} parts")
        height, unit = sizes.height | 1, max(CACHE_LINE // byte_width(wide), 1)
        pitch = (ceil_div(sizes.upper, unit) | 1) * unit
        count = rows * panels * PRODUCTS
        shapes = ((*lhs[:-1], sizes.columns), (count, height, pitch), (count, height, sizes.width))
        return [TensorType(kind if place == 0 else wide, shape) for place, shape in enumerate(shapes)]

    def operations(self) -> int:
        """Those of eight products."""
        return 2 * math.prod(shape_of(self.result)) * shape_of(self.lhs)[-1]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        """Seven sums of products for each four elements of the result."""
        for part in segments(self.sizes.rows, self.sizes.block_rows):
            self._loops_of_blocks(b, reads, writes, part.start, part.count, part.size)

    def _loops_of_blocks(
        self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer], start: int, count: int, rows: int
    ) -> None:
        sizes, zero, total = self.sizes, b.const(0, element_type_of(self.result)), linear_combinations(b)
        half, width = ceil_div(rows, 2), b.index(sizes.width)

        def body(index: list[Scalar]) -> None:
            *outer, number, row, column = index
            first = number * rows + start
            panel, lane = column / width, b.rem(column, width)

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                (k,) = at

                def element(down: int, side: int) -> Scalar:
                    inside = b.compare("lt", row + down * half, rows) & b.compare(
                        "lt", k + side * sizes.upper, sizes.depth
                    )
                    place = [*outer, first + row + down * half, k + side * sizes.upper]
                    return b.when(inside, lambda: [reads[0](place)], lambda: [zero])[0]

                quarters = [element(down, side) for down in (0, 1) for side in (0, 1)]
                return [
                    before + total(terms(factors, quarters)) * reads[1]([panel, b.index(product), k, lane])
                    for product, (before, factors) in enumerate(zip(carried, LEFT_SUMS, strict=True))
                ]

            found = b.reduce([(0, sizes.upper)], [zero] * PRODUCTS, step)
            for quarter, factors in enumerate(RESULT_SUMS):
                down, side = divmod(quarter, 2)
                value = total(terms(factors, found))
                place = [*outer, first + row + down * half, column + side * sizes.left]

                inside = b.compare("lt", row + down * half, rows) & b.compare("lt", place[-1], sizes.columns)
                b.only_when(inside, lambda place=place, value=value: writes[0](place, value))

        b.parallel_for([*sizes.batch, count, half, sizes.left], body)
