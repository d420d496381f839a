"""Which zero is the greatest, or the least, where there are some of both signs: C and LLVM say the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drafts import Draft, draft
from quick_c import c_quickly

from aotc.compiler.driver import in_process, lower
from aotc.executor import compiled_in_process
from aotc.pipeline.options import CompileOptions

ZEROS = np.copysign(np.zeros((2, 20, 9, 11)), np.random.default_rng(5).integers(0, 2, (2, 20, 9, 11)) - 0.5)
OTHERS = np.copysign(0.0, np.roll(ZEROS, 1))

DRAFTS: list[Draft] = [
    draft(op_type, 18, *inputs, **attributes)
    for zeros, others in ((ZEROS.astype(dtype), OTHERS.astype(dtype)) for dtype in (np.float32, np.float64))
    for op_type, inputs, attributes in (
        ("Max", (zeros, others), {}),
        ("Min", (zeros, others), {}),
        ("ReduceMax", (zeros, np.array([1])), {"constants": [1]}),
        ("ReduceMin", (zeros, np.array([3])), {"constants": [1]}),
        ("MaxPool", (zeros,), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    )
]


@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize("each", DRAFTS, ids=str)
def test_c_and_llvm_choose_the_same_zero(each: Draft, target: str, tmp_path: Path) -> None:
    model, feed = each.model()
    compilation = lower(model.SerializeToString(), in_process(CompileOptions.of(target=target)))
    (found,) = compiled_in_process(compilation)(feed).values()
    (expected,) = c_quickly(compilation, tmp_path)(feed).values()
    assert not found.any() and found.tobytes() == expected.tobytes()
