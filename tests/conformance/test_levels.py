"""The ONNX standard's cases again as users compile them: many in one model, on vectors and on a target without them.

`test_node_cases` compiles each alone with -O0. Here a case of a rank or an extent that layouts, tiles or fused kernels
are not made for would show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from harness import SCALAR, Array, Feed, reference, with_known
from node_suite.cases import Case, load_cases
from node_suite.outcomes import AT_RUN_TIME, compare, expected_reason, known_inputs, open_inputs
from onnx import ModelProto
from onnx.compose import add_prefix
from xdsl.context import Context

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.errors import CompileError
from aotc.executor import compiled_in_process
from aotc.frontend.onnx import import_model, load_model
from aotc.frontend.onnx.bodies import subgraphs
from aotc.pipeline.options import CompileOptions

CASES = 40
"""How many cases make one model."""


@dataclass(frozen=True)
class Expected:
    """What an output may be: what is recorded, or what onnxruntime computes; floats are also right by a relative error
    of what is recorded."""

    values: Sequence[Array]
    relative: float

    def check(self, name: str, actual: Array) -> None:
        """Raise AssertionError where `actual` is neither."""
        wrong: list[AssertionError] = []
        for value, relative in zip(self.values, (self.relative, 0.0), strict=False):
            try:
                return compare(name, actual, value, relative)
            except AssertionError as error:
                wrong.append(error)
        raise wrong[0]


def batches() -> list[list[Case]]:
    """The cases that pass alone, of tensors only, by the operator sets they import."""
    alike: dict[tuple[object, ...], list[Case]] = defaultdict(list)
    for case in load_cases():
        if expected_reason(case.name) is None and _is_of_tensors(case.model):
            sets = sorted((entry.domain, entry.version) for entry in case.model.opset_import)
            alike[case.model.ir_version, *sets].append(case)
    return [cases[start : start + CASES] for cases in alike.values() for start in range(0, len(cases), CASES)]


def _is_of_tensors(model: ModelProto) -> bool:
    """Whether inputs and outputs are tensors of known shape, and none has a data-dependent extent."""
    values = (*model.graph.input, *model.graph.output)
    bounded = {"NonMaxSuppression", "NonZero", "Unique", "Compress"}
    of_tensors = all(value.type.HasField("tensor_type") for value in values) and not open_inputs(model)
    # ONNX's definition of FlexAttention is text with a body's names in it, which must be identifiers; prefixes are not
    bodies = any(node.op_type == "FlexAttention" and next(subgraphs(node), None) for node in model.graph.node)
    return of_tensors and not bodies and not any(node.op_type in bounded for node in model.graph.node)


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


def merged(cases: Iterable[Case]) -> tuple[ModelProto, dict[str, Array], dict[str, Expected]]:
    """One model of all cases side by side, its inputs, and the outputs that are expected."""
    whole = ModelProto()
    given: dict[str, Array] = {}
    expected: dict[str, Expected] = {}
    for case in cases:
        feed, recorded = next(case.data())
        outputs = reference(case.model, feed)
        prefix = case.name.removeprefix("test_") + "/"
        model = add_prefix(case.model, prefix, rename_functions=True)
        model, feed = at_run_time(model, {prefix + name: value for name, value in feed.items()})
        given |= feed
        for position, (value, array) in enumerate(zip(model.graph.output, recorded, strict=True)):
            others = [] if outputs is None else [outputs[position]]
            expected[value.name] = Expected([np.asarray(array), *others], case.source.rtol)
        if not whole.graph.name:
            whole.CopyFrom(model)
        else:
            whole.functions.extend(model.functions)
            for field in ("node", "input", "output", "initializer", "sparse_initializer"):
                getattr(whole.graph, field).extend(getattr(model.graph, field))
    return whole, given, expected


@pytest.mark.parametrize("cases", batches(), ids=lambda cases: cases[0].name.removeprefix("test_"))
def test_as_users_compile(cases: list[Case]) -> None:
    model, feed, expected = merged(cases)
    scalar = lower(model, in_process(CompileOptions.of(target=SCALAR)))
    computed = {"on vectors": aotc.compile(model)(feed), "in scalar loops": compiled_in_process(scalar)(feed)}
    wrong: list[str] = []
    for how, actual in computed.items():
        for name, value in expected.items():
            try:
                value.check(name, actual[name])
            except AssertionError as error:
                wrong.append(f"{how}: {error}")
    assert not wrong, "\n".join(wrong)
