"""Inputs and outputs of a model with open shapes, and what its open dimensions are in a call."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from aotc.errors import Problem, UsageError
from aotc.model.extents import Extent, OpenTensor, Size, unnamed, value_of

Array: TypeAlias = "np.ndarray[Any, Any]"
Shapes: TypeAlias = "tuple[tuple[int, ...], ...]"
"""Of all inputs, in order."""


@dataclass(frozen=True)
class Interface:
    """The inputs and outputs of a model, in order."""

    inputs: tuple[OpenTensor, ...]
    outputs: tuple[OpenTensor, ...]

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """The names of the open dimensions, in the order of the inputs; none of an input of unknown rank."""
        found = [symbol_of(extent) for tensor in self.inputs for extent in tensor.shape or ()]
        return tuple(dict.fromkeys(name for name in found if name is not None))

    def extents_in(self, arrays: Sequence[Array]) -> dict[str, int]:
        """The open dimensions in arrays for the inputs.

        Raises TypeError for another dtype, ValueError for a shape that is not the declared one, and for a dimension
        that is one thing here and another there.
        """
        found: dict[str, tuple[int, str]] = {}
        for tensor, array in zip(self.inputs, arrays, strict=True):
            if array.dtype.name != tensor.dtype:
                raise TypeError(f"{tensor.name!r} has dtype {array.dtype}, expected {tensor}")
            for axis, (extent, wanted) in enumerate(zip(array.shape, _declared(tensor, array.shape), strict=True)):
                if (name := symbol_of(wanted)) is None:
                    continue
                here = f"dimension {axis} of {tensor.name!r}"
                first, where = found.setdefault(name, (extent, here))
                if first != extent:
                    raise ValueError(f"{name!r} is {first} as {where}, and {extent} as {here}; it has to be one extent")
        return {name: extent for name, (extent, _) in found.items()}

    def shapes_at(self, extents: Mapping[str, int]) -> Shapes:
        """The shapes of the inputs where the open dimensions are these.

        Raises UsageError for a name that no dimension has, one that is missing or negative, and for an input of which
        not even the rank is known.
        """
        names = ", ".join(self.dims)
        fix = f"the open ones are {names or 'none'}"
        problems = [
            Problem("unknown-dimension", f"no dimension {name!r} is open", fix=fix)
            for name in extents
            if name not in self.dims
        ]
        problems += [
            Problem("missing-dimension", f"the dimension {name!r} is missing", fix=f"give all of {names}")
            for name in self.dims
            if name not in extents
        ]
        problems += [
            Problem("out-of-range", f"the dimension {name!r} is {each}") for name, each in extents.items() if each < 0
        ]
        problems += [
            Problem("open-rank", f"the rank of {tensor.name!r} is not known", "only a call says it", "call the model")
            for tensor in self.inputs
            if tensor.shape is None
        ]
        if problems:
            raise UsageError(problems)
        shapes = [[value_of(extent or 0, extents) for extent in tensor.shape or ()] for tensor in self.inputs]
        return tuple(map(tuple, shapes))


def _declared(tensor: OpenTensor, shape: tuple[int, ...]) -> tuple[Size | None, ...]:
    """The declared extents of an input that is given in `shape`. Raises ValueError where it is none of these."""
    if tensor.shape is None:
        return tuple(Extent.of(unnamed(tensor.name, axis)) for axis in range(len(shape)))
    fits = len(tensor.shape) == len(shape) and all(
        not isinstance(wanted, int) or wanted == extent for wanted, extent in zip(tensor.shape, shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{tensor.name!r} has shape {list(shape)}, expected {tensor}")
    return tensor.shape


def symbol_of(extent: Size | None) -> str | None:
    """The name of an open dimension of an input; None where it is fixed."""
    return str(extent) if isinstance(extent, Extent) else None


def is_known(tensor: OpenTensor) -> bool:
    """Whether the shape of an output follows from those of the inputs."""
    return bool(tensor.dtype) and tensor.shape is not None and None not in tensor.shape


def shape_at(tensor: OpenTensor, extents: Mapping[str, int]) -> tuple[int, ...] | None:
    """The shape of an output where the open dimensions are these; None where that is not known before compiling."""
    if not is_known(tensor):
        return None
    return tuple(value_of(extent, extents) for extent in tensor.shape or () if extent is not None)


Given: TypeAlias = Sequence[int] | Mapping[str, Sequence[int]] | None
"""Buckets as users give them: of the one open dimension, or by the names of dimensions."""


@dataclass(frozen=True)
class Buckets:
    """For some open dimensions, the extents that are compiled for, rising."""

    of: Mapping[str, tuple[int, ...]]

    @staticmethod
    def checked(given: Given, interface: Interface) -> Buckets:
        """Dimensions as a user gave them. Raises UsageError for what names no open dimension, or several, or is no list
        of extents, and where an output is of a shape that is known too late to cut it back."""
        if given is None:
            return Buckets({})
        dims = interface.dims
        if not isinstance(given, Mapping):
            if len(dims) != 1:
                what = f"buckets={list(given)} for {len(dims)} open dimensions"
                fix = f"name the dimension, as buckets={{{(dims or ('n',))[-1]!r}: {list(given)}}}"
                raise UsageError("invalid-option", what, f"they are {', '.join(dims) or 'none'}", fix)
            given = {dims[0]: given}
        given = {name: [int(extent) for extent in each] for name, each in given.items()}
        fix = f"the open ones are {', '.join(dims)}"
        problems = [
            Problem("unknown-dimension", f"buckets of {name!r}: no such dimension is open", fix=fix)
            for name in given
            if name not in dims
        ]
        problems += [
            Problem("out-of-range", f"buckets of {name!r}: {list(each)}", "they are extents of 1 or more")
            for name, each in given.items()
            if not each or min(each) < 1
        ]
        why = "its extents do not follow from those of the inputs, so that nothing says what is to be cut off"
        unknown = [f"buckets with the output {each.name!r}, {each}" for each in interface.outputs if not is_known(each)]
        problems += [Problem("untraceable-extent", what, why, "leave out the buckets") for what in unknown]
        if problems:
            raise UsageError(problems)
        return Buckets({name: tuple(sorted(set(each))) for name, each in given.items()})

    def rounded(self, extents: Mapping[str, int]) -> dict[str, int]:
        """The extents that are compiled for. Raises ValueError for one above its last bucket."""
        found = dict(extents)
        for name, bounds in self.of.items():
            place = bisect_left(bounds, extents[name])
            if place == len(bounds):
                raise ValueError(f"the dimension {name!r} is {extents[name]}, above its last bucket, {bounds[-1]}")
            found[name] = bounds[place]
        return found


def padded(array: Array, shape: tuple[int, ...]) -> Array:
    """`array` with zeros behind it along each axis, up to `shape`."""
    if array.shape == shape:
        return array
    result = np.zeros(shape, array.dtype)
    result[_within(array.shape)] = array
    return result


def cut(array: Array, shape: tuple[int, ...]) -> Array:
    """The first elements of `array` along each axis, as an array of its own."""
    return array if array.shape == shape else array[_within(shape)].copy()


def _within(shape: tuple[int, ...]) -> Any:
    return tuple(slice(extent) for extent in shape)
