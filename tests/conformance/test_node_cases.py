"""The ONNX standard's own cases of every operator that has an importer, compiled in process.

Where onnxruntime runs a case its outputs decide, elsewhere those recorded with the case. Inputs that the compiler must
know, as axes and shapes, become initializers.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from harness import Array, assert_close, reference, run
from onnx import GraphProto, ModelProto, TensorProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase

from aotc.frontend.onnx import supported_operators
from aotc.frontend.onnx.operators import qualified
from aotc.frontend.onnx.tensors import DTYPES, type_name

UNSUPPORTED: dict[str, str] = {
    r"test_training_dropout(?!.*zero_ratio)|test_batchnorm_.*training_mode": "training mode",
}
"""Case names (patterns) of documented features that the compiler refuses, with what they are."""

RECORDED_DECIDES: dict[str, str] = {
    r"test_attention_.*_qk_matmul_bias_.*_causal": "onnxruntime masks with the least float instead of -inf",
}
"""Case names (patterns) where onnxruntime departs from the standard, and how."""


def node_cases() -> list[TestCase]:
    supported = set(supported_operators())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cases provoke overflows on purpose
        from onnx.backend.test.loader import load_node_model_tests

        return [case for case in load_node_model_tests() if _importable(case.model, supported)]


def _importable(model: ModelProto, supported: set[str]) -> bool:
    local = {(function.domain, function.name) for function in model.functions}
    nodes = model.graph.node
    return all((n.domain, n.op_type) in local or qualified(n.op_type, n.domain) in supported for n in nodes)


def obstacle(case: TestCase) -> str | None:
    """Why the compiler refuses a case, for the reasons that are documented; None where it must not."""
    for pattern, reason in UNSUPPORTED.items():
        if re.match(pattern, case.name):
            return reason
    graph = case.model.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        if not value.type.HasField("tensor_type"):
            return f"{value.type.WhichOneof('value')} values"
    codes = {value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)}
    codes |= {tensor.data_type for tensor in _tensors(graph)}
    for code in sorted(codes - set(DTYPES)):
        return f"element type {type_name(code)}"
    if any(entry.domain in ("", "ai.onnx") and entry.version < 7 for entry in case.model.opset_import):
        return "opset below 7"
    return None


def _tensors(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t


def _array(value: Any) -> Array:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def feeds(case: TestCase) -> Iterator[tuple[dict[str, Array], list[Array]]]:
    """The inputs of a case by name, and the outputs that decide."""
    for inputs, recorded in case.data_sets:
        feed = {
            value.name: _array(array)
            for value, array in zip(case.model.graph.input, inputs, strict=False)
            if array is not None
        }
        departs = any(re.match(pattern, case.name) for pattern in RECORDED_DECIDES)
        expected = None if departs else reference(case.model, feed)
        yield feed, [_array(array) for array in recorded] if expected is None else expected


@pytest.mark.parametrize("case", node_cases(), ids=lambda case: case.name.removeprefix("test_"))
def test_node_case(case: TestCase) -> None:
    if (reason := obstacle(case)) is not None:
        pytest.skip(reason)
    outputs = [value.name for value in case.model.graph.output]
    for feed, expected in feeds(case):
        actual = run(case.model, feed)
        for name, value in zip(outputs, expected, strict=True):
            assert_close(name, actual[name], value)
