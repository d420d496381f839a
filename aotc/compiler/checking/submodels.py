"""Parts of a model and their judges: onnxruntime, and the reference evaluator of the onnx package where that has no
kernel."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, numpy_helper
from onnx.helper import make_tensor_value_info, np_dtype_to_tensor_dtype, tensor_dtype_to_np_dtype

from aotc.compiler.checking.reference import DTYPES, comparable_session, reference_outputs, reference_session
from aotc.errors import UsageError
from aotc.frontend.onnx.bodies import node_name, used_names

if TYPE_CHECKING:
    from aotc.model.labels import Labels

Array = np.ndarray[Any, Any]


def submodel_of(
    model: ModelProto, nodes: Sequence[NodeProto], outputs: Sequence[str], given: Mapping[str, Array]
) -> tuple[ModelProto, dict[str, Array]]:
    """A model of some nodes, in order, whose inputs are those of `given` that they read, and these."""
    submodel = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    submodel.graph.name = "part"
    submodel.graph.node.extend(nodes)
    made = {output for node in nodes for output in node.output}
    read = {name for node in nodes for name in used_names(node)} - made
    taken = {name: given[name] for name in sorted(read) if name in given}
    submodel.graph.initializer.extend(each for each in model.graph.initializer if each.name in read - taken.keys())
    kinds = {name: np_dtype_to_tensor_dtype(array.dtype) for name, array in taken.items()}
    submodel.graph.input.extend(make_tensor_value_info(name, kinds[name], array.shape) for name, array in taken.items())
    submodel.graph.output.extend(ValueInfoProto(name=output) for output in outputs)
    return submodel, taken


def places(model: ModelProto) -> dict[str, int]:
    """Where in the graph each node is, by its name as locations have it."""
    return {node_name(node, place): place for place, node in enumerate(model.graph.node)}


def nodes_for(model: ModelProto, value: str, known: Mapping[str, Array]) -> list[NodeProto]:
    """The nodes by which `value` is computed from what is known, in order."""
    wanted, found = {value}, list["NodeProto"]()
    for node in reversed(model.graph.node):
        if not wanted.isdisjoint(node.output):
            found.append(node)
            wanted |= used_names(node) - known.keys()
    return found[::-1]


class NodeByNode:
    """As a session of onnxruntime, each node alone: by onnxruntime, or the reference evaluator of the onnx package."""

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self.evaluated: dict[str, str] = {}
        """The operators that the evaluator computed, and why onnxruntime did not."""

    def run(self, names: Sequence[str] | None, inputs: Mapping[str, Array]) -> list[Any]:
        """Raises UsageError where neither has a kernel."""
        graph, values = self._model.graph, dict(inputs)
        for node in graph.node:
            outputs = [output for output in node.output if output]
            values |= zip(outputs, self._computed(node, outputs, values), strict=True)
        constants = {each.name: each for each in graph.initializer}
        asked = [output.name for output in graph.output] if names is None else names
        return [values[name] if name in values else numpy_helper.to_array(constants[name]) for name in asked]

    def _computed(self, node: NodeProto, outputs: Sequence[str], values: Mapping[str, Any]) -> list[Any]:
        if any(not isinstance(values.get(name), np.ndarray | None) for name in used_names(node)):
            raise UsageError("failed-tool", f"{node.op_type} of what is no tensor cannot be computed alone")
        submodel, given = submodel_of(self._model, [node], outputs, values)
        try:
            session = reference_session(submodel.SerializeToString(), optimize=False)
            return list(reference_outputs(session, given).values())
        except UsageError as error:
            self.evaluated.setdefault(node.op_type, str(error))
            return _evaluated(submodel, given, error)

    def get_inputs(self) -> list[Any]:
        constants = {each.name for each in self._model.graph.initializer}
        return [_described(value) for value in self._model.graph.input if value.name not in constants]

    def get_overridable_initializers(self) -> list[Any]:
        constants = {each.name for each in self._model.graph.initializer}
        return [_described(value) for value in self._model.graph.input if value.name in constants]

    def get_outputs(self) -> list[Any]:
        return [_described(value) for value in self._model.graph.output]


def _described(value: Any) -> Any:
    kind = value.type.tensor_type.elem_type
    names = {dtype: name for name, dtype in DTYPES.items()}
    return SimpleNamespace(name=value.name, type=names.get(tensor_dtype_to_np_dtype(kind).name, "") if kind else "")


def _evaluated(submodel: ModelProto, given: Mapping[str, Array], why: UsageError) -> list[Any]:
    """Outputs by the reference evaluator."""
    from onnx.reference import ReferenceEvaluator

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = ReferenceEvaluator(submodel).run(None, dict(given))
    except Exception as error:  # its errors have no common class
        raise why from error
    assert isinstance(found, list)
    return [value if isinstance(value, list) else np.asarray(value) for value in found]


def judgements(
    submodel: ModelProto, given: Mapping[str, Array], labels: Mapping[str, Labels]
) -> Iterator[dict[str, Array]]:
    """Right values of the outputs: as onnxruntime fuses nodes, on integers; as it computes them one by one; where
    it has no kernel for one, with what the reference evaluator makes of that. Raises UsageError where there is none."""
    data, count = submodel.SerializeToString(), 0
    for optimize in (True, False):
        with suppress(UsageError):
            found = reference_outputs(comparable_session(data, optimize=optimize), given, labels=labels)
            count += 1
            yield found
    if not count:
        yield reference_outputs(NodeByNode(submodel), given, labels=labels)
