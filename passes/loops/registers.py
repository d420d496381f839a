"""Which registers a tile has, and where they are in memory or in a larger tile: numbers only."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute

from aotc.dialects.aot import tiles


def positions(shape: Sequence[int], strides: Sequence[int], start: int = 0) -> list[int]:
    """`start` plus the sum of index times stride, for each index into `shape`, row-major."""
    result = [start]
    for extent, stride in zip(shape, strides, strict=True):
        result = [base + index * stride for base in result for index in range(extent)]
    return result


def register_places(op: tiles.TileLoadOp | tiles.TileStoreOp, shape: Sequence[int]) -> list[tuple[int, int]]:
    """The offset of each register, and how many of its lanes are in memory; of repeated groups, all count."""
    lanes = shape[-1]
    offsets = positions(shape[:-1], op.element_strides()[:-1], op.displacement())
    if (valid := op.count()) is None or (isinstance(op, tiles.TileLoadOp) and op.group is not None):
        return [(offset, lanes) for offset in offsets]
    last = shape[-2] if len(shape) > 1 else 1
    counts = [min(max(valid - index * lanes, 0), lanes) for index in range(last)]
    return [(offset, counts[index % last]) for index, offset in enumerate(offsets)]


def place_properties(stride: int, offset: int, count: int, lanes: int) -> dict[str, Attribute]:
    """The properties of an access to one register, of which `count` lanes are in memory."""
    properties: dict[str, Attribute] = {"strides": tiles.int_array((stride if lanes > 1 else 1,))}
    if offset:
        properties["offset"] = tiles.integer(offset)
    if count < lanes:
        properties["valid"] = tiles.integer(count)
    return properties


def part_positions(whole: Sequence[int], part: Sequence[int], given: DenseArrayBase[Any]) -> list[int]:
    """The positions of the registers of a part among those of the whole; both shapes end with the lanes."""
    strides = [prod(whole[dim + 1 : -1]) for dim in range(len(whole) - 1)]
    start = sum(int(low) * stride for low, stride in zip(given.get_values(), strides, strict=True))
    return positions(part[:-1], strides, start)
