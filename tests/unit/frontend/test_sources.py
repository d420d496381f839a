"""Things given for a model that are none: one error, which says what to do, and is never called a fault of ours."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import onnx.parser
import pytest

import aotc
from aotc import InferenceSession
from aotc.compiler.dynamic.model import DynamicModel
from aotc.errors import CompileError, UsageError

MODEL = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 18]> m (float[2] x) => (float[2] y) { y = Relu (x) }'
)


def _of(package: str, name: str) -> object:
    """An object whose class has a base class of this name in a package."""
    base = type(name, (), {"__module__": f"{package}.inner"})
    return type("Mine", (base,), {})()


@pytest.mark.parametrize("function", [aotc.compile, aotc.build, DynamicModel, InferenceSession])
@pytest.mark.parametrize(
    ("source", "fix"),
    [
        (None, "give a path"),
        (3, "give a path"),
        (["model.onnx"], "give a path"),
        (io.BytesIO(b""), "read"),
        (_of("torch", "Module"), "torch.onnx.export"),
        (_of("torch", "ExportedProgram"), "torch.onnx.export"),
        (_of("sklearn", "BaseEstimator"), "skl2onnx"),
        (_of("keras", "Model"), "export"),
    ],
)
def test_what_is_no_model_is_the_users(function: Callable[[Any], object], source: object, fix: str) -> None:
    with pytest.raises(TypeError, match=fix) as caught:
        function(source)
    assert isinstance(caught.value, UsageError) and [each.id for each in caught.value.problems] == ["no-model-given"]


def test_a_program_of_torch_is_its_model() -> None:
    class ONNXProgram:
        model_proto = MODEL

    assert aotc.compile(ONNXProgram()).inputs[0].name == "x"  # type: ignore[arg-type]
    assert aotc.compile(bytearray(MODEL.SerializeToString())).inputs[0].name == "x"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"\x1c\0\0\0TFL3", "TensorFlow Lite"),
        (b"PK\x03\x04", "archive"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"\x80\x02}", "pickle"),
        (b"GGUF\3\0\0\0", "GGUF"),
        (b"\x7fELF\2\1", "machine code"),
    ],
)
def test_a_file_of_another_format_is_told_by_its_first_bytes(start: bytes, what: str) -> None:
    with pytest.raises(CompileError, match=what) as caught:
        aotc.compile(start + bytes(64))
    assert [each.id for each in caught.value.problems] == ["not-a-model"]
