"""Linear models, support vector machines, features and labels of ai.onnx.ml, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from harness import assert_close, reference
from ml_cases import ml_model
from ml_nodes import Case, features, linear, machines

import aotc


@pytest.mark.parametrize("each", [*linear(), *machines(), *features()], ids=str)
def test_as_onnxruntime(each: Case) -> None:
    feed = {f"x{number}": x for number, x in enumerate(each.inputs)}
    proto = ml_model(each.op_type, each.version, feed, each.outputs, **each.attributes)
    wanted = reference(proto, feed)
    assert wanted is not None
    for optimize in (0, 2):
        found = aotc.compile(proto, optimize=optimize)(feed)
        for (name, actual), value in zip(found.items(), wanted, strict=True):
            if each.attributes.get("post_transform") == "PROBIT":  # cancellation takes digits
                np.testing.assert_allclose(actual, value, rtol=1e-3, atol=1e-4)
            else:
                assert_close(f"{name} at level {optimize}", actual, value)
