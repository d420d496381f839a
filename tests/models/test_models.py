"""Real models by every route against recorded outputs, and the routes against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quick_c import open_quickly
from zoo import MODELS, ZooModel, tolerance

import aotc
from aotc.measuring.routes import open_model
from aotc.pipeline.options import CompileOptions

ROUTES = ("jit", "shared", "c")


def _require(model: ZooModel) -> Path:
    if model.folder is None:
        pytest.skip(f"{model.name} is not in AOTC_MODEL_ZOO")
    return model.folder / "model.onnx"


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_outputs_match_the_recording(model: ZooModel, route: str) -> None:
    path = _require(model)
    opened: dict[tuple[tuple[str, int], ...], aotc.CompiledModel] = {}
    for case in model.cases:
        dims = model.dims.get(case, {})
        key = tuple(dims.items())
        if key not in opened:
            opened[key] = open_quickly(str(path), route, CompileOptions.of(dims=dims))
        inputs, expected = model.case(case)
        outputs = opened[key](inputs)
        assert set(outputs) == set(expected)
        for name, reference in expected.items():
            actual = outputs[name]
            assert actual.shape == reference.shape and actual.dtype == reference.dtype
            difference = np.abs(actual.astype(np.float64) - reference.astype(np.float64)).max(initial=0.0)
            assert difference <= tolerance(reference, model.noise), f"{name} in case {case or '0'}"


@pytest.mark.parametrize(
    "model", [m for m in MODELS if m.name in ("micro_speech_int8", "hello_world_float")], ids=lambda model: model.name
)
def test_c_and_llvm_agree_bit_for_bit(model: ZooModel) -> None:
    """No libm is involved up to the quantised softmax, so both back ends compute the same bits, C as users build it."""
    path = str(_require(model))
    inputs, _ = model.case("")
    results: list[dict[str, np.ndarray[Any, Any]]] = [
        open_model(path, route, CompileOptions())(inputs) for route in ("jit", "c")
    ]
    for name, array in results[0].items():
        assert array.tobytes() == results[1][name].tobytes(), name
