"""Which values of a graph are text, or maps, for which a compiled model has numbers, and what these stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from onnx import GraphProto, NodeProto

from aotc.frontend.onnx.attributes import attribute_value
from aotc.frontend.onnx.bodies import ordered
from aotc.frontend.onnx.operators import domain_of
from aotc.model.labels import Labels
from aotc.model.naming import distinct_names

_CLASSIFIERS: Final = {("ai.onnx.ml", f"{kind}Classifier") for kind in ("Linear", "SVM", "TreeEnsemble")}
"""Operators whose first output may be text."""
_MOVEMENT: Final = frozenset(
    {
        *("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Tile"),
        *("Slice", "Gather", "GatherElements", "GatherND"),
    }
)
"""Operators whose result is elements of their first input, whatever these are."""


def text_of(nodes: Sequence[NodeProto]) -> dict[str, tuple[str, ...]]:
    """The values that are text, and what that may be; a compiled model has places there. Of one class: 0 or 1."""
    found: dict[str, tuple[str, ...]] = {}
    for node in (nodes[position] for position in ordered(nodes)[0]):
        kind = domain_of(node.domain), node.op_type
        if kind in _CLASSIFIERS and (names := _attribute(node, "classlabels_strings")):
            found[node.output[0]] = tuple(names) if len(names) > 1 else ("0", "1")
        elif source := moved(node) & found.keys():
            found[node.output[0]] = found[source.pop()]
    return found


def moved(node: NodeProto) -> set[str]:
    """The inputs of a node that may be text: of which its result has elements, whatever they are."""
    return set(node.input[:1]) if not domain_of(node.domain) and node.op_type in _MOVEMENT else set()


def labels_of(graph: GraphProto) -> dict[str, Labels]:
    """The labels of the values of a graph that are text or maps."""
    found: dict[str, Labels] = {**text_of(graph.node)}
    for node in graph.node:
        if (domain_of(node.domain), node.op_type) == ("ai.onnx.ml", "ZipMap"):
            names = _attribute(node, "classlabels_strings") or _attribute(node, "classlabels_int64s")
            found[node.output[0]] = tuple(names or ())
    return found


def output_labels(graph: GraphProto) -> dict[str, Labels]:
    """The labels of outputs, by the names that these have in a compiled model."""
    labels, names = labels_of(graph), [each.name for each in graph.output]
    found = zip(distinct_names(names), names, strict=True)
    return {distinct: labels[name] for distinct, name in found if name in labels}


def _attribute(node: NodeProto, name: str) -> Any:
    return next((attribute_value(each, None) for each in node.attribute if each.name == name), None)
