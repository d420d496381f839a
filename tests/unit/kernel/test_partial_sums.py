"""Products and convolutions whose reduction is done in blocks (`kc`): against onnxruntime, on one and two threads.

All cases are the nodes of one model; a table of schedules, as `aotc tune` writes them, says `kc`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from case_model import CaseModel, array_attributes, tensor, window_values
from kernel_program import on_tiles
from onnx import TensorProto, helper, numpy_helper

import aotc
from aotc.compiler.driver import lower
from aotc.dialects.graph.interfaces import AnchorOp
from aotc.dialects.graph.packed.convolution.blocked_conv import BlockedConvolutionOp
from aotc.dialects.graph.packed.products.packed_matmul import PackedMatMulOp
from aotc.dialects.graph.schedules import MatmulSchedule, ScheduleAttr, schedule_of, signature
from aotc.machines.targets import lookup
from aotc.machines.tuning_table import TuningTable
from aotc.measuring.routes import open_model
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.skipif(lookup("host").vectors is None, reason="no vectors")


@dataclass(frozen=True)
class Case:
    """A node with a constant weight."""

    kind: str
    x: tuple[int, ...]
    weight: tuple[int, ...]
    kc: int
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])


CASES = {
    "odd": Case("MatMul", (7, 37), (37, 45), 8),
    "whole": Case("MatMul", (64, 96), (96, 64), 32),
    "one row": Case("MatMul", (1, 50), (50, 20), 16),
    "a last block of one step": Case("MatMul", (9, 33), (33, 33), 32),
    "batch": Case("MatMul", (3, 5, 41), (41, 24), 7),
    "stored by rows of results": Case("Gemm", (10, 40), (30, 40), 9, {"transB": 1}),
    "1 x 1": Case("Conv", (2, 72, 5, 9), (40, 72, 1, 1), 32),
    "3 x 3": Case("Conv", (1, 64, 9, 13), (24, 64, 3, 3), 300, {"pads": [1, 1, 1, 1]}),
    "tail of channels": Case("Conv", (2, 50, 6, 7), (33, 50, 3, 3), 1, {"strides": [2, 2], "pads": [0, 1, 1, 0]}),
    "one axis": Case("Conv", (1, 48, 31), (17, 48, 3), 60, {"dilations": [2], "pads": [2, 2]}),
    "transposed": Case("ConvTranspose", (1, 48, 5, 6), (48, 20, 3, 3), 1, {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
}
IN_ONE_BLOCK = {
    "enough": Case("MatMul", (7, 16), (16, 45), 16),
    "few channels": Case("Conv", (1, 3, 8, 9), (40, 3, 3, 3), 1),
    "groups": Case("Conv", (1, 96, 6, 6), (48, 32, 1, 1), 16, {"group": 3}),
}
"""Kernels that have no use, or no place, for partial sums."""
ALL = CASES | IN_ONE_BLOCK


@cache
def model() -> onnx.ModelProto:
    """x of each case -> relu(x by weight + bias) + 1."""
    random = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    inputs: list[onnx.ValueInfoProto] = []
    outputs: list[onnx.ValueInfoProto] = []
    constants = {"one": np.ones((), np.float32)}
    for number, case in enumerate(ALL.values()):
        names = [f"{name}{number}" for name in "xwbpqrz"]
        given, w, bias, product, biased, positive, result = names
        inputs.append(helper.make_tensor_value_info(given, TensorProto.FLOAT, case.x))
        outputs.append(helper.make_tensor_value_info(result, TensorProto.FLOAT, None))
        constants[w] = random.standard_normal(case.weight).astype(np.float32)
        columns = case.weight[{"MatMul": -1, "ConvTranspose": 1}.get(case.kind, 0)]
        constants[bias] = random.standard_normal(columns).astype(np.float32)
        if case.kind == "MatMul":
            nodes.append(helper.make_node(case.kind, [given, w], [product], **case.attributes))
            nodes.append(helper.make_node("Add", [product, bias], [biased]))
        else:
            nodes.append(helper.make_node(case.kind, [given, w, bias], [biased], **case.attributes))
        nodes.append(helper.make_node("Relu", [biased], [positive]))
        nodes.append(helper.make_node("Add", [positive, "one"], [result]))
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def options(folder: Path) -> CompileOptions:
    """With a table that says `kc` for each case."""
    strict = CompileOptions(accuracy="strict")
    module = lower(model(), replace(strict, stop_after="integers")).module
    scheduled = lower(model(), replace(strict, stop_after="schedule")).module
    chosen = [schedule for op in scheduled.walk() if isinstance(schedule := schedule_of(op), MatmulSchedule)]
    anchors = [op for op in module.walk() if isinstance(op, AnchorOp)]
    table = TuningTable(lookup("host").cpu)
    blocks = (case.kc for case in ALL.values())
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
    feed = {f"x{number}": random.standard_normal(case.x).astype(np.float32) for number, case in enumerate(ALL.values())}
    session = onnxruntime.InferenceSession(model().SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, feed)
    found = aotc.compile(model(), accuracy="strict", tuned=given.tuned, threads=threads)(feed)
    for number, (name, value) in enumerate(zip(ALL, expected, strict=True)):
        np.testing.assert_allclose(found[f"z{number}"], np.asarray(value), rtol=1e-4, atol=1e-4, err_msg=name)


def test_padding_lanes_of_the_last_block_are_not_read(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    x, weight = (random.standard_normal(shape).astype(np.float32) for shape in ((1, 3, 5, 6, 4), (1, 3, 1, 1, 4, 8)))
    x[:, 2, ..., 2:], weight[:, 2, ..., 2:, :] = np.nan, 0
    builder = CaseModel("lanes")
    kinds = ", ".join([builder.input("x", x), builder.input("w", weight)])
    result, partials = tensor((1, 2, 5, 6, 4)), tensor((5, 6, 8))
    window = array_attributes(window_values((1, 1)))
    schedule = ScheduleAttr.of(MatmulSchedule(4, 3, 2, kc=4))
    attributes = f"{window}, group = 1 : i64, channels = 10 : i64, outputs = 8 : i64, block = 4 : i64"
    attributes += f", schedule = {schedule}"
    builder.body.append(f"%y, %p = graph.blocked_conv %x, %w {{{attributes}}} : ({kinds}) -> ({result}, {partials})")
    builder.output("y", "%y", result)
    found = builder.run("jit", tmp_path)["y"]
    y = np.einsum("nbhwl,blm->nhwm", np.nan_to_num(x), weight[0, :, 0, 0])
    expected = np.moveaxis(y.reshape(1, 5, 6, 2, 4), 3, 1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


SMALL = "host@l1=1K,l2=16K"
"""This machine, were its caches so small."""
SIZES = (
    (1, 16, 30, 40, 160, 1),
    (1, 16, 30, 8, 160, 1),
    (2, 33, 7, 6, 70, 3),
    (1, 64, 1, 30, 80, 1),
    (1, 160, 5, 3, 96, 3),
)
"""Images, channels, lines, columns, output channels and taps of convolutions."""


def _convolutions() -> onnx.ModelProto:
    random = np.random.default_rng(0)
    nodes, inputs, weights = [], [], []
    for n, (images, channels, lines, columns, outputs, taps) in enumerate(SIZES):
        weight = random.standard_normal((outputs, channels, min(taps, lines), taps)) / np.sqrt(channels * taps * taps)
        weights.append(numpy_helper.from_array(weight.astype(np.float32), f"w{n}"))
        inputs.append(helper.make_tensor_value_info(f"x{n}", 1, [images, channels, lines, columns]))
        nodes.append(helper.make_node("Conv", [f"x{n}", f"w{n}"], [f"v{n}"], pads=[0, 0, taps // 2, taps // 2]))
        nodes.append(helper.make_node("Relu", [f"v{n}"], [f"y{n}"]))
    results = [helper.make_tensor_value_info(f"y{n}", 1, None) for n in range(len(SIZES))]
    graph = helper.make_graph(nodes, "convolutions", inputs, results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_small_caches_mean_blocks_that_change_no_result(tmp_path: Path) -> None:
    """Of lines (`mc`) and of the reduction (`kc`), as the cost model chooses them."""
    model, options = _convolutions(), CompileOptions(target=SMALL, accuracy="strict")
    chosen = lower(model, replace(options, stop_after="schedule"), None).module
    found = [each for op in chosen.walk() if isinstance(each := schedule_of(op), MatmulSchedule)]
    assert any(each.mc is not None for each in found)
    assert any(each.kc is not None for each in found)
    random = np.random.default_rng(1)
    feed = {f"x{n}": random.standard_normal(sizes[:4]).astype(np.float32) for n, sizes in enumerate(SIZES)}
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    for threads in (1, 2):
        results = open_model(str(path), "jit", replace(options, threads=threads))(feed)
        for n, each in enumerate(expected):
            np.testing.assert_allclose(results[f"y{n}"], each, rtol=1e-4, atol=1e-5, err_msg=f"convolution {n}")
