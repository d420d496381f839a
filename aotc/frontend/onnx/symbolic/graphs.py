"""The inputs and outputs of a model whose shapes are open, with what is known of the outputs' extents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper
from onnx.shape_inference import infer_node_outputs

from aotc.frontend.onnx.bodies import ordered, subgraphs
from aotc.frontend.onnx.check import called_function, function_key
from aotc.frontend.onnx.dims import Extent, declared_shape, input_tensors, resolved_shapes
from aotc.frontend.onnx.labels import labels_of
from aotc.frontend.onnx.load import Model
from aotc.frontend.onnx.operators import MAX_OPSET, domain_of, operator_sets, schema_of
from aotc.frontend.onnx.symbolic.operator_rules import of_array
from aotc.frontend.onnx.symbolic.rules import MOST_ELEMENTS, RULES, UNKNOWN, Fact, Shape, SymbolicNode
from aotc.frontend.onnx.tensors import DTYPES, attribute_value, dtype_of, read_tensor
from aotc.model.extents import Extent as Expression
from aotc.model.extents import OpenTensor, Size, unnamed
from aotc.model.labels import Labels
from aotc.model.naming import distinct_names


def open_interface(
    model: Model, dims: Mapping[str, int | str], input_shapes: Mapping[str, Sequence[int]]
) -> tuple[tuple[OpenTensor, ...], tuple[OpenTensor, ...]]:
    """The inputs and the outputs of a graph, whose extents are expressions of its open dimensions.

    A dimension without a name is called by its place (`unnamed`). Raises CompileError, UsageError as the import.
    """
    graph = model.proto.graph
    values = input_tensors(graph, {tensor.name for tensor in graph.initializer}, input_shapes)
    shapes = resolved_shapes(values, dims, input_shapes)
    given = {
        value.name: Fact(_opened(value.name, shapes[value.name]), kind=value.type.tensor_type.elem_type)
        for value in values
    }
    inputs = [OpenTensor(name, dtype_of(fact.kind).name, fact.shape) for name, fact in given.items()]
    facts = _Walk(model, given).facts()
    extents = [extent for each in inputs for extent in each.shape or () if isinstance(extent, Expression)]
    symbols = {symbol for extent in extents for symbol in extent.symbols}
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


_NEGATIVE_AXES_SINCE = {"Squeeze": 11, "Unsqueeze": 11}
"""Operators of which ONNX infers wrong extents before a version: it did not allow negative axes."""


class _Walk:
    """One walk over the nodes of a graph."""

    def __init__(self, model: Model, inputs: Mapping[str, Fact]) -> None:
        self._model = model
        self._opset = operator_sets(model.proto.opset_import).get("", 0)
        self._sets = helper.make_opsetid("", self._opset)
        self._functions = {function_key(function) for function in model.proto.functions}
        self._facts = dict(inputs)

    def facts(self) -> dict[str, Fact]:
        graph = self._model.proto.graph
        for tensor in graph.initializer:
            self._facts.setdefault(tensor.name, replace(self._constant(tensor), kind=tensor.data_type))
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
        inferred = self._inferred(node)
        rule = RULES.get(node.op_type)
        if rule is None or domain_of(node.domain) or called_function(node) in self._functions:
            return inferred
        try:
            attributes = {each.name: attribute_value(each, self._model.folder) for each in node.attribute}
            inputs = [self._facts.get(name, UNKNOWN) if name else None for name in node.input]
            with np.errstate(all="ignore"):
                found = rule(SymbolicNode(node.op_type, self._opset, inputs, attributes, len(node.output), inferred[0]))
        except Exception:  # the rule knows no more, or the node is malformed: the import says so, and of which operator
            return inferred
        each = zip([found] if isinstance(found, Fact) else found, inferred, strict=False)
        return [replace(fact, kind=known.kind) for fact, known in each]

    def _inferred(self, node: NodeProto) -> Sequence[Fact]:
        """Facts that ONNX infers, for which an expression is a name: it is that of an output, or not known.

        What is of no type known is taken for floats.
        """
        own = max(self._opset, _NEGATIVE_AXES_SINCE.get(node.op_type, 0))
        schema = schema_of(node.op_type, "", own) or schema_of(node.op_type, "", MAX_OPSET)
        unknown = [UNKNOWN] * len(node.output)
        if schema is None or domain_of(node.domain) or called_function(node) in self._functions or any(subgraphs(node)):
            return unknown
        given = {name: self._facts.get(name, UNKNOWN) for name in node.input if name}
        shapes = {name: None if fact.shape is None else list(map(_named, fact.shape)) for name, fact in given.items()}
        types = {
            name: helper.make_tensor_type_proto(fact.kind or TensorProto.FLOAT, shapes[name])
            for name, fact in given.items()
        }
        data = {name: tensor for name, fact in given.items() if (tensor := _tensor(fact)) is not None}
        try:
            found = infer_node_outputs(schema, node, types, data, opset_imports=[self._sets])
        except Exception:  # of a malformed node, or where a type is not known
            return unknown
        extents = {str(extent): extent for fact in given.values() for extent in fact.shape or ()}
        facts: list[Fact] = []
        for name in node.output:
            value = ValueInfoProto(type=found.get(name))
            shape = declared_shape(value)
            whole = None if shape is None else tuple(extents.get(e) if isinstance(e, str) else e for e in shape)
            facts.append(Fact(whole, kind=value.type.tensor_type.elem_type))
        return facts


def _named(extent: Size | None) -> int | str | None:
    return str(extent) if isinstance(extent, Expression) else extent


def _tensor(fact: Fact) -> TensorProto | None:
    """The elements of a tensor as ONNX has them, where all are numbers."""
    elements = fact.elements
    if elements is None or not fact.kind or not all(isinstance(each, int) for each in elements.flat):
        return None
    return helper.make_tensor("", fact.kind, elements.shape, elements.reshape(-1).tolist())


__all__ = ["open_interface"]
