"""How the work of the phases grows with the number of nodes: counted in calls of functions, not in seconds."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnx.parser
import pytest

from aotc.compiler.lowering import import_source
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, PassRunner, pipeline_of

KINDS = ("Relu", "Neg", "MatMul", "Exp", "Add", "Softmax")


def chain(count: int) -> bytes:
    """Nodes one after the other, every sixth of which also reads an earlier one."""
    lines: list[str] = []
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        other = {"MatMul": ", w", "Add": f", v{max(0, i - 5)}"}.get(kind, "")
        lines.append(f"v{i + 1} = {kind}(v{i}{other})")
    values = ", ".join(map(str, np.eye(4).reshape(-1)))
    return onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 17]> g (float[3, 4] v0) => (float[3, 4] v{count}) '
        f"<float[4, 4] w = {{{values}}}> {{ {' '.join(lines)} }}"
    ).SerializeToString()


def calls_of_phases(count: int) -> dict[str, int]:
    """How many functions each pass calls on a model of `count` nodes."""
    compilation = import_source(chain(count), CompileOptions(target="cortex-m4"))
    counts: dict[str, int] = {}
    current = 0

    def called(frame: Any, event: str, argument: object) -> None:
        nonlocal current
        current += event in ("call", "c_call")

    def after(phase: str, name: str, module: object) -> None:
        nonlocal current
        counts[f"{phase} {name}"] = counts.get(f"{phase} {name}", 0) + current
        current = 0

    runner = PassRunner(compilation.ctx, after_pass=after)
    for phase in PHASES:
        sys.setprofile(called)
        try:
            runner.run(phase.name, pipeline_of(phase, compilation.options), compilation.module, verified=False)
        finally:
            sys.setprofile(None)
    return counts


@pytest.fixture(scope="module")
def growth() -> dict[str, float]:
    """By how much more each pass calls where there are four times as many nodes."""
    calls_of_phases(30)  # imports, and what is worked out once
    few, many = calls_of_phases(150), calls_of_phases(600)
    return {name: many[name] / max(few[name], 1) for name in few if many[name] > 20_000}


def test_no_pass_grows_faster_than_the_model(growth: dict[str, float]) -> None:
    assert "plan plan-memory" in growth and "outline outline-kernels" in growth
    assert {name: factor for name, factor in growth.items() if factor > 5} == {}
