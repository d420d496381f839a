"""Writing .tflite files for tests: from tensors and operators said in a few words to the bytes of a flatbuffer.

    body = Graph()
    body.tensor("x", (1, 4), "int8", scale=0.5, zero=-3)
    body.tensor("y", (1, 4), "int8", scale=0.25)
    body.op("RELU", ["x"], ["y"])
    data = write([body.ends(["x"], ["y"])])

Names of options and of their enumerations are those of TFLite's schema: `padding="SAME"`, `stride_w=2`. The file is
made by the generated functions of the package `tflite`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

flatbuffers: Any = pytest.importorskip("flatbuffers")
tflite: Any = pytest.importorskip("tflite")

Array = np.ndarray[Any, Any]

TYPES = {
    "float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "string": 5, "bool": 6, "int16": 7, "complex64": 8,
    "int8": 9, "float64": 10, "complex128": 11, "uint64": 12, "resource": 13, "variant": 14, "uint32": 15,
    "uint16": 16, "int4": 17, "bfloat16": 18, "int2": 19, "uint4": 20,
}  # fmt: skip
"""Names of element types -> their numbers in TFLite's schema, which is newer than the package."""

_NARROW = {"int4": 4, "int2": 2}

_OPTIONS = {
    "AVERAGE_POOL_2D": "Pool2D", "MAX_POOL_2D": "Pool2D", "L2_POOL_2D": "Pool2D", "SVDF": "SVDF", "CONV_2D": "Conv2D",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2D", "L2_NORMALIZATION": "L2Norm", "MEAN": "Reducer", "SUM": "Reducer",
    "REDUCE_MAX": "Reducer", "REDUCE_MIN": "Reducer", "REDUCE_PROD": "Reducer", "REDUCE_ANY": "Reducer",
    "REDUCE_ALL": "Reducer", "MAXIMUM": "MaximumMinimum", "MINIMUM": "MaximumMinimum", "PADV2": "PadV2",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTM", "LSTM": "LSTM", "BATCH_MATMUL": "BatchMatMul",
    "BATCH_TO_SPACE_ND": "BatchToSpaceND", "SPACE_TO_BATCH_ND": "SpaceToBatchND", "CUMSUM": "Cumsum", "RNN": "RNN",
    "TOPK_V2": "TopKV2", "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNN",
}  # fmt: skip
"""Operators whose table of options is not called like them."""

_ENUMERATIONS = {
    "padding": "Padding",
    "fused_activation_function": "ActivationFunctionType",
    "mode": "MirrorPadMode",
    "weights_format": "FullyConnectedOptionsWeightsFormat",
    "kernel_type": "LSTMKernelType",
}
"""Options that take a name of an enumeration -> the enumeration; every other name is one of an element type."""


@dataclass
class Tensor:
    """A tensor of a subgraph; one with `data` is a constant."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float | Sequence[float] | None = None
    zero: int | Sequence[int] = 0
    axis: int = 0
    data: Array | None = None
    variable: bool = False
    signature: Sequence[int] | None = None
    """The shape with -1 for extents that are open."""
    sparsity: tuple[Sequence[int], Sequence[int], Sequence[tuple[Array, Array] | int]] | None = None
    """Order of traversal, map of blocks, and for each dimension its size, or starts and indices of what is stored."""


@dataclass
class Operator:
    """A node. `code` is a name of TFLite's enumeration of operators, or one in lower case or mixed: a custom one."""

    code: str
    inputs: list[str | None]
    outputs: list[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    custom: bytes | None = None
    version: int = 1
    intermediates: list[str] = field(default_factory=list)


@dataclass
class Graph:
    """A subgraph on its way."""

    name: str = "main"
    tensors: list[Tensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def tensor(self, name: str, shape: Sequence[int], dtype: str, **more: Any) -> str:
        """Add a tensor; see `Tensor` for what it may have."""
        self.tensors.append(Tensor(name, tuple(shape), dtype, **more))
        return name

    def constant(self, name: str, data: Array, dtype: str | None = None, **more: Any) -> str:
        """Add a constant of the type of `data`, unless `dtype` says how to store it."""
        return self.tensor(name, data.shape, dtype or data.dtype.name, data=data, **more)

    def op(self, code: str, inputs: Sequence[str | None], outputs: Sequence[str], **options: Any) -> None:
        """Add a node; `custom`, `version` and `intermediates` are of the node, every other name is an option."""
        own = {name: options.pop(name) for name in ("custom", "version", "intermediates") if name in options}
        self.operators.append(Operator(code, list(inputs), list(outputs), options, **own))

    def ends(self, inputs: Sequence[str], outputs: Sequence[str]) -> Graph:
        """Say what goes in and comes out."""
        self.inputs, self.outputs = list(inputs), list(outputs)
        return self


def _camel(name: str) -> str:
    return "".join(each[:1].upper() + each[1:] for each in name.split("_"))


def options_name(code: str) -> str:
    """The name of the table of options of a builtin operator, of which some have none."""
    return _OPTIONS.get(code, _camel(code.lower())) + "Options"


def packed(data: Array, dtype: str) -> bytes:
    """The bytes of a constant: elements of less than a byte lie from the low bits up."""
    if dtype not in _NARROW:
        return np.ascontiguousarray(data, np.dtype(dtype)).tobytes()
    bits = _NARROW[dtype]
    flat, count = data.astype(np.uint8).ravel() & (2**bits - 1), 8 // bits
    flat = np.pad(flat, (0, -len(flat) % count)).reshape(-1, count)
    return np.bitwise_or.reduce(flat << (np.arange(count, dtype=np.uint8) * bits), 1).astype(np.uint8).tobytes()


class _Writer:
    def __init__(self) -> None:
        self.builder = flatbuffers.Builder(1024)
        self.buffers: list[bytes | None] = [None]
        self.codes: list[tuple[str, int]] = []

    # --- vectors and tables of the format ----------------------------------------------------------------------------

    def vector(self, values: Any, dtype: Any) -> int:
        return self.builder.CreateNumpyVector(np.asarray(values, dtype))

    def offsets(self, values: Sequence[int]) -> int:
        self.builder.StartVector(4, len(values), 4)
        for each in reversed(values):
            self.builder.PrependUOffsetTRelative(each)
        return self.builder.EndVector()

    def table(self, name: str, fields: Mapping[str, Any]) -> int:
        """A table; fields without a value are left out."""
        getattr(tflite, f"{name}Start")(self.builder)
        for each, value in fields.items():
            if value is not None:
                getattr(tflite, f"{name}Add{_camel(each)}")(self.builder, value)
        return getattr(tflite, f"{name}End")(self.builder)

    def data(self, data: bytes | None) -> int:
        """A buffer, its contents on a multiple of 16 bytes as the schema asks."""
        if data is None:
            return self.table("Buffer", {})
        self.builder.StartVector(1, len(data), 16)
        self.builder.head -= len(data)
        self.builder.Bytes[self.builder.head : self.builder.head + len(data)] = data
        contents = self.builder.EndVector()
        return self.table("Buffer", {"data": contents})

    # --- what a model has --------------------------------------------------------------------------------------------

    def buffer(self, data: bytes) -> int:
        self.buffers.append(data)
        return len(self.buffers) - 1

    def quantization(self, tensor: Tensor) -> int | None:
        if tensor.scale is None:
            return None
        scale = np.atleast_1d(np.asarray(tensor.scale, np.float32))
        zero = np.broadcast_to(np.asarray(tensor.zero, np.int64), scale.shape)
        fields = {"scale": self.vector(scale, np.float32), "zero_point": self.vector(zero, np.int64)}
        return self.table("QuantizationParameters", fields | {"quantized_dimension": tensor.axis})

    def sparsity(self, tensor: Tensor) -> int | None:
        if tensor.sparsity is None:
            return None
        order, blocks, dimensions = tensor.sparsity
        rows: list[int] = []
        for each in dimensions:
            if isinstance(each, int):
                rows.append(self.table("DimensionMetadata", {"format": 0, "dense_size": each}))
                continue
            fields: dict[str, Any] = {"format": 1}
            for name, values in zip(("array_segments", "array_indices"), each, strict=True):
                fields[f"{name}_type"] = tflite.SparseIndexVector.Int32Vector
                fields[name] = self.table("Int32Vector", {"values": self.vector(values, np.int32)})
            rows.append(self.table("DimensionMetadata", fields))
        fields = {
            "traversal_order": self.vector(order, np.int32),
            "block_map": self.vector(blocks, np.int32) if len(blocks) else None,
            "dim_metadata": self.offsets(rows),
        }
        return self.table("SparsityParameters", fields)

    def tensor(self, tensor: Tensor) -> int:
        fields: dict[str, Any] = {
            "shape": self.vector(tensor.shape, np.int32),
            "type": TYPES[tensor.dtype],
            "buffer": self.buffer(packed(tensor.data, tensor.dtype)) if tensor.data is not None else 0,
            "name": self.builder.CreateString(tensor.name),
            "quantization": self.quantization(tensor),
            "is_variable": tensor.variable,
            "sparsity": self.sparsity(tensor),
        }
        if tensor.signature is not None:
            fields["shape_signature"] = self.vector(tensor.signature, np.int32)
        return self.table("Tensor", fields)

    def options(self, operator: Operator) -> dict[str, Any]:
        name = options_name(operator.code)
        kind, number = "builtin_options", getattr(tflite.BuiltinOptions, name, None)
        if number is None:
            kind, number = "builtin_options_2", getattr(tflite.BuiltinOptions2, name, None)
        if number is None:
            assert not operator.options, f"{operator.code} has no options"
            return {}
        fields: dict[str, Any] = {}
        for each, value in operator.options.items():
            if isinstance(value, str) and each in ("container", "shared_name", "name"):
                fields[each] = self.builder.CreateString(value)
            elif isinstance(value, str):
                names = _ENUMERATIONS.get(each)
                fields[each] = getattr(getattr(tflite, names), value) if names else TYPES[value]
            elif isinstance(value, Sequence):
                fields[each] = self.vector(value, np.int32)
            else:
                fields[each] = value
        return {kind: self.table(name, fields), f"{kind}_type": number}

    def operator(self, operator: Operator, places: Mapping[str, int]) -> int:
        code = (operator.code, operator.version)
        if code not in self.codes:
            self.codes.append(code)
        fields: dict[str, Any] = {
            "opcode_index": self.codes.index(code),
            "inputs": self.vector([-1 if name is None else places[name] for name in operator.inputs], np.int32),
            "outputs": self.vector([places[name] for name in operator.outputs], np.int32),
        }
        if operator.intermediates:
            fields["intermediates"] = self.vector([places[name] for name in operator.intermediates], np.int32)
        if operator.custom is not None:
            fields["custom_options"] = self.builder.CreateByteVector(operator.custom)
        fields |= self.options(operator) if is_builtin(operator.code) else {}
        return self.table("Operator", fields)

    def graph(self, graph: Graph) -> int:
        places = {tensor.name: place for place, tensor in enumerate(graph.tensors)}
        assert len(places) == len(graph.tensors), "two tensors of one name"
        fields = {
            "tensors": self.offsets([self.tensor(each) for each in graph.tensors]),
            "inputs": self.vector([places[name] for name in graph.inputs], np.int32),
            "outputs": self.vector([places[name] for name in graph.outputs], np.int32),
            "operators": self.offsets([self.operator(each, places) for each in graph.operators]),
            "name": self.builder.CreateString(graph.name),
        }
        return self.table("SubGraph", fields)

    def code(self, name: str, version: int) -> int:
        if not is_builtin(name):
            fields = {"custom_code": self.builder.CreateString(name), "deprecated_builtin_code": 32, "builtin_code": 32}
            return self.table("OperatorCode", fields | {"version": version})
        number = getattr(tflite.BuiltinOperator, name)
        old = min(number, 127)  # what readers of before the enumeration outgrew a byte look at
        return self.table("OperatorCode", {"deprecated_builtin_code": old, "builtin_code": number, "version": version})

    def signature(
        self, key: str, subgraph: int, graph: Graph, names: tuple[Mapping[str, str], Mapping[str, str]]
    ) -> int:
        places = {tensor.name: place for place, tensor in enumerate(graph.tensors)}
        sides: list[int] = []
        for side in names:
            maps: list[int] = []
            for name, tensor in side.items():
                text = self.builder.CreateString(name)
                maps.append(self.table("TensorMap", {"name": text, "tensor_index": places[tensor]}))
            sides.append(self.offsets(maps))
        fields = {"inputs": sides[0], "outputs": sides[1], "signature_key": self.builder.CreateString(key)}
        return self.table("SignatureDef", fields | {"subgraph_index": subgraph})


def is_builtin(code: str) -> bool:
    """Whether a name is one of TFLite's enumeration of operators."""
    return code.upper() == code and hasattr(tflite.BuiltinOperator, code)


Signature = tuple[int, Mapping[str, str], Mapping[str, str]]
"""A subgraph, and names of its inputs and of its outputs -> their tensors."""


def write(
    graphs: Sequence[Graph],
    *,
    description: str | None = None,
    metadata: Mapping[str, bytes] | None = None,
    signatures: Mapping[str, Signature] | None = None,
) -> bytes:
    """The bytes of a .tflite file; the first subgraph is the model's."""
    writer = _Writer()
    subgraphs = writer.offsets([writer.graph(graph) for graph in graphs])
    fields: dict[str, Any] = {"version": 3, "subgraphs": subgraphs}
    fields["operator_codes"] = writer.offsets([writer.code(name, version) for name, version in writer.codes])
    if description is not None:
        fields["description"] = writer.builder.CreateString(description)
    if metadata:
        rows: list[int] = []
        for name, value in metadata.items():
            text = writer.builder.CreateString(name)
            rows.append(writer.table("Metadata", {"name": text, "buffer": writer.buffer(value)}))
        fields["metadata"] = writer.offsets(rows)
    if signatures:
        each = [writer.signature(key, at, graphs[at], (ins, outs)) for key, (at, ins, outs) in signatures.items()]
        fields["signature_defs"] = writer.offsets(each)
    fields["buffers"] = writer.offsets([writer.data(data) for data in writer.buffers])
    writer.builder.Finish(writer.table("Model", fields), b"TFL3")
    return bytes(writer.builder.Output())
