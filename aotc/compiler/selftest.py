"""Recorded inputs and expected outputs for `--selftest`: read, completed, and attached to the model's module.

The pass `add-selftest` makes a function of them. They are constants of the WeightStore, flat, under keys that begin
with `selftest_`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from aotc.compiler.checking.interface import Interface
from aotc.compiler.checking.quantized_reference import quanta, read_without_weights
from aotc.compiler.checking.recordings import read_inputs
from aotc.compiler.checking.reference import comparable_session, first_values, reference_outputs
from aotc.compiler.checking.tflite_reference import interpreter
from aotc.dialects.aot.contract import RECORDED, Argument, Recorded, arguments_of, entry, results_of
from aotc.dialects.dtypes import element_type, extended, is_encoded, numpy_dtype
from aotc.errors import UsageError
from aotc.frontend import tflite
from aotc.model.conventions import FIRST, LAST
from aotc.model.metadata import TensorInfo
from aotc.model.model_file import ModelFile

if TYPE_CHECKING:
    from aotc.model.model_file import Source
    from aotc.pipeline.compilation import Compilation

Array = np.ndarray[Any, Any]

RTOL, ATOL = 1e-4, 1e-5
"""Floats may differ from what is expected by RTOL * the largest finite value of the output + ATOL."""


def add_selftest(
    compilation: Compilation, source: Source, computed: Callable[[Mapping[str, Array]], Mapping[str, Array]]
) -> None:
    """Give a model after `import` the values that its self-test feeds and expects: those recorded in the files that its
    options name. Outputs that are not given are those of onnxruntime, or of an interpreter of TensorFlow Lite, where
    one can compute them, else what is `computed`.

    Raises OSError, and UsageError for files that do not hold the model's inputs or outputs.
    """
    options, main = compilation.options, entry(compilation.module)
    if options.start_at is not None:
        raise UsageError("option-conflict", "--selftest with --start-at", "IR keeps the self-test it was made with")
    assert options.selftest is not None
    results = results_of(main)
    states = [each.state_of for each in results if each.state_of is not None]
    tensors = [_tensor(*each) for each in zip(main.function_type.inputs, arguments_of(main), strict=True)]
    fed = [tensor for place, tensor in enumerate(tensors) if place not in states]
    both = zip(main.function_type.outputs, results, strict=True)
    expected = [_tensor(kind, result) for kind, result in both if result.state_of is None]
    inputs, content = read_inputs(options.selftest, fed), tflite.content_of(source)
    interface = Interface((*tensors, *expected), options, FIRST if content is None else LAST)
    if options.selftest_outputs is not None:
        outputs = read_inputs(options.selftest_outputs, expected)
    elif content is not None:
        outputs = None if options.requantize in ("exact", "fixed") else _interpreted(content, inputs, interface)
        outputs = computed(inputs) if outputs is None else outputs
    elif _is_beyond_onnxruntime((*tensors, *expected)):
        outputs = computed(inputs)
    else:
        labels = {each.name: each.labels or () for each in results if each.name is not None}
        session = comparable_session(_readable(source))
        named = {value.name for value in session.get_overridable_initializers()}
        first = first_values([tensors[place] for place in states if tensors[place].name not in named])
        outputs = reference_outputs(session, {**inputs, **first}, options.known_constants, labels, interface)

    def stored(tensors: Sequence[TensorInfo], arrays: Mapping[str, Array]) -> tuple[str, ...]:
        flat = {each.name: extended(arrays[each.name].reshape(-1)) for each in tensors}
        return tuple(compilation.store.add(f"selftest_{name}", array) for name, array in flat.items())

    onnx_model = source.reread() if isinstance(source, ModelFile) else source
    quantum = {} if content is not None else quanta(read_without_weights(onnx_model))
    tolerances = tuple(_tolerance(outputs[each.name]) + quantum.get(each.name, 0.0) for each in expected)
    RECORDED.set(compilation.module, Recorded(stored(fed, inputs), stored(expected, outputs), tolerances))


def _interpreted(content: bytes, inputs: Mapping[str, Array], interface: Interface) -> Mapping[str, Array] | None:
    """The outputs of a .tflite model by an interpreter; None where none takes it."""
    try:
        return interpreter(content).sequence([inputs], [], interface)[0]
    except UsageError:
        return None


def _is_beyond_onnxruntime(tensors: Iterable[TensorInfo]) -> bool:
    """Whether it is not installed, or has no arrays of a type beyond numpy's."""
    return find_spec("onnxruntime") is None or any(numpy_dtype(each.dtype).isbuiltin != 1 for each in tensors)


def _readable(source: Source) -> str | os.PathLike[str] | bytes:
    if isinstance(source, onnx.ModelProto):
        return source.SerializeToString()
    return source.reread() if isinstance(source, ModelFile) else source


def _tensor(kind: Attribute, given: Argument) -> TensorInfo:
    assert isinstance(kind, TensorType) and given.name is not None and given.dtype is not None
    return TensorInfo(given.name, "", given.dtype, tuple(kind.get_shape()), given.scale, given.zero_point)


def _tolerance(expected: Array) -> float:
    """By how much an output may differ; 0 for integers and codes, of which the pass knows more."""
    if expected.dtype.kind in "iub" or is_encoded(element_type(expected.dtype)):
        return 0.0
    wide = expected.astype(np.float64)
    return RTOL * float(np.abs(wide[np.isfinite(wide)]).max(initial=0.0)) + ATOL
