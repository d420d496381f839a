"""onnxruntime: what results are compared with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from aotc.compiler.checking.interface import Interface
from aotc.compiler.checking.quantized_reference import as_unsigned
from aotc.dialects.dtypes import numpy_dtype
from aotc.errors import UsageError
from aotc.model.labels import without_labels
from aotc.model.naming import distinct_names

if TYPE_CHECKING:
    from aotc.model.known_tensors import KnownTensor
    from aotc.model.labels import Labels
    from aotc.model.metadata import StateInfo, TensorInfo

Array = np.ndarray[Any, Any]

DTYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(bool)": "bool"} | {
    f"tensor({name})": name
    for name in ("float16", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
}
"""The types of onnxruntime's inputs as numpy has them."""


def reference_session(model: str | os.PathLike[str] | bytes, threads: int = 1, *, optimize: bool = True) -> Any:
    """An onnxruntime session on the CPU, of a model file or of its bytes; node by node where it is not to `optimize`.

    Raises OSError where there is no file, UsageError where onnxruntime is not installed or has no such operators.
    """
    try:
        import onnxruntime  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UsageError("missing-tool", "onnxruntime is not installed", fix="pip install onnxruntime") from error
    onnxruntime.set_default_logger_severity(4)  # what is wrong is in the exception
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # without it products of uint8 and int8 saturate in pairs on x86 without VNNI
    options.add_session_config_entry("session.x64quantprecision", "1")
    if not isinstance(model, bytes):  # by its name, beside which external data is
        Path(model).open("rb").close()
        model = os.fspath(model)
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no common class
        why = str(error).strip().partition("\n")[0]
        raise UsageError("failed-tool", "onnxruntime cannot load the model", why) from error


def comparable_session(model: str | os.PathLike[str] | bytes, *, optimize: bool = True) -> Any:
    """As `reference_session`, of unsigned tensors where quantised ones are signed (see `quantized`), and node by node
    where onnxruntime's optimiser fails, as on quantised models of which two operators share a zero point."""
    if optimize:
        with suppress(UsageError, DecodeError, OSError):
            if (unsigned := as_unsigned(model)) is not None:
                return reference_session(unsigned)
    try:
        return reference_session(model, optimize=optimize)
    except UsageError:
        with suppress(UsageError):
            return reference_session(model, optimize=False)
        raise


def reference_sequence(
    session: Any,
    steps: Sequence[Mapping[str, Array]],
    states: Sequence[StateInfo],
    constants: Mapping[str, KnownTensor] | None = None,
    labels: Mapping[str, Labels] | None = None,
    interface: Interface | None = None,
) -> list[dict[str, Array]]:
    """The outputs of runs one after the other, each of which is given the `states` that the last one left.

    At first these are what the model says, else zeros. Raises as `reference_outputs`.
    """
    named = {value.name for value in session.get_overridable_initializers()}
    state_values = first_values([state for state in states if state.name not in named])
    found: list[dict[str, Array]] = []
    for inputs in steps:
        outputs = reference_outputs(session, {**inputs, **state_values}, constants, labels, interface)
        state_values = {state.name: outputs[state.output] for state in states}
        found.append(outputs)
    return found


def first_values(states: Sequence[TensorInfo]) -> dict[str, Array]:
    """Zeros for each of the states, by name."""
    return {state.name: np.zeros(state.shape, numpy_dtype(state.dtype)) for state in states}


def reference_outputs(
    session: Any,
    inputs: Mapping[str, Array],
    constants: Mapping[str, KnownTensor] | None = None,
    labels: Mapping[str, Labels] | None = None,
    interface: Interface | None = None,
) -> dict[str, Array]:
    """The outputs of an onnxruntime session by name; `constants` are inputs to it that the compiled model has not,
    `labels` what the numbers stand for that this has for text and maps, `interface` how its inputs and outputs
    differ from the model's.

    Raises UsageError where it cannot run, as on arrays of int4.
    """
    names = distinct_names([output.name for output in session.get_outputs()])
    dtypes = {value.name: DTYPES.get(value.type, "float32") for value in session.get_inputs()}
    known = {
        name: np.array(tensor.values, dtypes.get(name)).reshape(tensor.shape)
        for name, tensor in (constants or {}).items()
    }
    if interface is not None:
        inputs = {name: interface.given(name, array, dtypes.get(name, "")) for name, array in inputs.items()}
    try:
        found = dict(zip(names, session.run(None, {**inputs, **known}), strict=True))
    except Exception as error:
        dtypes = sorted({array.dtype.name for array in inputs.values() if array.dtype.isbuiltin != 1})
        what = f"onnxruntime cannot run the model{' on arrays of ' + ', '.join(dtypes) if dtypes else ''}"
        why = str(error).strip().partition("\n")[0]
        raise UsageError("failed-tool", what, why, "compare with recorded outputs: aotc run --outputs") from error
    found = {name: without_labels(value, (labels or {}).get(name, ())) for name, value in found.items()}
    return found if interface is None else {name: interface.computed(name, value) for name, value in found.items()}
