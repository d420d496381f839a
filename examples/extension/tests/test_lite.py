"""The operator of the example in a .tflite file."""

from __future__ import annotations

import numpy as np
import pytest
from lite_cases.signal import flexbuffer
from lite_model import Graph, write

import aotc


@pytest.mark.parametrize("coefficient", [None, 0.5])
def test_a_custom_operator_runs(coefficient: float | None) -> None:
    graph = Graph()
    for name in ("x", "y"):
        graph.tensor(name, (2, 50), "float32")
    options = b"" if coefficient is None else flexbuffer(coefficient=coefficient)
    graph.op("Preemphasis", ["x"], ["y"], custom=options)
    x = np.random.default_rng(1).standard_normal((2, 50)).astype(np.float32)
    expected = x.copy()
    expected[:, 1:] -= np.float32(0.97 if coefficient is None else coefficient) * x[:, :-1]
    found = aotc.compile(write([graph.ends(["x"], ["y"])]))({"x": x})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
