"""Recorded tensors: npz files of a model's inputs or outputs."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any
from zipfile import BadZipFile

import numpy as np

from aotc.errors import Problem, UsageError

Array = np.ndarray[Any, Any]


def read_arrays(path: str, tensors: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]) -> dict[str, Array]:
    """The arrays of an npz file that `tensors` (name: dtype and shape) asks for; it may hold others.

    Raises OSError, and UsageError where one is missing or is of another dtype or shape. Types that npz does not know,
    like bfloat16, come from arrays of their bytes.
    """
    try:
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("it holds a single array")
        with archive:
            found: dict[str, Array] = {name: archive[name] for name in tensors if name in archive}
    except (ValueError, EOFError, zlib.error, BadZipFile) as error:
        raise UsageError(Problem(f"{path} is not an npz file of arrays", why=str(error))) from error
    problems: list[Problem] = []
    for name, (dtype, shape) in tensors.items():
        array = found.get(name)
        if array is not None and array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
            found[name] = array = array.view(dtype)
        if array is None:
            problems.append(Problem(f"{path} has no array {name!r}", why=f"the model has {dtype}{list(shape)}"))
        elif (array.dtype, array.shape) != (dtype, shape):
            why = f"the model has {dtype}{list(shape)}"
            problems.append(Problem(f"{path}: {name!r} is {array.dtype}{list(array.shape)}", why=why))
    if problems:
        raise UsageError(problems)
    return found
