"""One node by onnxruntime, again and again; where it has no kernel, by the reference evaluator of the onnx package; by
our own unscheduled loops where neither has one."""

from __future__ import annotations

import ctypes
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

import aotc
from aotc.dialects.dtypes import element_type, number_kind, numpy_dtype
from aotc.frontend.onnx.tensors import DTYPES, ONNX_TYPES, read_tensor
from aotc.machines.features import here

Array = np.ndarray[Any, Any]


class Refused(Exception):
    """Nobody computes this node, or its result is of no use for a comparison."""


def onnx_type(array: Array) -> int:
    """The data type of an array's elements in ONNX."""
    return ONNX_TYPES[element_type(array.dtype)]


def make_model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    initializers: Sequence[TensorProto],
    versions: Mapping[str, int],
) -> ModelProto:
    """A model of operators from those sets of `versions` that it needs, ONNX's among them."""
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    domains = {"", *(node.domain for node in nodes)}
    sets = [helper.make_opsetid(domain, versions[domain]) for domain in sorted(domains)]
    return helper.make_model(graph, opset_imports=sets, ir_version=11 if versions[""] > 22 else 10)


def _is_narrow(array: Array) -> bool:
    return number_kind(array.dtype) == "f" and array.dtype.itemsize < 4


def _native(array: Array) -> bool:
    """Whether onnxruntime takes such arrays from Python; others go in as initializers and come out raw."""
    return array.dtype.isbuiltin == 1


OWN = {
    **dict.fromkeys(
        ("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"),
        "its numbers are an implementation's own",
    ),
    "RandomUniformLike": "its numbers are an implementation's own",
}
"""Operators of which neither onnxruntime nor the reference evaluator says what comes out. Besides these, and those that
the latter knows nothing of (`com.microsoft`, GlobalLpPool), all that onnxruntime has no kernel for is judged by it."""

_WRONG_BEFORE = {
    **dict.fromkeys(("Hardmax", "LogSoftmax", "Softmax"), 13.0),  # which takes one axis, where it was all that follow
    **dict.fromkeys(("Erf", "Gelu"), math.inf),  # erf of doubles has single precision
    "Unique": math.inf,  # what is not sorted it takes along the first axis, whatever the axis
}
"""Operators, and the version from which the reference evaluator computes them as they say."""

_CAST_FEATURES = {"SVMClassifier", "SVMRegressor", "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"}
"""Operators that compute with floats whatever their features are, which the reference evaluator does not."""


class Part:
    """Some nodes on arrays of given shapes; `elsewhere` onnxruntime is not asked."""

    def __init__(
        self,
        nodes: Sequence[NodeProto],
        outputs: Sequence[str],
        inputs: dict[str, Array],
        constant: set[str],
        versions: Mapping[str, int],
        elsewhere: bool = False,
    ) -> None:
        self._nodes, self._outputs, self._versions = nodes, outputs, versions
        self._fixed = {name for name, array in inputs.items() if name in constant or not _native(array)}
        self._shapes = {name: array for name, array in inputs.items() if name not in self._fixed}
        self._session: Any = None
        self._elsewhere = elsewhere or _saturates(nodes) or _cuts(nodes, inputs)
        """Whether onnxruntime does not compute it, or not these numbers."""
        self.judge = ""
        """Who has said what comes out."""

    def run(self, inputs: dict[str, Array]) -> list[Array]:
        """The outputs. Raises Refused."""
        if not self._elsewhere and (found := self._by_onnxruntime(inputs)) is not None:
            self.judge = "onnxruntime"
            return found
        self._elsewhere = True
        if (found := self._by_reference(inputs)) is not None:
            self.judge = "onnx.reference"
            return found
        self.judge = "our loops"
        return self._by_loops(inputs)

    def _by_onnxruntime(self, inputs: dict[str, Array]) -> list[Array] | None:
        """None where it has no kernel."""
        try:
            again = self._session is None or any(name not in self._shapes for name in inputs)
            session = self._open(inputs) if again else self._session
            names = [output.name for output in session.get_outputs()]
            given = {name: onnxruntime.OrtValue.ortvalue_from_numpy(inputs[name]) for name in self._shapes}
            return [_array(value) for value in session.run_with_ort_values(names, given)]
        except Exception as error:  # its errors have no common class
            if not _no_kernel(str(error)):
                raise Refused(str(error)) from None
            return None

    def _by_reference(self, inputs: dict[str, Array]) -> list[Array] | None:
        """None where it does not compute these nodes. Narrow floats are computed in float32, and rounded once: numpy
        would round every sum."""
        version = self._versions[""]
        if any(node.op_type in OWN or version < _WRONG_BEFORE.get(node.op_type, 0) for node in self._nodes):
            return None
        infos = [helper.make_tensor_value_info(n, onnx_type(a), a.shape) for n, a in inputs.items()]
        outputs = [ValueInfoProto(name=name) for name in self._outputs]
        model = make_model(self._nodes, infos, outputs, [], self._versions)
        features = any(node.op_type in _CAST_FEATURES for node in self._nodes)
        given = {
            name: array.astype(np.float32) if features or _is_narrow(array) else array for name, array in inputs.items()
        }
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                inferred = shape_inference.infer_shapes(model).graph.output
                found = [np.asarray(value) for value in ReferenceEvaluator(model).run(None, given)]
                kinds = [DTYPES.get(value.type.tensor_type.elem_type) for value in inferred]
                return [
                    array if kind is None else array.astype(numpy_dtype(kind))
                    for array, kind in zip(found, kinds, strict=True)
                ]
        except Exception:  # nor have these
            return None

    def _model(self, inputs: dict[str, Array]) -> ModelProto:
        infos = [helper.make_tensor_value_info(n, onnx_type(a), a.shape) for n, a in self._shapes.items()]
        fixed = [numpy_helper.from_array(inputs[name], name) for name in inputs if name in self._fixed]
        outputs = [ValueInfoProto(name=name) for name in self._outputs]
        return make_model(self._nodes, infos, outputs, fixed, self._versions)

    def _open(self, inputs: dict[str, Array]) -> Any:
        self._session = open_session(self._model(inputs))
        return self._session

    def _by_loops(self, inputs: dict[str, Array]) -> list[Array]:
        try:
            compiled = aotc.compile(self._model(inputs).SerializeToString(), optimize="0")
        except aotc.AotcError as error:
            raise Refused(str(error)) from None
        outputs = compiled({name: inputs[name] for name in self._shapes})
        return [outputs[name] for name in self._outputs]


_PRODUCTS_OF_BYTES = {"ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul", "QGemm"}
_PRODUCTS_OF_BYTES |= {"DynamicQuantizeMatMul", "MatMulIntegerToFloat"}


def _saturates(nodes: Sequence[NodeProto]) -> bool:
    """Whether onnxruntime's sums of two products do not hold 16 bits: where AVX2 has no instruction for four products.
    Its exact ones (`session.x64quantprecision`) are a rewrite of constant weights, which is off here."""
    found = {*(here() or ())}
    if "avx2" not in found or found & {"avx512vnni", "avxvnni"}:
        return False
    return any(node.op_type in _PRODUCTS_OF_BYTES for node in nodes)


def _cuts(nodes: Sequence[NodeProto], inputs: Mapping[str, Array]) -> bool:
    """Whether onnxruntime cuts every exponential of a sum to an integer, and not the logarithm: from 1.32 on."""
    names = [node.input[0] for node in nodes if node.op_type == "ReduceLogSumExp"]
    return any(number_kind(inputs[name].dtype) in "iu" for name in names if name in inputs)


def open_session(model: ModelProto) -> Any:
    """An onnxruntime session that computes what the model says, node by node, integers exactly."""
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _no_kernel(message: str) -> bool:
    return any(text in message for text in ("NOT_IMPLEMENTED", "Could not find an implementation", "not implemented"))


def _array(value: Any) -> Array:
    """An OrtValue as an array."""
    code = value.element_type()
    if np.dtype(element_type_name := DTYPES[code]).isbuiltin == 1:
        return np.asarray(value.numpy())
    shape = tuple(value.shape())
    if value.tensor_size_in_bytes() == 0:
        raise Refused(f"an empty tensor of {element_type_name}")
    raw = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return read_tensor(TensorProto(data_type=code, dims=shape, raw_data=raw), None)
