"""Which operations get a schedule, and of which kind: the limits of every strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kernel_program import lowered

from aotc.dialects.graph.interfaces import GraphOp
from aotc.dialects.graph.schedules import (
    ElementwiseSchedule,
    InnerProductSchedule,
    MatmulSchedule,
    PositionsSchedule,
    RowSchedule,
    Schedule,
    WindowSchedule,
)
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.families import X86_AVX512
from aotc.machines.machine import Machine
from aotc.passes.kernel.strategy import KernelStrategy, algorithms_for, choose_algorithm, choose_schedule, strategies_of


def operation(line: str, operands: str, result: str) -> GraphOp:
    """The operation `line` on %0, %1, ..; types are written `4x8xf32, const 8xf32`."""
    arguments: list[str] = []
    constants: list[str] = []
    kinds: list[str] = []
    for number, operand in enumerate(operands.split(", ")):
        kind = f"tensor<{operand.removeprefix('const ')}>"
        kinds.append(kind)
        if operand.startswith("const "):
            value = "1.0" if operand[-3] == "f" else "1"
            constants.append(f"%{number} = graph.constant dense<{value}> : {kind}\n")
        else:
            arguments.append(f"%{number}: {kind}")
    results = [f"tensor<{kind}>" for kind in result.split(", ")]
    names = ", ".join(f"%r{number}" for number in range(len(results)))
    body = f"{''.join(constants)}{names} = graph.{line} : ({', '.join(kinds)}) -> ({', '.join(results)})"
    module = lowered(f"func.func @main({', '.join(arguments)}) {{\n{body}\nfunc.return }}", "")
    return next(op for op in module.walk() if isinstance(op, GraphOp) and not isinstance(op, ConstantOp))


def proposed(op: GraphOp, machine: Machine) -> set[str]:
    """The kinds of schedules that strategies for vectors have."""
    known = (each.schedule(op, machine) for each in strategies_of(type(op)) if each.ON_VECTORS)
    return {type(schedule).__name__.removesuffix("Schedule") for schedule in known if schedule is not None}


ONE = "strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>"
SUMS = "accumulator = i32"
FIXED = (
    "fixed_average_pool %0, %1, %2 {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>,"
    " dilations = array<i64: 1>, counts = array<i64: 2>, x_zero_point = 3, mantissa = 8388609, fraction = 20,"
    " guard = 300, zero_point = 3, low = -128, high = 127, to = i8}"
)
SAMPLES = 'grid_sample %0, %1 {mode = "nearest", padding = "zeros"}'


@pytest.mark.parametrize(
    ("line", "operands", "result", "kinds"),
    [
        # the dot products of bytes: of a constant matrix with sign and without zero point
        (f"matmul %0, %1 {{{SUMS}}}", "6x32xi8, const 32x12xi8", "6x12xi32", "Matmul"),
        (f"matmul %0, %1 {{{SUMS}}}", "6x32xui8, const 32x12xi8", "6x12xi32", "Matmul"),
        (f"matmul %0, %1 {{{SUMS}}}", "6x32xi16, const 32x12xi8", "6x12xi32", ""),
        (f"matmul %0, %1 {{{SUMS}}}", "6x32xi8, const 32x12xui8", "6x12xi32", ""),
        (f"matmul %0, %1 {{{SUMS}}}", "6x32xi8, 32x12xi8", "6x12xi32", ""),
        (f"matmul %0, %1 {{{SUMS}, rhs_zero_point = 1}}", "6x32xi8, const 32x12xi8", "6x12xi32", ""),
        (f"matmul %0, %1 {{{SUMS}, transpose_lhs = true}}", "32x6xi8, const 32x12xi8", "6x12xi32", ""),
        (f"matmul %0, %1 {{{SUMS}}}", "2x6x32xi8, const 2x32x12xi8", "2x6x12xi32", ""),
        (f"conv %0, %1 {{{ONE}, group = 1, {SUMS}}}", "1x16x9xi8, const 32x16x1xi8", "1x32x9xi32", "Matmul"),
        (f"conv %0, %1 {{{ONE}, group = 1, {SUMS}}}", "1x16x9xi16, const 32x16x1xi8", "1x32x9xi32", ""),
        (f"conv %0, %1 {{{ONE}, group = 1, {SUMS}}}", "1x16x9xi8, 32x16x1xi8", "1x32x9xi32", ""),
        (
            f"conv %0, %1 {{{ONE}, group = 1, {SUMS}, w_zero_point = 1}}",
            "1x16x9xi8, const 32x16x1xi8",
            "1x32x9xi32",
            "",
        ),
        (f"conv %0, %1, %2 {{{ONE}, group = 1, {SUMS}}}", "1x16x9xi8, const 32x16x1xi8, 32xi32", "1x32x9xi32", ""),
        (f"conv %0, %1 {{{ONE}, group = 16, {SUMS}}}", "1x16x9xi8, const 16x1x3xi8", "1x16x7xi32", "Window"),
        (f"conv %0, %1 {{{ONE}, group = 16, {SUMS}}}", "1x16x9xi16, const 16x1x3xi8", "1x16x7xi32", ""),
        # sums of output channels, or of a register of input channels, or of positions
        (f"conv %0, %1 {{{ONE}, group = 1}}", "1x16x9xf32, 1x16x3xf32", "1x1x7xf32", "InnerProduct Positions"),
        (f"conv %0, %1 {{{ONE}, group = 1}}", "1x24x9xf32, 1x24x3xf32", "1x1x7xf32", "Matmul Positions"),
        (f"conv %0, %1 {{{ONE}, group = 1}}", "1x16x9xi32, 1x16x3xi32", "1x1x7xi32", "Matmul Positions"),
        (f"conv %0, %1 {{{ONE}, group = 2}}", "1x32x9xf32, 2x16x3xf32", "1x2x7xf32", "Matmul"),
        (f"conv %0, %1 {{{ONE}, group = 1}}", "1x0x9xf32, 1x0x3xf32", "1x1x7xf32", ""),
        (f"conv %0, %1 {{{ONE}, group = 1}}", "1x16x9xf32, 0x16x3xf32", "1x0x7xf32", ""),
        (f"conv %0, %1 {{{ONE}, group = 1}}", "1x4x9xf32, 15x4x3xf32", "1x15x7xf32", "Matmul Positions"),
        (f"conv %0, %1 {{{ONE}, group = 1}}", "1x4x9xf32, 16x4x3xf32", "1x16x7xf32", "Matmul"),
        (f"conv %0, %1 {{{ONE}, group = 1}}", "1x4x9xf16, 15x4x3xf16", "1x15x7xf16", "Matmul"),
        (f"conv %0, %1 {{{ONE}, group = 1}}", "1x4x9xi16, 15x4x3xi16", "1x15x7xi16", ""),
        # rows of some elements
        ('reduce %0 {kind = "sum", axes = array<i64: 1>, keepdims = false}', "8x3xf32", "8xf32", ""),
        ('reduce %0 {kind = "sum", axes = array<i64: 1>, keepdims = false}', "8x4xf32", "8xf32", "Row"),
        ('reduce %0 {kind = "sum", axes = array<i64: 0>, keepdims = false}', "3x64xf32", "64xf32", "Row"),
        ('arg_reduce %0 {kind = "max", axis = 1, keepdims = false, last = false}', "8x64xf32", "8xi64", "Row"),
        ('arg_reduce %0 {kind = "max", axis = 1, keepdims = false, last = false}', "8x64xi8", "8xi64", ""),
        ('cumulative %0 {kind = "sum", axis = 0}', "8x64xf32", "8x64xf32", "Row"),
        ('cumulative %0 {kind = "sum", axis = 1}', "8x64xf32", "8x64xf32", ""),
        ('cumulative %0 {kind = "sum", axis = 0}', "8x64xi8", "8x64xi8", ""),
        # whole registers
        ("regroup_channels %0 {sources = array<i64: 0>}", "1x1x4x1xf32", "1x1x4x1xf32", ""),
        ("regroup_channels %0 {sources = array<i64: 0, 1, 2>}", "1x1x4x3xf32", "1x1x4x3xf32", ""),
        ("regroup_channels %0 {sources = array<i64: 1, 0>}", "1x1x4x2xf32", "1x1x4x2xf32", "Elementwise"),
        # pooling: channels in the lanes of blocks, or of tensors of more than a quarter of a block
        (f"max_pool %0 {{kernel = array<i64: 3>, {ONE}, ceil_mode = false}}", "1x4x9xf32", "1x4x7xf32", "Positions"),
        (
            f"max_pool %0 {{kernel = array<i64: 3>, {ONE}, ceil_mode = false}}",
            "1x5x9xf32",
            "1x5x7xf32",
            "Positions Window",
        ),
        (f"max_pool %0 {{kernel = array<i64: 3>, {ONE}, ceil_mode = false}}", "1x2x9x16xi8", "1x2x7x16xi8", "Window"),
        (f"max_pool %0 {{kernel = array<i64: 3>, {ONE}, ceil_mode = false}}", "1x2x9x8xf64", "1x2x7x8xf64", "Window"),
        (f"max_pool %0 {{kernel = array<i64: 3>, {ONE}, ceil_mode = false}}", "1x2x9x16xi16", "1x2x7x16xi16", ""),
        (FIXED, "1x16x8xi8, 1xi32, 1x255xi32", "1x16x4xi8", ""),
        # pictures: channels in the lanes of blocks, or of tensors of more than a quarter of a block; positions
        (SAMPLES, "1x4x5x6xf32, 1x3x3x2xf32", "1x4x3x3xf32", ""),
        (SAMPLES, "1x5x5x6xf32, 1x3x3x2xf32", "1x5x3x3xf32", "Elementwise"),
        (SAMPLES, "1x64x5x6xi8, 1x3x3x2xf32", "1x64x3x3xi8", ""),
        (SAMPLES, "1x2x5x6x16xf32, 1x3x3x2xf32", "1x2x3x3x16xf32", "Elementwise"),
        (SAMPLES, "1x2x5x6x8xf32, 1x3x3x2xf32", "1x2x3x3x8xf32", ""),
        ("resample %0, %1, %2 {axis = 0}", "4x8xf32, 8x2xi64, 8x2xf32", "8x8xf32", ""),
        ("resample %0, %1, %2 {axis = 0}", "4x9xf32, 8x2xi64, 8x2xf32", "8x9xf32", "Resample"),
        ("resample %0, %1, %2 {axis = 1}", "4x9xf32, 18x2xi64, 18x2xf32", "4x18xf32", ""),
        # whole registers of a row
        ("inverse %0", "15x15xf32", "15x15xf32, 15x30xf32", ""),
        ("inverse %0", "16x16xf32", "16x16xf32, 16x32xf32", "Elementwise"),
        ("inverse %0", "16x16xf8E5M2", "16x16xf8E5M2, 16x32xf32", ""),
        ("softmax %0 {axes = array<i64: 1>}", "8x64xf8E5M2", "8x64xf8E5M2", ""),
        ('reduce %0 {kind = "sum", axes = array<i64: 1>, keepdims = false}', "8x64xf8E5M2", "8xf8E5M2", ""),
    ],
)
def test_limits(line: str, operands: str, result: str, kinds: str) -> None:
    assert proposed(operation(line, operands, result), X86_AVX512) == set(kinds.split())


@pytest.mark.parametrize(
    ("line", "operands", "result", "has"),
    [
        ("matmul %0, %1", "2048x2048xf32, const 2048x2048xf32", "2048x2048xf32", True),
        ("matmul %0, %1", "2048x2048xf32, 2048x2048xf32", "2048x2048xf32", False),
        ("matmul %0, %1", "2x2048x2048xf32, const 2x2048x2048xf32", "2x2048x2048xf32", False),
        ("matmul %0, %1 {transpose_lhs = true}", "2048x2048xf32, const 2048x2048xf32", "2048x2048xf32", False),
    ],
)
def test_strassen_multiplies_rows_with_one_constant_matrix(line: str, operands: str, result: str, has: bool) -> None:
    op = operation(line, operands, result)
    assert bool(algorithms_for(op, X86_AVX512)) is (choose_algorithm(op, X86_AVX512) is not None) is has


@pytest.mark.parametrize(("operand", "result", "registers"), [("2x5x6x16", "2x3x3x16", 2), ("32x5x6", "32x3x3", 2)])
def test_pictures_are_sampled_in_as_many_blocks_as_there_are(operand: str, result: str, registers: int) -> None:
    op = operation(SAMPLES, f"1x{operand}xf32, 1x3x3x2xf32", f"1x{result}xf32")
    assert choose_schedule(op, X86_AVX512) == ElementwiseSchedule(16, registers)


def near(schedule: Schedule, machine: Machine = X86_AVX512) -> list[Any]:
    """Schedules for a search."""
    op = operation("relu %0", "8xf32", "8xf32")
    return [*KernelStrategy[GraphOp]().candidates(op, schedule, machine)]


def test_schedules_nearby_are_all_others_that_fit() -> None:
    few = replace(X86_AVX512, registers=12)
    assert {each.positions for each in near(WindowSchedule(16, 4))} == {1, 2, 3, 6, 8, 12}
    assert {each.positions for each in near(WindowSchedule(16, 4), few)} == {1, 2, 3, 6, 8}
    assert {each.registers for each in near(RowSchedule(16, 4))} == {1, 2, 3, 6, 8, 12}
    assert {each.positions for each in near(InnerProductSchedule(16, 16))} == {1, 2, 4, 8}
    rows = {(each.stages, each.rows) for each in near(RowSchedule(16, 4, rows=4, stages=2))}
    assert rows == {(1, 1), (1, 2), (1, 4), (1, 8), (2, 1), (2, 2), (4, 1), (4, 2), (8, 1)}
    tiles = {(each.mr, each.nr) for each in near(PositionsSchedule(16, 1, 1))}
    assert tiles == {(2, 1), (29, 1), (30, 1), (1, 2), (2, 2), (13, 2), (14, 2)}
    assert all(not each.prefetch for each in near(MatmulSchedule(16, 4, 2, order="rows")))
    assert any(each.prefetch for each in near(MatmulSchedule(16, 4, 2, order="columns")))
