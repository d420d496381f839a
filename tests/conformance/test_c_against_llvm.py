"""The same cases, many in one model, by way of C and a C compiler: the bits are those of LLVM's code in process."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from cases import Case, decided
from harness import Array, by_c_and_llvm
from onnx import ModelProto, numpy_helper

NODES = 60
"""How many cases make one model."""


def batches() -> list[tuple[Case, ...]]:
    by_opset: dict[int, list[Case]] = defaultdict(list)
    for case, _ in decided():
        if all(x is None or x.size for x in case.inputs):
            by_opset[case.opset].append(case)
    return [tuple(cases[start : start + NODES]) for cases in by_opset.values() for start in range(0, len(cases), NODES)]


def merged(cases: tuple[Case, ...]) -> tuple[ModelProto, dict[str, Array]]:
    """One model of all cases side by side. What must be known, as the axes of reductions, is an initializer."""
    whole = ModelProto()
    feed: dict[str, Array] = {}
    for number, case in enumerate(cases):
        model, inputs = case.model()
        if not number:
            whole.CopyFrom(model)
            for field in ("node", "input", "output"):
                whole.graph.ClearField(field)
        names = {name: f"{name}_{number}" for name in (*inputs, *(value.name for value in model.graph.output))}
        node = model.graph.node[0]
        node.name = f"{node.op_type}_{number}"
        node.input[:] = [names.get(name, "") for name in node.input]
        node.output[:] = [names[name] for name in node.output]
        whole.graph.node.append(node)
        for value in (*model.graph.input, *model.graph.output):
            value.name = names[value.name]
        whole.graph.output.extend(model.graph.output)
        for position, (value, array) in enumerate(zip(model.graph.input, inputs.values(), strict=True)):
            if position and node.op_type.startswith(("Reduce", "Cum", "Reshape", "Pad")):
                whole.graph.initializer.append(numpy_helper.from_array(array, value.name))
            else:
                whole.graph.input.append(value)
                feed[value.name] = array
    return whole, feed


@pytest.mark.parametrize("cases", batches(), ids=lambda cases: f"opset{cases[0].opset}-{cases[0].op_type}")
def test_c_and_llvm_give_the_same_bits(cases: tuple[Case, ...], tmp_path: Path) -> None:
    model, feed = merged(cases)
    by_c, by_llvm = (compiled(feed) for compiled in by_c_and_llvm(model, tmp_path))
    for name, array in by_c.items():
        nan = np.isnan(array.astype(np.float64)) & np.isnan(by_llvm[name].astype(np.float64))
        # of a NaN neither the sign nor the payload is defined
        assert np.where(nan, 0, array).tobytes() == np.where(nan, 0, by_llvm[name]).tobytes(), name
