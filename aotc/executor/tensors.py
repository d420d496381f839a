"""The arrays of a call, in order and checked against what the model says of its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np

from aotc.executor.native import Array
from aotc.model.arguments import require
from aotc.model.dlpack import from_dlpack
from aotc.model.extents import OpenTensor
from aotc.model.metadata import TensorInfo

Named: TypeAlias = TensorInfo | OpenTensor
"""An input or output, whatever is known of its shape; as text it is its type, `float32[1, 10]`."""
ByName: TypeAlias = "Mapping[str, Any] | Sequence[Any]"
"""Tensors by name, or all of them in order."""


def in_order(tensors: Sequence[Named], positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """The values for inputs `tensors` that a call was given: in order, by keyword, or in one mapping by name.

    Raises TypeError for a wrong number of them, ValueError for a wrong name.
    """
    if len(positional) == 1 and isinstance(positional[0], Mapping):
        given: Mapping[str, Any] = positional[0]
    elif named and len(positional) < len(tensors):
        given = {tensor.name: value for tensor, value in zip(tensors, positional, strict=False)}
    else:
        if len(positional) + len(named) != len(tensors):
            count = len(positional) + len(named)
            raise TypeError(f"{count} arrays for {len(tensors)} inputs; they are {listing(tensors)}")
        return list(positional)
    if twice := [repr(name) for name in named if name in given]:
        raise TypeError(f"two values for {', '.join(twice)}; the inputs are {listing(tensors)}")
    given = {**given, **named} if named else given
    if len(given) != len(tensors) or any(t.name not in given for t in tensors):
        raise ValueError(f"{_names_problem(given, tensors)}; the inputs are {listing(tensors)}")
    return [given[t.name] for t in tensors]


def as_array(value: Any) -> Array:
    """`value` as an array: where it is, if it is one or has `__dlpack__`."""
    if isinstance(value, np.ndarray):
        return value
    return from_dlpack(value) if hasattr(value, "__dlpack__") else np.asarray(value)


def checked(tensor: TensorInfo, dtype: np.dtype[Any], value: Any) -> Array:
    """`as_array`. Raises TypeError for another dtype, ValueError for another shape."""
    array = as_array(value)
    if array.dtype != dtype:
        raise TypeError(f"{tensor.name!r} has dtype {array.dtype}, expected {tensor}")
    if array.shape != tensor.shape:
        raise ValueError(f"{tensor.name!r} has shape {list(array.shape)}, expected {tensor}")
    return array


def memory_of(tensor: TensorInfo, dtype: np.dtype[Any], value: Any) -> Array:
    """`checked`, but TypeError where `value` has no memory of its own that can be looked at, or written."""
    if not (isinstance(value, np.ndarray) or hasattr(value, "__dlpack__")):
        kind = type(value).__name__
        raise TypeError(f"{tensor.name!r} is of type {kind}; give an array or a tensor with __dlpack__")
    return checked(tensor, dtype, value)


def in_place(tensor: TensorInfo, dtype: np.dtype[Any], value: Any, *, written: bool) -> Array:
    """`memory_of`, to be read, or written, by native code where it is. Raises ValueError where that cannot be."""
    array = memory_of(tensor, dtype, value)
    if written and not array.flags.writeable:
        raise ValueError(f"{tensor.name!r} is read-only and cannot be written")
    if not is_plain(array):
        what = "aligned" if array.flags.c_contiguous else "contiguous"
        raise ValueError(f"{tensor.name!r} is not {what}; give one as np.empty makes it, {tensor}")
    return array


def require_apart(
    inputs: Sequence[TensorInfo], read: Sequence[Array], outputs: Sequence[TensorInfo], written: Sequence[Array]
) -> None:
    """Raise ValueError where contiguous memory that is written overlaps any other: kernels may write a part of an
    output before they have read an input."""
    sides = list(zip(inputs, read, strict=True)), list(zip(outputs, written, strict=True))
    for (one, first), (other, second) in (*product(*sides), *combinations(sides[1], 2)):
        if np.may_share_memory(first, second):
            raise ValueError(f"{one.name!r} and {other.name!r} overlap in memory; outputs are apart from all else")


def is_plain(array: Array) -> bool:
    """Whether native code can read the array where it is."""
    return array.flags.c_contiguous and array.flags.aligned


def position(tensors: Sequence[Named], which: str | int, side: str) -> int:
    """Where the tensor of this name or position is. Raises ValueError, IndexError where there is none."""
    if isinstance(which, str):
        for place, tensor in enumerate(tensors):
            if tensor.name == which:
                return place
        raise ValueError(f"no {side} {which!r}; the {side}s are {listing(tensors)}")
    require(f"the name or position of an {side}", which, str | int)
    if not 0 <= which < len(tensors):
        raise IndexError(f"no {side} {which}; there are {len(tensors)}: {listing(tensors)}")
    return which


def listing(tensors: Sequence[Named]) -> str:
    """All of them with their names, for messages."""
    return ", ".join(f"{t.name!r} {t}" for t in tensors) or "none"


def _names_problem(given: Mapping[str, Any], tensors: Sequence[Named]) -> str:
    unknown = [repr(name) for name in given if all(name != t.name for t in tensors)]
    missing = [repr(t.name) for t in tensors if t.name not in given]
    said = [f"no input {', '.join(unknown)}"] if unknown else []
    return " and ".join(said + ([f"{', '.join(missing)} missing"] if missing else []))
