"""Nodes of other domains, by the files of importers:

* aotc.frontend.onnx.importers.microsoft.attention
* aotc.frontend.onnx.importers.microsoft.layers
* aotc.frontend.onnx.importers.microsoft.products
* aotc.frontend.onnx.importers.microsoft.restated
* aotc.frontend.onnx.importers.ml.features
* aotc.frontend.onnx.importers.ml.linear
* aotc.frontend.onnx.importers.ml.scores
"""

from __future__ import annotations

import numpy as np
import pytest
from domains import microsoft_cases, ml_nodes
from domains.ml_cases import ml_model
from evaluated import evaluate
from harness import assert_close, reference

MICROSOFT = [pytest.param(case, id=str(case)) for make in microsoft_cases.FAMILIES.values() for case in make()]


@pytest.mark.parametrize("case", MICROSOFT)
def test_microsoft(case: microsoft_cases.Case) -> None:
    model, feed = case.model()
    expected = reference(model, feed)
    assert expected is not None
    for (name, actual), value in zip(evaluate(model, feed).items(), expected, strict=True):
        if case.tolerance is None:
            assert_close(name, actual, value)
        else:
            np.testing.assert_allclose(actual, value, case.tolerance, case.tolerance)


@pytest.mark.parametrize("node", [*ml_nodes.linear(), *ml_nodes.machines(), *ml_nodes.features()], ids=str)
def test_ml(node: ml_nodes.Case) -> None:
    feed = {f"x{number}": x for number, x in enumerate(node.inputs)}
    model = ml_model(node.op_type, node.version, feed, node.outputs, **node.attributes)
    expected = reference(model, feed)
    assert expected is not None
    for (name, actual), value in zip(evaluate(model, feed).items(), expected, strict=True):
        if node.attributes.get("post_transform") == "PROBIT":  # cancellation takes digits
            np.testing.assert_allclose(actual, value, rtol=1e-3, atol=1e-4)
        else:
            assert_close(name, actual, value)
