"""The inputs and outputs of a model whose shapes are open, with what is known of the outputs' extents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto

from aotc.frontend.onnx.attributes import attribute_value
from aotc.frontend.onnx.bodies import ordered
from aotc.frontend.onnx.check import called_function, function_key
from aotc.frontend.onnx.dims import Extent, declared_shape, resolved_shapes
from aotc.frontend.onnx.inputs import input_tensors
from aotc.frontend.onnx.labels import labels_of
from aotc.frontend.onnx.load import Model
from aotc.frontend.onnx.operators import domain_of, operator_sets
from aotc.frontend.onnx.symbolic.movement_rules import of_array
from aotc.frontend.onnx.symbolic.rules import MOST_ELEMENTS, RULES, UNKNOWN, Fact, NotKnown, Shape, SymbolicNode
from aotc.frontend.onnx.tensors import DTYPES, dtype_of, read_tensor
from aotc.model.extents import Extent as Expression
from aotc.model.extents import OpenTensor, unnamed
from aotc.model.labels import Labels
from aotc.model.naming import distinct_names

for _rules in ("movement_rules", "window_rules"):
    import_module(f"aotc.frontend.onnx.symbolic.{_rules}")


def open_interface(
    model: Model, dims: Mapping[str, int | str], input_shapes: Mapping[str, Sequence[int]]
) -> tuple[tuple[OpenTensor, ...], tuple[OpenTensor, ...]]:
    """The inputs and the outputs of a graph, whose extents are expressions of its open dimensions.

    A dimension without a name is called by its place (`unnamed`). Raises CompileError, UsageError as the import.
    """
    graph = model.proto.graph
    values = input_tensors(graph, {tensor.name for tensor in graph.initializer}, input_shapes)
    shapes = resolved_shapes(values, dims, input_shapes)
    inputs = [
        OpenTensor(value.name, dtype_of(value.type.tensor_type.elem_type).name, _opened(value.name, shapes[value.name]))
        for value in values
    ]
    facts = _Walk(model, {each.name: each.shape for each in inputs}).facts()
    symbols = {symbol for each in inputs for extent in each.shape or () for symbol in _symbols(extent)}
    names = distinct_names([value.name for value in graph.output])
    labels = labels_of(graph)
    outputs = [
        _output(value, facts.get(value.name, UNKNOWN), symbols, labels.get(value.name, ())) for value in graph.output
    ]
    return tuple(inputs), tuple(replace(each, name=name) for name, each in zip(names, outputs, strict=True))


def _opened(name: str, shape: tuple[Extent, ...] | None) -> Shape | None:
    if shape is None:
        return None
    return tuple(
        extent if isinstance(extent, int) else Expression.of(extent or unnamed(name, axis))
        for axis, extent in enumerate(shape)
    )


def _symbols(extent: Any) -> frozenset[str]:
    return extent.symbols if isinstance(extent, Expression) else frozenset()


def _output(value: ValueInfoProto, fact: Fact, symbols: set[str], labels: Labels) -> OpenTensor:
    """Facts that the graph does not tell are taken from what it declares, where that is a number or a symbol of its
    inputs: equal symbols are equal extents."""
    declared = declared_shape(value)
    said: Shape | None = None
    if declared is not None:
        named = [Expression.of(each) if isinstance(each, str) and each in symbols else each for each in declared]
        said = tuple(None if isinstance(each, str) else each for each in named)
    found = fact.shape
    if found is None or (said is not None and len(said) != len(found)):
        found = said
    elif said is not None:
        found = tuple(theirs if mine is None else mine for mine, theirs in zip(found, said, strict=True))
    dtype = DTYPES.get(value.type.tensor_type.elem_type, "")
    if labels:  # numbers for text, and for the values of maps
        dtype = {"tensor_type": "int64", "sequence_type": "float32"}.get(value.type.WhichOneof("value") or "", "")
    return OpenTensor(value.name, dtype, found, labels)


class _Walk:
    """One walk over the nodes of a graph."""

    def __init__(self, model: Model, inputs: Mapping[str, Shape | None]) -> None:
        self._model = model
        self._opset = operator_sets(model.proto.opset_import).get("", 0)
        self._functions = {function_key(function) for function in model.proto.functions}
        self._facts: dict[str, Fact] = {name: Fact(shape) for name, shape in inputs.items()}

    def facts(self) -> dict[str, Fact]:
        graph = self._model.proto.graph
        for tensor in graph.initializer:
            self._facts.setdefault(tensor.name, self._constant(tensor))
        order, _ = ordered(graph.node)
        for position in order:
            node = graph.node[position]
            self._facts.update(zip(node.output, self._of(node), strict=False))
        return self._facts

    def _constant(self, tensor: TensorProto) -> Fact:
        shape = tuple(tensor.dims)
        if math.prod(shape) > MOST_ELEMENTS:
            return Fact(shape)
        try:
            return of_array(read_tensor(tensor, self._model.folder, self._model.payloads.get(tensor.name)))
        except Exception:  # the import says what is wrong with it
            return Fact(shape)

    def _of(self, node: NodeProto) -> Sequence[Fact]:
        unknown = [UNKNOWN] * len(node.output)
        rule = RULES.get(node.op_type)
        if rule is None or domain_of(node.domain) or called_function(node) in self._functions:
            return unknown
        try:
            attributes = {each.name: attribute_value(each, self._model.folder) for each in node.attribute}
            inputs = [self._facts.get(name, UNKNOWN) if name else None for name in node.input]
            with np.errstate(all="ignore"):
                found = rule(SymbolicNode(node.op_type, self._opset, inputs, attributes, len(node.output)))
        except NotKnown:
            return unknown
        except Exception:  # nodes that are malformed: the import says so, and of which operator
            return unknown
        return [found] if isinstance(found, Fact) else found


__all__ = ["open_interface"]
