"""Values that only a virtual machine has: shapes, storage, and the state with its allocators."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from operator import index
from typing import Any, TypeAlias

import numpy as np

from aotc.model.dlpack import DLPACK_TYPES
from aotc.vm.errors import VMError

Array: TypeAlias = "np.ndarray[Any, Any]"

UNSET = -1
"""An element of a shape heap that nothing was stored to."""


class ShapeTuple(tuple[int, ...]):
    """The extents of a tensor as a value: `ShapeTuple([2, 3])`. Raises ValueError where one is negative."""

    __slots__ = ()

    def __new__(cls, extents: Iterable[int] = ()) -> ShapeTuple:
        made = super().__new__(cls, (index(extent) for extent in extents))
        if any(not 0 <= extent < 1 << 63 for extent in made):
            raise ValueError(f"{tuple(made)} is no shape: extents are integers from 0 to 2^63 - 1")
        return made

    def __repr__(self) -> str:
        return f"ShapeTuple({list(self)})"


@dataclass(frozen=True)
class Storage:
    """Bytes that an allocator gave; tensors are views of them."""

    memory: Array
    """uint8, one dimension."""


@dataclass(frozen=True)
class ViewSlot:
    """Room for one view of so many dimensions at a time; in C, where each view takes memory until the next call."""

    ndim: int


@dataclass
class Statistics:
    """Memory that an allocator has given, in bytes but for the count."""

    allocations: int = 0
    live: int = 0
    peak: int = 0
    total: int = 0


@dataclass
class Allocator:
    """Gives zeroed memory and counts it until the last tensor on it is gone.

    `limit` is how many bytes may be alive at once; without one there is no bound.
    """

    limit: int | None = None
    statistics: Statistics = field(default_factory=Statistics)

    def allocate(self, size: int) -> Storage:
        """`size` bytes. Raises MemoryError."""
        counted = self.statistics
        if self.limit is not None and counted.live + size > self.limit:
            raise MemoryError(f"{size:,} bytes beside {counted.live:,} are more than the limit of {self.limit:,}")
        memory = np.zeros(size, np.uint8)
        counted.allocations += 1
        counted.total += size
        counted.live += size
        counted.peak = max(counted.peak, counted.live)
        weakref.finalize(memory, _give_back, counted, size).atexit = False
        return Storage(memory)


def _give_back(counted: Statistics, size: int) -> None:
    counted.live -= size


@dataclass(frozen=True)
class VMState:
    """The view that built-in functions have of the machine that calls them."""

    allocators: Sequence[Allocator] = field(default_factory=lambda: (Allocator(),))


@dataclass(frozen=True)
class Place:
    """A constant that is a tensor at a fixed place of the machine's workspace."""

    offset: int
    """Bytes from the start of the workspace, a multiple of an element."""
    dtype: np.dtype[Any]
    shape: ShapeTuple

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor."""
        return prod(self.shape) * self.dtype.itemsize


Constant: TypeAlias = "np.ndarray[Any, Any] | np.dtype[Any] | Place"


def frozen_constant(value: Any) -> Constant:
    """A tensor as a read-only, contiguous array of its own, a data type, or a place. Raises TypeError, or VMError for
    elements that no tensor has."""
    if isinstance(value, np.dtype | Place):
        require_dtype(value if isinstance(value, np.dtype) else value.dtype)
        return value
    if not hasattr(value, "__array__") and not isinstance(value, int | float | list):
        raise TypeError(f"a constant is a tensor, a data type or a place, not a {type(value).__name__}")
    array = np.array(value, order="C", copy=True)
    require_dtype(array.dtype)
    array.flags.writeable = False
    return array


def require_dtype(dtype: np.dtype[Any]) -> None:
    """Raise VMError for a data type that DLPack does not have, or in another byte order."""
    if dtype.name not in DLPACK_TYPES or not dtype.isnative:
        what = f"no tensor has elements of type {dtype}"
        raise VMError("unsupported-type", what, fix=f"there are {', '.join(DLPACK_TYPES)}")
