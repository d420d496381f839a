"""Types of the public interface, as a user's file sees them: the package has `py.typed`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

RIGHT = """
from pathlib import Path

import numpy as np

import aotc
import aotc.backend

x = np.zeros((1, 3), np.float32)
model = aotc.compile("model.onnx", target="x86-64-v3", dims={"batch": 1}, optimize=3, threads=2)
y: np.ndarray = model({"x": x})["y"]
y = model(x=x)["y"]
step = model.bind({"x": x}, outputs={"y": y})
result: dict[str, np.ndarray] = step()
executor: aotc.CompiledModel | aotc.DynamicModel = model.clone()
executor.set_input("x", x)
executor.set_input(x=x)
executor.run(x=x)
out: np.ndarray = executor.get_output(0)
assert isinstance(executor, aotc.CompiledModel)
out = executor.get_output(0, out)
timing = executor.time_evaluator("run", aotc.cpu(), number=3)()
seconds: float = timing.mean
names: list[str] = [tensor.name for tensor in model.inputs]
session = aotc.InferenceSession(b"", dims={"batch": 4}, providers=["CPUExecutionProvider"])
scores: np.ndarray = session.run(None, {session.get_inputs()[0].name: x})[0]
exported = aotc.to_dlpack(scores).__dlpack__(max_version=(1, 1))
files: tuple[Path, ...] = aotc.compile_to("model.onnx", Path("out"), emit=("c", "header"), ram="16K").files
dynamic = aotc.DynamicModel("model.onnx", dims={"seq": "any"}, buckets=[64, 128], max_shapes=8)
dynamic.warm({"seq": 64}, {"seq": 128})
y = dynamic(x)["y"]
fixed: aotc.CompiledModel = dynamic.at({"seq": 64})
opened = aotc.compile("model.onnx", buckets={"seq": [64]}, on_compile=lambda found: print(found.seconds))
assert isinstance(opened, aotc.DynamicModel)
opened.warm({"seq": 64})
either = aotc.compile("model.onnx", dims={"batch": 1, "seq": "any"}, max_shapes=4)
y = either.clone()(x)[either.outputs[0].name]
if isinstance(either, aotc.CompiledModel):
    print(either.plan.peak_bytes)
else:
    print(either.at({"seq": 64}).plan.peak_bytes, either.shapes)
session = aotc.InferenceSession("model.onnx", max_shapes=4)
loaded = aotc.load(Path("out/model.so"), threads=1)
try:
    other = aotc.compile("other.onnx")
except aotc.CompileError as error:
    print([problem.what for problem in error.problems])
"""

WRONG = {
    'aotc.compile("model.onnx", optimise=3)': 'No parameter named "optimise"',
    'aotc.compile("model.onnx", threads="2")': 'cannot be assigned to parameter "threads" of type "int"',
    'aotc.compile_to("model.onnx", "out", interface_api="fast")': 'parameter "interface_api" of type',
    'aotc.InferenceSession("model.onnx", dim={"batch": 4})': 'No parameter named "dim"',
    'aotc.DynamicModel("model.onnx", dims={"n": "all"})': 'parameter "dims"',
    'aotc.DynamicModel("model.onnx").warm(128)': 'parameter "extents"',
    'aotc.compile("model.onnx").warm({"n": 4})': 'Cannot access attribute "warm" for class "CompiledModel"',
    'aotc.compile("model.onnx").plan': 'Cannot access attribute "plan" for class "DynamicModel"',
    'aotc.load("model.so").bind(outputs=3)': 'parameter "outputs"',
    'aotc.load("model.so").set_input_zero_copy("x")': 'Argument missing for parameter "value"',
    "aotc.nonsense": '"nonsense" is not a known attribute',
}


def errors_in(text: str, folder: Path) -> list[str]:
    """The messages of errors, by a checker that finds the package where Python does."""
    (folder / "user.py").write_text(text)
    done = subprocess.run(
        [Path(sys.executable).with_name("basedpyright"), "--outputjson", "--pythonpath", sys.executable, "user.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == 1, done.stderr
    return [each["message"] for each in found["generalDiagnostics"] if each["severity"] == "error"]


def test_what_is_right_is_no_error(tmp_path: Path) -> None:
    assert not errors_in(RIGHT, tmp_path)


def test_what_is_wrong_is_one(tmp_path: Path) -> None:
    """Each line has its error: types are known, and options by name."""
    found = errors_in("\n".join(["import aotc", *WRONG]), tmp_path)
    assert len(found) == len(WRONG)
    for message, expected in zip(found, WRONG.values(), strict=True):
        assert expected in message


WRONG_TO_MYPY = (
    'keyword argument "optimise" for "compile"',
    'Argument "threads" to "compile" has incompatible type "str"; expected "int"',
    'Argument "interface_api" to "compile_to" has incompatible type',
    'keyword argument "dim" for "InferenceSession"',
    'Dict entry 0 has incompatible type "str": "Literal[\'all\']"',
    'Argument 1 to "warm" of "DynamicModel" has incompatible type "int"',
    'Item "CompiledModel" of "CompiledModel | DynamicModel" has no attribute "warm"',
    'Item "DynamicModel" of "CompiledModel | DynamicModel" has no attribute "plan"',
    'Argument "outputs" to "bind" of "CompiledModel" has incompatible type "int"',
    'Missing positional argument "value" in call to "set_input_zero_copy"',
    'Module has no attribute "nonsense"',
)
"""The lines of WRONG, each with its error."""


def test_mypy(tmp_path: Path) -> None:
    """Another checker, strict, on the same two files; of the package it takes what it needs, as of one installed."""
    pytest.importorskip("mypy", reason="mypy is not installed: types are checked by basedpyright alone")
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text("\n".join(["import aotc", *WRONG]))
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", "--hide-error-context"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--cache-dir", tmp_path / "cache", "right.py", "wrong.py"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(found) == len(WRONG_TO_MYPY), done.stdout + done.stderr
    for number, (line, expected) in enumerate(zip(found, WRONG_TO_MYPY, strict=True), 2):
        assert line.startswith(f"wrong.py:{number}: ") and expected in line
