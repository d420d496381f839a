"""The text that commands print and accept, called in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from aotc.cli.main import run

MODEL = Path(__file__).parents[3] / "examples" / "micro_speech" / "micro_speech.onnx"

Capture: TypeAlias = pytest.CaptureFixture[str]


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    returncode: int
    stdout: str
    stderr: str


def aotc(capsys: Capture, *arguments: str | Path) -> Done:
    capsys.readouterr()
    try:
        code = run([str(each) for each in arguments])
    except SystemExit as exit:
        code = int(exit.code or 0)
    shown = capsys.readouterr()
    return Done(code, shown.out, shown.err)


def fails(capsys: Capture, code: int, *arguments: str | Path, says: str) -> None:
    done = aotc(capsys, *arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr


def test_json_of_every_command(tmp_path: Path, capsys: Capture) -> None:
    shown = {
        "run": ["run", MODEL],
        "verify": ["verify", MODEL],
        "check": ["check", MODEL],
        "inspect": ["inspect", MODEL],
        "runtime": ["runtime", "-o", tmp_path / "runtime"],
        "cache": ["cache"],
        "targets": ["targets"],
        "ops": ["ops"],
        "phases": ["phases"],
    }
    said = {name: json.loads(aotc(capsys, *command, "--json").stdout) for name, command in shown.items()}
    (output,) = said["run"]["outputs"].values()
    assert (output["dtype"], output["shape"], len(output["values"][0])) == ("int8", [1, 4], 4)
    assert said["verify"]["ok"]
    assert said["verify"]["outputs"][0]["name"] in said["run"]["outputs"]
    assert str(tmp_path / "runtime" / "aotc_runtime.c") in said["runtime"]["files"]
    assert said["cache"] == {"directory": None, "models": 0, "bytes": 0}
    help_of = aotc(capsys, "--help").stdout.partition("COMMAND\n")[2].partition("options:")[0]
    commands = [line.split()[0] for line in help_of.splitlines() if line.startswith("    ") and line[4] != " "]
    long = ("compile", "plan", "link-plan", "bench", "tune", "quantize", "evaluate")
    assert {*shown, *long} == {*commands}
    assert all("--json" in aotc(capsys, command, "--help").stdout for command in long)


def test_verify_without_a_kernel_of_onnxruntime_asks_the_onnx_package(tmp_path: Path, capsys: Capture) -> None:
    """onnxruntime has none for the greater of two uint16."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.UINT16, [4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Max", ["x", "x"], ["y"])], "g", [x], [y])
    path = tmp_path / "max.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    done = aotc(capsys, "verify", path, "--per-op")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("reference: onnxruntime node by node, and onnx.reference where it has no kernel (")
    assert "y: ok" in done.stdout
    assert "no operator's result differs" in done.stdout
    fails(capsys, 2, "verify", path, "--reference", "onnxruntime", says="[failed-tool]")
    assert aotc(capsys, "verify", path, "-O0").returncode == 0
    fails(capsys, 2, "verify", path, "-O0", "--reference", "loops", says="[nothing-to-compare]")
    assert aotc(capsys, "verify", path, "-O0", "--emit", "c").returncode == 0


def test_inputs_become_constants(tmp_path: Path, capsys: Capture) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
    shape = helper.make_tensor_value_info("shape", TensorProto.INT64, [2])
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    graph = helper.make_graph([node], "g", [x, shape], [helper.make_empty_tensor_value_info("y")])
    path, values = tmp_path / "reshape.onnx", tmp_path / "values.npz"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    np.savez(values, shape=np.array([6, -1]))
    fails(capsys, 3, "run", path, "--dim", "n=3", says="--constant shape=VALUE")
    for given in ("[6, 2]", values):
        done = aotc(capsys, "verify", path, "--dim", "n=3", "--constant", f"shape={given}", "--json")
        assert json.loads(done.stdout)["ok"], done.stderr
        done = aotc(capsys, "run", path, "--dim", "n=3", "--constant", f"shape={given}", "--json")
        assert json.loads(done.stdout)["outputs"]["y"]["shape"] == [6, 2]
    for text, says in {
        "shape": "[invalid-option]",
        "shape=six": "[invalid-option]",
        "shape=[[6], 2]": "[invalid-option]",
        "shape=[6, 2, 1]": "[mismatched-constant]",
        "shape=[0.5, 2]": "[mismatched-constant]",
        "form=[6, 2]": "[unknown-input]",
    }.items():
        fails(capsys, 2, "run", path, "--dim", "n=3", "--constant", text, says=says)
    fails(capsys, 4, "run", path, "--dim", "n=3", "--constant", f"shape={tmp_path / 'none.npz'}", says="none.npz")
    path.rename(tmp_path / "none.npz")
    fails(
        capsys, 2, "run", tmp_path / "none.npz", "--constant", f"shape={tmp_path / 'none.npz'}", says="[invalid-file]"
    )


def test_a_name_that_c_has_not_is_changed_with_a_warning(tmp_path: Path, capsys: Capture) -> None:
    done = aotc(capsys, "compile", MODEL, "-o", tmp_path, "--name", "3-x", "--target", "stm32f4")
    assert done.returncode == 0
    assert done.stderr == "warning: --name 3-x is not a C identifier; files and symbols have n3_x [invalid-name]\n"
    assert (tmp_path / "n3_x.c").exists()


def test_a_kernel_without_a_body_is_refused(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "model.onnx"
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    assert aotc(capsys, "compile", path, "-o", tmp_path, "--stop-after", "loops").returncode == 0
    (ir,) = tmp_path.glob("*.mlir")
    text = ir.read_text()
    start = text.index("  func.func private @neg_0")
    declared = "  func.func private @neg_0(memref<4xf32>, memref<4xf32>) -> () attributes {aot.kernel}\n"
    end = text.index("\n", text.index("\n  }", start) + 1)
    ir.write_text(text[:start] + declared + text[end + 1 :])
    says = "[invalid-ir]"
    fails(capsys, 3, "compile", ir, "--start-at", "loops", "-o", tmp_path, says=says)


def test_run_takes_open_shapes_from_the_inputs(tmp_path: Path, capsys: Capture) -> None:
    """Of the inputs whose shapes are open, and only where options do not say them; without inputs it is an error."""
    head = '<ir_version: 9, opset_import: ["" : 17]> '
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f"{head} m (float[n] x, float[2] y) => (float[n] z) {{ z = Relu(x) }}"), path)
    np.savez(tmp_path / "in.npz", x=np.array([-1, 2, 3], np.float32), y=np.zeros(2, np.float32), other=np.zeros(9))
    done = aotc(capsys, "run", path, "--inputs", tmp_path / "in.npz")
    assert done.returncode == 0 and done.stdout == "z: float32 [3] [0., 2., 3.]\n"
    fails(capsys, 3, "run", path, says="--dim n=N [open-shapes]")
    fails(capsys, 2, "run", path, "--inputs", tmp_path / "in.npz", "--dim", "n=4", says="'x' is float32[3]")
    (tmp_path / "no.npz").write_bytes(b"no archive")
    fails(capsys, 2, "run", path, "--inputs", tmp_path / "no.npz", says="[invalid-file]")
    fails(capsys, 4, "run", path, "--inputs", tmp_path / "nowhere.npz", says="nowhere.npz")
    fails(capsys, 2, "run", path, "--dim", "n=any", says="--dim n=any")
