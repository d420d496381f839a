"""The ONNX standard's cases again as users compile them: many in one model, on vectors and on a target without them.

`test_node_cases` compiles each alone with -O0. Here a case of a rank or an extent that layouts, tiles or fused kernels
are not made for would show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pytest
from harness import SCALAR, Array, Feed, reference, with_known
from node_suite.cases import Case, load_cases
from node_suite.outcomes import AT_RUN_TIME, compare, expected_reason, is_of_tensors, known_inputs, open_inputs
from onnx import ModelProto
from together import batches, imported, merged, prefixed
from xdsl.context import Context

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.errors import CompileError
from aotc.executor import compiled_in_process
from aotc.frontend.onnx import import_model, load_model
from aotc.frontend.onnx.bodies import subgraphs
from aotc.measuring.differences import cut_to_counts
from aotc.pipeline.options import CompileOptions

CASES = 40
"""How many cases make one model."""


@dataclass(frozen=True)
class Expected:
    """Values that an output may have: recorded ones, or those of onnxruntime; floats are also right by a relative error
    of what is recorded."""

    recorded: Array
    relative: float
    computed: Callable[[], Array | None]
    """By onnxruntime; None where it has no kernel."""

    def check(self, name: str, actual: Array) -> None:
        """Raise AssertionError where `actual` is neither."""
        try:
            compare(name, actual, self.recorded, self.relative)
        except AssertionError as error:
            value = self.computed()
            if value is None:
                raise
            try:
                compare(name, actual, value)
            except AssertionError:
                raise error from None


def cases_together() -> list[list[Case]]:
    """The cases that pass alone, of tensors only, by the operator sets they import."""
    passing = [case for case in load_cases() if expected_reason(case.name) is None and is_of_tensors(case.model)]
    return batches((case for case in passing if not _is_written_by_name(case.model)), imported, CASES)


def _is_written_by_name(model: ModelProto) -> bool:
    """Whether ONNX's definition is text with a body's names in it, which must be identifiers; prefixes are not."""
    return any(node.op_type == "FlexAttention" and next(subgraphs(node), None) for node in model.graph.node)


def at_run_time(model: ModelProto, feed: Feed) -> tuple[ModelProto, Feed]:
    """The model with as many inputs as the compiler allows left to run time, and these."""
    might_be_known = known_inputs(feed)
    if not might_be_known:  # there is nothing to find out
        return model, feed
    for known in ((), might_be_known):
        complete = with_known(model, feed, known)
        try:
            import_model(
                load_model(complete), Context(), input_shapes={n: feed[n].shape for n in open_inputs(complete)}
            )
        except CompileError as error:
            if AT_RUN_TIME not in str(error) or known:
                raise
        else:
            return complete, {name: value for name, value in feed.items() if name not in known}
    raise AssertionError("the last try returns or raises")


def _one_of(outputs: Callable[[], Sequence[Array] | None], position: int) -> Array | None:
    found = outputs()
    return None if found is None else found[position]


def side_by_side(cases: Iterable[Case]) -> tuple[ModelProto, dict[str, Array], dict[str, Expected]]:
    """One model of all cases side by side, its inputs, and the outputs that are expected."""
    parts: list[ModelProto] = []
    given: dict[str, Array] = {}
    expected: dict[str, Expected] = {}
    for case in cases:
        feed, recorded = next(case.data())
        outputs = cache(partial(reference, case.model, feed))
        prefix = case.name.removeprefix("test_") + "/"
        model = prefixed(case.model, prefix)
        model, feed = at_run_time(model, {prefix + name: value for name, value in feed.items()})
        parts.append(model)
        given |= feed
        for position, (value, array) in enumerate(zip(model.graph.output, recorded, strict=True)):
            expected[value.name] = Expected(np.asarray(array), case.source.rtol, partial(_one_of, outputs, position))
    return merged(parts), given, expected


@pytest.mark.parametrize("cases", cases_together(), ids=lambda cases: cases[0].name.removeprefix("test_"))
def test_as_users_compile(cases: list[Case]) -> None:
    model, feed, expected = side_by_side(cases)
    scalar = lower(model, in_process(CompileOptions.of(target=SCALAR)))
    computed = {"on vectors": aotc.compile(model)(feed), "in scalar loops": compiled_in_process(scalar)(feed)}
    wrong: list[str] = []
    for how, padded in computed.items():
        actual = cut_to_counts(padded, {name: value.recorded for name, value in expected.items()})
        for name, value in expected.items():
            try:
                value.check(name, actual[name])
            except AssertionError as error:
                wrong.append(f"{how}: {error}")
    assert not wrong, "\n".join(wrong)
