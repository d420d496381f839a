"""Requirements of quantised models on a reference.

onnxruntime computes a convolution between DequantizeLinear and QuantizeLinear on integers where tensors are unsigned;
of signed ones that two operators read, it leaves some in floating point, where results next to the middle of two steps
are rounded otherwise, and the first and the last of a model whose inputs and outputs are signed. The same model in
unsigned integers has all of them on integers.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import EncodeError
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from aotc.frontend.onnx.bodies import used_names

Array = np.ndarray[Any, Any]

_MOVING = frozenset(("Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"))


def read_without_weights(model: ModelProto | os.PathLike[str] | str | bytes) -> ModelProto:
    """A model without what is beside its file."""
    if isinstance(model, onnx.ModelProto):
        return model
    if isinstance(model, bytes):
        return onnx.load_model_from_string(model)
    return onnx.load_model(os.fspath(model), load_external_data=False)


def as_unsigned(model: os.PathLike[str] | str | bytes) -> bytes | None:
    """The model with unsigned tensors; None where it has no signed ones between operators, or is too large for one
    message."""
    found = read_without_weights(model)
    if not make_unsigned(found):
        return None
    if not isinstance(model, bytes):
        onnx.load_external_data_for_model(found, str(Path(model).parent))
    with suppress(EncodeError, ValueError):  # 2 GiB or more
        return found.SerializeToString()
    return None


def make_unsigned(model: ModelProto) -> bool:
    """Have int8 tensors that QuantizeLinear makes and DequantizeLinear reads be uint8, whose values are the same;
    whether there were any. Inputs and outputs of the model stay what they are: integers beside them are uint8. A tensor
    that something else reads stays."""
    return _Unsigned(model.graph).make()


class _Unsigned:
    """A graph whose int8 tensors become uint8."""

    def __init__(self, graph: GraphProto) -> None:
        self._graph = graph
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        self._readers: dict[str, list[NodeProto]] = defaultdict(list)
        for node in graph.node:
            for name in used_names(node):
                self._readers[name].append(node)
        self._taken = {*self._constants, *self._readers, *(name for node in graph.node for name in node.output)}
        self._points: dict[str, str] = {}

    def make(self) -> bool:
        graph = self._graph
        before: list[NodeProto] = []
        after: list[NodeProto] = []
        makers = {node.output[0]: node for node in graph.node if node.op_type == "QuantizeLinear"}
        given = [value.name for value in graph.input if value.type.tensor_type.elem_type == TensorProto.INT8]
        found = {name: None for name in given if self._readers[name] and name not in self._constants} | {
            name: node for name, node in makers.items() if self._is_signed(node)
        }
        changed = {name: node for name, node in found.items() if self._is_read_as_real(name)}
        outputs = {value.name for value in graph.output}
        for name, maker in changed.items():
            for node in (*self._readers[name], *([] if maker is None else [maker])):
                node.input[2] = self._unsigned(node.input[2])
            if maker is not None and name not in outputs:
                continue
            new = self._fresh(name)
            for node in self._readers[name]:
                node.input[0] = new
            if maker is None:
                before += self._moved(name, "Add", new, TensorProto.UINT8)
            else:
                maker.output[0] = new
                after += self._moved(new, "Sub", name, TensorProto.INT8)
        if changed:
            whole = [*before, *graph.node, *after]
            del graph.node[:], graph.value_info[:]
            graph.node.extend(whole)
        return bool(changed)

    def _is_signed(self, node: NodeProto) -> bool:
        zero = self._constants.get(node.input[2]) if len(node.input) > 2 else None
        return zero is not None and zero.data_type == TensorProto.INT8 and not zero.external_data

    def _is_read_as_real(self, name: str) -> bool:
        return all(each.op_type == "DequantizeLinear" and self._is_signed(each) for each in self._readers[name])

    def _fresh(self, name: str) -> str:
        name = f"{name}_of_uint8"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _unsigned(self, point: str) -> str:
        if point not in self._points:
            value = numpy_helper.to_array(self._constants[point]).astype(np.int16) + 128
            self._points[point] = self._constant(point, value.astype(np.uint8))
        return self._points[point]

    def _moved(self, source: str, op_type: str, result: str, to: int) -> Iterator[NodeProto]:
        """Nodes by which integers of one type become those of the other, 128 away."""
        wide, moved = self._fresh(source), self._fresh(source)
        yield helper.make_node("Cast", [source], [wide], to=TensorProto.INT32)
        yield helper.make_node(op_type, [wide, self._constant(source, np.array(128, np.int32))], [moved])
        yield helper.make_node("Cast", [moved], [result], to=to)

    def _constant(self, like: str, array: Array) -> str:
        name = self._fresh(like)
        self._graph.initializer.append(numpy_helper.from_array(array, name))
        return name


def quanta(model: ModelProto) -> dict[str, float]:
    """For each value that is dequantised, perhaps moved since, the quantum, what 1 of its integers is."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    found: dict[str, float] = {}
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and (scale := constants.get(node.input[1])) is not None:
            values = np.zeros(1) if scale.external_data else numpy_helper.to_array(scale).astype(np.float64)
            found[node.output[0]] = float(values.max(initial=0.0))
        elif node.op_type in _MOVING and node.input[0] in found:
            found[node.output[0]] = found[node.input[0]]
    return found
