"""Shared libraries of packed models as modules of apache-tvm-ffi."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import aotc
from aotc.executor.native import aligned_bytes
from aotc.model.dlpack import DLPACK_TYPES, DLTensor

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
two (float[2,3] x, uint8[3] w) => (float[2,3] y) { f = Cast<to = 1>(w) p = Mul(x, f) q = Softmax(p) y = Neg(q) }"""
X, W = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2, 3], np.uint8)


KEPT: list[object] = []
"""Things that addresses are given of."""


class Value(ctypes.Structure):
    """TVMFFIAny."""

    _fields_ = (("type", ctypes.c_int32), ("padding", ctypes.c_uint32), ("pointer", ctypes.c_void_p))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("two")
    model = onnx.parser.parse_model(TEXT)
    aotc.compile_to(model, path, name="two", emit="shared", interface_api="packed")
    aotc.compile_to(
        model, path, name="caller", emit="shared", interface_api="packed", workspace="caller", weights="caller"
    )
    aotc.compile_to(model, path, name="typed", emit="shared")
    return path


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return aotc.compile(onnx.parser.parse_model(TEXT))(X, W)["y"]


def described(array: np.ndarray, strides: bool, **changed: int) -> DLTensor:
    """A DLTensor as that package makes them."""
    steps = [stride // array.itemsize for stride in array.strides]
    keep = [(ctypes.c_int64 * array.ndim)(*sizes) for sizes in (array.shape, steps)]
    tensor = DLTensor(array.ctypes.data, 1, 0, array.ndim, *DLPACK_TYPES[array.dtype.name], 1, keep[0], None, 0)
    if strides:
        tensor.strides = keep[1]
    for name, value in changed.items():
        setattr(tensor, name, value)
    KEPT.append((tensor, keep, array))
    return tensor


def call(library: Path, values: list[Value], name: str = "run") -> int:
    function = getattr(ctypes.CDLL(str(library)), f"__tvm_ffi_{name}")
    return function(None, (Value * len(values))(*values), len(values), ctypes.byref(Value()))


def plain(tensor: DLTensor) -> Value:
    return Value(7, 0, ctypes.addressof(tensor))


@pytest.mark.parametrize("strides", [True, False])
@pytest.mark.parametrize("name", ["run", "main"])
def test_the_convention_itself(folder: Path, expected: np.ndarray, strides: bool, name: str) -> None:
    y = np.zeros_like(X)
    tensors = [described(each, strides) for each in (X, W, y)]
    assert call(folder / "two.so", [plain(each) for each in tensors], name) == 0
    assert np.array_equal(y, expected)
    assert bool(tensors[0].strides) == strides, "what was given is as it was"


def test_tensors_in_objects(folder: Path, expected: np.ndarray) -> None:
    """A header of 24 bytes, then the tensor."""
    y = np.zeros_like(X)
    objects = [ctypes.create_string_buffer(bytes(24) + bytes(described(each, True))) for each in (X, W, y)]
    assert call(folder / "two.so", [Value(70, 0, ctypes.addressof(each)) for each in objects]) == 0
    assert np.array_equal(y, expected)


WRONG: dict[str, Callable[[list[Value]], list[Value]]] = {
    "too few": lambda values: values[:2],
    "too many": lambda values: [*values, values[0]],
    "an integer": lambda values: [values[0], Value(1, 0, values[1].pointer), values[2]],
    "nothing": lambda values: [values[0], Value(7, 0, None), values[2]],
    "another dtype": lambda values: [values[0], plain(described(W.view(np.int8), True)), values[2]],
    "another shape": lambda values: [values[0], plain(described(X, True)), values[2]],
    "every other": lambda values: [values[0], plain(described(np.repeat(W, 2)[::2], True)), values[2]],
    "transposed": lambda values: [plain(described(X.reshape(3, 2).T, True)), *values[1:]],
    "another device": lambda values: [plain(described(X, True, device_type=2)), *values[1:]],
    "an offset": lambda values: [plain(described(X, True, byte_offset=4)), *values[1:]],
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_is_refused(folder: Path, fault: str) -> None:
    y = np.full_like(X, 7)
    kept = [described(each, True) for each in (X, W, y)]
    assert call(folder / "two.so", WRONG[fault]([plain(each) for each in kept])) == -1
    assert (y == 7).all()


def test_an_axis_of_one_element_has_any_stride(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(TEXT.replace("[2,3]", "[1,3]"))
    aotc.compile_to(model, tmp_path, name="one", emit="shared", interface_api="packed")
    x, y = X[:1], np.zeros((1, 3), np.float32)
    tensor = described(x, True)
    tensor.strides[0] = 99
    assert call(tmp_path / "one.so", [plain(tensor), plain(described(W, True)), plain(described(y, True))]) == 0


def test_memory_of_the_caller_is_given_as_pointers(folder: Path, expected: np.ndarray) -> None:
    info = aotc.load(folder / "caller.so").metadata
    workspace = aligned_bytes(max(1, info.workspace_bytes), info.workspace_alignment)
    weights = aligned_bytes(max(1, info.weights_bytes), 64)
    weights[: info.weights_bytes] = np.fromfile(folder / "caller.weights.bin", np.uint8)
    y = np.zeros_like(X)
    values = [plain(described(each, True)) for each in (X, W, y)]
    memory = [Value(4, 0, each.ctypes.data) for each in (workspace, weights)]
    assert call(folder / "caller.so", values + memory) == 0 and np.array_equal(y, expected)
    assert call(folder / "caller.so", values) == call(folder / "caller.so", [*memory, *values]) == -1


def test_typed_models_have_no_such_functions(folder: Path) -> None:
    library = ctypes.CDLL(str(folder / "typed.so"))
    assert not hasattr(library, "__tvm_ffi_run") and hasattr(ctypes.CDLL(str(folder / "two.so")), "__tvm_ffi_run")


REAL = """
import sys, numpy as np, tvm_ffi
module = tvm_ffi.load_module(sys.argv[1])
x, w, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2, 3], np.uint8), np.zeros((2, 3), np.float32)
assert module.run(x, w, y) is None
again = np.zeros_like(y)
module.main(*(tvm_ffi.from_dlpack(each) for each in (x, w, again)))
assert np.array_equal(y, again)
for wrong in ((x, w), (x, w, 1), (x, w[::-1], y), (w, w, y)):
    try:
        module.run(*wrong)
    except ValueError as error:
        assert "two takes x float32[2, 3], w uint8[3], y float32[2, 3] for the result" in str(error), error
    else:
        raise SystemExit(f"{wrong} was taken")
try:
    import torch
except ImportError:
    pass
else:
    found = torch.zeros(2, 3)
    module.run(torch.from_numpy(x), torch.from_numpy(w), found)
    assert np.array_equal(found.numpy(), y)
print(*y.reshape(-1).tolist())
"""


def test_the_package_itself(folder: Path, expected: np.ndarray) -> None:
    pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed: its own loader is not tried")
    done = subprocess.run(
        [sys.executable, "-c", REAL, folder / "two.so"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert [float(each) for each in done.stdout.split()] == expected.reshape(-1).tolist()


def test_the_example_of_the_page(tmp_path: Path) -> None:
    """docs/abi.md shows how the package calls a model."""
    pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed: its own loader is not tried")
    root = Path(__file__).parents[4]
    (example,) = re.findall(r"^```python\n(.*?)^```", (root / "docs/abi.md").read_text(), re.MULTILINE | re.DOTALL)
    data = root / "tests/models/data/kws_float"
    packed = {"interface_api": "packed", "runtime": "host"}
    aotc.compile_to(data / "model.onnx", tmp_path / "out", name="kws", emit="shared", **packed)
    before = f"import numpy as np, tvm_ffi\n(x,) = np.load({str(data / 'inputs.npz')!r}).values()\n"
    before += f"(wanted,) = np.load({str(data / 'outputs.npz')!r}).values()\ny = np.zeros_like(wanted)\n"
    after = "np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-5)\n"
    done = subprocess.run(
        [sys.executable, "-c", before + example + after], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
