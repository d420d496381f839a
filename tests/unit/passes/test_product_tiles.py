"""Products of matrices on register tiles with tails of every kind, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_program import ENTRY, as_loops, kernel, on_tiles, through_llvm
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp

from aotc.dialects.graph.schedules import MatmulSchedule, Order, ScheduleAttr


def product(schedule: MatmulSchedule, rows: int, depth: int, columns: int) -> ModuleOp:
    """The kernel after the `interface` phase, vectorised."""
    x, w, y = f"{rows}x{depth}xf32", f"{depth}x{columns}xf32", f"{rows}x{columns}xf32"
    chosen = ScheduleAttr.of(schedule)
    op = f"%r0 = graph.matmul %x0, %x1 {{schedule = {chosen}}} : (tensor<{x}>, tensor<{w}>) -> tensor<{y}>"
    return on_tiles(as_loops(kernel(op, [x, w], [y])))


@pytest.mark.parametrize("order", ["rows", "columns"])
@pytest.mark.parametrize("unroll", [1, 4])
def test_tails_of_rows_columns_and_the_reduction(order: Order, unroll: int) -> None:
    schedule = MatmulSchedule(4, 3, 2, unroll, order)
    for rows, depth, columns in ((1, 1, 1), (3, 4, 8), (4, 7, 9), (7, 2, 19), (6, 33, 16)):
        random = np.random.default_rng(depth)
        x, w = (random.normal(size=shape).astype(np.float32) for shape in ((rows, depth), (depth, columns)))
        found = np.full((rows, columns), 77, np.float32)
        through_llvm(product(schedule, rows, depth, columns), ENTRY)(x, w, found)
        np.testing.assert_allclose(found, x @ w, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("depth", "sums"), [(1, 1), (2, 2), (3, 3)])
def test_there_are_no_more_sums_than_steps(depth: int, sums: int) -> None:
    module = product(MatmulSchedule(4, 1, 1), 1, depth, 4)
    assert sum(isinstance(op, arith.AddfOp) for op in module.walk()) == sums - 1
