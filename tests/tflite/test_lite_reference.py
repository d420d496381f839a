"""The numpy reference of each operator against the interpreters, by the table of cases."""

from __future__ import annotations

import numpy as np
import pytest
from lite_cases import CASES
from lite_model import Array
from lite_oracle import ORACLES
from lite_reference import REFERENCES, Reference


def assert_near(found: Array, expected: Array, tolerance: float) -> None:
    """Types and shapes are the same, and all bits unless there is a tolerance: of the greatest output."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if tolerance and expected.dtype.kind == "f":
        finite = expected[np.isfinite(expected)]
        most = float(np.abs(finite).max(initial=0)) * tolerance
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=most)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if REFERENCES.keys() >= set(case.codes)])
def test_reference(name: str) -> None:
    case = CASES[name]
    oracle, reference = ORACLES[case.oracle](case.model), Reference(case.graphs)
    for inputs in case.calls:
        for found, expected in zip(reference(*inputs), oracle(*inputs), strict=True):
            assert_near(found, expected, case.tolerance)
