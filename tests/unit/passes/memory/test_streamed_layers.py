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


def resized(g: Network) -> str:
    """Rows between those that come, then fewer."""
    x = g.of(g.resized("x", 2.0, 1.0, mode="linear"), 3, 24, 6)
    return g.same(g.of(g.resized(x, 0.75, 1.0, mode="nearest"), 3, 18, 6), 5, 3)


def cut(g: Network) -> str:
    """Some of the rows, as they are, and every other one of some columns."""
    ends = [g.constant(value, np.int64) for value in ([2], [11], [2])]
    some = g.of(g.node("Slice", "x", *ends), 3, 9, 6)
    ends = [g.constant(value, np.int64) for value in ([1, 1], [9, 6], [2, 3], [2, 1])]
    other = g.of(g.node("Slice", some, *ends), 3, 4, 5)
    pooled = g.of(g.node("MaxPool", some, kernel_shape=[3, 2], strides=[2, 1]), 3, 4, 5)
    return g.same(g.of(g.node("Concat", other, pooled, axis=1), 6, 4, 5), 4, 3)


def joined(g: Network) -> str:
    """Beside what is computed of it, and above itself, before any window."""
    beside = g.of(g.node("Concat", g.node("Neg", "x"), "x", axis=1), 6, 12, 6)
    return g.same(g.of(g.node("Concat", beside, beside, axis=2), 6, 24, 6), 5, 3)


LAYERS: dict[str, Callable[[Network], str]] = {
    "branches": branches,
    "resized": resized,
    "cut": cut,
    "joined": joined,
}


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
