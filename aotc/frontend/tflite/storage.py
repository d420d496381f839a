"""Constants that have no byte in the file for each element: several in one, or a few elements of a sparse tensor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from aotc.model.weight_store import Array

Level: TypeAlias = "int | tuple[Array, Array]"
"""How an axis is stored: its extent; or where the indices of each entry of the axes before begin, and all indices."""


def unpacked(data: Array, bits: int, count: int) -> Array:
    """Integers with a sign of 2 or 4 bits, from the low ones of each byte up, i8."""
    parts = data[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)
    return (parts.reshape(-1)[:count] << 8 - bits).astype(np.uint8).view(np.int8) >> 8 - bits


@dataclass(frozen=True)
class Sparsity:
    """Which elements of a tensor are stored: each axis, in the order in which they are gone through, the blocks into
    which some are cut last."""

    order: tuple[int, ...]
    """The axes of the tensor, then those of blocks, which are counted on."""
    blocks: tuple[int, ...]
    """The axes that are cut, in the order of blocks."""
    levels: tuple[Level, ...]

    def dense(self, values: Array, shape: tuple[int, ...]) -> Array:
        """All elements, 0 where none is stored. Raises ValueError where these are not of a tensor of this shape."""
        rank, places = len(shape), self._places(math.prod(shape))
        every = [*range(rank), *range(rank, rank + len(self.blocks))]
        is_order = [*sorted(self.order[:rank]), *sorted(self.order[rank:])] == every == [*range(len(self.levels))]
        if not is_order or len(set(self.blocks) & {*range(rank)}) != len(self.blocks):
            raise ValueError("its axes are not gone through once")
        found = dict(zip(self.order, places, strict=True))
        for block, axis in enumerate(self.blocks, rank):
            size = self.levels[self.order.index(block)]
            if not isinstance(size, int):
                raise ValueError("its blocks are sparse")
            found[axis] = found[axis] * size + found[block]
        index = tuple(found[axis] for axis in range(rank))
        inside = all(bool(((each >= 0) & (each < extent)).all()) for each, extent in zip(index, shape, strict=True))
        if not inside or len(places[0]) > values.size:
            raise ValueError("it stores elements that are not there")
        result = np.zeros(shape, values.dtype)
        result[index] = values[: len(places[0])]
        return result

    def _places(self, most: int) -> list[Array]:
        """The indices of what is stored along each level, at most so many."""
        places, entries = list[Array](), np.zeros(1, np.int64)
        for level in self.levels:
            if isinstance(level, int):
                counts = np.full(entries.size, max(level, 0))
            else:
                starts, stored = level
                is_list = bool((np.diff(starts) >= 0).all()) and entries.max(initial=-1) < len(starts) - 1
                if not is_list or starts.min(initial=0) < 0 or starts.max(initial=0) > len(stored):
                    raise ValueError("indices of its axes are missing")
                counts = starts[entries + 1] - starts[entries]
            if (total := int(counts.sum())) > most:
                raise ValueError(f"it stores more elements than the {most} of its shape")
            within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
            places = [np.repeat(each, counts) for each in places]
            if isinstance(level, int):
                places.append(within)
                entries = np.repeat(entries * level, counts) + within
            else:
                entries = np.repeat(level[0][entries], counts) + within
                places.append(level[1][entries])
        return places
