"""One node by onnxruntime, again and again; where it has no kernel, by our own unscheduled loops."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

import aotc
from aotc.dialects.dtypes import element_type
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


def _native(array: Array) -> bool:
    """Whether onnxruntime takes such arrays from Python; others go in as initializers and come out raw."""
    return array.dtype.isbuiltin == 1


class Part:
    """Some nodes on arrays of given shapes; with `own` they are computed by our unscheduled loops."""

    def __init__(
        self,
        nodes: Sequence[NodeProto],
        outputs: Sequence[str],
        inputs: dict[str, Array],
        constant: set[str],
        versions: Mapping[str, int],
        own: bool = False,
    ) -> None:
        self._nodes, self._outputs, self._versions = nodes, outputs, versions
        self._fixed = {name for name, array in inputs.items() if name in constant or not _native(array)}
        self._shapes = {name: array for name, array in inputs.items() if name not in self._fixed}
        self._session: Any = None
        self.own = own or _saturates(nodes)
        """Whether our unscheduled loops compute it, because onnxruntime does not, or not these numbers."""

    def run(self, inputs: dict[str, Array]) -> list[Array]:
        """The outputs. Raises Refused."""
        if self.own:
            return self._by_loops(inputs)
        try:
            again = self._session is None or any(name not in self._shapes for name in inputs)
            session = self._open(inputs) if again else self._session
            names = [output.name for output in session.get_outputs()]
            given = {name: onnxruntime.OrtValue.ortvalue_from_numpy(inputs[name]) for name in self._shapes}
            return [_array(value) for value in session.run_with_ort_values(names, given)]
        except Exception as error:  # its errors have no common class
            if not _no_kernel(str(error)):
                raise Refused(str(error)) from None
            self.own = True
            return self._by_loops(inputs)

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
