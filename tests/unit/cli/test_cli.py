"""The command as its users meet it: exit codes, one-line errors, nothing half-written."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import onnx
import prefork
import pytest
from onnx import TensorProto, helper, numpy_helper

AOTC = Path(sys.executable).with_name("aotc")
MODEL = Path(__file__).parents[3] / "examples" / "micro_speech" / "micro_speech.onnx"


def aotc(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = prefork.commands() / "aotc"
    return subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, check=False)


def fails(code: int, *arguments: str | Path, says: str) -> str:
    done = aotc(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith(("error: ", "usage: ")) and "Traceback" not in done.stderr
    assert says in done.stderr
    return done.stderr


def save(path: Path, nodes: list[onnx.NodeProto], initializers: list[onnx.TensorProto] | None = None) -> Path:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], initializers or [])
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    )
    return path


def test_compile_writes_c_header_and_report(tmp_path: Path) -> None:
    done = aotc("compile", MODEL, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "quiet in a pipe"
    assert {path.name for path in tmp_path.iterdir()} == {"micro_speech.c", "micro_speech.h", "micro_speech.json"}


def test_json_is_one_object_and_nothing_else(tmp_path: Path) -> None:
    done = aotc("compile", MODEL, "-o", tmp_path, "--json")
    assert json.loads(done.stdout)["report"]["name"] == "micro_speech"
    plan = json.loads(aotc("plan", MODEL, "--json").stdout)
    wanted = {"peak_bytes", "lower_bound_bytes", "optimal", "alignment", "order", "buffers"}
    assert wanted | {"workspace_bytes", "weights_bytes", "io_bytes"} <= set(plan)
    assert {"name", "offset", "size", "first", "last", "nodes"} <= set(plan["buffers"][0])


def test_same_bytes_twice(tmp_path: Path) -> None:
    kinds = "c,header,llvm-ir,object"
    for folder in ("a", "b/c"):
        assert aotc("compile", MODEL, "-o", tmp_path / folder, "--emit", kinds).returncode == 0
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "b/c").iterdir())
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b/c" / name).read_bytes(), name


def test_usage(tmp_path: Path) -> None:
    out = tmp_path / "out"
    fails(2, "compile", MODEL, says="-o")
    fails(2, "nonsense", says="nonsense")
    fails(2, "compile", MODEL, "-o", out, "--emit", "fortran", says="fortran")
    fails(2, "compile", MODEL, "-o", out, "--target", "z80", says="z80")
    fails(2, "compile", MODEL, "-o", out, "--interface-api", "c", "--operator-api", "packed", says="packed")
    fails(2, "compile", MODEL, "-o", out, "--stop-after", "nirvana", says="nirvana")
    fails(2, "compile", MODEL, "-o", out, "--dim", "n=0", says="n=0")
    assert not out.exists()


def test_files_that_are_no_models(tmp_path: Path) -> None:
    out = tmp_path / "out"
    fails(4, "compile", tmp_path / "missing.onnx", "-o", out, says="missing.onnx")
    for name, content in {
        "empty.onnx": b"",
        "text.onnx": b"this is not a model\n",
        "truncated.onnx": MODEL.read_bytes()[: len(MODEL.read_bytes()) // 2],
    }.items():
        (tmp_path / name).write_bytes(content)
        fails(3, "compile", tmp_path / name, "-o", out, says=name)
    assert not out.exists()


def test_every_unsupported_node_is_listed(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NoSuchOp", ["x"], ["a"], "first"),
        helper.make_node("Relu", ["a"], ["b"], "fine"),
        helper.make_node("OtherOp", ["x"], ["c"], "second", domain="com.example"),
        helper.make_node("Add", ["b", "c"], ["y"], "sum"),
    ]
    path = save(tmp_path / "m.onnx", nodes)
    model = onnx.load(path)
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    path.write_bytes(model.SerializeToString())
    message = fails(3, "compile", path, "-o", tmp_path / "out", says="first (NoSuchOp)")
    assert "second (OtherOp)" in message and "fine" not in message
    report = json.loads(aotc("check", path, "--json").stdout)
    assert not report["ok"] and {(problem["node"], problem["id"]) for problem in report["problems"]} == {
        ("first", "unsupported-operator"),
        ("second", "unsupported-operator"),
    }


def test_check_names_what_of_a_quantised_model_stays_in_floats() -> None:
    model = MODEL
    report = json.loads(aotc("check", model, "--json").stdout)
    assert report["ok"] and len(report["in_floats"]) == 1 and "Softmax" in report["in_floats"][0]
    assert report["in_floats"][0] in aotc("check", model).stdout


def test_broken_graphs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    cycle = [helper.make_node("Add", ["x", "b"], ["a"], "one"), helper.make_node("Add", ["a", "x"], ["b"], "two")]
    cycle.append(helper.make_node("Relu", ["b"], ["y"], "three"))
    fails(3, "compile", save(tmp_path / "cycle.onnx", cycle), "-o", out, says="[cyclic-graph]")
    weight = numpy_helper.from_array(np.ones(4, np.float32), "w")
    weight.raw_data = weight.raw_data[:-1]
    add = [helper.make_node("Add", ["x", "w"], ["y"], "add")]
    fails(3, "compile", save(tmp_path / "short.onnx", add, [weight]), "-o", out, says="w")
    relu = [helper.make_node("Relu", ["x"], ["y"], "relu")]
    model = onnx.load(save(tmp_path / "opset.onnx", relu))
    model.opset_import[0].version = 999
    (tmp_path / "opset.onnx").write_bytes(model.SerializeToString())
    fails(3, "compile", tmp_path / "opset.onnx", "-o", out, says="999")
    assert not out.exists()


def test_external_data_stays_in_the_folder(tmp_path: Path) -> None:
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.ones(4, np.float32).tobytes())
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link.bin").symlink_to(secret)
    for location in ("../secret.bin", str(secret), "link.bin", "missing.bin"):
        weight = onnx.TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4])
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value=location)
        path = save(folder / "m.onnx", [helper.make_node("Add", ["x", "w"], ["y"], "add")], [weight])
        done = aotc("compile", path, "-o", tmp_path / "out")
        assert done.returncode in (3, 4) and "w" in done.stderr and "Traceback" not in done.stderr, location
    assert not (tmp_path / "out").exists()


def test_verify_finds_external_data_beside_the_model(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    path = save(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "w"], ["y"], "add")], [weight])
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="m.bin", size_threshold=0)
    assert (tmp_path / "m.bin").exists()
    done = aotc("verify", path)
    assert done.returncode == 0, done.stderr


def test_libraries_and_reports_that_are_of_no_model(tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text("int x(void) { return 1; }")
    library, report = tmp_path / "x.so", tmp_path / "x.json"
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "x.c", "-o", library], check=True)
    for command in ("run", "inspect"):
        fails(2, command, library, says="no metadata of a model")
    for text in ("[", "{}"):
        report.write_text(text)
        fails(2, "inspect", tmp_path, says="[invalid-file]")


def test_options_about_files_belong_to_compile() -> None:
    for option in (("--stop-after", "loops"), ("--ram", "1"), ("--weights-section", ".w")):
        for command in ("run", "bench", "plan"):
            if (command, option[0]) != ("plan", "--ram"):  # a plan for so much RAM
                fails(2, command, MODEL, *option, says="[usage]")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    fails(4, "compile", MODEL, "-o", tmp_path / "file" / "out", says="out")
    fails(4, "compile", MODEL, "-o", "/dev/full", says="/dev/full")


def test_a_failed_compile_leaves_the_old_files(tmp_path: Path) -> None:
    assert aotc("compile", MODEL, "-o", tmp_path).returncode == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    fails(1, "compile", MODEL, "-o", tmp_path, "--ram", "1K", says="RAM")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def unread(descriptor: int) -> int:
    """Bytes in a pipe."""
    answer = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
    return int.from_bytes(answer, sys.byteorder)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how full a pipe is")
def test_interrupt(tmp_path: Path) -> None:
    model = Path(__file__).parents[2] / "models" / "data" / "ic_resnet_float" / "model.onnx"
    command = [AOTC, "compile", str(model), "-o", str(tmp_path / "out"), "--print-ir-after-all"]

    def listen() -> None:
        """Whoever started the tests may have told them to ignore interrupts, as a shell does with background jobs."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=listen, pipesize=mmap.PAGESIZE) as process:
        assert process.stderr is not None
        # The pipe is full: the compilation is in the middle of printing, and waits there for somebody to read on.
        while unread(process.stderr.fileno()) < mmap.PAGESIZE:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        stderr = process.stderr.read()
    assert process.returncode == 130, stderr[-300:]
    assert stderr.endswith(b"error: interrupted; no file is half written\n") and b"Traceback" not in stderr
    assert not list(tmp_path.glob("out/*"))


def test_budget_names_the_tensors(tmp_path: Path) -> None:
    message = fails(1, "compile", MODEL, "-Os", "-o", tmp_path, "--ram", "2K", "--flash", "1K", says="2,048")
    assert "1,024" in message
    assert aotc("compile", MODEL, "-Os", "-o", tmp_path, "--ram", "16K", "--flash", "64K").returncode == 0


def test_run_and_verify(tmp_path: Path) -> None:
    inputs = MODEL.with_name("yes.npz")
    done = aotc("run", MODEL, "--inputs", inputs, "--outputs", tmp_path / "out.npz")
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as archive:
        assert archive["labels_softmax"].argmax() == 2, "yes"
    assert aotc("verify", MODEL, "--inputs", inputs).returncode == 0
    piped = [prefork.commands() / "aotc", "verify", "/dev/stdin", "--inputs", inputs, "--per-op"]
    # reads what can be read once
    done = subprocess.run(piped, input=MODEL.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0 and b"no operator's result differs" in done.stdout, done.stderr
    fails(2, "run", MODEL, "--inputs", MODEL, says="npz")


def test_inputs_that_do_not_fit(tmp_path: Path) -> None:
    model = save(tmp_path / "relu.onnx", [helper.make_node("Relu", ["x"], ["y"], "relu")])
    name, values = "x", np.ones(4, np.float32)
    np.save(tmp_path / "single.npy", values)
    np.savez(tmp_path / "empty.npz")
    np.savez(tmp_path / "wide.npz", **{name: values.astype(np.float64)})
    np.savez(tmp_path / "square.npz", **{name: values.reshape(2, 2)})
    for command in ("run", "verify"):
        fails(2, command, model, "--inputs", tmp_path / "single.npy", says="[invalid-file]")
        fails(2, command, model, "--inputs", tmp_path / "empty.npz", says=f"{name!r}")
        fails(2, command, model, "--inputs", tmp_path / "wide.npz", says="float64")
        fails(2, command, model, "--inputs", tmp_path / "square.npz", says="[2, 2]")
    np.savez(tmp_path / "more.npz", other=values, **{name: values})
    assert aotc("run", model, "--inputs", tmp_path / "more.npz").returncode == 0


@pytest.mark.parametrize("arguments", [["targets"], ["ops"], ["inspect", str(MODEL)], ["--version"]])
def test_listings(arguments: list[str]) -> None:
    done = aotc(*arguments)
    assert done.returncode == 0 and done.stdout and not done.stderr


def test_a_closed_pipe_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([AOTC, "ops"], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr


@pytest.mark.parametrize("closed", ["2>&-", "0<&- 2>&-", "1>&- 2>&-"])
def test_closed_streams_are_no_error(closed: str, tmp_path: Path) -> None:
    model = save(tmp_path / "relu.onnx", [helper.make_node("Relu", ["x"], ["y"], "relu")])
    arguments = [AOTC, "compile", model, "-o", tmp_path, "--target", "x86_64-linux-gnu:haswell"]
    done = subprocess.run(
        ["sh", "-c", f'"$0" "$@" {closed}', *map(str, arguments)], stdout=subprocess.PIPE, check=False
    )
    assert done.returncode == 0
    assert (tmp_path / "relu.c").exists()


def test_a_pipe_gets_plain_lines_of_what_the_model_costs(tmp_path: Path) -> None:
    done = aotc("compile", MODEL, "-o", tmp_path, "--target", "cortex-m4")
    assert done.returncode == 0 and done.stdout.isascii() and "\x1b" not in done.stdout
    starts = [line.split()[0] for line in done.stdout.splitlines()]
    assert {"ram", "flash", "stack", "run"} <= set(starts)
    report = json.loads((tmp_path / "micro_speech.json").read_text())
    assert report["footprint"]["estimate"] and report["footprint"]["stack_bytes"] > 0


def test_runtime_is_handed_out(tmp_path: Path) -> None:
    assert aotc("runtime", "-o", tmp_path / "rt").returncode == 0
    names = {path.name for path in (tmp_path / "rt").iterdir()}
    assert {"aotc_runtime.c", "aotc_runtime.h", "aotc_packed.h", "aotc_memory.c"} <= names
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
    for source in (tmp_path / "rt").glob("*.c"):
        subprocess.run(["cc", *flags, source], check=True)
    fails(4, "runtime", "-o", MODEL, says="micro_speech.onnx")
    fails(2, "runtime", says="-o")


def test_selftest_options(tmp_path: Path) -> None:
    inputs = MODEL.with_name("yes.npz")
    assert aotc("compile", MODEL, "-o", tmp_path, "--selftest", inputs).returncode == 0
    assert "aotc_micro_speech_selftest(void)" in (tmp_path / "micro_speech.h").read_text()
    out = tmp_path / "out"
    fails(4, "compile", MODEL, "-o", out, "--selftest", tmp_path / "missing.npz", says="missing.npz")
    fails(2, "compile", MODEL, "-o", out, "--selftest", MODEL, says="npz")
    fails(2, "compile", MODEL, "-o", out, "--selftest-outputs", inputs, says="--selftest")
    fails(2, "compile", MODEL, "-o", out, "--io", "workspace", "--interface-api", "micro", says="--io workspace")
    assert not out.exists()


def test_aotc_opt_knows_no_such_pass() -> None:
    command = [prefork.commands() / "aotc-opt", "-p", "fuse-epilogue"]
    done = subprocess.run(command, input="builtin.module {}", capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "fuse-epilogue" in done.stderr and "Traceback" not in done.stderr
