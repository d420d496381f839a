"""Layers that read an input which comes by rows: branches of it, resizes and cuts of it, joins with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fuzz.networks import Network
from harness import assert_close, reference
from onnx import ModelProto
from quick_c import quick_flags, write_c
from test_streamed_rows import LAYOUT, bits, compiled, values

from aotc.executor import compiled_in_process, load
from aotc.measuring.routes import build_shared


def branches(g: Network) -> str:
    """Two layers that read the input, and a third that reads both."""
    one, other = g.same("x", 4, 3), g.same("x", 3, 1)
    return g.same(g.of(g.node("Concat", one, other, axis=1), 7, *g.shapes["x"][1:]), 5, 3)


LAYERS: dict[str, Callable[[Network], str]] = {"branches": branches}


def network(layers: str) -> ModelProto:
    g = Network(7, quantized=False)
    g.shapes["x"] = (3, 12, 6)
    return g.giving(LAYERS[layers](g))


@pytest.mark.parametrize("layers", LAYERS)
def test_numbers_are_those_of_the_whole(layers: str, tmp_path: Path) -> None:
    """One row after the other, by C and by LLVM; and those of onnxruntime."""
    model = network(layers)
    streamed, whole = compiled(model, 1), compiled_in_process(compiled(model, None))
    x = values(whole)
    expected = whole(x)
    found = reference(model, {"x": np.ascontiguousarray(x.transpose(0, 3, 1, 2))})
    assert found is not None
    assert_close(layers, next(iter(expected.values())), found[0])
    for made in (load(build_shared(write_c(streamed, tmp_path), quick_flags())), compiled_in_process(streamed)):
        outputs = [made.push(x[:, place : place + 1]) for place in range(x.shape[1])]
        assert outputs[:-1] == [None] * (x.shape[1] - 1) and bits(outputs[-1]) == bits(expected)


def test_branches_are_computed_once() -> None:
    """One kernel has all that reads the input, and its results are written where they are joined."""
    plan = compiled(network("branches"), 1, input_layouts=LAYOUT).info().plan
    assert len(plan.order) == 2
