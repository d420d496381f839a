"""Routes run what they are asked to: linked in the conventions of the options, or in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotc
from aotc.cli.main import run
from aotc.errors import EXIT_USAGE
from aotc.measuring.routes import open_model
from aotc.pipeline.options import CompileOptions

MODEL = Path(__file__).parents[2] / "models/data/hello_world_int8"


@pytest.mark.parametrize("route", ["jit", "shared", "c"])
@pytest.mark.parametrize(
    "asked",
    [
        {"interface_api": "packed", "operator_api": "packed", "runtime": "host"},
        {"interface_api": "micro", "workspace": "caller"},
        {"weights": "external"},
        {"weights": "caller", "resource_handle": True},
    ],
)
def test_f6_what_is_tested_is_what_ships(route: str, asked: dict[str, Any]) -> None:
    """F6: the conventions asked for are those of what runs, whatever the route."""
    model = open_model(MODEL / "model.onnx", route, CompileOptions.of(name="m", optimize="0", **asked))
    for name in asked.keys() - {"resource_handle", "runtime"}:
        assert getattr(model.metadata, name) == asked[name]
    with np.load(MODEL / "inputs.npz") as inputs, np.load(MODEL / "outputs.npz") as outputs:
        found = model(dict(inputs))
        assert all(np.array_equal(found[name], outputs[name]) for name in outputs.files)


def test_f7_in_memory_where_it_is_asked_for() -> None:
    """F7: nothing is linked; what needs linking is refused."""
    path = MODEL / "model.onnx"
    assert open_model(path, "jit", CompileOptions(), loader="jit").metadata.weights == "caller"
    assert open_model(path, "jit", CompileOptions(), loader="native").metadata.weights == "embedded"
    for route, options in (("jit", CompileOptions(interface_api="packed")), ("c", CompileOptions())):
        with pytest.raises(aotc.UsageError, match=r"--loader jit.*\[option-conflict\]"):
            open_model(path, route, options, loader="jit")


@pytest.mark.parametrize("command", ["run", "verify"])
def test_f6_combinations_that_are_refused(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    refused = ["--interface-api", "c", "--operator-api", "packed"]
    assert run([command, str(MODEL / "model.onnx"), *refused]) == EXIT_USAGE
    assert "a typed entry has no argument structures" in capfd.readouterr().err


def test_the_commands_take_a_loader(capfd: pytest.CaptureFixture[str]) -> None:
    for loader in ("native", "jit"):
        assert run(["verify", str(MODEL / "model.onnx"), "--loader", loader]) == 0
    assert capfd.readouterr().err == ""
