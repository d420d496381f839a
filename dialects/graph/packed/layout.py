"""Layouts as values: where in memory the elements of a packed tensor lie.

An axis of the packed tensor is a digit of an index of the plain one, or several side by side, the last one fastest. A
matrix [K, N] in panels of 16 columns, [N / 16, K, N % 16], is `(d1 floordiv 16, d0, d1 mod 16)`. All else follows from
that: shapes, where an element lies and which one lies at a place, and the packing of arrays.

Indices are the builder's scalars, and fold where they are constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain
from operator import mul

import numpy as np

from aotc.dialects.arrays import Array
from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.interfaces import ShapeError
from aotc.dialects.graph.packed.channels import Channels, GroupedPanels
from aotc.dialects.graph.shapes import ceil_div, delinearize, linearize


@dataclass(frozen=True)
class Mode:
    """A digit of the index of dimension `dim`: index / stride % extent, or all above, index / stride."""

    dim: int
    stride: int = 1
    extent: int | None = None

    def of(self, index: Scalar) -> Scalar:
        """The digit of an index."""
        digit = index / self.stride
        return digit if self.extent is None else index.b.rem(digit, index.b.index(self.extent))


def blocks(dim: int, size: int) -> tuple[Mode, Mode]:
    """The number of a block of `size`, and the place in it."""
    return Mode(dim, size), Mode(dim, 1, size)


@dataclass(frozen=True)
class Layout:
    """The order of the elements of a packed tensor; `name` says of what, as kernels are called after it.

    What is missing in the last block of a dimension is there as a zero, so that it is as large as the others.
    """

    name: str
    axes: tuple[tuple[Mode, ...], ...]
    """The digits of each axis; of each dimension all are there once."""
    parts: tuple[int, ...] = ()
    """Dimension 1 is these parts, each of which begins with a block, see `Channels`; none: one part."""
    groups: int = 1
    """Dimensions 0 and 1 are the outputs of all groups and the inputs of one, see `GroupedPanels`: of the inputs of all
    groups, a block of outputs has the blocks that it sees, with zeros for those that an output does not see."""
    tight: bool = False
    """Whether last blocks are smaller instead, so that there is nothing but elements. There is one axis then."""

    def __post_init__(self) -> None:
        """Raises ShapeError where digits are missing or stand twice."""
        for dim in range(self.rank):
            self._check_digits(dim)
        if self.tight and len(self.axes) != 1:
            raise ShapeError(f"a tight layout has one axis, found {len(self.axes)}")
        if self.groups < 1 or ((self.groups > 1 or self.parts) and self.rank < 2):
            raise ShapeError(f"{self.groups} groups and parts {list(self.parts)} of {self.rank} dimensions")

    @cached_property
    def modes(self) -> tuple[Mode, ...]:
        """The digits of all axes."""
        return tuple(chain.from_iterable(self.axes))

    @property
    def rank(self) -> int:
        """The dimensions of a plain tensor."""
        return max((mode.dim for mode in self.modes), default=-1) + 1

    def _of(self, dim: int) -> list[Mode]:
        """The digits of a dimension, the outermost one first."""
        modes = (mode for mode in self.modes if mode.dim == dim)
        return sorted(modes, key=lambda mode: (-mode.stride, -(mode.extent or math.inf)))

    def _check_digits(self, dim: int) -> None:
        unit, digits = 1, self._of(dim)
        for mode in reversed(digits):
            if (least := min(mode.stride, 1 if mode.extent is None else mode.extent)) < 1:
                raise ShapeError(f"blocks of dimension {dim} must be positive, found {least}")
            if mode.stride != unit:
                raise ShapeError(f"dimension {dim} has a digit of stride {mode.stride} where one of {unit} is missing")
            unit = 0 if mode.extent is None else unit * mode.extent
        if unit:
            raise ShapeError(f"dimension {dim} has no digit for what is beyond {unit}")
        if self.tight and digits != [mode for mode in self.modes if mode.dim == dim]:
            raise ShapeError(f"the digits of dimension {dim} do not lie within its blocks, as in a tight layout")

    def axis_of(self, dim: int) -> int | None:
        """The axis that a dimension is alone and as a whole; None: there is none."""
        return self.axes.index(whole) if (whole := (Mode(dim),)) in self.axes else None

    def permuted_axes(self, shape: Sequence[int]) -> list[int] | None:
        """The axis that each dimension of a plain `shape` is, where all others have extent 1: a single block has all
        of a dimension."""
        if self.parts or self.groups > 1:
            return None
        whole = [(Mode(dim),) for dim in range(self.rank)]
        block = [(Mode(dim, 1, extent),) for dim, extent in enumerate(shape)]
        found = [
            next((axis for axis, digits in enumerate(self.axes) if digits in forms), None)
            for forms in zip(whole, block, strict=True)
        ]
        return None if None in found else [axis for axis in found if axis is not None]

    def block(self, dim: int) -> int:
        """The elements of a block of a dimension."""
        return math.prod(mode.extent for mode in self._of(dim) if mode.extent is not None)

    def interleaved(self, group: int) -> Layout:
        """The same with each `group` neighbours along the last axis but one side by side, for each place in the last
        one; of blocks, whole groups. Raises ShapeError."""
        *outer, (inner,), last = self.axes
        whole, rest = (None, 0) if inner.extent is None else divmod(inner.extent, max(group, 1))
        if rest:
            raise ShapeError(f"groups of {group} do not divide blocks of {inner.extent}")
        coarse, within = Mode(inner.dim, inner.stride * group, whole), Mode(inner.dim, inner.stride, group)
        return replace(self, axes=(*outer, (coarse,), (*last, within)))

    # Shapes

    def channels(self, shape: Sequence[int]) -> Channels:
        """Dimension 1 of a plain `shape` in its parts."""
        return Channels.of(self.parts or shape[1:2], self.block(1))

    def panels(self, shape: Sequence[int]) -> GroupedPanels:
        """The inputs that the blocks of outputs of a plain `shape` see."""
        return GroupedPanels(self.groups, shape[1], shape[0] // self.groups, self.block(0), self.block(1))

    def _spread(self, shape: Sequence[int]) -> list[int]:
        """A plain `shape` with what `parts` and `groups` add; raises ShapeError."""
        if len(shape) != self.rank:
            raise ShapeError(f"a layout of {self.rank} dimensions is not of {list(shape)}")
        spread = list(shape)
        if self.parts:
            if sum(self.parts) != shape[1]:
                raise ShapeError(f"parts {list(self.parts)} are not {shape[1]} channels")
            spread[1] = self.channels(shape).slots
        if self.groups > 1:
            if shape[0] % self.groups:
                raise ShapeError(f"{shape[0]} output channels do not divide into {self.groups} groups")
            spread[1] = self.panels(shape).most * self.block(1)
        return spread

    def _extent(self, mode: Mode, shape: Sequence[int]) -> int:
        return ceil_div(shape[mode.dim], mode.stride) if mode.extent is None else mode.extent

    def packed(self, shape: Sequence[int]) -> list[int]:
        """The shape of the packed tensor; raises ShapeError where the layout is not one of `shape`."""
        spread = self._spread(shape)
        if self.tight:
            return [math.prod(spread)]
        return [math.prod(self._extent(mode, spread) for mode in axis) for axis in self.axes]

    def keeps_order(self, shape: Sequence[int]) -> bool:
        """Whether elements lie as in the plain tensor, followed by all that is missing in blocks."""
        if self.groups > 1 or (self.parts and self.channels(shape).has_padding):
            return False
        order = [(mode.dim, -mode.stride) for mode in self.modes if self._extent(mode, shape) > 1]
        outer = next((dim for dim, extent in enumerate(shape) if extent > 1), self.rank)
        return order == sorted(order) and all(shape[dim] % self.block(dim) == 0 for dim in range(outer + 1, self.rank))

    def permuted(self, permutation: Sequence[int]) -> Layout:
        """The same order of elements for a tensor whose dimension i is dimension `permutation[i]` of the plain one; it
        must have one part and one group."""
        axes = (tuple(replace(mode, dim=permutation.index(mode.dim)) for mode in axis) for axis in self.axes)
        return replace(self, axes=tuple(axes))

    # Indices

    def place(self, b: Builder, index: Sequence[Scalar], shape: Sequence[int]) -> list[Scalar]:
        """Where the packed tensor has the element at `index` of a plain `shape`, which has one part and one group."""
        if self.tight:
            return [self._tight_place(b, index, shape)]
        return [
            linearize(b, [mode.of(index[mode.dim]) for mode in axis], [self._extent(mode, shape) for mode in axis])
            for axis in self.axes
        ]

    def source(self, b: Builder, index: Sequence[Scalar], shape: Sequence[int]) -> tuple[list[Scalar], list[Scalar]]:
        """Which element of a plain `shape`, which has one part, the packed tensor has at `index`; and conditions under
        which it has none."""
        if self.tight:
            return self._tight_source(b, index[0], shape), []
        spread, digits = self._spread(shape), dict[Mode, Scalar]()
        for axis, at in zip(self.axes, index, strict=True):
            split = [at] if len(axis) == 1 else delinearize(b, at, [self._extent(mode, spread) for mode in axis])
            digits |= zip(axis, split, strict=True)
        found: list[Scalar] = []
        for dim in range(self.rank):
            first, *others = (digits[mode] * mode.stride for mode in self._of(dim))
            found.append(sum(others, first))
        inside = [
            b.compare("lt", at, extent)
            for dim, (at, extent) in enumerate(zip(found, spread, strict=True))
            if extent % self.block(dim)
        ]
        if self.groups > 1:
            panel = next(digits[mode] for mode in self._of(0) if mode.extent is None)
            is_member, found[1] = self.panels(shape).member(b, panel, found[1], found[0])
            inside.append(is_member)
        return found, inside

    def reader(self, b: Builder, packed: Reader, shape: Sequence[int]) -> Reader:
        """Reads elements of a plain `shape`, which has one group, from the packed tensor."""
        channels = self.channels(shape) if self.parts else None
        starts, places = ((0,), (0,)) if channels is None else (channels.starts, channels.places)

        def of_part(index: Sequence[Scalar], starts: Sequence[int]) -> list[Scalar]:
            """The element in one of the parts that begin with these channels."""
            start, *following = starts
            if following:
                here = b.compare("lt", index[1], following[0])
                return b.when(here, lambda: of_part(index, [start]), lambda: of_part(index, following))
            moved = [*index[:1], index[1] + (places[start] - start), *index[2:]] if start else index
            return [packed(self.place(b, moved, shape))]

        return lambda index: of_part(index, starts)[0]

    def _tight_place(self, b: Builder, index: Sequence[Scalar], shape: Sequence[int]) -> Scalar:
        """How many elements have a smaller digit, or the same one and a smaller one of those that follow."""
        left, sizes, place = list(index), [b.index(extent) for extent in shape], b.index(0)
        for mode in self.modes:
            digit, each = left[mode.dim] / mode.stride, _elements(b, mode, sizes)
            place = place + digit * each
            left[mode.dim] = left[mode.dim] - digit * mode.stride
            sizes[mode.dim] = _block_size(b, mode, digit, sizes[mode.dim])
        return place

    def _tight_source(self, b: Builder, place: Scalar, shape: Sequence[int]) -> list[Scalar]:
        found, sizes = [b.index(0)] * len(shape), [b.index(extent) for extent in shape]
        for mode in self.modes:
            each = _elements(b, mode, sizes)
            digit = place / each
            place = place - digit * each
            found[mode.dim] = found[mode.dim] + digit * mode.stride
            sizes[mode.dim] = _block_size(b, mode, digit, sizes[mode.dim])
        return found

    # Arrays

    def pack(self, array: Array) -> Array:
        """The packed tensor of a plain one."""
        if self.tight:
            return np.ascontiguousarray(_tight(array, self.modes, 0))
        packed, spread = self.packed(array.shape), self._spread(array.shape)
        if self.groups > 1:
            array = self.panels(array.shape).spread(array)
        elif self.parts:
            given, array = array, np.zeros(spread, array.dtype)
            array[:, list(self.channels(given.shape).places)] = given
        split, order = self._digits(array.shape)
        if (padded := self._padded(array.shape)) != array.shape:
            array = np.pad(array, [(0, whole - own) for own, whole in zip(array.shape, padded, strict=True)])
        return np.ascontiguousarray(array.reshape(split).transpose(order)).reshape(packed)

    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        """The tensor of a plain `shape`, which has one group, of a packed one."""
        if self.tight:
            array = np.empty(packed.shape, packed.dtype)
            array[self.pack(np.arange(packed.size).reshape(shape))] = packed
            return array.reshape(shape)
        spread = self._spread(shape)
        split, order = self._digits(spread)
        array = packed.reshape([split[place] for place in order]).transpose(np.argsort(order))
        array = array.reshape(self._padded(spread))[tuple(map(slice, spread))]
        return np.ascontiguousarray(array[:, list(self.channels(shape).places)] if self.parts else array)

    def _padded(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape in whole blocks."""
        return tuple(
            ceil_div(extent, size) * size for extent, size in zip(shape, map(self.block, range(self.rank)), strict=True)
        )

    def _digits(self, shape: Sequence[int]) -> tuple[list[int], list[int]]:
        """The extents of all digits, those of each dimension together; and where among them those of the axes are."""
        plain = [mode for dim in range(self.rank) for mode in self._of(dim)]
        return [self._extent(mode, shape) for mode in plain], [plain.index(mode) for mode in self.modes]


def _elements(b: Builder, mode: Mode, sizes: Sequence[Scalar]) -> Scalar:
    """The elements that have one digit, of a tensor of these sizes."""
    others = (size for dim, size in enumerate(sizes) if dim != mode.dim)
    return reduce(mul, others, b.index(mode.stride))


def _block_size(b: Builder, mode: Mode, digit: Scalar, size: Scalar) -> Scalar:
    """How much of a dimension of a size has one digit."""
    if size.constant is not None and size.constant % mode.stride == 0:
        return b.index(mode.stride)
    return b.min(size - digit * mode.stride, mode.stride)


def _tight(array: Array, modes: Sequence[Mode], done: int) -> Array:
    """[leading.., dimensions..] in the order of digits: [leading.., elements], `done` axes being the leading ones."""
    leading = array.shape[:done]
    if not modes or not array.size:
        return array.reshape(*leading, math.prod(array.shape[done:]))
    first, axis = modes[0].stride, done + modes[0].dim
    whole = array.shape[axis] // first * first
    found: list[Array] = []
    for part in np.split(array, [whole], axis):
        if part.size:
            each = min(first, part.shape[axis])
            split = part.reshape(*part.shape[:axis], -1, each, *part.shape[axis + 1 :])
            found.append(_tight(np.moveaxis(split, axis, done), modes[1:], done + 1))
    return np.concatenate([part.reshape(*leading, -1) for part in found], done)
