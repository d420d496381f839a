"""Convolutions to few channels, whose sums lie along the lanes: against onnxruntime, and C against LLVM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
import pytest
from kernel_program import ENTRY, as_loops, kernel, lowered, through_c, through_llvm
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import f32, f64, i32

import aotc
from aotc.dialects.graph.narrow import NarrowConvolutionOp, narrow_schedule
from aotc.dialects.graph.schedule import Machine, Schedule, ScheduleAttr


@dataclass(frozen=True)
class Case:
    """A convolution of 32 channels."""

    outputs: int
    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    output_padding: tuple[int, ...] = ()
    transposed: bool = False
    bias: bool = True

    def values(self) -> dict[str, tuple[int, ...]]:
        """The attributes."""
        ones = (1,) * len(self.kernel)
        values = {
            "strides": self.strides or ones,
            "pads": self.pads or (0,) * 2 * len(self.kernel),
            "dilations": self.dilations or ones,
        }
        return values | ({"output_padding": self.output_padding or (0,) * len(ones)} if self.transposed else {})


CASES = (
    Case(3, (9, 37), (3, 3), pads=(1, 1, 1, 1)),
    Case(1, (20, 20), (9, 9), pads=(4, 4, 4, 4), bias=False),
    Case(2, (11, 40), (3, 5), (2, 2), (1, 2, 0, 2), (1, 2)),
    Case(2, (50,), (7,), pads=(6, 0)),
    Case(1, (4, 5, 18), (2, 3, 3)),
    Case(3, (6, 1), (3, 1), pads=(1, 0, 1, 0)),
    Case(3, (8, 17), (4, 4), (2, 2), (1, 1, 1, 1), transposed=True),
    Case(1, (5, 9), (3, 3), (2, 3), (1, 0, 1, 0), (1, 2), (1, 0), transposed=True),
    Case(2, (30,), (3,), transposed=True, bias=False),
)
INPUTS = 32


def model(case: Case) -> ModelProto:
    rng = np.random.default_rng(0)
    shape = (INPUTS, case.outputs) if case.transposed else (case.outputs, INPUTS)
    weight = rng.standard_normal((*shape, *case.kernel)).astype(np.float32)
    weights = [numpy_helper.from_array(weight, "w")]
    if case.bias:
        weights.append(numpy_helper.from_array(rng.standard_normal(case.outputs).astype(np.float32), "b"))
    kind = "ConvTranspose" if case.transposed else "Conv"
    node = helper.make_node(kind, ["x", *(each.name for each in weights)], ["y"], **cast(dict[str, Any], case.values()))
    graph = helper.make_graph(
        [node, helper.make_node("Relu", ["y"], ["z"])],
        "narrow",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, INPUTS, *case.extents))],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_models_agree_with_onnxruntime(case: Case) -> None:
    x = np.random.default_rng(1).standard_normal((2, INPUTS, *case.extents)).astype(np.float32)
    session = onnxruntime.InferenceSession(model(case).SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    found = aotc.compile(model(case), optimize="1")({"x": x})["z"]
    np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-4, atol=1e-4)


def source(case: Case, lanes: int, schedule: Schedule | None) -> str:
    """The operation on an operand of two blocks, as a model."""
    name = "narrow_conv_transpose" if case.transposed else "narrow_conv"
    x = (2, 2, *case.extents, lanes)
    weight = (case.outputs, 2, *case.kernel, lanes)
    values = [f"{name} = array<i64: {', '.join(map(str, given))}>" for name, given in case.values().items()]
    chosen = [] if schedule is None else [f"schedule = {ScheduleAttr.of(schedule)}"]
    result = (2, case.outputs, *_extents(case))
    kinds = ["x".join([*map(str, shape), "f32"]) for shape in (x, weight, (case.outputs,), result)]
    operands = ", ".join(f"tensor<{kind}>" for kind in kinds[:3])
    attributes = ", ".join([*values, *chosen])
    text = f"%r0 = graph.{name} %x0, %x1, %x2 {{{attributes}}} : ({operands}) -> tensor<{kinds[3]}>"
    return kernel(text, kinds[:3], kinds[3:])


def _extents(case: Case) -> list[int]:
    values = case.values()
    rank = len(case.extents)
    found: list[int] = []
    for axis, (extent, size) in enumerate(zip(case.extents, case.kernel, strict=True)):
        stride, pads = values["strides"][axis], values["pads"][axis] + values["pads"][axis + rank]
        span = (size - 1) * values["dilations"][axis] + 1
        if case.transposed:
            found.append((extent - 1) * stride + span + values["output_padding"][axis] - pads)
        else:
            found.append((extent + pads - span) // stride + 1)
    return found


@pytest.mark.parametrize("lanes", [16, 4])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_c_and_llvm_and_plain_loops(case: Case, lanes: int, tmp_path: Path) -> None:
    (op,) = (op for op in lowered(source(case, lanes, None), "").walk() if isinstance(op, NarrowConvolutionOp))
    schedule = op.schedule_on(Machine(4 * lanes, 32))
    assert schedule == Schedule(lanes, (lanes,))
    assert op.schedule_on(Machine(8 * lanes, 32)) is None
    rng = np.random.default_rng(2)
    shapes = [(2, 2, *case.extents, lanes), (case.outputs, 2, *case.kernel, lanes), (case.outputs,)]
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    results = [np.full((2, case.outputs, *_extents(case)), 77, np.float32) for _ in range(3)]
    tiled, plain = as_loops(source(case, lanes, schedule)), as_loops(source(case, lanes, None))
    assert "aot.plain" not in str(tiled)
    through_llvm(tiled, ENTRY)(*inputs, results[0])
    through_c(tiled, ENTRY, tmp_path)(*inputs, results[1])
    through_llvm(plain, ENTRY)(*inputs, results[2])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], results[2], rtol=1e-4, atol=1e-4)


def test_where_lanes_would_stay_empty() -> None:
    machine = Machine(64, 32)
    assert narrow_schedule(machine, f32, 64, 3, 9, 1) == Schedule(16, (16,))
    assert narrow_schedule(machine, f64, 64, 1, 9, 1) == Schedule(8, (8,))
    assert narrow_schedule(machine, f32, 64, 12, 9, 1) is None  # most lanes are used
    assert narrow_schedule(machine, f32, 16, 3, 1, 1) is None  # adding lanes up would take longest
    assert narrow_schedule(machine, f32, 24, 3, 9, 1) is None  # nobody knows what lies behind channel 24
    assert narrow_schedule(machine, f32, 64, 2, 9, 2) is None
    assert narrow_schedule(machine, i32, 64, 2, 9, 1) is None
