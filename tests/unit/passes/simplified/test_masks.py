"""A causal mask that is a triangle of one number takes no memory, with vectors and without: onnxruntime's numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from harness import assert_close, assert_same_bits, by_every_route, reference
from onnx import TensorProto, helper, numpy_helper

import aotc


@pytest.mark.parametrize(("upper", "diagonal", "value"), [(1, 1, -1e9), (0, 0, 2.5), (1, 0, -np.inf), (0, -3, 1.0)])
def test_masks(upper: int, diagonal: int, value: float, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1,2,33,33] x) => (float[1,2,33,33] y) {'
        f" o = ConstantOfShape(shape) t = Trilu <upper = {upper}> (o, k) a = Add(x, t) y = Softmax(a) }}"
    )
    node = model.graph.node[0]
    node.attribute.append(helper.make_attribute("value", helper.make_tensor("v", TensorProto.FLOAT, [1], [value])))
    arrays = {"shape": np.array([1, 1, 33, 33]), "k": np.array(diagonal)}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    assert aotc.build(model).metadata.workspace_bytes == 0
    assert aotc.build(model, target="cortex-m4f").metadata.workspace_bytes == 0
    feed = {"x": np.random.default_rng(0).standard_normal((1, 2, 33, 33)).astype(np.float32)}
    expected = reference(model, feed)
    assert expected is not None
    found = {how: compiled(feed) for how, compiled in by_every_route(model, tmp_path).items()}
    for outputs in found.values():
        assert_close("y", outputs["y"], expected[0])
    assert_same_bits(found)
