"""If, Loop and Scan by every route, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import pytest
from control_cases import CASES, Case
from harness import assert_close, reference
from onnx import save

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.executor import compiled_in_process
from aotc.measuring.routes import open_model
from aotc.pipeline.options import CompileOptions

SCALAR = "rv64gc"
"""A target without vectors of as wide addresses; what its phases make runs in this process as well."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_onnxruntime(case: Case, tmp_path: Path) -> None:
    proto = case.model
    path = tmp_path / "model.onnx"
    save(proto, path)
    scalar = lower(proto, in_process(CompileOptions.of(target=SCALAR)))
    ways = {
        "by definition": aotc.compile(proto, optimize=0),
        "on vectors": aotc.compile(proto),
        "by threads": aotc.compile(proto, threads=2),
        "without vectors": compiled_in_process(scalar),
        "by C": open_model(str(path), "c", CompileOptions()),
    }
    for feed in case.feeds:
        expected = reference(proto, feed)
        assert expected is not None
        found = {how: compiled(feed) for how, compiled in ways.items()}
        for how, outputs in found.items():
            for (name, value), wanted in zip(outputs.items(), expected, strict=True):
                assert_close(f"{name} {how}", value, wanted)
        for name, value in found["on vectors"].items():
            assert value.tobytes() == found["by C"][name].tobytes(), f"{name}: C and LLVM differ"
            assert value.tobytes() == found["by threads"][name].tobytes(), f"{name}: threads change it"
