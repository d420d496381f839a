"""Convolutions to few channels with positions in the lanes: against onnxruntime, and C against LLVM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from case_model import array_attributes
from convolution_model import ConvolutionCase, assert_as_onnxruntime, convolution
from kernel_program import ENTRY, as_loops, kernel, on_tiles, through_c, through_llvm
from xdsl.dialects.builtin import TensorType, f16, f32, f64
from xdsl.ir import Attribute, Block

from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.schedules import MatmulSchedule, PositionsSchedule, Schedule, ScheduleAttr
from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.families import X86_AVX2, X86_AVX512
from aotc.machines.machine import Machine
from aotc.machines.requirements import runnable
from aotc.passes.kernel.costs.conv_cost import copy_cycles, positions_cycles
from aotc.passes.kernel.strategy import choose_schedule, strategies_of

CASES = (
    ConvolutionCase(8, 8, (9, 70), (3, 19), pads=(1, 9, 1, 9)),
    ConvolutionCase(1, 1, (500,), (64,), (2,), bias=False),
    ConvolutionCase(1, 2, (300,), (33,), (4,), (5, 0)),
    ConvolutionCase(3, 3, (12, 37), (5, 5), pads=(2, 2, 2, 2)),
    ConvolutionCase(4, 2, (15, 50), (3, 9), (2, 1), (0, 1, 3, 1), (1, 3)),
    ConvolutionCase(2, 3, (5, 6, 90), (3, 2, 15), (2, 1, 2), (1, 0, 1, 1, 1, 0)),
    ConvolutionCase(6, 1, (9, 64), (7, 32), (1, 3), pads=(1, 0, 1, 0)),
)


def conv(case: ConvolutionCase, kind: Attribute = f32, group: int = 1) -> ConvOp:
    """The operation on values of a block."""
    x, weight, bias = case.shapes()
    shapes = (x, (weight[0], weight[1] // group, *weight[2:]), *([bias] if case.bias else []))
    x_, weight_, *bias_ = Block(arg_types=[TensorType(kind, shape) for shape in shapes]).args
    return ConvOp.get(x_, weight_, *(bias_ or [None]), group=group, **case.values())


@pytest.mark.parametrize("target", ["x86-64-v4", "x86-64-v3"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_models_agree_with_onnxruntime(case: ConvolutionCase, target: str) -> None:
    if runnable(target).name != target:
        pytest.skip(f"the processor is no {target}")
    x, weight, bias = case.arrays(0)
    model = convolution("Conv", x, weight, bias if case.bias else None, **case.values())
    assert_as_onnxruntime(model, x, "2", target=target)


def source(case: ConvolutionCase, schedule: Schedule | None) -> str:
    """The operation as a model, on an operand that needs no padding."""
    chosen = [] if schedule is None else [f"schedule = {ScheduleAttr.of(schedule)}"]
    shapes = [*case.shapes(), case.result_shape()]
    kinds = ["x".join([*map(str, shape), "f32"]) for shape in shapes]
    operands = ", ".join(f"tensor<{kind}>" for kind in kinds[:3])
    attributes = ", ".join([array_attributes(case.values()), "group = 1", *chosen])
    text = f"%r0 = graph.conv %x0, %x1, %x2 {{{attributes}}} : ({operands}) -> tensor<{kinds[3]}>"
    return kernel(text, kinds[:3], kinds[3:])


@pytest.mark.parametrize("tile", [(3, 2), (1, 4), (8, 1)])
@pytest.mark.parametrize(
    "case",
    [
        ConvolutionCase(3, 5, (4, 83), (2, 6)),
        ConvolutionCase(1, 1, (40,), (9,)),
        ConvolutionCase(2, 3, (11, 96), (3, 3), (2, 1), (), (2, 5)),
        ConvolutionCase(4, 7, (3, 4, 10), (2, 2, 1)),
    ],
    ids=str,
)
def test_c_and_llvm_and_plain_loops(case: ConvolutionCase, tile: tuple[int, int], tmp_path: Path) -> None:
    inputs = case.arrays(2)
    results = [np.full(case.result_shape(), 77, np.float32) for _ in range(3)]
    schedule = PositionsSchedule(8, *tile, unroll=4)
    tiled, plain = on_tiles(as_loops(source(case, schedule))), as_loops(source(case, None))
    through_llvm(tiled, ENTRY)(*inputs, results[0])
    through_c(tiled, ENTRY, tmp_path)(*inputs, results[1])
    through_llvm(plain, ENTRY)(*inputs, results[2])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], results[2], rtol=1e-4, atol=1e-4)


def proposed(op: ConvOp, machine: Machine) -> bool:
    """Whether a strategy proposes positions in the lanes."""
    return any(isinstance(each.schedule(op, machine), PositionsSchedule) for each in strategies_of(ConvOp))


def test_what_may_have_positions_in_the_lanes() -> None:
    case = ConvolutionCase(8, 8, (64, 64), (3, 3), pads=(1, 1, 1, 1))
    assert proposed(conv(case), X86_AVX512)
    assert not proposed(conv(case), X86_AVX2)  # eight channels fill a register
    assert not proposed(conv(case, f64), X86_AVX512)
    assert proposed(conv(ConvolutionCase(8, 7, (64, 64), (3, 3)), f64), X86_AVX512)
    assert not proposed(conv(case, f16), X86_AVX512)  # each weight would be converted again and again
    assert not proposed(conv(case, group=2), X86_AVX512)
    assert not proposed(conv(case, group=8), X86_AVX512)
    assert not proposed(conv(ConvolutionCase(8, 8, (64, 64), (3, 3), (1, 2), (), (1, 2))), X86_AVX512)
    assert proposed(conv(ConvolutionCase(8, 8, (64, 64), (3, 3), (2, 2), (), (2, 1))), X86_AVX512)
    assert proposed(conv(ConvolutionCase(8, 8, (64, 64), (3, 3), (2, 1), (), (1, 2))), X86_AVX512)


def test_where_it_is_fastest() -> None:
    def chosen(case: ConvolutionCase) -> type[Schedule]:
        return type(choose_schedule(conv(case), X86_AVX512))

    assert chosen(ConvolutionCase(8, 8, (64, 64), (3, 3), pads=(1, 1, 1, 1))) is PositionsSchedule
    assert chosen(ConvolutionCase(8, 16, (64, 64), (3, 3), pads=(1, 1, 1, 1))) is MatmulSchedule
    mostly_empty_lanes = ConvolutionCase(8, 8, (64, 4), (3, 3), pads=(1, 1, 1, 1))
    assert chosen(mostly_empty_lanes) is MatmulSchedule
    assert chosen(ConvolutionCase(1, 1, (20_000,), (256,), (2,))) is PositionsSchedule
    assert chosen(ConvolutionCase(3, 8, (224, 224), (3, 3), (2, 2))) is MatmulSchedule  # a tap more, and x is moved


def test_what_is_copied_before_takes_time() -> None:
    def beside_sums(case: ConvolutionCase) -> float:
        """Of the estimate."""
        op, machine = conv(case), X86_AVX512
        strategy = next(each for each in strategies_of(ConvOp) if PositionsSchedule in each.SCHEDULES)
        schedule = strategy.schedule(op, machine)
        assert isinstance(schedule, PositionsSchedule)
        depth = case.channels * op.kernel()[0] * ceil_div(op.kernel()[1], op.ints("strides")[1]) * op.ints("strides")[1]
        return strategy.cost(op, schedule, machine) - 2 * positions_cycles(machine, schedule, op.extents(), 8, depth)

    elements = 2 * 64 * 64
    assert beside_sums(ConvolutionCase(15, 8, (64, 64), (3, 3))) == 0
    blocks = beside_sums(ConvolutionCase(16, 8, (64, 64), (3, 3)))
    assert blocks == pytest.approx(copy_cycles(X86_AVX512, 16 * elements * 4))
    padded = beside_sums(ConvolutionCase(15, 8, (64, 64), (3, 3), pads=(1, 0, 0, 0)))
    assert padded == pytest.approx(copy_cycles(X86_AVX512, 15 * elements * 4))
    assert beside_sums(ConvolutionCase(15, 8, (64, 64), (3, 3), (1, 2))) == pytest.approx(15 * elements)
