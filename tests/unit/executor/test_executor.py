"""The executor on a small model written in C by hand: z = x + w, s = sum(x) through the workspace."""

import copy
import json
import pickle
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import aotc.executor as executor
from aotc.errors import UsageError
from aotc.executor.native import MOST_ARGUMENTS
from aotc.model.metadata import BufferInfo, KernelInfo, ModelInfo, PlanInfo, TensorInfo, from_json, to_json

SOURCE = """
#include <stdint.h>
#if INTERNAL
static int32_t workspace[4];
#define ARGUMENTS const float *x, const int32_t *w, float *z, int32_t *s
#define WORKSPACE(p)
#else
#define ARGUMENTS const float *x, const int32_t *w, float *z, int32_t *s, int32_t *workspace
#define WORKSPACE(p) , p
#endif
int32_t aotc_toy_run(ARGUMENTS)
{
    for (int i = 0; i < 4; i++) workspace[i] = (int32_t)x[i];
    for (int i = 0; i < 4; i++) z[i] = x[i] + (float)w[i];
    for (volatile int spin = 0; spin < 2000; spin++) { }
    s[0] = 0;
    for (int i = 0; i < 4; i++) s[0] += workspace[i];
    return x[0] < 0 ? 7 : 0;
}
int32_t aotc_toy_run_micro(void **inputs, void **outputs, void *resource_handle)
{
    return resource_handle ? -2 : aotc_toy_run(inputs[0], inputs[1], outputs[0], outputs[1] WORKSPACE(inputs[2]));
}
typedef struct {
    void *data; int32_t device_type, device_id, ndim; uint8_t code, bits; uint16_t lanes;
    int64_t *shape, *strides; uint64_t byte_offset;
} DLTensor;
static int bad(const DLTensor *t, int ndim, int code, int bits)
{
    if (t->device_type != 1 || t->device_id || t->lanes != 1 || t->strides || t->byte_offset) return 1;
    for (int i = 0; i < ndim; i++) if (t->shape[i] != (ndim == 1 ? 4 : 2)) return 1;
    return t->ndim != ndim || t->code != code || t->bits != bits;
}
int32_t aotc_toy_run_packed(void **args, int32_t *codes, int32_t count, void *value, void *tcode, void *handle)
{
    DLTensor **t = (DLTensor **)args;
    if (count != (INTERNAL ? 4 : 5) || !value || !tcode || handle || (!INTERNAL && codes[4] != 3)) return -3;
    for (int i = 0; i < 4; i++) if (codes[i] != 7) return -4;
    if (bad(t[0], 2, 2, 32) || bad(t[1], 1, 0, 32) || bad(t[2], 2, 2, 32) || bad(t[3], 0, 0, 32)) return -5;
    return aotc_toy_run(t[0]->data, t[1]->data, t[2]->data, t[3]->data WORKSPACE(args[4]));
}
"""

INFO = ModelInfo(
    name="toy",
    inputs=(TensorInfo("x:0", "x_0", "float32", (2, 2)), TensorInfo("w", "w", "int32", (4,))),
    outputs=(TensorInfo("z", "z", "float32", (2, 2), 0.5, 3), TensorInfo("s", "s", "int32", ())),
    interface_api="c",
    operator_api="unpacked",
    workspace="caller",
    weights="embedded",
    workspace_bytes=16,
    workspace_alignment=16,
    weights_bytes=0,
    io_bytes=52,
    kernels=(KernelInfo("add_0", ("Add_é",), 1),),
    plan=PlanInfo(16, 16, True, 16, ("Add_é",), (BufferInfo("t", 0, 16, 0, 1, ("Add_é",)),)),
)

X = np.array([[1, 2], [3, 4]], np.float32)
W = np.array([10, 20, 30, 40], np.int32)
Z = np.array([[11, 22], [33, 44]], np.float32)


def build(folder: Path, workspace: str, interface_api: str = "c") -> Path:
    folder.mkdir(exist_ok=True)
    source, library = folder / "toy.c", folder / "toy.so"
    source.write_text(SOURCE)
    flag = f"-DINTERNAL={int(workspace == 'internal')}"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", flag, str(source), "-o", str(library)], check=True)
    library.with_suffix(".json").write_text(to_json(replace(INFO, workspace=workspace, interface_api=interface_api)))
    return library


@pytest.fixture(scope="module", params=["caller c", "internal c", "caller micro", "caller packed", "internal packed"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> executor.CompiledModel:
    workspace, interface_api = request.param.split()
    return executor.load(build(tmp_path_factory.mktemp("toy"), workspace, interface_api))


def test_metadata_survives_json() -> None:
    assert from_json(to_json(INFO)) == INFO
    members = json.loads(to_json(INFO))
    assert list(members)[:3] == ["name", "inputs", "outputs"]
    assert from_json(json.dumps({**members, "extra": 1})) == INFO
    with pytest.raises(ValueError, match="version 99"):
        from_json(json.dumps({**members, "version": 99}))
    wrong = [{}, {**members, "constants": [1]}, {**members, "kernels": ["a"]}, {**members, "kernels": [[]]}]
    wrong += [{**members, "kernels": [{**members["kernels"][0], "inputs": given}]} for given in (3, ["x"], [{}])]
    for each in wrong:
        with pytest.raises(ValueError, match="is not the metadata"):
            from_json(json.dumps(each))


def test_call_by_name_and_position(model: executor.CompiledModel) -> None:
    for result in (model({"w": W, "x:0": X}), model(X, W)):
        assert list(result) == ["z", "s"]
        np.testing.assert_array_equal(result["z"], Z)
        assert result["s"].shape == () and result["s"] == 10
    assert model.inputs == INFO.inputs and model.outputs == INFO.outputs and model.plan == INFO.plan
    assert repr(model) == "<CompiledModel toy: float32[2, 2], int32[4] -> float32[2, 2], int32[]>"


def test_results_are_new_arrays(model: executor.CompiledModel) -> None:
    first = model(X, W)["z"]
    model(X + 1, W)
    np.testing.assert_array_equal(first, Z)


def test_inputs_that_are_not_contiguous(model: executor.CompiledModel) -> None:
    wide = np.zeros((2, 4), np.float32)
    wide[:, ::2] = X
    unaligned = np.zeros(17, np.uint8)[1:].view(np.int32)
    unaligned[:] = W
    np.testing.assert_array_equal(model(wide[:, ::2], unaligned)["z"], Z)
    step = model.bind(wide[:, ::2], W)
    step()
    wide[:, ::2] += 1
    np.testing.assert_array_equal(step()["z"], Z + 1)


def test_bind_reads_arrays_in_place(model: executor.CompiledModel) -> None:
    x = X.copy()
    step = model.bind({"x:0": x, "w": W})
    step()
    x += 5
    step()
    np.testing.assert_array_equal(step.outputs["z"], Z + 5)


def test_module_interface(model: executor.CompiledModel) -> None:
    instance = model.clone()
    instance.set_input("x:0", X)
    instance.set_input(1, W)
    instance.run()
    np.testing.assert_array_equal(instance.get_output("z"), Z)
    kept = instance.get_output(0)
    np.testing.assert_array_equal(instance.get_input(0), X)
    instance.set_input(0, X + 1)
    instance.run()
    np.testing.assert_array_equal(kept, Z)
    out = np.empty((2, 2), np.float32)
    assert instance.get_output(0, out) is out
    np.testing.assert_array_equal(out, Z + 1)


def test_time_evaluator(model: executor.CompiledModel) -> None:
    timing = model.time_evaluator(number=3, repeat=5)()
    assert len(timing.results) == 5
    assert 0 < timing.min <= timing.median <= timing.max and timing.min <= timing.mean and timing.std >= 0
    with pytest.raises(ValueError, match="at least 1"):
        model.time_evaluator(number=0)()


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        (({"x": X, "w": W},), ValueError, "no input 'x' and 'x:0' missing; the inputs are 'x:0' float32"),
        (({"w": W},), ValueError, "'x:0' missing"),
        ((X,), TypeError, "1 arrays for 2 inputs"),
        ((X.astype(np.float64), W), TypeError, "'x:0' has dtype float64, expected float32"),
        ((X, [1.0, 2.0, 3.0, 4.0]), TypeError, "'w' has dtype float64, expected int32"),
        ((X.reshape(4), W), ValueError, r"'x:0' has shape \[4\], expected float32\[2, 2\]"),
        ((-X, W), executor.RunError, "failed-run"),
    ],
)
def test_errors(model: executor.CompiledModel, inputs: tuple[object, ...], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        model(*inputs)
    with pytest.raises(error, match=message):
        model.bind(*inputs)()


def test_errors_of_the_module_interface(model: executor.CompiledModel) -> None:
    with pytest.raises(ValueError, match="no input 'y'; the inputs are"):
        model.set_input("y", X)
    with pytest.raises(IndexError, match="no output 2; there are 2"):
        model.get_output(2)
    with pytest.raises(TypeError, match="expected int32"):
        model.set_input(1, X)


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_model_is_cloned_not_copied(model: executor.CompiledModel, make: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match=r"clone\(\)"):
        make(model)


@pytest.mark.parametrize("way", ["clones", "one model", "bound calls of one model", "one bound call"])
def test_calls_in_threads(model: executor.CompiledModel, way: str) -> None:
    wrong: list[int] = []
    bound = model.bind(np.full((2, 2), 1, np.float32), W)

    def work(number: int) -> None:
        x = np.full((2, 2), number, np.float32)
        instance = model.clone() if way == "clones" else model
        step = instance.bind(x, W) if way == "bound calls of one model" else bound
        for _ in range(300):
            result = step() if "bound" in way else instance(x, W)
            # What one bound call returned may be about to be written again by another thread.
            if way != "one bound call" and result["s"] != 4 * number:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and bound()["s"] == 4


def test_calls_of_one_bound_call_do_not_overlap() -> None:
    native = Mock(spec=executor.NativeModel)
    native.info = INFO
    native.new_workspace.return_value = None
    inside: list[int] = []
    most: list[int] = []

    def call() -> int:
        inside.append(1)
        most.append(len(inside))
        waiting.wait(0.001)
        inside.pop()
        return 0

    waiting = threading.Event()
    native.call_on.return_value = call
    native.whole_call_on.return_value = None
    step = executor.CompiledModel(native).bind(X, W)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: step(), range(40)))
    assert len(most) == 40 and max(most) == 1


def test_workspaces_are_used_again(model: executor.CompiledModel) -> None:
    native = Mock(wraps=model.clone()._native)  # pyright: ignore[reportPrivateUsage]
    native.info = model.metadata
    made = executor.CompiledModel(native)
    for _ in range(3):
        made(X, W)
        made.bind(X, W)()
    assert native.new_workspace.call_count == 1
    steps = [made.bind(X, W) for _ in range(3)]
    made(X, W)
    assert native.new_workspace.call_count == 4 and len(steps) == 3


def test_a_rewritten_library_is_loaded_anew(tmp_path: Path) -> None:
    library = build(tmp_path / "one", "caller")
    assert executor.load(library)(X, W)["s"] == 10
    other = tmp_path / "other.c"
    other.write_text(SOURCE.replace("s[0] = 0", "s[0] = 100"))
    made = tmp_path / "other.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-DINTERNAL=0", str(other), "-o", str(made)], check=True)
    made.replace(library)
    assert executor.load(library)(X, W)["s"] == 110


def test_metadata_inside_the_library(tmp_path: Path) -> None:
    source, library = tmp_path / "toy.c", tmp_path / "other_name.so"
    text = json.dumps(to_json(replace(INFO, weights="caller", weights_bytes=8)))
    source.write_text(f"{SOURCE}\nconst char aotc_toy_json[] = {text};\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-DINTERNAL=0", str(source), "-o", str(library)], check=True)
    with pytest.raises(FileNotFoundError, match=r"toy\.weights\.bin"):
        executor.load(library)
    (tmp_path / "toy.weights.bin").write_bytes(bytes(8))
    assert executor.load(library).metadata.weights_bytes == 8
    library.with_suffix(".json").write_text("not looked at")
    assert executor.load(library).metadata.name == "toy"


def test_loading_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        executor.load(tmp_path / "missing.so")
    text = tmp_path / "text.so"
    text.write_text("hello")
    with pytest.raises(OSError, match=r"text\.so"):
        executor.load(text)
    library = build(tmp_path / "bare", "caller")
    library.with_suffix(".json").unlink()
    with pytest.raises(ValueError, match="no metadata of a model"):
        executor.load(library)


def test_weights_of_the_caller_are_needed() -> None:
    with pytest.raises(ValueError, match="takes 8 bytes of weights"):
        executor.NativeModel(replace(INFO, weights="caller", weights_bytes=8), 0)


def test_an_entry_of_more_arguments_than_python_passes_is_refused() -> None:
    many = tuple(TensorInfo(f"x{number}", f"x{number}", "float32", (1,)) for number in range(MOST_ARGUMENTS - 3))
    executor.NativeModel(replace(INFO, inputs=many[1:]), 1)  # two outputs, the workspace, and room for weights
    with pytest.raises(UsageError, match=r'interface_api="micro".*\[not-callable\]'):
        executor.NativeModel(replace(INFO, inputs=many), 1)
    executor.NativeModel(replace(INFO, inputs=many, interface_api="micro"), 1)
