"""Which values of a graph are text, or maps, for which a compiled model has numbers, and what these stand for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto

from aotc.errors import Problem
from aotc.frontend.onnx.bodies import ordered, used_names
from aotc.frontend.onnx.operators import domain_of
from aotc.frontend.onnx.tensors import TensorError, attribute_value, check_shape
from aotc.model.labels import Labels
from aotc.model.naming import distinct_names
from aotc.model.weight_store import Array

_ML: Final = "ai.onnx.ml"
NO_LABEL: Final = "_Unused"
"""LabelEncoder's value for a key that it has not, where it does not say."""
_CLASSIFIERS: Final = {(_ML, f"{kind}Classifier") for kind in ("Linear", "SVM", "TreeEnsemble")}
"""Operators whose first output may be text."""
_MOVEMENT: Final = {
    *(("", name) for name in ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Tile")),
    *(("", name) for name in ("Slice", "Gather", "GatherElements", "GatherND")),
    (_ML, "ArrayFeatureExtractor"),
}
"""Operators whose result is elements of their first input, whatever these are."""


def text_of(graph: GraphProto) -> dict[str, tuple[str, ...]]:
    """The values that are text, and what that may be; a compiled model has places there. Of one class: 0 or 1."""
    found = {each.name: choices(strings_of(each)) for each in graph.initializer if each.data_type == TensorProto.STRING}
    for node in (graph.node[position] for position in ordered(graph.node)[0]):
        kind = domain_of(node.domain), node.op_type
        if kind in _CLASSIFIERS and (names := _attribute(node, "classlabels_strings")):
            found[node.output[0]] = tuple(names) if len(names) > 1 else ("0", "1")
        elif kind == (_ML, "LabelEncoder") and (names := _attribute(node, "values_strings")):
            found[node.output[0]] = choices([*names, _attribute(node, "default_string", NO_LABEL)])
        elif source := moved(node) & found.keys():
            found[node.output[0]] = found[source.pop()]
    return found


def moved(node: NodeProto) -> set[str]:
    """The inputs of a node that may be text: of which its result has elements, whatever they are."""
    return set(node.input[:1]) if (domain_of(node.domain), node.op_type) in _MOVEMENT else set()


def choices(text: Sequence[str]) -> tuple[str, ...]:
    """The values of text, once each, in the order in which they are there."""
    return tuple(dict.fromkeys(text))


def strings_of(tensor: TensorProto) -> list[str]:
    """The elements of a tensor of text."""
    return [each.decode("utf-8", "replace") for each in tensor.string_data]


def places_of(tensor: TensorProto) -> Array:
    """A tensor of text as numbers: where its elements are among its `choices`. Raises TensorError."""
    text, count = strings_of(tensor), check_shape(tuple(tensor.dims))
    if len(text) != count:
        raise TensorError(f"it has {len(text)} elements of text, its shape {list(tensor.dims)} needs {count}")
    places = {each: place for place, each in enumerate(choices(text))}
    return np.array([places[each] for each in text], np.int64).reshape(tuple(tensor.dims))


def labels_of(graph: GraphProto) -> dict[str, Labels]:
    """The labels of the values of a graph that are text or maps."""
    found: dict[str, Labels] = {**text_of(graph)}
    for node in graph.node:
        if (domain_of(node.domain), node.op_type) == (_ML, "ZipMap"):
            names = _attribute(node, "classlabels_strings") or _attribute(node, "classlabels_int64s")
            found[node.output[0]] = tuple(names or ())
    return found


def output_labels(graph: GraphProto) -> dict[str, Labels]:
    """The labels of outputs, by the names that these have in a compiled model."""
    labels, names = labels_of(graph), [each.name for each in graph.output]
    found = zip(distinct_names(names), names, strict=True)
    return {distinct: labels[name] for distinct, name in found if name in labels}


def text_read(node: NodeProto, name: str, text: Collection[str]) -> Problem | None:
    """The problem of a node that computes with some of the values that are `text`."""
    if not (read := sorted((used_names(node) - moved(node)).intersection(text))):
        return None
    what = f"its input {', '.join(map(repr, read))} is text"
    fix = "do this after the model, on the host: an output of labels has their positions"
    return Problem("unsupported-type", what, "text has no fixed size", fix, name, node.op_type)


def unknown_text(name: str) -> Problem:
    """The problem of an output of text that is not among the values of the graph which are followed."""
    what, why = f"output {name!r} is text", "a function or a body computes it, so that it may be any"
    return Problem("unsupported-type", what, why, "expand functions (onnx.inliner), or leave the output out")


def changed_output(name: str, labels: Labels, is_text: bool) -> Problem:
    """The note to the user on an output that is text or maps in the model."""
    more = ", ..." if len(labels) > 10 else ""
    if not is_text:
        shown = ", ".join(map(str, labels[:10]))
        return Problem("changed-output", f"output {name!r} is a table", f"its columns are those of {shown}{more}")
    shown = ", ".join(f"{number}: {text}" for number, text in enumerate(labels[:10]))
    why = f"text has no fixed size; the numbers stand for {shown}{more}"
    return Problem("changed-output", f"output {name!r} has numbers of classes, not names", why)


def _attribute(node: NodeProto, name: str, default: Any = None) -> Any:
    return next((attribute_value(each, None) for each in node.attribute if each.name == name), default)
