"""Extents rounded up to a few, so that few are compiled for: inputs padded with zeros, outputs cut back."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from aotc.compiler.dynamic.interface import Array, Interface, is_known
from aotc.errors import Problem, UsageError

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
        problems = [
            Problem(
                "unknown-dimension",
                f"buckets of {name!r}: no such dimension is open",
                fix=f"the open ones are {', '.join(dims)}",
            )
            for name in given
            if name not in dims
        ]
        problems += [
            Problem("out-of-range", f"buckets of {name!r}: {list(each)}", "they are extents of 1 or more")
            for name, each in given.items()
            if not each or min(each) < 1
        ]
        problems += [
            Problem(
                "untraceable-extent",
                f"buckets with the output {tensor.name!r}, {tensor}",
                "its extents do not follow from those of the inputs, so that nothing says what is to be cut off",
                "leave out the buckets",
            )
            for tensor in interface.outputs
            if not is_known(tensor)
        ]
        if problems:
            raise UsageError(problems)
        return Buckets({name: tuple(sorted(set(each))) for name, each in given.items()})

    def rounded(self, extents: Mapping[str, int]) -> dict[str, int]:
        """The extents that are compiled for. Raises ValueError for one above its last bucket."""
        found = dict(extents)
        for name, steps in self.of.items():
            place = bisect_left(steps, extents[name])
            if place == len(steps):
                raise ValueError(f"the dimension {name!r} is {extents[name]}, above its last bucket, {steps[-1]}")
            found[name] = steps[place]
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
