"""The ONNX standard's cases again as users compile them: many in one model, on vectors and on a target without them.

`test_node_cases` compiles each alone with -O0. Here a case of a rank or an extent that layouts, tiles or fused kernels
are not made for would show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pytest
from harness import Array, Feed, assert_close, with_known
from onnx import ModelProto
from onnx.backend.test.case.test_case import TestCase
from onnx.compose import add_prefix
from test_node_cases import feeds, node_cases, obstacle
from xdsl.context import Context

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.errors import CompileError
from aotc.executor import compiled_in_process
from aotc.frontend.onnx import import_model, load_model
from aotc.pipeline.options import CompileOptions

CASES = 40
"""How many cases make one model."""

SCALAR = "rv64gc"
"""A target without vectors of as wide addresses; what its phases make runs in this process as well."""


def batches() -> list[list[TestCase]]:
    """The cases by the operator sets they import."""
    alike: dict[tuple[object, ...], list[TestCase]] = defaultdict(list)
    for case in node_cases():
        if obstacle(case) is None:
            sets = sorted((entry.domain, entry.version) for entry in case.model.opset_import)
            alike[case.model.ir_version, *sets].append(case)
    return [cases[start : start + CASES] for cases in alike.values() for start in range(0, len(cases), CASES)]


def at_run_time(model: ModelProto, feed: Feed) -> tuple[ModelProto, Feed]:
    """The model with as many inputs as the compiler allows left to run time, and these."""
    empty = [name for name, value in feed.items() if value.size == 0]
    others = [name for name, value in feed.items() if value.size]
    for known in (empty, empty + others[1:], empty + others):
        complete = with_known(model, feed, known)
        try:
            import_model(load_model(complete), Context())
        except CompileError as error:
            if "run time" not in str(error) or len(known) == len(feed):
                raise
        else:
            return complete, {name: value for name, value in feed.items() if name not in known}
    raise AssertionError("the last try returns or raises")


def merged(cases: Iterable[TestCase]) -> tuple[ModelProto, dict[str, Array], dict[str, Array]]:
    """One model of all cases side by side, its inputs, and the outputs that are expected."""
    whole = ModelProto()
    given: dict[str, Array] = {}
    expected: dict[str, Array] = {}
    for case in cases:
        feed, outputs = next(feeds(case))
        prefix = case.name.removeprefix("test_") + "/"
        model = add_prefix(case.model, prefix, rename_functions=True)
        model, feed = at_run_time(model, {prefix + name: value for name, value in feed.items()})
        given |= feed
        expected |= {value.name: array for value, array in zip(model.graph.output, outputs, strict=True)}
        if not whole.graph.name:
            whole.CopyFrom(model)
        else:
            whole.functions.extend(model.functions)
            for field in ("node", "input", "output", "initializer", "sparse_initializer"):
                getattr(whole.graph, field).extend(getattr(model.graph, field))
    return whole, given, expected


@pytest.mark.parametrize("cases", batches(), ids=lambda cases: cases[0].name.removeprefix("test_"))
def test_as_users_compile(cases: list[TestCase]) -> None:
    model, feed, expected = merged(cases)
    scalar = lower(model, in_process(CompileOptions.of(target=SCALAR)))
    computed = {"on vectors": aotc.compile(model)(feed), "in scalar loops": compiled_in_process(scalar)(feed)}
    wrong: list[str] = []
    for how, actual in computed.items():
        for name, value in expected.items():
            try:
                assert_close(name, actual[name], value)
            except AssertionError as error:
                wrong.append(f"{how}: {error}")
    assert not wrong, "\n".join(wrong)
