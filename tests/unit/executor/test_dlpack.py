"""Tensors of other packages, in and out through DLPack, without a copy."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx.parser
import pytest

import aotc
from aotc.executor import CompiledModel, to_dlpack
from aotc.model.dlpack import DLPACK_TYPES, dtype_of, from_dlpack

NEGATE = """<ir_version: 10, opset_import: ["" : 21]> m (float[2,3] x) => (float[2,3] y) { y = Neg(x) }"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Foreign:
    """A tensor of a package that numpy knows nothing of: DLPack is all it has."""

    def __init__(self, array: np.ndarray, **answers: Any) -> None:
        self.exported, self.answers = to_dlpack(array), answers

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.answers.get("device", (1, 0))

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None) -> object:
        return self.exported.__dlpack__(max_version=self.answers.get("version", max_version))


class Old(Foreign):
    """One of before there were versions."""

    def __dlpack__(self) -> object:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.exported.__dlpack__()


def managed(capsule: object) -> int:
    """Where the structure of a versioned capsule is."""
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return get(capsule, b"dltensor_versioned")


@pytest.fixture(scope="module")
def model() -> CompiledModel:
    return aotc.compile(onnx.parser.parse_model(NEGATE))


@pytest.mark.parametrize("name", DLPACK_TYPES)
def test_every_element_type_there_and_back(name: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype_of(name))
    back = from_dlpack(Foreign(array))
    assert back.dtype == array.dtype and np.shares_memory(back, array)
    assert np.array_equal(back.view(np.uint8), array.view(np.uint8))


@pytest.mark.parametrize("name", ["float32", "bool", "int64"])
def test_what_numpy_makes_of_it(name: str) -> None:
    """An independent consumer, and an independent producer."""
    array = np.arange(6).reshape(2, 3).astype(name)
    taken = np.from_dlpack(to_dlpack(array))
    assert taken.dtype == array.dtype and np.shares_memory(taken, array) and np.array_equal(taken, array)
    assert np.shares_memory(from_dlpack(array), array)


@pytest.mark.parametrize(
    "view",
    [lambda a: a.T, lambda a: a[::-1, 1:], lambda a: a[:, :0], lambda a: a[1, 2], lambda a: a[()]],
    ids=["transposed", "reversed", "empty", "scalar", "whole"],
)
def test_shapes_and_strides(view: Callable[[np.ndarray], np.ndarray]) -> None:
    array = np.asarray(view(X.astype(ml_dtypes.bfloat16)))
    back = from_dlpack(Foreign(array))
    assert back.shape == array.shape and np.array_equal(back, array)
    assert back.size == 0 or back.strides == array.strides


def test_memory_lives_as_long_as_it_is_used(collect: Callable[[], object]) -> None:
    class Owner(np.ndarray):
        pass

    array = np.zeros(4, np.float32).view(Owner)
    gone = weakref.ref(array)
    part = from_dlpack(Foreign(array))[1:]
    del array
    collect()
    assert gone() is not None
    part[...] = 1
    del part
    collect()
    assert gone() is None


def test_a_capsule_that_nobody_takes_lets_go(collect: Callable[[], object]) -> None:
    class Owner(np.ndarray):
        pass

    array = np.zeros(4, np.float32).view(Owner)
    gone = weakref.ref(array)
    capsule = to_dlpack(array).__dlpack__(max_version=(1, 1))
    del array, capsule
    collect()
    assert gone() is None


def test_read_only_stays_read_only() -> None:
    fixed = X.copy()
    fixed.flags.writeable = False
    assert not from_dlpack(Foreign(fixed)).flags.writeable and from_dlpack(Foreign(X)).flags.writeable
    with pytest.raises(BufferError):
        to_dlpack(fixed).__dlpack__()


def test_producers_without_versions(model: CompiledModel) -> None:
    """They cannot say whether their memory may be written."""
    old = Old(X)
    assert np.shares_memory(from_dlpack(old), X) and not from_dlpack(old).flags.writeable
    assert np.array_equal(model(old)["y"], -X)
    with pytest.raises(ValueError, match="read-only"):
        model.bind(X, outputs={"y": Old(np.empty_like(X))})
    with pytest.raises(BufferError, match="needs flags"):
        from_dlpack(Old(np.zeros(3, ml_dtypes.int4)))


def test_what_is_refused() -> None:
    with pytest.raises(BufferError, match="device_type=2"):
        from_dlpack(Foreign(X, device=(2, 0)))

    class Changed(Foreign):
        def __dlpack__(self, **asked: Any) -> object:
            capsule = super().__dlpack__(**asked)
            field, value = self.answers["field"]
            field.from_address(managed(capsule) + self.answers["at"]).value = value
            return capsule

    # Offsets in DLManagedTensorVersioned: major 0, flags 24; of its tensor at 32 code 20, lanes 22.
    for at, field, value, error, message in (
        (0, ctypes.c_uint32, 2, BufferError, r"DLPack 2\."),
        (52, ctypes.c_uint8, 5, TypeError, "type code 5, 32 bits, 1 lanes"),
        (54, ctypes.c_uint16, 4, TypeError, "4 lanes"),
    ):
        with pytest.raises(error, match=message):
            from_dlpack(Changed(X, at=at, field=(field, value)))
    with pytest.raises(TypeError, match="several elements of int4 in a byte"):
        from_dlpack(Changed(np.zeros(3, ml_dtypes.int4), at=24, field=(ctypes.c_uint64, 0)))
    with pytest.raises(TypeError, match="DLPack has no elements"):
        to_dlpack(np.array(["a"]))


def test_calls_read_and_write_where_it_is(model: CompiledModel) -> None:
    x, y = X.copy(), np.empty_like(X)
    assert np.array_equal(model(Foreign(x))["y"], -X)
    step = model.bind(x=Foreign(x), outputs={"y": Foreign(y)})
    x += 1
    step()
    assert np.array_equal(y, -x)
    executor = model.clone()
    executor.set_input_zero_copy("x", Foreign(x))
    executor.set_output_zero_copy("y", Foreign(y))
    x += 1
    executor.run()
    assert np.array_equal(y, -x)


TORCH = """
import gc, numpy as np, onnx.parser, torch, aotc
def model(kind, op):
    text = '<ir_version: 11, opset_import: ["" : 23]> m (KIND[2,3] x) => (KIND[2,3] y) { y = OP(x) }'
    return aotc.compile(onnx.parser.parse_model(text.replace("KIND", kind).replace("OP", op)))
kinds = {"float": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "int64": torch.int64,
         "float8e4m3fn": torch.float8_e4m3fn, "float8e5m2": torch.float8_e5m2, "bool": torch.bool}
for kind, dtype in kinds.items():
    x = torch.arange(6).reshape(2, 3).to(dtype)
    m = model(kind, "Identity" if kind.startswith("float8") or kind == "bool" else "Neg")
    want = x if m is None or kind.startswith("float8") or kind == "bool" else -x
    bits = lambda t: t.contiguous().view(torch.uint8)
    out = torch.from_dlpack(aotc.to_dlpack(m(x)["y"]))
    assert out.dtype == dtype and torch.equal(bits(out), bits(want)), kind
    y = torch.empty_like(x)
    step = m.bind({"x": x}, outputs={"y": y})
    assert step.outputs["y"].ctypes.data == y.data_ptr()
    x.copy_(torch.ones(2, 3))
    step()
    assert torch.equal(y.float(), x.float() * (-1 if want is not x else 1)), kind
try:
    model("float", "Neg")(torch.ones(2, 3, requires_grad=True))
    raise SystemExit("a tensor with a gradient was taken")
except BufferError as error:
    assert "requires_grad" in str(error) or "require" in str(error), error
kept = torch.from_dlpack(aotc.to_dlpack(model("bfloat16", "Neg")(torch.ones(2, 3, dtype=torch.bfloat16))["y"]))
print("done")
"""


def test_torch() -> None:
    pytest.importorskip("torch", reason="torch is not installed: its tensors are not tried")
    done = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
