"""Kernels whose epilogue permutes the rows that they write: against onnxruntime, C and two threads against LLVM."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from harness import assert_same_bits, by_c_and_llvm, by_every_route, reference

import aotc
from aotc.executor.model import CompiledModel
from aotc.pipeline.options import CompileOptions

CASES = {
    "heads": (
        "float[1,3,37,19] x, float[1,3,19,40] y",
        "a = MatMul(x, y) b = Transpose <perm = [0, 2, 1, 3]> (a)",
    ),
    "columns that fill no register": (
        "float[2,3,17,9] x, float[2,3,9,21] y",
        "m = MatMul(x, y) a = Relu(m) b = Transpose <perm = [2, 0, 1, 3]> (a)",
    ),
    "another operand": (
        "float[2,2,33,16] x, float[2,2,16,32] y, float[2,2,33,32] z",
        "m = MatMul(x, y) a = Add(m, z) b = Transpose <perm = [1, 2, 0, 3]> (a)",
    ),
    "rows": ("float[2,5,7,33] x", "a = Softmax <axis = -1> (x) b = Transpose <perm = [0, 2, 1, 3]> (a)"),
}
"""Inputs, and what permutes the rows of `a`."""


def _model(inputs: str, nodes: str) -> onnx.ModelProto:
    """The rows of `b` side by side, behind a view."""
    graph = f"g ({inputs}) => (float[r, c] out) {{ {nodes} out = Flatten (b) }}"
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')


def _agree(model: onnx.ModelProto, routes: Mapping[str, CompiledModel]) -> None:
    """All in one kernel, by every route the same."""
    random, by_vectors = np.random.default_rng(0), routes["on vectors"]
    assert len(by_vectors.metadata.kernels) == 1
    feed = {each.name: random.standard_normal(each.shape).astype(np.float32) for each in by_vectors.inputs}
    found = {how: route(feed) for how, route in routes.items()}
    assert_same_bits(found)
    (expected,) = reference(model, feed) or ()
    for how, values in found.items():
        np.testing.assert_allclose(values["out"], expected, rtol=1e-5, atol=1e-5, err_msg=how)


@pytest.mark.parametrize("case", CASES)
def test_rows_are_written_where_they_belong(case: str, tmp_path: Path) -> None:
    model = _model(*CASES[case])
    _agree(model, by_every_route(model, tmp_path))


def test_so_are_those_of_an_attention(tmp_path: Path) -> None:
    inputs = "float[1,3,197,16] x, float[1,3,16,197] y, float[1,3,197,32] z"
    product = "m = MatMul(x, y) s = Softmax <axis = -1> (m) a = MatMul(s, z)"
    model, target = _model(inputs, f"{product} b = Transpose <perm = [0, 2, 1, 3]> (a)"), "host@l2=128K"
    by_c, by_llvm = by_c_and_llvm(model, tmp_path, CompileOptions.of(target=target))
    _agree(model, {"by C": by_c, "on vectors": by_llvm, "by threads": aotc.compile(model, target=target, threads=2)})
