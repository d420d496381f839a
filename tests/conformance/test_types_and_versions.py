"""Every case is run and folded, and both agree with onnxruntime: so do `evaluate` and the kernel of an operation."""

from __future__ import annotations

import pytest
from cases import Case, decided
from harness import Array, Feed, assert_close, run, with_known
from onnx import ModelProto
from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from aotc.dialects.constants import known_array
from aotc.frontend.onnx import import_model, load_model
from aotc.model.weights import WeightStore


def folded(model: ModelProto, feed: Feed) -> list[Array | None]:
    """The outputs as the importer folds them when every input is constant; None for one it left to run time."""
    ctx = Context()
    module = import_model(load_model(with_known(model, feed, list(feed))), ctx)
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    returned = main.body.block.last_op
    assert returned is not None
    return [known_array(value, WeightStore.of(ctx)) for value in returned.operands]


@pytest.mark.parametrize(("case", "expected"), [pytest.param(*pair, id=str(pair[0])) for pair in decided()])
def test_run_and_fold(case: Case, expected: list[Array]) -> None:
    model, feed = case.model()
    actual, constants = run(model, feed), folded(model, feed)
    for output, value, constant in zip(model.graph.output, expected, constants, strict=True):
        assert_close(f"run {output.name}", actual[output.name], value)
        if constant is not None:
            assert_close(f"folded {output.name}", constant, value)
