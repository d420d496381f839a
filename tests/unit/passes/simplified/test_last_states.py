"""The last step of a recurrent layer is its last state: the numbers of onnxruntime, the memory of Y_h."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from harness import by_c_and_llvm, reference
from onnx import ModelProto, numpy_helper

import aotc

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
LAST = "v = Transpose <perm = [1,0,2]> (u) r = Gather <axis = 1> (v, %s)"
"""As PyTorch exports `y[:, -1]`, batch first."""


def layer(kind: str, direction: str, step: int) -> ModelProto:
    """All directions of a step of 9."""
    count = 2 if direction == "bidirectional" else 1
    rng = np.random.default_rng(0)
    rows = GATES[kind] * 8
    shapes = {"w": (count, rows, 5), "r0": (count, rows, 8), "b": (count, 2 * rows)}
    weights = {name: (rng.standard_normal(shape) / 4).astype(np.float32) for name, shape in shapes.items()}
    weights |= {"step": np.array(step), "shape": np.array([0, 0, -1])}
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g (float[9,2,5] x) => (float[2,{8 * count}] r) {{'
        f' y, h = {kind} <hidden_size = 8, direction = "{direction}"> (x, w, r0, b)'
        f" t = Transpose <perm = [0,2,1,3]> (y) u = Reshape(t, shape) {LAST % 'step'} }}"
    )
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    return model


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize(
    ("direction", "step"), [("forward", -1), ("reverse", 0), ("bidirectional", -1), ("forward", 0)]
)
def test_steps_are_those_of_onnxruntime(kind: str, direction: str, step: int, tmp_path: Path) -> None:
    model = layer(kind, direction, step)
    x = np.random.default_rng(1).standard_normal((9, 2, 5)).astype(np.float32)
    expected = reference(model, {"x": x})
    assert expected is not None
    by_c, by_llvm = (compiled({"x": x})["r"] for compiled in by_c_and_llvm(model, tmp_path))
    assert by_c.tobytes() == by_llvm.tobytes()
    np.testing.assert_allclose(by_c, expected[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize(("direction", "last"), [("forward", -1), ("reverse", 0)])
def test_the_last_step_alone_is_kept(kind: str, direction: str, last: int) -> None:
    def workspace(step: int) -> int:
        return aotc.build(layer(kind, direction, step), target="cortex-m4f").metadata.workspace_bytes

    states = 9 * 2 * 8 * 4
    assert workspace(last) < states <= workspace(4)
