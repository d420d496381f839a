"""Tensors given as options: numbers in a list, or arrays in a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aotc.errors import FileError, UsageError

Number = int | float | bool


@dataclass(frozen=True)
class KnownTensor:
    """A shape and the values in row-major order, as Python numbers: equal ones print alike."""

    shape: tuple[int, ...]
    values: tuple[Number, ...]

    @staticmethod
    def of(value: Any, name: str) -> KnownTensor:
        """From a number, nested sequences of numbers, or an array. Raises UsageError."""
        import numpy as np

        if isinstance(value, KnownTensor):
            return value
        try:
            array = np.asarray(value)
        except ValueError:  # ragged
            array = np.asarray(None)
        if array.dtype.kind == "V" and array.dtype.names is None:  # ml_dtypes: floats and integers numpy has not
            try:
                array = array.astype(np.float64)
            except (TypeError, ValueError):
                array = np.asarray(None)
        if array.dtype.kind not in "biuf":
            raise UsageError("invalid-option", f"--constant {name}={value}", "neither a number nor an array of numbers")
        return KnownTensor(array.shape, tuple(array.reshape(-1).tolist()))


def parse_constants(items: Sequence[str]) -> dict[str, KnownTensor]:
    """{"axes": ..} from ["axes=[0, 1]"], ["axes=1"] or ["axes=FILE.npz"]. Raises UsageError, FileError."""
    result: dict[str, KnownTensor] = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not name or not equals:
            raise UsageError("invalid-option", f"--constant {item}", "not NAME=VALUE or NAME=FILE.npz")
        result[name] = _from_file(name, text) if text.endswith((".npz", ".npy")) else _from_text(name, text)
    return result


def _from_text(name: str, text: str) -> KnownTensor:
    try:
        return KnownTensor.of(json.loads(text), name)
    except (ValueError, RecursionError):
        fix = "write a number, true, [1, 2, 3], or name an .npz file"
        why = "not a number or a list of numbers"
        raise UsageError("invalid-option", f"--constant {name}={text}", why, fix) from None


def _from_file(name: str, path: str) -> KnownTensor:
    import numpy as np

    try:
        found = np.load(path, allow_pickle=False)
        array = found if isinstance(found, np.ndarray) else found[name]
    except OSError as error:
        raise FileError("unusable-file", f"--constant {name}={path}", error.strerror or str(error)) from error
    except KeyError:
        raise UsageError("missing-array", f"--constant {name}={path}", f"the file holds no array {name}") from None
    except Exception as error:  # numpy and zipfile have no common class for what is no such file
        raise UsageError("invalid-file", f"--constant {name}={path}", f"not an npz file of arrays: {error}") from None
    return KnownTensor.of(array, name)
