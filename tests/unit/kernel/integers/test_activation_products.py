"""Products of two quantised activations, of random shapes, against sums in numpy: exactly, in floats or in integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper, save
from quick_c import open_quickly

from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]
SIZES = [((1, 7), 64, 9), ((3, 5), 33, 20), ((2, 4), 257, 6), ((1, 3), 300, 5), ((1, 2), 2000, 4)]
"""Batch and rows, terms, columns: sums of the last ones may pass 2^24, where floats would round."""


def _extreme(random: np.random.Generator, shape: tuple[int, ...], kind: Any) -> Array:
    info = np.iinfo(kind)
    ends, others = random.choice([info.min, info.max], shape), random.integers(info.min, info.max, shape)
    return np.where(random.random(shape) < 0.5, ends, others).astype(kind)


def _model(kind: Any) -> tuple[ModelProto, dict[str, Array], dict[str, Array]]:
    """A model of all sizes side by side, what it is given, and what it must answer."""
    random, element = np.random.default_rng(5), helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    nodes, constants = [], []
    feed: dict[str, Array] = {}
    expected: dict[str, Array] = {}
    info = np.iinfo(kind)
    for number, ((batch, rows), depth, columns) in enumerate(SIZES):
        x, y = _extreme(random, (batch, rows, depth), kind), _extreme(random, (batch, depth, columns), kind)
        points = _extreme(random, (2,), kind)
        sums = (x.astype(np.int64) - int(points[0])) @ (y.astype(np.int64) - int(points[1]))
        scale = np.float32(max(np.abs(sums).max() / 90, 1))
        given = {"xs": np.float32(1), "xz": points[0], "ys": np.float32(1), "yz": points[1], "s": scale, "z": kind(3)}
        constants += [numpy_helper.from_array(np.asarray(value), f"{name}{number}") for name, value in given.items()]
        feed |= {f"x{number}": x, f"y{number}": y}
        names = [f"{name}{number}" for name in ("x", "xs", "xz", "y", "ys", "yz", "s", "z")]
        nodes.append(helper.make_node("QLinearMatMul", names, [f"o{number}"]))
        rounded = np.rint(sums.astype(np.float32) * (np.float32(1) / scale)) + np.float32(3)
        expected[f"o{number}"] = np.clip(rounded, info.min, info.max).astype(kind)
    inputs, outputs = (
        [helper.make_tensor_value_info(name, element, array.shape) for name, array in each.items()]
        for each in (feed, expected)
    )
    graph = helper.make_graph(nodes, "products", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), feed, expected


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize(("route", "optimize"), [("jit", "2"), ("c", "2"), ("jit", "0")])
def test_exact(kind: Any, route: str, optimize: str, tmp_path: Path) -> None:
    model, feed, expected = _model(kind)
    save(model, tmp_path / "model.onnx")
    found = open_quickly(str(tmp_path / "model.onnx"), route, CompileOptions.of(optimize=optimize))(feed)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
