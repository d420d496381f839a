"""Transposed convolutions of 8-bit integers, which are computed as convolutions, against the loops that define them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper, save
from quick_c import open_quickly

from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]


class Case(NamedTuple):
    channels: int
    outputs: int
    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    more: tuple[int, ...] = ()
    group: int = 1
    dilation: int = 1


CASES = [
    Case(8, 6, (4, 4), (2, 2), (2, 2), (0, 0, 0, 0)),
    Case(5, 3, (4, 5), (3, 3), (2, 2), (1, 0, 1, 1), (1, 0)),
    Case(16, 20, (6, 3), (4, 4), (2, 2), (1, 1, 1, 1)),
    Case(3, 4, (9,), (5,), (3,), (2, 1), (2,)),
    Case(4, 7, (9,), (2,), (1,), (4, 3)),
    Case(4, 2, (3, 4, 2), (3, 2, 1), (2, 1, 1), (0, 1, 0, 1, 0, 0)),
    Case(6, 4, (5, 4), (3, 3), (2, 1), (1, 1, 0, 0), group=2),
    Case(4, 4, (5, 4), (3, 3), (2, 2), (1, 1, 1, 1), group=4),
    Case(4, 3, (6,), (3,), (2,), (1, 1), dilation=2),
    Case(4, 3, (6,), (1,), (7,), (0, 0)),
]


def _model(random: np.random.Generator, kind: Any) -> tuple[ModelProto, dict[str, Array]]:
    """All cases side by side; scales of weights of each output channel where there is one group, with a bias and
    without, quantised and not."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    info = np.iinfo(kind)
    nodes, constants, inputs, outputs = [], [], [], []
    feed: dict[str, Array] = {}

    def constant(name: str, value: Any) -> str:
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    for number, case in enumerate(CASES):
        shape = (2, case.channels, *case.extents)
        feed[x := f"x{number}"] = random.integers(info.min, info.max + 1, shape).astype(kind)
        inputs.append(helper.make_tensor_value_info(x, element, shape))
        within = case.outputs // case.group
        weight = random.integers(-90, 91, (case.channels, within, *case.kernel)).astype(np.int8)
        scales = random.uniform(0.01, 0.02, within if case.group == 1 else ()).astype(np.float32)
        point = kind(random.integers(info.min, info.max + 1))
        operands = [constant(f"sx{number}", np.float32(0.02)), constant(f"zx{number}", point)]
        nodes.append(helper.make_node("DequantizeLinear", [x, *operands], [f"xf{number}"]))
        w = [constant(f"w{number}", weight), constant(f"sw{number}", scales)]
        w.append(constant(f"zw{number}", np.zeros(scales.shape, np.int8)))
        nodes.append(helper.make_node("DequantizeLinear", w, [f"wf{number}"], axis=1))
        summed = [f"xf{number}", f"wf{number}"]
        if number % 2:
            bias = np.float32(0.02) * scales * random.integers(-999, 999, case.outputs).astype(np.float32)
            summed.append(constant(f"b{number}", bias.astype(np.float32)))
        window = {"strides": case.strides, "pads": case.pads, "dilations": [case.dilation] * len(case.extents)}
        window |= {"output_padding": case.more} if case.more else {}
        nodes.append(helper.make_node("ConvTranspose", summed, [f"y{number}"], group=case.group, **window))
        outputs.append(f"y{number}")
        if number % 3:
            ends = [f"y{number}", constant(f"s{number}", np.float32(0.1)), constant(f"z{number}", kind(3))]
            nodes.append(helper.make_node("QuantizeLinear", ends, [f"o{number}"]))
            outputs[-1] = f"o{number}"
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(nodes, "transposed", inputs, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), feed


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("route", ["jit", "c"])
def test_as_the_loops_that_define_them(kind: Any, route: str, tmp_path: Path) -> None:
    model, feed = _model(np.random.default_rng(8), kind)
    save(model, path := str(tmp_path / "model.onnx"))
    wanted = open_quickly(path, "jit", CompileOptions.of(optimize="0"))(feed)
    found = open_quickly(path, route, CompileOptions.of(optimize="2"))(feed)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
