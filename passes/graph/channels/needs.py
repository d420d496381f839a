"""Which channels of the tensors of a block have to be computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Block, SSAValue

from aotc.dialects.graph.interfaces import shape_of
from aotc.passes.graph.channels.flow import Passing, Source, Sum
from aotc.passes.graph.channels.intervals import Intervals

Channels = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""Of each channel whether it is."""


GRAIN = 4
"""Sums keep a multiple of so many channels, or all: four bytes are multiplied at once, and layers that are alike share
their code."""


class Needs:
    """The channels that the operations of a block need of each other.

    A sum needs a channel where its weight is not 0, unless the channel has one value, which can be in the bias: not
    where padding counts as another one at the borders. What passes channels on needs those that are needed of it; what
    nobody knows needs all.
    """

    def __init__(self, block: Block, flows: Sequence[Sum | Passing], intervals: Intervals) -> None:
        self._flows = flows
        self.axes: dict[SSAValue, int] = {flow.op.results[0]: flow.result_axis for flow in flows}
        self.needed: dict[SSAValue, Channels] = {
            value: np.zeros(shape_of(value)[axis], np.bool_) for value, axis in self.axes.items()
        }
        self.constant = {flow.op: _constant(flow, intervals) for flow in flows if isinstance(flow, Sum)}
        """Of each sum, which channels of its operand can be in the bias, and their value less the zero point."""
        known = {(flow.op, place) for flow in flows for place in self._places(flow)}
        for op in block.ops:
            for place, value in enumerate(op.operands):
                if value in self.needed and (op, place) not in known:
                    self.needed[value][:] = True
        self._spread()
        sums = [self.needed[flow.op.results[0]] for flow in flows if isinstance(flow, Sum)]
        while missing := [channels for channels in sums if _missing(channels)]:
            channels = missing[-1]
            channels[np.flatnonzero(~channels)[: _missing(channels)]] = True
            self._spread()

    def _places(self, flow: Sum | Passing) -> list[int]:
        """The operands of which an operation needs some channels, as they are known."""
        if isinstance(flow, Passing):
            return [source.place for source in flow.sources]
        return [0] if self.axes.get(flow.x) == flow.axis else []

    def _spread(self) -> None:
        """Go back from what is needed until nothing more is."""
        while sum(self._go_back(flow) for flow in reversed(self._flows)):
            pass

    def _go_back(self, flow: Sum | Passing) -> bool:
        """Add the needs of one operation; whether that is more than before."""
        result = self.needed[flow.op.results[0]]
        if isinstance(flow, Sum):
            if not self._places(flow):
                return False
            return _add(self.needed[flow.x], flow.reads[result].any(axis=0) & ~self.constant[flow.op][0])
        grown = False
        for source in flow.sources:
            value = flow.op.operands[source.place]
            of_result = _channels_of(source, result, shape_of(value)[source.axis])
            grown |= _add(self.needed[value], of_result.any(axis=1))
            grown |= _add(of_result, self.needed[value][:, None])
        return grown


def _channels_of(source: Source, result: np.ndarray, channels: int) -> np.ndarray:
    """The channels of a result that come from an operand, [channels, spread]: a view."""
    return result[source.first : source.first + channels * source.spread].reshape(channels, source.spread)


def _add(channels: np.ndarray, more: Any) -> bool:
    """Whether there are more than before, in place."""
    before = int(np.count_nonzero(channels))
    channels |= more
    return int(np.count_nonzero(channels)) > before


def _constant(flow: Sum, intervals: Intervals) -> tuple[Channels, np.ndarray]:
    x = intervals.of(flow.x, flow.axis)
    if x is None:
        nothing = np.zeros(shape_of(flow.x)[flow.axis], np.int64)
        return nothing.astype(np.bool_), nothing
    value = x.low - flow.op.zero_points[0]
    return x.is_constant & ((value == 0) | (not flow.is_padded)), value


def _missing(channels: Channels) -> int:
    """How many more channels a sum is to have."""
    count = int(np.count_nonzero(channels))
    return min(max(count + -count % GRAIN, 1), len(channels)) - count
