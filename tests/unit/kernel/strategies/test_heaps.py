"""Heaps of the best elements and boxes: ties, extremes and tails, by C and LLVM, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from harness import by_c_and_llvm, reference


def _model(graph: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')


@pytest.mark.parametrize(("extent", "k"), [(100, 7), (100, 96), (71, 50), (33, 1)])
@pytest.mark.parametrize("kind", ["float", "int32"])
def test_the_greatest_of_many_that_are_alike(kind: str, extent: int, k: int, tmp_path: Path) -> None:
    dtype = {"float": np.float32, "int32": np.int32}[kind]
    x = np.random.default_rng(extent).integers(-9, 9, (2, extent, 3)).astype(dtype)
    if kind == "float":
        x[0, ::7], x[1, 1::5], x[1, ::11] = -0.0, np.inf, -np.inf
    model = _model(
        f"g ({kind}[2, {extent}, 3] x) => ({kind}[2, {k}, 3] v, int64[2, {k}, 3] i) <int64[1] k = {{{k}}}>"
        " { v, i = TopK <axis = 1> (x, k) }"
    )
    expected = reference(model, {"x": x})
    assert expected is not None
    for compiled in by_c_and_llvm(model, tmp_path):
        for one, other in zip(compiled({"x": x}).values(), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_best_boxes_of_many_that_are_alike(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    corners = random.random((1, 90, 2), np.float32)
    boxes = np.concatenate([corners, corners + np.float32(0.2)], -1)
    scores = random.integers(-4, 4, (1, 2, 90)).astype(np.float32)
    scores[0, 0, ::9], scores[0, 1, :8] = -0.0, np.inf
    model = _model(
        "g (float[1, 90, 4] b, float[1, 2, 90] s) => (int64[n, 3] y)"
        " <int64[1] most = {40}, float[1] overlap = {0.3}, float[1] least = {-3.5}>"
        " { y = NonMaxSuppression (b, s, most, overlap, least) }"
    )
    feed = {"b": boxes, "s": scores}
    expected = reference(model, feed)
    assert expected is not None
    for compiled in by_c_and_llvm(model, tmp_path):
        np.testing.assert_array_equal(compiled(feed)["y"], expected[0])
