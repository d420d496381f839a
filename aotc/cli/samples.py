"""Inputs for `run`, `verify` and `bench`, and timing against a peer."""

from __future__ import annotations

import statistics
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aotc.dialects.dtypes import numpy_dtype
from aotc.errors import Problem, UsageError
from aotc.recordings import read_arrays

if TYPE_CHECKING:
    from aotc.metadata import TensorInfo
    from aotc.options import CompileOptions

Array = np.ndarray[Any, Any]


def read_inputs(path: str | None, expected: Sequence[TensorInfo]) -> dict[str, Array]:
    """The arrays of an npz file, or without one seeded random values for each input. Raises OSError, UsageError."""
    if path is None:
        return {info.name: random_array(info) for info in expected}
    return read_arrays(path, {info.name: (numpy_dtype(info.dtype), info.shape) for info in expected})


def random_array(info: TensorInfo) -> Array:
    """Reproducible values for an input: standard normal floats, small non-negative integers, coin tosses."""
    generator = np.random.default_rng(zlib.crc32(info.name.encode()))
    dtype = numpy_dtype(info.dtype)
    if dtype.kind in "iu":
        return generator.integers(0, 100, info.shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, info.shape).astype(dtype)
    return generator.standard_normal(info.shape).astype(dtype)


def peer_session(model: str) -> Any:
    """An onnxruntime session on one thread. Raises UsageError where it is not installed."""
    try:
        import onnxruntime  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UsageError(Problem("onnxruntime is not installed", fix="pip install onnxruntime")) from error
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(Path(model).read_bytes(), options, providers=["CPUExecutionProvider"])


def measure(
    path: str,
    options: CompileOptions,
    *,
    against: str | None,
    number: int,
    repeat: int,
    report: Callable[[str], None] | None,
) -> dict[str, Any]:
    """Time a model, in turns with a peer if one is named: median seconds a call, and the median ratio of the turns."""
    from aotc.routes import open_model

    model = open_model(path, "jit", options, report)
    inputs = read_inputs(None, model.inputs)
    step = model.bind(inputs)
    number = number or max(1, round(0.05 / max(_seconds(step, 1), 1e-7)))
    peer = None if against is None else _peer_step(path, inputs)
    ours: list[float] = []
    theirs: list[float] = []
    if report is not None:
        report("measuring")
    for _ in range(repeat):
        ours.append(_seconds(step, number))
        if peer is not None:
            theirs.append(_seconds(peer, number))
    result: dict[str, Any] = {"seconds": statistics.median(ours), "number": number, "repeat": repeat}
    if peer is not None:
        result["peer"] = against
        result["peer_seconds"] = statistics.median(theirs)
        result["ratio"] = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    return result


def _peer_step(path: str, inputs: Mapping[str, Array]) -> Callable[[], object]:
    session = peer_session(path)
    return lambda: session.run(None, dict(inputs))


def _seconds(step: Callable[[], object], number: int) -> float:
    from time import perf_counter

    start = perf_counter()
    for _ in range(number):
        step()
    return (perf_counter() - start) / number
