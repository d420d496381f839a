"""Convolution in groups: which blocks of input channels the output channels of a panel read, in numbers and in IR.

Groups need not begin or end with a block. A panel, which is some blocks of output channels, reads the blocks in which
the groups of its channels lie; the weight is zero where an output channel does not belong to an input channel's group.
To reduce these zeros, blocks of the weight may be smaller than those of the operand: parts of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aotc.dialects.arrays import Array
from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.shapes import ceil_div


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

    def seen(self, panel: Scalar) -> tuple[Scalar, Scalar]:
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
