"""The cases that the onnx package has: of every operator, and of small models made by exporters."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import onnx
from harness import Array
from onnx import ModelProto, OptionalProto, SequenceProto, TensorProto, TypeProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")
"""The package's names of its groups of cases; `node` has those of single operators."""
_BUILD = Path(__file__).parents[3] / "build"


@dataclass(frozen=True)
class Case:
    """A model with inputs and outputs that were recorded with it."""

    kind: str
    name: str
    source: TestCase

    @cached_property
    def model(self) -> ModelProto:
        return self.source.model or onnx.load(Path(self.source.model_dir or "", "model.onnx"))

    @property
    def has_control_flow(self) -> bool:
        """Whether an operator of the model has graphs of its own."""
        functions = (node for function in self.model.functions for node in function.node)
        return any(_has_graph(node) for node in (*self.model.graph.node, *functions))

    def data(self) -> Iterator[tuple[dict[str, Any], list[Any]]]:
        """The inputs by name, without those left out, and the outputs of each recorded run; a sequence is a list."""
        known = {tensor.name for tensor in self.model.graph.initializer}
        inputs = [value for value in self.model.graph.input if self.kind == "node" or value.name not in known]
        outputs = self.model.graph.output
        for given, expected in self.source.data_sets or self._files():
            feed = {v.name: _value(x, v.type) for v, x in zip(inputs, given, strict=False) if x is not None}
            yield feed, [_value(x, v.type) for v, x in zip(outputs, expected, strict=True)]

    def _files(self) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
        graph = self.model.graph
        for folder in sorted(Path(self.source.model_dir or "").glob("test_data_set_*")):
            yield _read(folder, "input", graph.input), _read(folder, "output", graph.output)


def _has_graph(node: onnx.NodeProto) -> bool:
    kinds = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
    return any(attribute.type in kinds for attribute in node.attribute)


@cache
def node_cases() -> list[TestCase]:
    """Those of single operators: the package computes them anew, by the same random numbers, which takes five seconds.
    So they are kept in a file for the next process, of these versions of what computes them."""
    versions = "-".join([onnx.__version__, np.__version__, *map(str, sys.version_info[:2])])
    path = _BUILD / f"node-cases-{versions}.pickle"
    with suppress(OSError, EOFError, pickle.UnpicklingError):
        return pickle.loads(path.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cases provoke overflows on purpose
        from onnx.backend.test.loader import load_node_model_tests

        found = load_node_model_tests()
    _BUILD.mkdir(exist_ok=True)
    with NamedTemporaryFile(dir=_BUILD, delete=False) as file:
        file.write(pickle.dumps(found))
    os.replace(file.name, path)  # which nobody sees before it is written
    return found


def load_cases(kinds: Sequence[str] = KINDS[:1]) -> list[Case]:
    """The cases of these kinds, sorted; models that would have to be downloaded are not among them."""
    from onnx.backend.test.loader import load_model_tests

    loaded = {kind: node_cases() if kind == "node" else load_model_tests(kind=kind) for kind in kinds}
    found = [Case(kind, case.name, case) for kind, cases in loaded.items() for case in cases]
    return sorted((each for each in found if each.source.url is None), key=lambda each: (each.kind, each.name))


def _read(folder: Path, what: str, values: Sequence[onnx.ValueInfoProto]) -> list[Any]:
    count = len(list(folder.glob(f"{what}_*.pb")))
    found: list[Any] = []
    for number, value in zip(range(count), values, strict=False):
        message = {"sequence_type": SequenceProto, "optional_type": OptionalProto}.get(
            value.type.WhichOneof("value") or "", TensorProto
        )()
        message.ParseFromString((folder / f"{what}_{number}.pb").read_bytes())
        found.append(message)
    return found


def _value(given: Any, kind: TypeProto) -> Any:
    """An array, a list of them for a sequence, None for an optional that is empty."""
    match given:
        case TensorProto():
            return numpy_helper.to_array(given)
        case SequenceProto():
            return [np.asarray(each) for each in numpy_helper.to_list(given)]
        case OptionalProto():
            return _value(numpy_helper.to_optional(given), kind)
        case list():
            return [_value(each, kind) for each in given]
        case None:
            return None
        case _:
            return np.asarray(given)


__all__ = ["KINDS", "Array", "Case", "load_cases", "node_cases"]
