"""Recorded inputs and expected outputs for `--selftest`: read, completed, and attached to the model's module.

The pass `add-selftest` makes a function of them. They are constants of the WeightStore, flat, under keys that begin
with `selftest_`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from aotc.compiler.checking.quantized_reference import read_without_weights, steps
from aotc.compiler.checking.recordings import read_arrays
from aotc.compiler.checking.reference import comparable_session, reference_outputs
from aotc.dialects.aot.contract import RECORDED, Argument, Recorded, arguments_of, entry, results_of
from aotc.dialects.dtypes import element_type, extended, is_encoded, numpy_dtype
from aotc.model.model_file import ModelFile

if TYPE_CHECKING:
    from aotc.model.model_file import Source
    from aotc.pipeline.compilation import Compilation

Array = np.ndarray[Any, Any]

RTOL, ATOL = 1e-4, 1e-5
"""Floats may differ from what is expected by RTOL * the largest finite value of the output + ATOL."""


@dataclass(frozen=True)
class _Tensor:
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def recorded_values(compilation: Compilation) -> tuple[dict[str, Array], dict[str, Array] | None]:
    """The recorded inputs of a model after `import`, and its outputs where its options name a file of them, by name.

    Raises OSError, and UsageError for files that do not hold the model's inputs or outputs.
    """
    options = compilation.options
    assert options.selftest is not None
    inputs, outputs = _signature(compilation)
    given = options.selftest_outputs
    return _arrays(options.selftest, inputs), None if given is None else _arrays(given, outputs)


def reference_values(
    compilation: Compilation, source: Source, inputs: Mapping[str, Array]
) -> Mapping[str, Array] | None:
    """The outputs that onnxruntime computes, by name.

    None where it is not installed; it also has no arrays of types beyond numpy's.
    """
    wanted = (*_signature(compilation), _states(compilation))
    if find_spec("onnxruntime") is None or any(tensor.dtype.isbuiltin != 1 for side in wanted for tensor in side):
        return None
    import onnx

    model = source.SerializeToString() if isinstance(source, onnx.ModelProto) else source
    if isinstance(model, ModelFile):
        model = model.reread()
    session = comparable_session(model)
    named = {value.name for value in session.get_overridable_initializers()}
    first = {each.name: np.zeros(each.shape, each.dtype) for each in wanted[-1] if each.name not in named}
    labels = {each.name: each.labels or () for each in results_of(entry(compilation.module)) if each.name is not None}
    return reference_outputs(session, {**inputs, **first}, compilation.options.known_constants, labels)


def attach_selftest(
    compilation: Compilation, source: Source, inputs: Mapping[str, Array], outputs: Mapping[str, Array]
) -> None:
    """Give a model after `import` the values that its self-test feeds and expects, by name."""

    def stored(tensors: Sequence[_Tensor], arrays: Mapping[str, Array]) -> tuple[str, ...]:
        flat = {each.name: extended(arrays[each.name].reshape(-1)) for each in tensors}
        return tuple(compilation.store.add(f"selftest_{name}", array) for name, array in flat.items())

    fed, expected = _signature(compilation)
    one_step = steps(read_without_weights(source.reread() if isinstance(source, ModelFile) else source))
    tolerances = tuple(_tolerance(outputs[each.name]) + one_step.get(each.name, 0.0) for each in expected)
    RECORDED.set(compilation.module, Recorded(stored(fed, inputs), stored(expected, outputs), tolerances))


def _signature(compilation: Compilation) -> tuple[list[_Tensor], list[_Tensor]]:
    """The inputs and outputs of the entry after `import`, without what is state."""
    main = entry(compilation.module)
    results, states = results_of(main), _state_places(main)
    inputs = enumerate(zip(main.function_type.inputs, arguments_of(main), strict=True))
    outputs = zip(main.function_type.outputs, results, strict=True)
    fed = [_tensor(*each) for place, each in inputs if place not in states]
    return fed, [_tensor(*each) for each in outputs if each[1].state_of is None]


def _states(compilation: Compilation) -> list[_Tensor]:
    """State that the entry keeps from one call to the next, as inputs of the model."""
    main = entry(compilation.module)
    arguments = arguments_of(main)
    return [_tensor(main.function_type.inputs.data[place], arguments[place]) for place in sorted(_state_places(main))]


def _state_places(main: FuncOp) -> set[int]:
    return {each.state_of for each in results_of(main) if each.state_of is not None}


def _tensor(kind: Attribute, given: Argument) -> _Tensor:
    assert isinstance(kind, TensorType) and given.name is not None and given.dtype is not None
    return _Tensor(given.name, numpy_dtype(given.dtype), tuple(kind.get_shape()))


def _arrays(path: str, tensors: Sequence[_Tensor]) -> dict[str, Array]:
    return read_arrays(path, {tensor.name: (tensor.dtype, tensor.shape) for tensor in tensors})


def _tolerance(expected: Array) -> float:
    """By how much an output may differ; 0 for integers and codes, of which the pass knows more."""
    if expected.dtype.kind in "iub" or is_encoded(element_type(expected.dtype)):
        return 0.0
    wide = expected.astype(np.float64)
    return RTOL * float(np.abs(wide[np.isfinite(wide)]).max(initial=0.0)) + ATOL


__all__ = ["ATOL", "RTOL", "attach_selftest", "recorded_values", "reference_values"]
