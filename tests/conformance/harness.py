"""Running one ONNX model by the compiler, in process, and by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, numpy_helper

import aotc

Array = np.ndarray[Any, Any]
Feed = Mapping[str, Array]

TOLERANCES = {"float64": (1e-7, 1e-9), "float32": (1e-4, 1e-6), "float16": (4e-3, 1e-3), "bfloat16": (2e-2, 1e-2)}
"""Allowed difference of floats: relative to the value, and absolute. Everything else must be equal."""


def with_known(model: ModelProto, feed: Feed, names: Sequence[str]) -> ModelProto:
    """`model` with the inputs `names` as initializers of their values in `feed`."""
    copy = ModelProto()
    copy.CopyFrom(model)
    kept = [value for value in copy.graph.input if value.name not in names]
    del copy.graph.input[:]
    copy.graph.input.extend(kept)
    copy.graph.initializer.extend(numpy_helper.from_array(feed[name], name) for name in names)
    return copy


def run(model: ModelProto, feed: Feed) -> dict[str, Array]:
    """The outputs, with as many inputs as the compiler allows left to run time: shapes and the like must be known."""
    empty = [name for name, value in feed.items() if value.size == 0]
    others = [name for name, value in feed.items() if value.size]
    for known in (empty, empty + others[1:], empty + others):
        try:
            compiled = aotc.compile(with_known(model, feed, known), optimize=0)
        except aotc.CompileError as error:
            if "run time" not in str(error) or len(known) == len(feed):
                raise
        else:
            return compiled({name: value for name, value in feed.items() if name not in known})
    raise AssertionError("the last try returns or raises")


def reference(model: ModelProto, feed: Feed) -> list[Array] | None:
    """The outputs of onnxruntime; None where it has no kernel for the operator, its types or its version."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        return [np.asarray(value) for value in session.run(None, dict(feed))]
    except Exception:
        return None


def assert_close(name: str, actual: Array, expected: Array) -> None:
    """Dtype and shape are the same, values within the tolerance of the dtype; NaN equals NaN."""
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), name
    if (tolerance := TOLERANCES.get(actual.dtype.name)) is None:
        np.testing.assert_array_equal(actual, expected, name)
    else:
        relative, absolute = tolerance
        wide = (array.astype(np.float64) for array in (actual, expected))
        np.testing.assert_allclose(*wide, rtol=relative, atol=absolute, err_msg=name)
