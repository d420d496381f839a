"""Running one ONNX model by the compiler, in process, and by onnxruntime."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, numpy_helper
from quick_c import c_quickly

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.dialects.dtypes import element_type, is_encoded, number_kind
from aotc.executor import CompiledModel, compiled_in_process
from aotc.frontend.onnx.tensors import DTYPES, read_tensor
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]
Feed = Mapping[str, Array]

TOLERANCES = {"float64": (1e-7, 1e-9), "float32": (1e-4, 1e-6), "float16": (4e-3, 1e-3), "bfloat16": (2e-2, 1e-2)}
"""Allowed difference of floats: relative to the value, and absolute. Everything else, minifloats too, must be equal."""


SCALAR = "rv64gc"
"""A target without vectors of as wide addresses; what its phases make runs in this process as well."""


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
            waits = {problem.id for problem in error.problems} & {"unknown-value", "sequence-at-run-time"}
            if not waits or len(known) == len(feed):
                raise
        else:
            return compiled({name: value for name, value in feed.items() if name not in known})
    raise AssertionError("the last try returns or raises")


def by_c_and_llvm(
    source: str | Path | ModelProto, folder: Path, options: CompileOptions | None = None
) -> tuple[CompiledModel, CompiledModel]:
    """A model lowered once, and its kernels by C, compiled quickly, and by LLVM in this process."""
    chosen = replace(in_process(options or CompileOptions()), weights="embedded")
    compilation = lower(source, chosen)
    return c_quickly(compilation, folder), compiled_in_process(compilation)


def by_every_route(model: ModelProto, folder: Path, *, threads: bool = True) -> dict[str, CompiledModel]:
    """A model by all there is to compute it: in process at two levels, if it is asked for by threads, as it is for
    processors without vectors, and by C."""
    by_c, on_vectors = by_c_and_llvm(model, folder)
    ways = {
        "by definition": aotc.compile(model, optimize=0),
        "on vectors": on_vectors,
        "without vectors": compiled_in_process(lower(model, in_process(CompileOptions.of(target=SCALAR)))),
        "by C": by_c,
    }
    return ways | ({"by threads": aotc.compile(model, threads=2)} if threads else {})


def assert_same_bits(found: Mapping[str, Feed]) -> None:
    """Of what `by_every_route` gives, C and threads agree with code on vectors bit for bit."""
    for how in found.keys() & {"by C", "by threads"}:
        for name, value in found["on vectors"].items():
            assert value.tobytes() == found[how][name].tobytes(), f"{name} {how} differs"


def reference(model: ModelProto, feed: Feed, *, optimized: bool = True) -> list[Array] | None:
    """The outputs of onnxruntime; None where it has no kernel for the operator, its types or its version."""
    options = onnxruntime.SessionOptions()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1  # to start and end a pool takes longer than most models
    options.log_severity_level = 4
    options.add_session_config_entry("session.x64quantprecision", "1")  # without VNNI its sums of bytes saturate
    # Its Python interface has no arrays of types encoded in a byte: they go in as initializers, and come out raw.
    encoded = [name for name, value in feed.items() if is_encoded(element_type(value.dtype))]
    values = {name: value for name, value in feed.items() if name not in encoded}
    try:
        session = onnxruntime.InferenceSession(with_known(model, feed, encoded).SerializeToString(), options)
        names = [output.name for output in session.get_outputs()]
        given = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in values.items()}
        return [_array(value) for value in session.run_with_ort_values(names, given)]
    except Exception:
        return None


def _array(value: Any) -> Array:
    """An OrtValue as an array."""
    code = value.element_type()
    if code not in DTYPES or not is_encoded(element_type(DTYPES[code])):
        return np.asarray(value.numpy())
    raw = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    tensor = TensorProto(data_type=code, dims=value.shape(), raw_data=raw)
    return read_tensor(tensor, None)


def assert_close(name: str, actual: Array, expected: Array) -> None:
    """Dtype and shape are the same, values within the tolerance of the dtype; NaN equals NaN."""
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), name
    exact = (0, 0) if number_kind(actual.dtype) == "f" else None
    if (tolerance := TOLERANCES.get(actual.dtype.name, exact)) is None:
        np.testing.assert_array_equal(actual, expected, name)
    else:
        relative, absolute = tolerance
        wide = (array.astype(np.float64) for array in (actual, expected))
        np.testing.assert_allclose(*wide, rtol=relative, atol=absolute, err_msg=name)
