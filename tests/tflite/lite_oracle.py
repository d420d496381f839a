"""Outputs of a .tflite model: by TFLite Micro's interpreter with its reference kernels, and by LiteRT's.

Tests that call these are skipped, by the name of the package, where it is not installed.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, Any]


class Micro:
    """A model in TFLite Micro's interpreter; variables and states go on from one call to the next."""

    def __init__(self, model: bytes, arena: int = 1 << 22) -> None:
        runtime = pytest.importorskip("tflite_micro").runtime
        self._outputs: int = pytest.importorskip("tflite").Model.GetRootAs(model).Subgraphs(0).OutputsLength()
        with contextlib.redirect_stdout(io.StringIO()):  # it prints the number of variables
            self._interpreter = runtime.Interpreter.from_bytes(model, arena_size=arena)

    def __call__(self, *inputs: Array) -> list[Array]:
        """The outputs of a call."""
        for index, value in enumerate(inputs):
            self._interpreter.set_input(value, index)
        self._interpreter.invoke()
        return [self._interpreter.get_output(index) for index in range(self._outputs)]

    def reset(self) -> None:
        """Make states what they were at first."""
        self._interpreter.reset()


class Lite:
    """A model in LiteRT's interpreter, with its reference kernels unless `optimized`, which has no delegate either."""

    def __init__(self, model: bytes, optimized: bool = False) -> None:
        module = pytest.importorskip("ai_edge_litert.interpreter")
        kinds = module.OpResolverType
        kind = kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES if optimized else kinds.BUILTIN_REF
        self._interpreter = module.Interpreter(
            model_content=model,
            experimental_op_resolver_type=kind,
            num_threads=1,
            experimental_preserve_all_tensors=False,
        )
        self._interpreter.allocate_tensors()

    def __call__(self, *inputs: Array) -> list[Array]:
        """The outputs of a call."""
        for row, value in zip(self._interpreter.get_input_details(), inputs, strict=True):
            self._interpreter.set_tensor(row["index"], value)
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(row["index"]) for row in self._interpreter.get_output_details()]

    def reset(self) -> None:
        """Make variables what they were at first."""
        self._interpreter.reset_all_variables()


ORACLES = {"micro": Micro, "lite": Lite}


def run(model: bytes, calls: Sequence[Sequence[Array]], oracle: str = "micro") -> list[list[Array]]:
    """The outputs of each of several calls in a row of a model."""
    interpreter = ORACLES[oracle](model)
    return [interpreter(*inputs) for inputs in calls]
