"""Products that are done once for each step: of a recurrent state, panels in both orders, and of one row of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import numpy_helper

import aotc


def agrees(text: str, weights: dict[str, np.ndarray[Any, Any]]) -> None:
    """Compare all outputs with onnxruntime's, for the vectors of this machine."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {text}')
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    rng = np.random.default_rng(2)
    compiled = aotc.compile(model)
    inputs = {each.name: rng.standard_normal(each.shape).astype(np.float32) for each in compiled.inputs}
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)
    for got, wanted in zip(compiled(inputs).values(), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("units", [72, 64, 130])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_panels_are_read_back_and_forth(units: int, direction: str) -> None:
    count = 1 if direction == "forward" else 2
    rng = np.random.default_rng(0)
    shapes = {"w": (count, 3 * units, 4), "r": (count, 3 * units, units)}
    weights = {name: (rng.standard_normal(shape) / 8).astype(np.float32) for name, shape in shapes.items()}
    agrees(
        f"(float[5,1,4] x) => (float[5,{count},1,{units}] y, float[{count},1,{units}] h)"
        f' {{ y, h = GRU <hidden_size = {units}, direction = "{direction}"> (x, w, r) }}',
        weights,
    )


@pytest.mark.parametrize(("q", "k"), [("2,3,1,20", "2,3,37,20"), ("1,64", "5,64"), ("1,3,1,8", "4,1,100,8")])
def test_one_row_of_scores_needs_no_packing(q: str, k: str) -> None:
    rank = k.count(",") + 1
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    agrees(f"(float[{q}] q, float[{k}] k) => (float y) {{ t = Transpose <perm = {swapped}> (k) y = MatMul(q, t) }}", {})
