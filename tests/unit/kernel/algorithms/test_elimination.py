"""Determinants and inverses on register tiles: pivots anywhere, sizes that do and do not fill registers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from harness import assert_same_bits, by_every_route

MODEL = """<ir_version: 8, opset_import: ["" : 18, "com.microsoft" : 1]>
g (TYPE[2,SIZE,SIZE] x) => (TYPE[2] det, TYPE[2,SIZE,SIZE] inverse)
{ det = Det (x)  inverse = com.microsoft.Inverse (x) }"""


@pytest.mark.parametrize(("size", "kind"), [(16, "float"), (21, "float"), (83, "float"), (21, "double")])
def test_elimination_looks_for_pivots_below_the_diagonal(size: int, kind: str, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(MODEL.replace("TYPE", kind).replace("SIZE", str(size)))
    random = np.random.default_rng(size)
    dominant = random.uniform(-1, 1, (2, size, size)) / size + 2 * np.eye(size)
    x = dominant[:, random.permutation(size)].astype({"float": np.float32, "double": np.float64}[kind])
    found = {how: compiled({"x": x}) for how, compiled in by_every_route(model, tmp_path).items()}
    assert_same_bits(found)
    exact = np.linalg.inv(x.astype(np.float64))
    limit = 1e-5 if kind == "float" else 1e-13
    for how, (det, inverse) in ((how, result.values()) for how, result in found.items()):
        np.testing.assert_allclose(inverse, exact, atol=limit, err_msg=how)
        np.testing.assert_allclose(det, np.linalg.det(x.astype(np.float64)), rtol=limit, err_msg=how)
    for name, value in found["on vectors"].items():
        assert value.tobytes() == found["by definition"][name].tobytes(), "each element is computed as by definition"
