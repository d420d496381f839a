"""Tensors to run a model on: npz files of its inputs or outputs, and random values where there are none."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import ml_dtypes
import numpy as np

from aotc.dialects.dtypes import number_kind, numpy_dtype
from aotc.errors import Problem, UsageError

if TYPE_CHECKING:
    from aotc.model.metadata import TensorInfo

Array = np.ndarray[Any, Any]


def read_inputs(path: str | None, expected: Sequence[TensorInfo], step: int = 0) -> dict[str, Array]:
    """The arrays of an npz file, or without one seeded random values for each input, others for each `step`.

    Raises OSError, UsageError.
    """
    if path is None:
        return {info.name: random_array(info, step) for info in expected}
    return read_arrays(path, expected)


def recorded_shapes(path: str) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of an npz file by name, without their elements. Raises OSError, UsageError."""
    try:
        with ZipFile(path) as archive:
            return {
                name.removesuffix(".npy"): _shape(archive, name) for name in archive.namelist() if name.endswith(".npy")
            }
    except (ValueError, EOFError, zlib.error, BadZipFile) as error:
        raise UsageError("invalid-file", f"{path} is not an npz file of arrays", str(error)) from error


def _shape(archive: ZipFile, name: str) -> tuple[int, ...]:
    with archive.open(name) as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return read(member)[0]


def random_array(info: TensorInfo, step: int = 0) -> Array:
    """Reproducible values for an input: standard normal floats, small non-negative integers, coin tosses.

    Floats without a sign are positive.
    """
    seed = zlib.crc32(info.name.encode())
    generator = np.random.default_rng((seed, step) if step else seed)
    dtype = numpy_dtype(info.dtype)
    match number_kind(dtype):
        case "i" | "u":
            return generator.integers(0, min(100, int(ml_dtypes.iinfo(dtype).max) + 1), info.shape).astype(dtype)
        case "b":
            return generator.integers(0, 2, info.shape).astype(dtype)
        case _:
            values = generator.standard_normal(info.shape)
            return (np.abs(values) if ml_dtypes.finfo(dtype).min >= 0 else values).astype(dtype)


def read_arrays(path: str, expected: Sequence[TensorInfo]) -> dict[str, Array]:
    """The arrays of an npz file for these tensors; it may hold others.

    Raises OSError, and UsageError where one is missing or is of another dtype or shape. Types that npz does not know,
    like bfloat16, come from arrays of their bytes: void, or for those of one byte also int8 or uint8.
    """
    try:
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("it holds a single array")
        with archive:
            found: dict[str, Array] = {each.name: archive[each.name] for each in expected if each.name in archive}
    except (ValueError, EOFError, zlib.error, BadZipFile) as error:
        raise UsageError("invalid-file", f"{path} is not an npz file of arrays", str(error)) from error
    problems: list[Problem] = []
    for tensor in expected:
        name, dtype = tensor.name, numpy_dtype(tensor.dtype)
        array = found.get(name)
        if array is not None and dtype.isbuiltin != 1 and array.dtype.itemsize == dtype.itemsize:
            is_bytes = array.dtype.kind == "V" or array.dtype in (np.int8, np.uint8)
            found[name] = array = array.view(dtype) if is_bytes else array
        if array is None:
            problems.append(Problem("missing-array", f"{path} has no array {name!r}", f"the model has {tensor}"))
        elif (array.dtype, array.shape) != (dtype, tensor.shape):
            why = f"the model has {tensor}"
            problems.append(Problem("mismatched-array", f"{path}: {name!r} is {array.dtype}{list(array.shape)}", why))
    if problems:
        raise UsageError(problems)
    return found
