"""The channels of a tensor in NCHWc layout: which lane of which block holds which channel.

Channels are divided into parts, each of which begins with a block. So the blocks of several tensors, side by side, are
a blocked tensor of the channels of all of them. The lanes at the end of a part beyond its channels are padding lanes:
they hold arbitrary values, and nothing reads them.

Of convolutions in groups, which blocks of input channels the output channels of a panel read, in numbers and in IR.
Groups need not begin or end with a block. A panel, which is some blocks of output channels, reads the blocks in which
the groups of its channels lie; the weight is zero where an output channel does not belong to an input channel's group.
To reduce these zeros, blocks of the weight may be smaller than those of the operand: parts of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from typing import TypeAlias

import numpy as np

from aotc.dialects.arrays import Array
from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.shapes import ceil_div

BlockBody: TypeAlias = Callable[[Scalar, Scalar, int, list[Scalar]], list[Scalar]]
"""The body of a loop over blocks: number of the block, its first channel, how many it has, carried values."""


@dataclass(frozen=True)
class BlockStrip:
    """`number` repetitions of `count` neighbouring blocks of `channels` channels each."""

    number: int
    count: int
    channels: int
    first: tuple[int, int]
    """The first block, and its first channel."""
    stride: tuple[int, int]
    """Blocks and channels from one repetition to the next."""

    def place(self, time: Scalar, neighbour: Scalar) -> tuple[Scalar, Scalar]:
        """A block and its first channel."""
        block, channel = (time * stride + first for first, stride in zip(self.first, self.stride, strict=True))
        return block + neighbour, channel + neighbour * self.channels


@dataclass(frozen=True)
class Channels:
    """Parts with these numbers of channels, in blocks of `lanes`; every part but the last ends within a block (see
    `of`)."""

    parts: tuple[int, ...]
    lanes: int

    @staticmethod
    def of(parts: Iterable[int], lanes: int) -> Channels:
        """Channels in parts of any sizes.

        A part that ends with a block, or is empty, is merged with the next, so that equal layouts are equal objects.
        """
        merged = [0]
        for part in parts:
            if merged[-1] % lanes == 0:
                merged[-1] += part
            elif part:
                merged.append(part)
        return Channels(tuple(merged), lanes)

    @property
    def count(self) -> int:
        """How many channels there are."""
        return sum(self.parts)

    @property
    def starts(self) -> tuple[int, ...]:
        """The first channel of each part."""
        return tuple(accumulate(self.parts, initial=0))[:-1]

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return sum(ceil_div(part, self.lanes) for part in self.parts)

    @property
    def slots(self) -> int:
        """The number of lanes up to that of the last channel."""
        return self.places[-1] + 1 if self.count else 0

    @property
    def has_padding(self) -> bool:
        """Whether there are padding lanes between channels, not only after the last one."""
        return len(self.parts) > 1

    @property
    def places(self) -> tuple[int, ...]:
        """The lane of each channel, numbered through all blocks."""
        sizes = (ceil_div(part, self.lanes) * self.lanes for part in self.parts)
        starts = accumulate(sizes, initial=0)
        return tuple(start + number for part, start in zip(self.parts, starts, strict=False) for number in range(part))

    def cut(self, start: int, count: int) -> tuple[int, Channels] | None:
        """The block that channel `start` begins, and the `count` channels from there on; None where it begins none."""
        place = self.places[start]
        if place % self.lanes:
            return None
        bounds = accumulate(self.parts, initial=0)
        overlaps = (min(high, start + count) - max(low, start) for low, high in pairwise(bounds))
        return place // self.lanes, Channels.of((max(overlap, 0) for overlap in overlaps), self.lanes)

    @property
    def strips(self) -> tuple[BlockStrip, ...]:
        """All blocks as strips: neighbouring parts of one size are one strip."""
        strips: list[BlockStrip] = []
        block, channel = 0, 0
        for part, alike in groupby(self.parts):
            number, (whole, rest) = len(list(alike)), divmod(part, self.lanes)
            stride = ceil_div(part, self.lanes)
            for first, count, channels in ((0, whole, self.lanes), (whole, 1, rest)):
                if count and channels:
                    begin = block + first, channel + first * self.lanes
                    strips.append(BlockStrip(number, count, channels, begin, (stride, part)))
            block += number * stride
            channel += number * part
        return tuple(strips)

    def over_blocks(self, b: Builder, carried: list[Scalar], body: BlockBody) -> list[Scalar]:
        """Loops over all blocks, strip by strip, carrying values."""
        for strip in self.strips:

            def at(index: list[Scalar], now: list[Scalar], strip: BlockStrip = strip) -> list[Scalar]:
                return body(*strip.place(*index), strip.channels, now)

            carried = b.reduce([(0, strip.number), (0, strip.count)], carried, at)
        return carried


@dataclass(frozen=True)
class GroupedPanels:
    """Panels of `width` output channels; input channels in blocks of `depth`; `groups` of `inputs` and `outputs`."""

    groups: int
    inputs: int
    """Channels of one group."""
    outputs: int
    """Of one group."""
    width: int
    depth: int

    @property
    def count(self) -> int:
        """How many panels there are."""
        return ceil_div(self.groups * self.outputs, self.width)

    @property
    def last(self) -> int:
        """The number of the last block of input channels, which may not be whole."""
        return ceil_div(self.groups * self.inputs, self.depth) - 1

    @property
    def last_depth(self) -> int:
        """How many channels it has."""
        return self.groups * self.inputs - self.last * self.depth

    @cached_property
    def spans(self) -> tuple[range, ...]:
        """The blocks that each panel reads."""

        def span(panel: int) -> range:
            first, last = panel * self.width, min((panel + 1) * self.width, self.groups * self.outputs) - 1
            end = (last // self.outputs + 1) * self.inputs
            return range(first // self.outputs * self.inputs // self.depth, ceil_div(end, self.depth))

        return tuple(span(panel) for panel in range(self.count))

    @cached_property
    def most(self) -> int:
        """The greatest number of blocks that a panel reads."""
        return max((len(span) for span in self.spans), default=0)

    @property
    def channels(self) -> int:
        """The sum over panels of the channels that each reads."""
        total = self.groups * self.inputs
        return sum(min(span.stop * self.depth, total) - span.start * self.depth for span in self.spans)

    def first(self, panel: Scalar) -> Scalar:
        """The first block that `panel` reads."""
        if self.groups == 1:
            return panel.b.index(0)
        return panel * self.width / self.outputs * self.inputs / self.depth

    def blocks_of(self, panel: Scalar) -> tuple[Scalar, Scalar]:
        """How many whole blocks `panel` reads, and how many in all: one more where it reads the last, smaller one."""
        b = panel.b
        if self.groups == 1:
            return b.index(self.most - (self.last_depth < self.depth)), b.index(self.most)
        if all(len(span) == self.most for span in self.spans):
            count = b.index(self.most)
        else:
            end = b.min(panel * self.width + (self.width - 1), self.groups * self.outputs - 1) / self.outputs
            count = ((end + 1) * self.inputs + (self.depth - 1)) / self.depth - self.first(panel)
        if self.last_depth == self.depth:
            return count, count
        return b.min(count, b.index(self.last) - self.first(panel)), count

    def member(self, b: Builder, panel: Scalar, place: Scalar, output: Scalar) -> tuple[Scalar, Scalar]:
        """Whether a place in the blocks that `panel` reads belongs to the group of `output`, and which channel of the
        group it is."""
        within = self.first(panel) * self.depth + place - output / self.outputs * self.inputs
        return b.compare("ge", within, 0) & b.compare("lt", within, self.inputs), within

    def spread(self, weight: Array) -> Array:
        """A weight [M, channels of a group, kernel..] as [panels * width, channels that a panel reads, kernel..], zeros
        where there is none."""
        spread = np.zeros((self.count, self.width, self.most * self.depth, *weight.shape[2:]), weight.dtype)
        for panel, span in enumerate(self.spans):
            start, end = panel * self.width, min((panel + 1) * self.width, len(weight))
            for group in range(start // self.outputs, (end - 1) // self.outputs + 1):
                low, high = max(start, group * self.outputs), min(end, (group + 1) * self.outputs)
                channel = group * self.inputs - span.start * self.depth
                place = spread[panel, low - start : high - start, channel : channel + self.inputs]
                place[...] = weight[low:high]
        return spread.reshape(-1, *spread.shape[2:])
