"""Data sets: samples of a model's inputs, with labels where there are any, from files or from a function."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, helper

from aotc.errors import CompileError, UsageError
from aotc.model.extensions import describe

Array = np.ndarray[Any, Any]

LABELS = "labels"
"""The name of the array, in an npz file, that has what is right for each sample."""


@dataclass(frozen=True)
class Input:
    """An input of a model."""

    name: str
    shape: tuple[int | None, ...]
    """None where an extent is open."""
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Sample:
    """One call of a model, and what is right."""

    inputs: Mapping[str, Array]
    label: Array | None = None


def read_model(path: str | os.PathLike[str]) -> ModelProto:
    """The model of an ONNX file. Raises OSError, CompileError where it is none."""
    try:
        model = onnx.load(path)
    except DecodeError:
        model = ModelProto()
    if not model.HasField("graph"):
        raise CompileError("not-a-model", f"{Path(path).name} is not an ONNX model", fix="give a binary .onnx file")
    return model


def inputs_of(model: ModelProto) -> list[Input]:
    """The inputs of a model that callers give, in order."""
    known = {tensor.name for tensor in model.graph.initializer}
    return [
        Input(
            each.name,
            tuple(axis.dim_value or None for axis in each.type.tensor_type.shape.dim),
            helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type),
        )
        for each in model.graph.input
        if each.name not in known
    ]


def samples(source: str, inputs: Sequence[Input], start: int = 0, stop: int | None = None) -> Iterator[Sample]:
    """The samples of a source from `start` to `stop`, those before them only counted.

    A source is an npz file of arrays by input name, of which each element along the first axis is a sample, and
    perhaps `labels`; a folder of npz files, each of which is a sample as `aotc run --inputs` takes it, in the order of
    their names; or `module:function`, a function without arguments that gives mappings of arrays by input name, or
    tuples of one and its label. Raises UsageError, OSError.
    """
    path = Path(source)
    if path.is_dir():
        found: Iterable[Sample] = _of_folder(path, inputs)
    elif path.suffix == ".npz" or path.exists():
        found = _of_file(path, inputs)
    elif ":" in source:
        found = _of_function(source, inputs)
    else:
        raise FileNotFoundError(2, "no such file or folder, nor module:function", source)
    yield from islice(found, start, stop)


def count(source: str, inputs: Sequence[Input], most: int | None = None) -> int:
    """How many samples there are, at most `most`. Raises UsageError where there are none, and as `samples`."""
    found = sum(1 for _ in samples(source, inputs, stop=most))
    if not found:
        raise UsageError("missing-array", f"--data {source}: there are no samples")
    return found


def _arrays(path: Path) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file) if isinstance(file, Mapping) else {"": file}
    except (ValueError, EOFError, BadZipFile) as error:
        raise UsageError("invalid-file", f"{path} is not an npz file of arrays", str(error)) from error


def _of_file(path: Path, inputs: Sequence[Input]) -> Iterator[Sample]:
    arrays = _arrays(path)
    labels = arrays.get(LABELS)
    whole = [_named(arrays, each, str(path)) for each in inputs]
    lengths = {len(array) if array.ndim else 0 for array in [*whole, *([] if labels is None else [labels])]}
    if len(lengths) > 1:
        why = f"first axes of {', '.join(map(str, sorted(lengths)))}"
        raise UsageError("mismatched-array", f"{path} has arrays of different numbers of samples", why)
    for place in range(*lengths):
        given = {each.name: _fitted(each, array[place], str(path)) for each, array in zip(inputs, whole, strict=True)}
        yield Sample(given, None if labels is None else labels[place])


def _of_folder(folder: Path, inputs: Sequence[Input]) -> Iterator[Sample]:
    for path in sorted(folder.glob("*.npz")):
        arrays = _arrays(path)
        given = {each.name: _fitted(each, _named(arrays, each, str(path)), str(path)) for each in inputs}
        yield Sample(given, arrays.get(LABELS))


def _of_function(source: str, inputs: Sequence[Input]) -> Iterator[Sample]:
    for given in function_at(source, "--data")():
        mapping, label = given if isinstance(given, tuple) else (given, None)
        if not isinstance(mapping, Mapping):
            what = f"--data {source} gives a {type(mapping).__name__}"
            raise UsageError(
                "wrong-argument", what, fix="give mappings of arrays by input name, or tuples with a label"
            )
        arrays = {name: np.asarray(value) for name, value in mapping.items()}
        taken = {each.name: _fitted(each, _named(arrays, each, source), source) for each in inputs}
        yield Sample(taken, None if label is None else np.asarray(label))


def function_at(source: str, option: str) -> Any:
    """The function of `module:function`; modules of the folder that the program runs in are found, too. Raises
    UsageError."""
    module, _, name = source.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        what, fix = f"{option} {source} cannot be loaded", "name a module and a function in it, as data:samples"
        raise UsageError("invalid-option", what, describe(error), fix) from error


def _named(arrays: Mapping[str, Array], wanted: Input, where: str) -> Array:
    if wanted.name not in arrays:
        there = ", ".join(arrays) or "none"
        raise UsageError("missing-array", f"{where} has no array {wanted.name}", f"there are {there}")
    return arrays[wanted.name]


def _fitted(wanted: Input, array: Array, where: str) -> Array:
    """The array of a sample for an input, whose first axis may be a batch of one. Raises UsageError."""
    if array.ndim == len(wanted.shape) - 1 and wanted.shape[0] in (1, None):
        array = array[np.newaxis]
    fits = len(array.shape) == len(wanted.shape) and all(
        known in (None, extent) for known, extent in zip(wanted.shape, array.shape, strict=True)
    )
    if not fits or not np.can_cast(array.dtype, wanted.dtype, "same_kind"):
        shape = ", ".join("?" if extent is None else str(extent) for extent in wanted.shape)
        why = f"a sample is {array.dtype}{list(array.shape)}, the input {wanted.dtype}[{shape}]"
        raise UsageError("mismatched-array", f"{where}: samples do not fit the input {wanted.name}", why)
    return np.ascontiguousarray(array, wanted.dtype)
