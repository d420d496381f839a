"""The same cases, many in one model, by way of C and a C compiler: the bits are those of LLVM's code in process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from cases import Case, decided
from harness import Array, by_c_and_llvm, with_known
from onnx import ModelProto
from together import batches, merged, prefixed

NODES = 60
"""How many cases make one model."""


def cases_together() -> list[list[Case]]:
    some = (case for case, _ in decided() if all(x is None or x.size for x in case.inputs))
    return batches(some, lambda case: case.opset, NODES)


def side_by_side(cases: Sequence[Case]) -> tuple[ModelProto, dict[str, Array]]:
    """One model of all cases. What must be known, as the axes of reductions, is an initializer."""
    parts: list[ModelProto] = []
    feed: dict[str, Array] = {}
    for number, case in enumerate(cases):
        model, inputs = case.model()
        _, *others = inputs
        known = others if case.op_type.startswith(("Reduce", "Cum", "Reshape", "Pad")) else []
        parts.append(prefixed(with_known(model, inputs, known), f"{number}/"))
        feed |= {f"{number}/{name}": array for name, array in inputs.items() if name not in known}
    return merged(parts), feed


@pytest.mark.parametrize("cases", cases_together(), ids=lambda cases: f"opset{cases[0].opset}-{cases[0].op_type}")
def test_c_and_llvm_give_the_same_bits(cases: list[Case], tmp_path: Path) -> None:
    model, feed = side_by_side(cases)
    by_c, by_llvm = (compiled(feed) for compiled in by_c_and_llvm(model, tmp_path))
    for name, array in by_c.items():
        nan = np.isnan(array.astype(np.float64)) & np.isnan(by_llvm[name].astype(np.float64))
        # of a NaN neither the sign nor the payload is defined
        assert np.where(nan, 0, array).tobytes() == np.where(nan, 0, by_llvm[name]).tobytes(), name
