"""Kinds of sources of a model, and what else people hold: by its class or its first bytes, with the way to a model."""

from __future__ import annotations

import os
from collections.abc import Mapping

from onnx import ModelProto

from aotc.errors import Problem, UsageError
from aotc.model.model_file import Source

_RECIPES: Mapping[tuple[str, str], str] = {
    ("torch", "Module"): "give torch.onnx.export(model, example_inputs, dynamo=True).model_proto",
    ("torch", "ExportedProgram"): "give torch.onnx.export(program, dynamo=True).model_proto",
    ("sklearn", "BaseEstimator"): "give skl2onnx.to_onnx(estimator, example_rows)",
    ("lightgbm", "Booster"): "give onnxmltools.convert_lightgbm(booster, initial_types=..)",
    ("xgboost", "Booster"): "give onnxmltools.convert_xgboost(booster, initial_types=..)",
    ("catboost", "CatBoost"): 'write it by save_model(path, format="onnx") and give the path',
    ("keras", "Model"): 'write it by model.export(path, format="onnx") and give the path',
    ("io", "IOBase"): "give what its read() returns",
    ("_io", "_IOBase"): "give what its read() returns",
}
"""Advice for an object, by the package and the name of its class or of a base class."""

_BY_HAND = "give a path, the bytes of a model, or an onnx.ModelProto"

_FORMATS: tuple[tuple[int, bytes, str, str], ...] = (
    (4, b"TFL3", "a TensorFlow Lite model", "convert it: python -m tf2onnx.convert --tflite FILE --output model.onnx"),
    (0, b"PK\x03\x04", "an archive, as torch.save, Keras and numpy write", "load it there and export it as ONNX"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes", "load it there and export it as ONNX"),
    (0, b"\x80\x02", "a pickle, as torch.save and scikit-learn write", "load it there and export it as ONNX"),
    (0, b"\x80\x04", "a pickle", "load it where it was made and export it as ONNX"),
    (0, b"GGUF", "a GGUF file", "export the model it was made from as ONNX"),
    (0, b"\x7fELF", "machine code", "`aotc inspect` shows it, `aotc.load` loads a library"),
)
"""Where in a file which bytes are, of what, and what to do."""


class SourceError(UsageError, TypeError):
    """The source that is given is no model."""


def accepted(source: object) -> Source:
    """`source` where it is a path, bytes or a ModelProto; the model of torch's ONNXProgram. Raises SourceError, a
    TypeError, for anything else."""
    return source if isinstance(source, str | os.PathLike) else _in_memory(source)


def serialized(source: object) -> bytes:
    """The bytes of a model that is no file. Raises as `accepted`."""
    found = _in_memory(source)
    return found if isinstance(found, bytes) else found.SerializeToString()


def _in_memory(source: object) -> bytes | ModelProto:
    if isinstance(source, bytes | ModelProto):
        return source
    if isinstance(source, bytearray | memoryview):
        return bytes(source)
    if isinstance(proto := getattr(source, "model_proto", None), ModelProto):
        return proto
    named = ((base.__module__.partition(".")[0], base.__name__) for base in type(source).__mro__)
    fix = next((_RECIPES[each] for each in named if each in _RECIPES), _BY_HAND)
    raise SourceError(Problem("no-model-given", f"a {type(source).__name__} is no ONNX model", fix=fix))


def not_a_model(data: bytes, what: str) -> Problem:
    """The problem of a file that is none of a model, by what it is instead."""
    for place, magic, kind, fix in _FORMATS:
        if data[place : place + len(magic)] == magic:
            return Problem("not-a-model", f"{what} is {kind}, not an ONNX model", fix=fix)
    start = data[:4096].decode(errors="ignore")
    if all(character.isprintable() or character.isspace() for character in start):
        fix = "give a binary .onnx file; IR needs --start-at PHASE"
        return Problem("not-a-model", f"{what} is a text file, not an ONNX model", fix=fix)
    return Problem("not-a-model", f"{what} is not an ONNX model, or is truncated", fix="export or download it again")
