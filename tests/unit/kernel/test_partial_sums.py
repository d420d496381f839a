"""Products and convolutions whose reduction is done in blocks (`kc`): against onnxruntime, on one and two threads.

All cases are the nodes of one model; a table of schedules, as `aotc tune` writes them, says `kc`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from kernel_program import on_tiles
from onnx import TensorProto, helper, numpy_helper

import aotc
from aotc.compiler.driver import lower
from aotc.dialects.graph.interfaces import AnchorOp
from aotc.dialects.graph.packed.conv import BlockedConvolutionOp
from aotc.dialects.graph.packed.matmul import PackedMatMulOp
from aotc.dialects.graph.schedules import MatmulSchedule, ScheduleAttr, schedule_of
from aotc.machines.targets import lookup
from aotc.machines.tuning_table import TuningTable, signature
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.skipif(lookup("host").vectors is None, reason="no vectors")

CASES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], int, dict[str, Any]]] = {
    "odd": ("MatMul", (7, 37), (37, 45), 8, {}),
    "whole": ("MatMul", (64, 96), (96, 64), 32, {}),
    "one row": ("MatMul", (1, 50), (50, 20), 16, {}),
    "one step left": ("MatMul", (9, 33), (33, 33), 32, {}),
    "batch": ("MatMul", (3, 5, 41), (41, 24), 7, {}),
    "by rows": ("Gemm", (10, 40), (30, 40), 9, {"transB": 1}),
    "1 x 1": ("Conv", (2, 72, 5, 9), (40, 72, 1, 1), 32, {}),
    "3 x 3": ("Conv", (1, 64, 9, 13), (24, 64, 3, 3), 300, {"pads": [1, 1, 1, 1]}),
    "tail of channels": ("Conv", (2, 50, 6, 7), (33, 50, 3, 3), 1, {"strides": [2, 2], "pads": [0, 1, 1, 0]}),
    "one axis": ("Conv", (1, 48, 31), (17, 48, 3), 60, {"dilations": [2], "pads": [2, 2]}),
    "transposed": ("ConvTranspose", (1, 48, 5, 6), (48, 20, 3, 3), 1, {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
}
"""Operator, operand, weight, kc, attributes."""
IN_ONE_BLOCK = {
    "enough": ("MatMul", (7, 16), (16, 45), 16, {}),
    "few channels": ("Conv", (1, 3, 8, 9), (40, 3, 3, 3), 1, {}),
    "groups": ("Conv", (1, 96, 6, 6), (48, 96 // 3, 1, 1), 16, {"group": 3}),
}
"""What has no use, or no place, for partial sums."""


@cache
def model() -> onnx.ModelProto:
    """x of each case -> relu(x by weight + bias) + 1."""
    random = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    inputs: list[onnx.ValueInfoProto] = []
    outputs: list[onnx.ValueInfoProto] = []
    constants = {"one": np.ones((), np.float32)}
    for number, (kind, x, weight, _, attributes) in enumerate((CASES | IN_ONE_BLOCK).values()):
        names = [f"{name}{number}" for name in "xwbpqrz"]
        given, w, bias, product, biased, positive, result = names
        inputs.append(helper.make_tensor_value_info(given, TensorProto.FLOAT, x))
        outputs.append(helper.make_tensor_value_info(result, TensorProto.FLOAT, None))
        constants[w] = random.standard_normal(weight).astype(np.float32)
        columns = weight[-1] if kind == "MatMul" else weight[1] if kind == "ConvTranspose" else weight[0]
        constants[bias] = random.standard_normal(columns).astype(np.float32)
        if kind == "MatMul":
            nodes.append(helper.make_node(kind, [given, w], [product], **attributes))
            nodes.append(helper.make_node("Add", [product, bias], [biased]))
        else:
            nodes.append(helper.make_node(kind, [given, w, bias], [biased], **attributes))
        nodes.append(helper.make_node("Relu", [biased], [positive]))
        nodes.append(helper.make_node("Add", [positive, "one"], [result]))
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def options(folder: Path) -> CompileOptions:
    """With a table that says `kc` for each case."""
    strict = CompileOptions(accuracy="strict")
    module = lower(model(), replace(strict, stop_after="graph")).module
    scheduled = lower(model(), replace(strict, stop_after="schedule")).module
    chosen = [schedule for op in scheduled.walk() if isinstance(schedule := schedule_of(op), MatmulSchedule)]
    anchors = [op for op in module.walk() if isinstance(op, AnchorOp)]
    table = TuningTable("any")
    blocks = (case[3] for case in (CASES | IN_ONE_BLOCK).values())
    for op, schedule, kc in zip(anchors, chosen, blocks, strict=True):
        given = replace(schedule, mr=min(schedule.mr, 3), nr=min(schedule.nr, 2), order="columns", kc=kc)
        table.schedules[signature(op)] = str(ScheduleAttr.of(given))
    path = folder / "table.json"
    path.write_text(table.text())
    return replace(strict, tuned=str(path))


def test_what_has_several_blocks_has_a_buffer_for_partial_sums(tmp_path: Path) -> None:
    module = lower(model(), replace(options(tmp_path), stop_after="schedule")).module
    found = [op for op in module.walk() if isinstance(op, PackedMatMulOp | BlockedConvolutionOp)]
    assert [op.partials is not None for op in found] == [True] * len(CASES) + [False] * len(IN_ONE_BLOCK)
    kept = [schedule.kc is not None for op in found if isinstance(schedule := schedule_of(op), MatmulSchedule)]
    assert kept == [op.partials is not None for op in found]


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_add_up(tmp_path: Path, threads: int) -> None:
    given = replace(options(tmp_path), threads=threads)
    on_tiles(lower(model(), replace(given, stop_after="loops")).module)
    random = np.random.default_rng(1)
    feed = {
        f"x{number}": random.standard_normal(x).astype(np.float32)
        for number, (_, x, *_) in enumerate((CASES | IN_ONE_BLOCK).values())
    }
    session = onnxruntime.InferenceSession(model().SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, feed)
    found = aotc.compile(model(), accuracy="strict", tuned=given.tuned, threads=threads)(feed)
    for number, (name, value) in enumerate(zip(CASES | IN_ONE_BLOCK, expected, strict=True)):
        np.testing.assert_allclose(found[f"z{number}"], np.asarray(value), rtol=1e-4, atol=1e-4, err_msg=name)
