"""Scattering and selecting with a scratch buffer, against the same without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

import aotc

Array = np.ndarray[Any, Any]


def model(nodes: list[Any], inputs: dict[str, Array], outputs: list[str]) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for n, x in inputs.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def agree(given: ModelProto, inputs: dict[str, Array]) -> dict[str, Array]:
    """The outputs, the same with and without memory."""
    plain, found = (aotc.compile(given, optimize=level)(inputs) for level in ("0", "1"))
    for name, expected in plain.items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name)
    return {name: np.asarray(value) for name, value in found.items()}


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_scattered_elements(reduction: str, dtype: str) -> None:
    r = np.random.default_rng(0)
    for shape, covered, axis in (((7, 9), (7, 20), 1), ((6, 5, 4), (30, 5, 3), 0), ((3, 8, 5), (2, 13, 5), 1)):
        indices = r.integers(-shape[axis] - 1, shape[axis] + 1, covered)  # some outside, many twice
        inputs = {"x": (r.random(shape) * 9).astype(dtype), "i": indices, "u": (r.random(covered) * 9).astype(dtype)}
        scatter = helper.make_node("ScatterElements", ["x", "i", "u"], ["s"], axis=axis, reduction=reduction)
        agree(model([scatter, helper.make_node("Add", ["s", "x"], ["y"])], inputs, ["y"]), inputs)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scattered_slices(reduction: str) -> None:
    r = np.random.default_rng(0)
    shape = (6, 5, 4)
    for depth in (1, 2, 3):
        indices = np.stack([r.integers(-extent - 1, extent + 1, (4, 10)) for extent in shape[:depth]], -1)
        updates = r.standard_normal((4, 10, *shape[depth:])).astype(np.float32)
        inputs = {"x": r.standard_normal(shape).astype(np.float32), "i": indices, "u": updates}
        twice = helper.make_node("Add", ["u", "u"], ["v"])
        scatter = helper.make_node("ScatterND", ["x", "i", "v"], ["y"], reduction=reduction)
        agree(model([twice, scatter], inputs, ["y"]), inputs)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("k", [1, 2, 3, 7, 8, 20])
def test_selected(k: int, largest: int) -> None:
    r = np.random.default_rng(k)
    for axis, x in enumerate([r.integers(0, 12, (20, 3)).astype(np.float32), r.integers(-5, 5, (2, 20, 3))]):
        inputs = {"x": x}
        select = helper.make_node("TopK", ["x", "k"], ["values", "places"], axis=axis, largest=largest)
        given = model([select], inputs, ["values", "places"])
        given.graph.initializer.append(helper.make_tensor("k", 7, [1], [k]))
        found = agree(given, inputs)
        order = np.argsort(-x if largest else x, axis=axis, kind="stable")
        expected = np.take(order, range(k), axis)
        np.testing.assert_array_equal(found["places"], expected)
        np.testing.assert_array_equal(found["values"], np.take_along_axis(x, expected, axis))
