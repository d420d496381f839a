"""The files beside a model that its tensors are in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from onnx import NodeProto, TensorProto

from aotc.frontend.onnx.bodies import all_nodes, subgraphs
from aotc.frontend.onnx.load import Model
from aotc.frontend.onnx.tensors import external_place


def external_files(model: Model) -> dict[str, Path]:
    """Location, as the model says it -> file. Raises TensorError or OSError where the importer would not read one."""
    found: dict[str, Path] = {}
    nodes = [*model.proto.graph.node, *(node for function in model.proto.functions for node in function.node)]
    for tensor in (*model.proto.graph.initializer, *_of_nodes(nodes)):
        if tensor.data_location == TensorProto.EXTERNAL:
            location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
            found[location] = external_place(tensor, model.folder).path
    return dict(sorted(found.items()))


def _of_nodes(nodes: list[NodeProto]) -> Iterator[TensorProto]:
    for node in all_nodes(nodes):
        for attribute in node.attribute:
            yield attribute.t
            yield from attribute.tensors
        for graph in subgraphs(node):
            yield from graph.initializer
