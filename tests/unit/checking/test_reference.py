"""Which onnxruntime session results are compared with."""

from __future__ import annotations

from typing import Any

import onnxruntime
import pytest
from onnx.parser import parse_model

from aotc.compiler.checking.reference import comparable_session, reference_session
from aotc.errors import UsageError

MODEL = """<ir_version: 10, opset_import: ["" : 17]>
g (float[4] x) => (float[4] y) { h = Relu(x) y = Tanh(h) }"""


def test_what_the_optimiser_fails_on_is_computed_node_by_node(monkeypatch: pytest.MonkeyPatch) -> None:
    made, whole = [], onnxruntime.InferenceSession

    def session(model: bytes, options: Any, **given: Any) -> Any:
        made.append(options.graph_optimization_level)
        if made[-1] != onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL:
            raise RuntimeError("Attempt to replace the existing tensor")
        return whole(model, options, **given)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    model = parse_model(MODEL).SerializeToString()
    assert comparable_session(model).get_inputs()[0].name == "x"
    assert len(made) == 2
    with pytest.raises(UsageError, match="failed-tool"):
        reference_session(model)


def test_of_two_failures_the_first_is_told() -> None:
    with pytest.raises(UsageError, match="failed-tool") as caught:
        comparable_session(b"no model")
    assert caught.value.__cause__ is not None
    with pytest.raises(UsageError):
        comparable_session(b"no model", optimize=False)
