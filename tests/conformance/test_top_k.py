"""TopK of what compares with nothing and what is equal, by a search and by a heap."""

from __future__ import annotations

import numpy as np
import pytest
from cases import onnx_type
from harness import reference
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

import aotc

RANDOM = np.random.default_rng(5)
NUMBERS = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 2, 3], np.float32)


def model() -> tuple[ModelProto, dict[str, np.ndarray]]:
    """Rows of few and of many elements, as floats of two widths and as integers; how many, which and where vary."""
    floats = {"few": RANDOM.choice(NUMBERS, (4, 6)), "many": RANDOM.choice(NUMBERS, (3, 150))}
    feed = {**floats, "wide": floats["many"].astype(np.float64), "whole": RANDOM.integers(-5, 5, (2, 90))}
    for dtype in (np.int32, np.int64):
        ends = np.iinfo(dtype)
        feed[dtype.__name__] = RANDOM.choice(np.array([ends.min, -1, 0, 1, ends.max], dtype), (2, 90))
    counts = {f"k{k}": np.array([k]) for k in (1, 2, 3, 6, 40)}
    nodes = [
        helper.make_node("TopK", [x, k], [f"{x}_{k}_{largest}_values", f"{x}_{k}_{largest}_indices"], largest=largest)
        for x, array in feed.items()
        for k, count in counts.items()
        for largest in (0, 1)
        if count[0] <= array.shape[1]
    ]
    graph = helper.make_graph(
        nodes,
        "top_k",
        [helper.make_tensor_value_info(name, onnx_type(x.dtype.name), x.shape) for name, x in feed.items()],
        [ValueInfoProto(name=name) for node in nodes for name in node.output],
        [numpy_helper.from_array(value, name) for name, value in counts.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), feed


@pytest.mark.parametrize("optimize", [0, 2])
def test_nan_is_greatest_and_equal_elements_keep_their_order(optimize: int) -> None:
    proto, feed = model()
    expected = reference(proto, feed)
    assert expected is not None
    found = aotc.compile(proto, optimize=optimize)(feed)
    for output, value in zip(proto.graph.output, expected, strict=True):
        np.testing.assert_array_equal(found[output.name], value, output.name)


def test_what_is_known_when_compiling_is_in_the_same_order() -> None:
    proto, feed = model()
    expected = reference(proto, feed)
    assert expected is not None
    built = aotc.compile(proto, constants=feed)
    assert not built.inputs, "nothing is left to compute"
    for output, value in zip(proto.graph.output, expected, strict=True):
        np.testing.assert_array_equal(built({})[output.name], value, output.name)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.uint32, np.uint64, np.float16])
def test_types_that_onnxruntime_has_no_kernel_for(dtype: type[np.generic]) -> None:
    """By a heap, against a stable sort."""
    x = RANDOM.choice(np.frombuffer(RANDOM.bytes(40 * np.dtype(dtype).itemsize), dtype), 150)
    x = x[x == x]
    graph = helper.make_graph(
        [helper.make_node("TopK", ["x", "k"], [f"values{n}", f"indices{n}"], largest=n) for n in (0, 1)],
        "top_k",
        [helper.make_tensor_value_info("x", onnx_type(x.dtype.name), x.shape)],
        [ValueInfoProto(name=f"{name}{n}") for n in (0, 1) for name in ("values", "indices")],
        [numpy_helper.from_array(np.array([60]), "k")],
    )
    found = aotc.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]))({"x": x})
    for n, order in (
        (0, np.lexsort((np.arange(len(x)), x))),
        (1, len(x) - 1 - np.argsort(x[::-1], kind="stable")[::-1]),
    ):
        np.testing.assert_array_equal(found[f"indices{n}"], order[:60])
        np.testing.assert_array_equal(found[f"values{n}"], x[order[:60]])
