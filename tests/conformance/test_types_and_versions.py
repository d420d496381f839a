"""Every case is run and folded, and both agree with onnxruntime: so do `evaluate` and the kernel of an operation.

Many cases are one model, which is compiled without schedules; a case that stands in the way is one of its own.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from cases import Case, decided
from harness import Array, Feed, assert_close, run, with_known
from onnx import ModelProto
from together import batches, computed
from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from aotc.dialects.constants import known_array
from aotc.errors import CompileError
from aotc.frontend.onnx import import_model, load_model
from aotc.model.weight_store import WeightStore

TOGETHER = 40
"""How many cases make one model."""

Outputs = dict[str, tuple[Array, Array | None]]
"""As they are computed, and as they are folded."""


def folded(model: ModelProto, feed: Feed) -> list[Array | None]:
    """The outputs as the importer folds them when every input is constant; None for one it left to run time."""
    ctx = Context()
    module = import_model(load_model(with_known(model, feed, list(feed))), ctx)
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    returned = main.body.block.last_op
    assert returned is not None
    return [known_array(value, WeightStore.of(ctx)) for value in returned.operands]


def run_and_fold(model: ModelProto, feed: Feed) -> Outputs:
    """Both ways to the outputs."""
    actual, constants = run(model, feed), folded(model, feed)
    names = [output.name for output in model.graph.output]
    return {name: (actual[name], constant) for name, constant in zip(names, constants, strict=True)}


@cache
def _places() -> dict[int, tuple[tuple[int, ...], int]]:
    """The numbers of the cases that are one model with a case, and its place among them, by its number."""
    opsets = [case.opset for case, _ in decided()]
    found = batches(range(len(opsets)), lambda number: opsets[number], TOGETHER)
    return {number: (tuple(numbers), place) for numbers in found for place, number in enumerate(numbers)}


@cache
def _together(numbers: tuple[int, ...]) -> list[Outputs | None]:
    return computed([decided()[number][0].model() for number in numbers], run_and_fold)


CASES = [pytest.param(number, *pair, id=str(pair[0])) for number, pair in enumerate(decided())]


@pytest.mark.parametrize(("number", "case", "expected"), CASES)
def test_run_and_fold(number: int, case: Case, expected: list[Array]) -> None:
    numbers, place = _places()[number]
    found = _together(numbers)[place] or run_and_fold(*case.model())
    for (name, (actual, constant)), value in zip(found.items(), expected, strict=True):
        assert_close(f"run {name}", actual, value)
        if constant is not None:
            assert_close(f"folded {name}", constant, value)


def test_a_case_that_stands_in_the_way_is_left_to_itself() -> None:
    """And the others are computed by halves."""
    models = [case.model() for case, _ in decided()[:3]]
    tried: list[int] = []

    def unless_three(model: ModelProto, feed: Feed) -> Outputs:
        tried.append(len(model.graph.node))
        if len(model.graph.node) == 3:
            raise CompileError("usage", "one of these is not supported")
        return run_and_fold(model, feed)

    first, *others = computed(models, unless_three)
    assert tried == [3, 2] and first is None
    for found, model in zip(others, models[1:], strict=True):
        assert found is not None
        for name, (actual, _) in run_and_fold(*model).items():
            np.testing.assert_array_equal(found[name][0], actual)
