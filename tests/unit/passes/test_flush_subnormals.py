"""Subnormal weights of large constants, which lie in the store, and where the pass runs."""

from __future__ import annotations

import numpy as np
import pytest
from convolution_model import convolution
from onnx import ModelProto

from aotc.compiler.driver import lower
from aotc.dialects.constants import known_array
from aotc.dialects.graph.structure import ConstantOp
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import CompileOptions


def model(weight: np.ndarray) -> ModelProto:
    return convolution("Conv", np.zeros((1, weight.shape[1], 5, 5), np.float32), weight, None)


def subnormals(compilation: Compilation) -> int:
    """How many subnormal elements the constants have."""
    arrays = (known_array(op, compilation.store) for op in compilation.module.walk() if isinstance(op, ConstantOp))
    return sum(int(((array != 0) & (np.abs(array) < 2.0**-126)).sum()) for array in arrays if array is not None)


@pytest.mark.parametrize(("accuracy", "count"), [("fast", 0), ("strict", 2)])
def test_a_large_weight_loses_them_unless_accuracy_is_strict(accuracy: str, count: int) -> None:
    weight = np.random.default_rng(0).standard_normal((64, 256, 3, 3)).astype(np.float32)
    weight[63, 255, 2, 1:] = 1e-40, -1e-42
    options = CompileOptions.of(target="x86-64-v4", accuracy=accuracy, stop_after="schedule")
    assert subnormals(lower(model(weight), options)) == count
