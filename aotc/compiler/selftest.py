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
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    StringAttr,
    TensorType,
    f64,
)

from aotc.checking.recordings import read_arrays
from aotc.checking.reference import reference_outputs, reference_session
from aotc.dialects.dtypes import element_type, extended, is_encoded, numpy_dtype
from aotc.model.plan import text_of
from aotc.passes.interface.add_selftest import SELFTEST
from aotc.passes.interface.signature import entry

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp

    from aotc.compiler.driver import Source
    from aotc.pipeline.compilation import Compilation

Array = np.ndarray[Any, Any]

RTOL, ATOL = 1e-4, 1e-5
"""Floats may differ from what is expected by RTOL * the largest finite value of the output + ATOL."""


@dataclass(frozen=True)
class _Tensor:
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def attach_selftest(compilation: Compilation, source: Source) -> None:
    """Give a model after `import` the recorded values of its options `selftest` and `selftest_outputs`.

    Outputs that are not given are onnxruntime's where that is installed, else those of the model compiled in this
    process. Raises OSError, and UsageError for files that do not hold the model's inputs or outputs.
    """
    options = compilation.options
    assert options.selftest is not None
    inputs, outputs = _signature(entry(compilation.module))
    given = _arrays(options.selftest, inputs)
    if options.selftest_outputs is not None:
        expected = _arrays(options.selftest_outputs, outputs)
    else:
        expected = dict(zip((each.name for each in outputs), _reference(compilation, source, given), strict=True))
    keys = {
        side: ArrayAttr(
            StringAttr(compilation.store.add(f"selftest_{each.name}", extended(arrays[each.name].reshape(-1))))
            for each in tensors
        )
        for side, tensors, arrays in (("inputs", inputs, given), ("outputs", outputs, expected))
    }
    tolerances = ArrayAttr(FloatAttr(_tolerance(expected[each.name]), f64) for each in outputs)
    compilation.module.attributes[SELFTEST] = DictionaryAttr({**keys, "tolerances": tolerances})


def _signature(main: FuncOp) -> tuple[list[_Tensor], list[_Tensor]]:
    """The inputs and outputs of the entry after `import`."""
    sides: list[list[_Tensor]] = []
    kinds = (main.function_type.inputs, main.function_type.outputs)
    for types, attributes in zip(kinds, (main.arg_attrs, main.res_attrs), strict=True):
        tensors: list[_Tensor] = []
        for kind, given in zip(types, attributes or (), strict=True):
            assert isinstance(kind, TensorType)
            dtype = numpy_dtype(text_of(given.data["aot.dtype"]))
            tensors.append(_Tensor(text_of(given.data["aot.name"]), dtype, tuple(kind.get_shape())))
        sides.append(tensors)
    return sides[0], sides[1]


def _arrays(path: str, tensors: Sequence[_Tensor]) -> dict[str, Array]:
    return read_arrays(path, {tensor.name: (tensor.dtype, tensor.shape) for tensor in tensors})


def _reference(compilation: Compilation, source: Source, inputs: Mapping[str, Array]) -> list[Array]:
    """What the model's outputs should be, in order; onnxruntime has no arrays of types beyond numpy's."""
    wanted = _signature(entry(compilation.module))
    fed = {tensor.name: inputs[tensor.name] for tensor in wanted[0]}
    if find_spec("onnxruntime") is None or any(tensor.dtype.isbuiltin != 1 for side in wanted for tensor in side):
        from aotc.compiler.driver import compile

        model = compile(source, dims=compilation.options.dims, input_shapes=compilation.options.input_shapes)
        return list(model(fed).values())
    import onnx

    model = source.SerializeToString() if isinstance(source, onnx.ModelProto) else source
    computed = reference_outputs(reference_session(model), fed)
    return [computed[tensor.name] for tensor in wanted[1]]


def _tolerance(expected: Array) -> float:
    """By how much an output may differ; 0 for integers and codes, of which the pass knows more."""
    if expected.dtype.kind in "iub" or is_encoded(element_type(expected.dtype)):
        return 0.0
    wide = expected.astype(np.float64)
    return RTOL * float(np.abs(wide[np.isfinite(wide)]).max(initial=0.0)) + ATOL


__all__ = ["ATOL", "RTOL", "attach_selftest"]
