"""Bound calls into memory of the caller's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx.parser
import pytest

import aotc
from aotc.executor import CompiledModel

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
two (float[4,3] x) => (float[4,3] y, int32[4,3] n) { y = Neg(x)  n = Cast<to = 6>(x) }"""
X = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(scope="module", params=["c", "micro", "packed"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CompiledModel:
    folder = tmp_path_factory.mktemp("two")
    aotc.compile_to(onnx.parser.parse_model(TEXT), folder, name="two", emit="shared", interface_api=request.param)
    return aotc.load(folder / "two.so")


def test_outputs_are_written_where_they_are(model: CompiledModel) -> None:
    x, y, n = X.copy(), np.empty((4, 3), np.float32), np.empty((4, 3), np.int32)
    for step in (model.bind({"x": x}, outputs={"n": n, "y": y}), model.bind(x, outputs=(y, n))):
        y[:], n[:] = 0, 0
        x += 1
        result = step()
        assert result["y"] is y and result["n"] is n
        assert np.array_equal(y, -x) and np.array_equal(n, x)


def test_some_outputs(model: CompiledModel) -> None:
    y = np.empty((4, 3), np.float32)
    result = model.bind(x=X, outputs={"y": y})()
    assert result["y"] is y and np.array_equal(y, -X) and np.array_equal(result["n"], X)


def test_a_part_of_a_larger_array(model: CompiledModel) -> None:
    rows = np.zeros((3, 4, 3), np.float32)
    model.bind(X, outputs={"y": rows[1]})()
    assert np.array_equal(rows[1], -X) and not rows[0].any() and not rows[2].any()


def _read_only() -> np.ndarray:
    array = np.empty((4, 3), np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (_read_only, ValueError, "'y' is read-only"),
        (lambda: np.empty((4, 6), np.float32)[:, ::2], ValueError, "'y' is not contiguous"),
        (lambda: np.empty((3, 4), np.float32).T, ValueError, "'y' is not contiguous"),
        (lambda: np.zeros(49, np.uint8)[1:].view(np.float32).reshape(4, 3), ValueError, "'y' is not aligned"),
        (lambda: np.empty((4, 4), np.float32), ValueError, r"'y' has shape \[4, 4\], expected float32\[4, 3\]"),
        (lambda: np.empty((4, 3), np.float64), TypeError, "'y' has dtype float64"),
        (lambda: X.tolist(), TypeError, "'y' is of type list"),
        (lambda: X, ValueError, "'x' and 'y' overlap"),
    ],
)
def test_outputs_that_cannot_be_written(
    model: CompiledModel, make: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        model.bind(X, outputs={"y": make()})


def test_memory_that_overlaps(model: CompiledModel) -> None:
    memory = np.zeros(24, np.float32)
    x = memory[:12].reshape(4, 3)
    with pytest.raises(ValueError, match="'x' and 'y' overlap in memory"):
        model.bind(x, outputs={"y": memory[11:23].reshape(4, 3)})
    with pytest.raises(ValueError, match="'y' and 'n' overlap in memory"):
        model.bind(X, outputs={"y": x, "n": memory[4:16].view(np.int32).reshape(4, 3)})
    assert np.array_equal(model.bind(x, outputs={"y": memory[12:].reshape(4, 3)})()["n"], x)


def test_wrong_names_and_numbers(model: CompiledModel) -> None:
    with pytest.raises(ValueError, match="no output 'z'; the outputs are 'y' float32"):
        model.bind(X, outputs={"z": X})
    with pytest.raises(TypeError, match="1 arrays for 2 outputs"):
        model.bind(X, outputs=[X.copy()])
