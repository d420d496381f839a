"""If, Loop and Scan by both executors: the entry compiled to code, and to bytecode which the machine runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from control_cases import CASES, Case
from onnx import ModelProto
from random_control import random_model

import aotc


def same_bits(model: ModelProto, feeds: Sequence[Mapping[str, Any]], **options: Any) -> None:
    compiled, bytecode = aotc.compile(model, **options), aotc.compile(model, executor="vm", **options)
    assert (compiled.metadata.executor, bytecode.metadata.executor) == ("aot", "vm")
    known = {tensor.name for tensor in compiled.inputs}
    for feed in feeds:
        given = {name: value for name, value in feed.items() if name in known}
        expected, found = compiled(given), bytecode(given)
        for name, value in expected.items():
            assert found[name].tobytes() == value.tobytes(), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_g1_g4_bytecode_answers_what_compiled_code_answers(case: Case) -> None:
    same_bits(case.model, case.feeds)


@pytest.mark.parametrize("seed", range(8, 14))
def test_random_control_flow(seed: int) -> None:
    model, feeds = random_model(seed)
    same_bits(model, feeds, optimize=0)
