"""onnxruntime: what results are compared with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from aotc.errors import Problem, UsageError

Array = np.ndarray[Any, Any]


def reference_session(model: str | os.PathLike[str] | bytes, threads: int = 1) -> Any:
    """An onnxruntime session on the CPU, of a model file or of its bytes.

    Raises OSError where there is no file, UsageError where onnxruntime is not installed or has no such operators.
    """
    try:
        import onnxruntime  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UsageError(Problem("onnxruntime is not installed", fix="pip install onnxruntime")) from error
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # without it products of uint8 and int8 saturate in pairs on x86 without VNNI
    options.add_session_config_entry("session.x64quantprecision", "1")
    if not isinstance(model, bytes):  # by its name, beside which external data is
        Path(model).open("rb").close()
        model = os.fspath(model)
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no common class
        why = str(error).strip().partition("\n")[0]
        raise UsageError(Problem("onnxruntime cannot load the model", why=why)) from error


def reference_outputs(session: Any, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of an onnxruntime session by name. Raises UsageError where it cannot run, as on arrays of int4."""
    names = [output.name for output in session.get_outputs()]
    try:
        return dict(zip(names, session.run(None, dict(inputs)), strict=True))
    except Exception as error:
        dtypes = sorted({array.dtype.name for array in inputs.values() if array.dtype.isbuiltin != 1})
        what = f"onnxruntime cannot run the model{' on arrays of ' + ', '.join(dtypes) if dtypes else ''}"
        why = str(error).strip().partition("\n")[0]
        raise UsageError(Problem(what, why=why, fix="compare with recorded outputs: aotc run --outputs")) from error
