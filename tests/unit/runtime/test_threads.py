"""Several threads: the same bits whatever their number and however the model is called, the pool, refusals."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from memory import kept_for_a_file

import aotc
from aotc.emit.llvm.runtime_modules import pool_module
from aotc.errors import UsageError
from aotc.executor import CompiledModel, load
from aotc.machines.targets import lookup
from aotc.pipeline.options import MOST_THREADS

HERE = Path(__file__).parent
RUNTIME = Path(__file__).parents[3] / "aotc" / "runtime"
EXAMPLE = Path(__file__).parents[3] / "examples" / "micro_speech" / "micro_speech.onnx"
Array = np.ndarray[Any, Any]

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
needs_threads = pytest.mark.skipif(not lookup("host").threads, reason="needs POSIX threads")


def weights(name: str, *shape: int) -> onnx.TensorProto:
    """A constant of small numbers."""
    values = np.random.default_rng(len(name)).standard_normal(shape) * 0.1
    return onnx.numpy_helper.from_array(values.astype(np.float32), name)


def convolutions(image: str = "30, 31") -> onnx.ModelProto:
    """Winograd, 1 x 1, depthwise, strided and transposed convolutions, residual sums, pooling, a small classifier."""
    model = onnx.parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 18]>
        net (float[1, 20, IMAGE] x) => (float[1, 11] y, float[1, 20, IMAGE] s) {
          a = Conv<pads = [1, 1, 1, 1]>(x, wa)
          b = Relu(a)
          c = Conv<pads = [1, 1, 1, 1], group = 64>(b, wb)
          d = Conv(c, wc)
          e = Add(d, b)
          f = Conv<pads = [1, 1, 1, 1]>(e, wd)
          g = Add(f, e)
          h = Conv<strides = [2, 2], kernel_shape = [3, 3]>(g, we)
          i = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(h)
          j = ConvTranspose<strides = [2, 2]>(i, wf)
          k = Sigmoid(j)
          l = GlobalAveragePool(k)
          m = Flatten(l)
          n = Gemm(m, wg)
          y = Softmax(n)
          s = Tanh(x)
        }
        """.replace("IMAGE", image)
    )
    shapes = {
        "wa": (64, 20, 3, 3),
        "wb": (64, 1, 3, 3),
        "wc": (64, 64, 1, 1),
        "wd": (64, 64, 3, 3),
        "we": (37, 64, 3, 3),
        "wf": (37, 21, 2, 2),
        "wg": (21, 11),
    }
    model.graph.initializer.extend(weights(name, *shape) for name, shape in shapes.items())
    return model


def attention() -> onnx.ModelProto:
    """Matrix products of constants and of activations, softmax, normalisation, transposes; one row, too."""
    model = onnx.parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 18]>
        net (float[1, 37, 96] x, int64[5] i) => (float[1, 37, 96] y, float[5, 96] z, float[1, 700] t) {
          q = MatMul(x, wq)
          k = MatMul(x, wk)
          kt = Transpose<perm = [0, 2, 1]>(k)
          s = MatMul(q, kt)
          p = Softmax<axis = -1>(s)
          o = MatMul(p, q)
          r = Add(o, x)
          n = LayerNormalization<axis = -1>(r, scale)
          u = MatMul(n, wu)
          g = Erf(u)
          v = MatMul(g, wd)
          y = Add(v, n)
          flat = Squeeze(y)
          z = Gather(flat, i)
          mean = ReduceMean<keepdims = 0>(z, axes)
          row = Unsqueeze(mean, axes)
          t = MatMul(row, wt)
        }
        """
    )
    shapes = {"wq": (96, 96), "wk": (96, 96), "wu": (96, 400), "wd": (400, 96), "wt": (96, 700), "scale": (96,)}
    model.graph.initializer.extend(weights(name, *shape) for name, shape in shapes.items())
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0], np.int64), "axes"))
    return model


def products() -> onnx.ModelProto:
    """Large products, by Strassen's algorithm, in several blocks of rows."""
    model = onnx.parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 18]>
        net (float[2, 301, 512] x) => (float[2, 301, 512] y) {
          u = MatMul(x, wu)
          v = Relu(u)
          w = MatMul(v, wd)
          y = Add(w, x)
        }
        """
    )
    shapes = {"wu": (512, 600), "wd": (600, 512)}
    model.graph.initializer.extend(weights(name, *shape) for name, shape in shapes.items())
    return model


def deep() -> onnx.ModelProto:
    """A small image of many channels: threads divide the panels of Winograd's weight."""
    model = onnx.parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 18]>
        net (float[1, 48, 7, 6] x) => (float[1, 336, 7, 6] y) {
          a = Conv<pads = [1, 1, 1, 1]>(x, wa)
          y = Relu(a)
        }
        """
    )
    model.graph.initializer.append(weights("wa", 336, 48, 3, 3))
    return model


MODELS = {
    "deep": deep,
    "convolutions": convolutions,
    "small convolutions": lambda: convolutions("11, 13"),
    "attention": attention,
    "products": products,
    "micro_speech": lambda: onnx.load(EXAMPLE),
}


@kept_for_a_file(16)
def compiled(name: str, threads: int = 1, **options: Any) -> CompiledModel:
    """One of the models, in this process."""
    return aotc.compile(MODELS[name](), threads=threads, **options)


def inputs_of(model: CompiledModel, seed: int = 0) -> dict[str, Array]:
    """Random inputs."""
    generator = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for tensor in model.inputs:
        kind = np.dtype(tensor.dtype)
        values = generator.standard_normal(tensor.shape) if kind.kind == "f" else generator.integers(0, 5, tensor.shape)
        found[tensor.name] = values.astype(kind)
    return found


def assert_same(found: dict[str, Array], expected: dict[str, Array]) -> None:
    """Bit by bit."""
    assert {name: array.tobytes() for name, array in found.items()} == {
        name: array.tobytes() for name, array in expected.items()
    }


@needs_threads
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in MODELS if name != "small convolutions"),
        pytest.param("small convolutions", {"optimize": "0", "accuracy": "strict"}, id="convolutions-options5"),
    ],
)
def test_in_process(name: str, options: dict[str, Any]) -> None:
    alone = compiled(name, **options)
    inputs = inputs_of(alone)
    expected = alone(inputs)
    for threads in (2, 3):
        model = compiled(name, threads, **options)
        assert model.metadata.threads == threads
        for _ in range(5):
            assert_same(model(inputs), expected)


@needs_threads
@needs_gcc
def test_libraries_and_c(tmp_path: Path) -> None:
    source = convolutions()
    expected: list[dict[str, Array]] = []
    for threads in (1, 3):
        folder = tmp_path / str(threads)
        aotc.compile_to(source, folder, name="m", emit="c,shared", threads=threads)
        units = sorted(path.name for path in folder.glob("*.c"))
        assert units == ["m.c"] if threads == 1 else ["aotc_threads.c", "m.c"]
        flags = ["-std=c99", "-Og", "-march=native", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"]
        subprocess.run(["gcc", *flags, *units, "-o", "c.so", "-lm"], cwd=folder, check=True)
        shutil.copy(folder / "m.json", folder / "c.json")
        for position, library in enumerate(("m.so", "c.so")):
            model = load(folder / library, threads=threads)
            inputs = inputs_of(model)
            if threads == 1:
                expected.append(model(inputs))
            for _ in range(3):
                assert_same(model(inputs), expected[position])


@needs_threads
@needs_gcc
@pytest.mark.parametrize("options", [{"interface_api": "micro"}, {"interface_api": "packed", "workspace": "caller"}])
def test_other_entries(options: dict[str, Any], tmp_path: Path) -> None:
    plain = compiled("convolutions")
    inputs = inputs_of(plain)
    aotc.compile_to(convolutions(), tmp_path, name="m", emit="shared", threads=2, operator_api="unpacked", **options)
    model = load(tmp_path / "m.so")
    assert_same(model(inputs), plain(inputs))
    assert_same(model.clone()(inputs), plain(inputs))


@needs_threads
def test_calls_from_several_threads() -> None:
    first, second = compiled("attention", 2), compiled("convolutions", 3)
    instances = [first, first.clone(), second, second.clone()]
    cases = [(model, inputs_of(model, seed)) for seed, model in enumerate(instances)]
    expected = [model(inputs) for model, inputs in cases]
    problems: list[int] = []

    def work(number: int) -> None:
        model, inputs = cases[number]
        for _ in range(10):
            try:
                assert_same(model(inputs), expected[number])
            except AssertionError:
                problems.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(len(cases))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not problems


@needs_threads
@needs_gcc
@pytest.mark.parametrize("kind", ["c", "llvm", "sanitized"])
def test_the_pool(kind: str, tmp_path: Path) -> None:
    pool = RUNTIME / "aotc_threads.c"
    flags = ["-g1", "-O1", "-pthread", "-D_DEFAULT_SOURCE", f"-I{RUNTIME}", f"-I{HERE}"]
    if kind == "sanitized":
        flags += ["-fsanitize=thread", "-DNO_FORK"]
        empty = ["gcc", "-fsanitize=thread", "-x", "c", "-", "-o", str(tmp_path / "empty")]
        if subprocess.run(empty, input=b"int main(void) { return 0; }", check=False).returncode:
            pytest.skip("no sanitizer")
    if kind == "llvm":
        pool = tmp_path / "pool.o"
        machine = lookup("host").machine(2)
        pool.write_bytes(machine.emit_object(pool_module(lookup("host"), machine)))
    program = tmp_path / "program"
    subprocess.run(["gcc", *flags, str(HERE / "threads.c"), str(pool), "-o", str(program)], check=True)
    for processors in ("0", "1", "2", "5"):
        subprocess.run([program, processors], check=True, timeout=600)


@pytest.mark.parametrize("target", ["x86-64-v3", "aarch64", "rv64gc", "armv7"])
def test_objects_have_the_pool_in_them(target: str, tmp_path: Path) -> None:
    aotc.compile_to(EXAMPLE, tmp_path, name="m", emit="object,llvm-ir,static", target=target, threads=2)
    text = (tmp_path / "m.ll").read_text()
    assert "define weak_odr hidden i32 @aotc_threads_run" in text
    assert "declare i32 @pthread_create" in text


def test_one_thread_needs_nothing(tmp_path: Path) -> None:
    aotc.compile_to(EXAMPLE, tmp_path, name="m", emit="c,llvm-ir", threads=1)
    assert {path.name for path in tmp_path.iterdir()} == {"m.c", "m.h", "m.json", "m.ll"}
    assert "thread" not in (tmp_path / "m.c").read_text() + (tmp_path / "m.ll").read_text()
    assert "threads" not in json.loads((tmp_path / "m.json").read_text())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"threads": 0}, r"threads=0.*\[out-of-range\]"),
        ({"threads": MOST_THREADS + 1}, "out-of-range"),
        ({"threads": 2, "export_operators": True}, "option-conflict"),
        ({"threads": 2, "target": "cortex-m4"}, "unsupported-by-target"),
        (
            {"threads": 2, "interface_api": "packed", "operator_api": "cpacked"},
            r'operator_api="cpacked".*\[option-conflict\]',
        ),
    ],
)
def test_refusals(options: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says) as error:
        aotc.compile_to(EXAMPLE, tmp_path, **options)
    assert "threads=" in str(error.value)
    assert not list(tmp_path.iterdir())


@needs_threads
@needs_gcc
def test_a_library_is_for_as_many_threads_as_it_was_made_for(tmp_path: Path) -> None:
    aotc.compile_to(EXAMPLE, tmp_path, name="m", emit="shared", threads=2)
    assert load(tmp_path / "m.so").metadata.threads == 2
    with pytest.raises(ValueError, match="threads=2, not 3"):
        load(tmp_path / "m.so", threads=3)
