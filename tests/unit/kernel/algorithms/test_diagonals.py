"""Matrices that are 0 but for a diagonal, of every type and wherever it lies: too large for constants, so kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from harness import by_every_route
from onnx import TensorProto, helper
from onnx.helper import tensor_dtype_to_np_dtype

SHAPE = (257, 260)
INTEGERS = tuple(f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
TYPES = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "BOOL", *INTEGERS)
CASES = {
    f"{name}_{place}": (getattr(TensorProto, name), k)
    for name in TYPES
    for place, k in enumerate((2, -3) if name != "FLOAT" else (0, 2, -3, 259, -256, 260, -257, 1000, -1000))
}


def test_diagonals_by_every_route(tmp_path: Path) -> None:
    nodes = [helper.make_node("EyeLike", ["x"], [y], k=k, dtype=kind) for y, (kind, k) in CASES.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)
    outputs = [helper.make_tensor_value_info(y, kind, SHAPE) for y, (kind, _) in CASES.items()]
    graph = helper.make_graph(nodes, "eyes", [x], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    for compiled in by_every_route(model, tmp_path).values():
        found = compiled(np.zeros(SHAPE, np.float32))
        for y, (kind, k) in CASES.items():
            expected = np.eye(*SHAPE, k, tensor_dtype_to_np_dtype(kind))
            np.testing.assert_array_equal(found[y], expected, strict=True)
