"""Convolutions to few channels, whose sums lie along the lanes: against onnxruntime, and C against LLVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from case_model import array_attributes
from convolution_model import ConvolutionCase, assert_as_onnxruntime, convolution
from kernel_program import ENTRY, as_loops, kernel, lowered, on_tiles, through_c, through_llvm
from xdsl.dialects.builtin import f32, f64, i32

from aotc.dialects.graph.packed.convolution.within_lanes import NarrowConvolutionOp
from aotc.dialects.graph.schedules import InnerProductSchedule, Schedule, ScheduleAttr
from aotc.dialects.graph.windows.sliding import transposed_windows
from aotc.machines.families import X86_AVX512
from aotc.passes.kernel.costs.conv_cost import narrow_schedule
from aotc.passes.kernel.strategy import strategy_of


@dataclass(frozen=True)
class Case(ConvolutionCase):
    """Or a transposed one."""

    output_padding: tuple[int, ...] = ()
    transposed: bool = False

    def values(self) -> dict[str, Sequence[int]]:
        more = {"output_padding": self.output_padding or (0,) * len(self.kernel)}
        return super().values() | (more if self.transposed else {})

    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        x, (outputs, channels, *kernel), bias = super().shapes()
        return x, (channels, outputs, *kernel) if self.transposed else (outputs, channels, *kernel), bias

    def result_shape(self) -> tuple[int, ...]:
        if not self.transposed:
            return super().result_shape()
        windows = transposed_windows(self.extents, self.kernel, **self.values())
        return 2, self.outputs, *(window.positions for window in windows)


CASES = (
    Case(32, 3, (9, 37), (3, 3), pads=(1, 1, 1, 1)),
    Case(32, 1, (20, 20), (9, 9), pads=(4, 4, 4, 4), bias=False),
    Case(32, 2, (11, 40), (3, 5), (2, 2), (1, 2, 0, 2), (1, 2)),
    Case(32, 2, (50,), (7,), pads=(6, 0)),
    Case(32, 1, (4, 5, 18), (2, 3, 3)),
    Case(32, 3, (6, 1), (3, 1), pads=(1, 0, 1, 0)),
    Case(32, 3, (8, 17), (4, 4), (2, 2), (1, 1, 1, 1), transposed=True),
    Case(32, 1, (5, 9), (3, 3), (2, 3), (1, 0, 1, 0), (1, 2), output_padding=(1, 0), transposed=True),
    Case(32, 2, (30,), (3,), transposed=True, bias=False),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_models_agree_with_onnxruntime(case: Case) -> None:
    x, weight, bias = case.arrays(0)
    kind = "ConvTranspose" if case.transposed else "Conv"
    model = convolution(kind, x, weight, bias if case.bias else None, **case.values())
    assert_as_onnxruntime(model, x, "1")


def source(case: Case, lanes: int, schedule: Schedule | None) -> str:
    """The operation on an operand of two blocks, as a model."""
    name = "narrow_conv_transpose" if case.transposed else "narrow_conv"
    x = (2, 2, *case.extents, lanes)
    weight = (case.outputs, 2, *case.kernel, lanes)
    chosen = [] if schedule is None else [f"schedule = {ScheduleAttr.of(schedule)}"]
    kinds = ["x".join([*map(str, shape), "f32"]) for shape in (x, weight, (case.outputs,), case.result_shape())]
    operands = ", ".join(f"tensor<{kind}>" for kind in kinds[:3])
    attributes = ", ".join([array_attributes(case.values()), *chosen])
    text = f"%r0 = graph.{name} %x0, %x1, %x2 {{{attributes}}} : ({operands}) -> tensor<{kinds[3]}>"
    return kernel(text, kinds[:3], kinds[3:])


@pytest.mark.parametrize("lanes", [16, 4])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_c_and_llvm_and_plain_loops(case: Case, lanes: int, tmp_path: Path) -> None:
    (op,) = (op for op in lowered(source(case, lanes, None), "").walk() if isinstance(op, NarrowConvolutionOp))
    strategy = strategy_of(op)
    schedule = strategy.schedule(op, replace(X86_AVX512, vector_bytes=4 * lanes))
    assert schedule == InnerProductSchedule(lanes, lanes)
    assert strategy.schedule(op, replace(X86_AVX512, vector_bytes=8 * lanes)) is None
    rng = np.random.default_rng(2)
    shapes = [(2, 2, *case.extents, lanes), (case.outputs, 2, *case.kernel, lanes), (case.outputs,)]
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    results = [np.full(case.result_shape(), 77, np.float32) for _ in range(3)]
    tiled, plain = on_tiles(as_loops(source(case, lanes, schedule))), as_loops(source(case, lanes, None))
    through_llvm(tiled, ENTRY)(*inputs, results[0])
    through_c(tiled, ENTRY, tmp_path)(*inputs, results[1])
    through_llvm(plain, ENTRY)(*inputs, results[2])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], results[2], rtol=1e-4, atol=1e-4)


def test_where_lanes_would_stay_empty() -> None:
    machine = X86_AVX512
    assert narrow_schedule(machine, f32, 64, 3, 9, 1) == InnerProductSchedule(16, 16)
    assert narrow_schedule(machine, f64, 64, 1, 9, 1) == InnerProductSchedule(8, 8)
    assert narrow_schedule(machine, f32, 64, 12, 9, 1) is None  # most lanes are used
    assert narrow_schedule(machine, f32, 16, 3, 1, 1) is None  # adding lanes up would take longest
    assert narrow_schedule(machine, f32, 24, 3, 9, 1) is None  # nobody knows what lies behind channel 24
    assert narrow_schedule(machine, f32, 64, 2, 9, 2) is None
    assert narrow_schedule(machine, i32, 64, 2, 9, 1) is None
