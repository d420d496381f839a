"""Weights of several models are in memory once, for as long as one of them is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx.parser
import onnxruntime
import pytest

import aotc
from aotc.compiler.dynamic.model import DynamicModel
from aotc.executor.loading import SharedWeights
from aotc.pipeline.options import INTERNAL, CompileOptions

TEXT = """<ir_version: 10, opset_import: ["" : 18]> m (float[n,64] x) => (float[n,96] y) {
  h = MatMul(x, a) p = Slice(positions, zero, ends, zero) s = Add(h, p) y = MatMul(s, b) }"""


def test_equal_content_is_shared(collect: Callable[[], object]) -> None:
    shared = SharedWeights()
    first = shared.taken(b"aaaabbbbcc", [0, 4, 8])
    second = shared.taken(b"bbbbaaaadd", [0, 4, 8])
    assert [each.tobytes() for each in second] == [b"bbbb", b"aaaa", b"dd"]
    assert second[0] is first[1] and second[1] is first[0] and shared.nbytes == 12
    assert all(each.ctypes.data % 64 == 0 for each in first)
    del first
    collect()
    assert shared.nbytes == 10
    del second
    collect()
    assert shared.nbytes == 0


@pytest.fixture
def model() -> onnx.ModelProto:
    """Products of the same weights, and positions of which each length has its own part."""
    random = np.random.default_rng(0)
    model = onnx.parser.parse_model(TEXT.replace("ends", "size"))
    arrays = {
        "a": random.standard_normal((64, 80)).astype(np.float32),
        "b": random.standard_normal((80, 96)).astype(np.float32),
        "positions": random.standard_normal((9, 80)).astype(np.float32),
        "zero": np.array([0]),
        "one": np.array([1]),
    }
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in arrays.items())
    shape = onnx.helper.make_node("Shape", ["x"], ["size"], start=0, end=1)
    model.graph.node.insert(0, shape)
    return model


@pytest.mark.parametrize("threads", [1, 2])
def test_shapes_of_a_model_share_what_is_equal(model: onnx.ModelProto, threads: int) -> None:
    dynamic = aotc.compile(model, threads=threads)
    assert isinstance(dynamic, DynamicModel)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    sizes = []  # below: numbers of lines whose products the machines of x86 lay out alike
    for n in (5, 6, 5):
        x = np.random.default_rng(n).standard_normal((n, 64)).astype(np.float32)
        np.testing.assert_allclose(dynamic(x)["y"], session.run(None, {"x": x})[0], rtol=1e-4, atol=1e-4)
        sizes.append(dynamic.weights_bytes)
    products = 4 * (64 * 80 + 80 * 96)
    assert sizes[0] >= products + 4 * 5 * 80 and sizes[1] == sizes[2] <= sizes[0] + 4 * 6 * 80 + 64
    apart = dynamic.at({"n": 5}).metadata
    assert len(apart.weight_offsets) == 3 and apart.weights_bytes >= products
    assert aotc.compile(model, dims={"n": 5}).metadata.weight_offsets == ()


def test_the_table_is_no_choice_of_users(model: onnx.ModelProto) -> None:
    assert set(CompileOptions.__dataclass_fields__) >= INTERNAL
    for name in INTERNAL:
        with pytest.raises(TypeError, match=f"unknown option '{name}'"):
            aotc.compile(model, **{name: True})
