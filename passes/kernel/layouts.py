"""How tensors lie in memory while `assign-layouts` goes through a function: plain NCHW, or blocked as NCHWc.

A strategy that computes an operation on blocked tensors says so in `KernelStrategy.lay_out`, which takes the operands
from here as it wants them and gives the result back as it came out. What no operation asks for is never made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from xdsl.ir import OpResult, SSAValue

from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, GraphOp, producer, shape_of, to_attribute
from aotc.dialects.graph.movement import BroadcastOp, ReshapeOp, SliceOp
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.conv import PackChannelsOp, UnpackChannelsOp
from aotc.dialects.graph.packed.regrouping import NOTHING, RegroupChannelsOp
from aotc.dialects.graph.schedules import Schedule, ScheduleAttr, schedule_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp


@dataclass(frozen=True)
class Blocked:
    """A tensor [N, C, spatial..] in NCHWc layout: [N, blocks, spatial.., lanes], and where its channels are."""

    value: SSAValue
    channels: Channels


ChannelsOf: TypeAlias = Callable[..., Channels | None]
"""Where the channels are in some values, if they were computed in NCHWc layout."""
BlockStarts: TypeAlias = Callable[[GraphOp, ChannelsOf], "Iterable[int] | None"]
"""With which channels of its operands blocks should begin for an operation to leave them in place; None: with any."""


MOST_RUNS = 6
"""Of code for blocks with different numbers of channels."""


class Layouts:
    """The blocked forms of values, as far as there are any, and the operations to insert for what was asked."""

    def __init__(self, block_starts: BlockStarts) -> None:
        """`block_starts` is `KernelStrategy.block_starts` of an operation's strategy."""
        self._block_starts = block_starts
        self._computed: dict[SSAValue, Blocked] = {}
        self._packed: dict[tuple[SSAValue, Channels], SSAValue] = {}
        self.added: list[GraphOp] = []
        """In order, to go before the operation at hand."""

    def computed(self, value: SSAValue) -> Blocked | None:
        """The blocked form that `value` was computed in."""
        return self._computed.get(value)

    def channels_of(self, *values: SSAValue) -> Channels | None:
        """Where channels are in the one of `values` that takes the fewest blocks of those computed in such."""
        found = [blocked.channels for value in values if (blocked := self.computed(value)) is not None]
        alike = [channels for channels in found if channels.lanes == found[0].lanes]
        return min(alike, key=lambda channels: channels.blocks, default=None)

    def blocked(self, value: SSAValue, lanes: int) -> Blocked:
        """`value` [N, C, spatial..] in blocks of `lanes` channels as it was computed, else packed."""
        computed = self.computed(value)
        if computed is not None and computed.channels.lanes == lanes:
            return computed
        channels = Channels.of([shape_of(value)[1]], lanes)
        return Blocked(self.pack(value, channels), channels)

    def pack(self, value: SSAValue, channels: Channels) -> SSAValue:
        """`value` [N, C, spatial..] in blocks, with its channels where they should be."""
        computed = self.computed(value)
        if computed is not None and computed.channels == channels:
            return computed.value
        if (value, channels) not in self._packed:
            if computed is not None and computed.channels.lanes == channels.lanes:
                packed = self.regroup([computed], range(channels.count), channels)
            elif channels.has_padding:
                dense = Channels.of([channels.count], channels.lanes)
                packed = self.regroup([Blocked(self.pack(value, dense), dense)], range(channels.count), channels)
            else:
                packed = self.add(PackChannelsOp.get(value, block=channels.lanes))
            self._packed[value, channels] = packed
        return self._packed[value, channels]

    def regroup(self, parts: Sequence[Blocked], chosen: Sequence[int], channels: Channels) -> SSAValue:
        """The `chosen` of the channels of all parts, counted through, where `channels` says."""
        places: list[int] = []
        first = 0
        for part in parts:
            places += [first + place for place in part.channels.places]
            first += part.channels.blocks * part.channels.lanes
        sources = [NOTHING] * (channels.blocks * channels.lanes)
        for place, channel in zip(channels.places, chosen, strict=True):
            sources[place] = places[channel]
        return self.add(RegroupChannelsOp.get([part.value for part in parts], sources=sources))

    def unpack(self, blocked: Blocked) -> SSAValue:
        """A blocked value as [N, C, spatial..]."""
        channels = blocked.channels
        parts = channels.parts if channels.has_padding else None
        return self.add(UnpackChannelsOp.get(blocked.value, channels=channels.count, parts=parts))

    def spread(self, value: SSAValue, axis: int, channels: Channels) -> SSAValue:
        """`value` with zeros between its elements along `axis`, so that each is where its channel is among lanes."""
        if not channels.has_padding:
            return value
        shape = shape_of(value)
        folded = self.add(ReshapeOp.get(value, shape=[math.prod(shape[:axis]), *shape[axis:]]))
        wide = self.add(UnpackChannelsOp.get(self.pack(folded, channels), channels=channels.slots))
        return self.add(ReshapeOp.get(wide, shape=[*shape[:axis], channels.slots, *shape[axis + 1 :]]))

    def channels_for_readers(self, value: SSAValue, lanes: int) -> Channels:
        """Where the channels of `value`, a result in blocks, should be, so that those who read it leave them there."""
        count = shape_of(value)[1]
        starts: set[int] = set()
        seen, pending = {value}, [value]
        while pending:
            for use in pending.pop().uses:
                if not isinstance(op := use.operation, GraphOp) or self.is_result(op.results[0]):
                    continue
                if (found := self._block_starts(op, self.channels_of)) is not None:
                    starts |= set(found)
                elif op.results[0] not in seen and shape_of(op.results[0])[1:2] == (count,):
                    seen.add(op.results[0])
                    pending.append(op.results[0])
        channels = channels_from(starts, count, lanes)
        return channels if is_compact(channels) else Channels.of([count], lanes)

    def compacted(self, value: SSAValue, result: SSAValue) -> Channels:
        """Where the channels of `result` should be, which is computed of `value` element by element.

        Where that is only put together, and read anyway, padding lanes between channels are left out on the way."""
        blocked = self._computed[value]
        if not _is_padded_join(blocked):
            return blocked.channels
        wanted = self.channels_for_readers(result, blocked.channels.lanes)
        return wanted if wanted.blocks < blocked.channels.blocks else blocked.channels

    def pack_parameter(self, value: SSAValue, shape: Sequence[int], channels: Channels) -> SSAValue:
        """`value`, which broadcasts to the tensor `shape` [N, C, spatial..], as it broadcasts to that in blocks."""
        extents = shape_of(value)
        if math.prod(extents) == 1:
            return value
        if len(extents) < len(shape):
            extents = (1,) * (len(shape) - len(extents)) + extents
            value = self.add(ReshapeOp.get(value, shape=extents))
        if extents[1] == shape[1]:
            return self.pack(value, channels)
        blocked = self.computed(value)
        if blocked is None:
            return self.add(ReshapeOp.get(value, shape=[*extents, 1]))
        ones, zeros = [1] * (len(extents) + 1), [0] * (len(extents) + 1)
        return self.add(SliceOp.get(blocked.value, starts=zeros, steps=ones, shape=[*extents, 1]))

    def per_channel(self, value: SSAValue, shape: Sequence[int], channels: Channels) -> SSAValue:
        """`value` [N or 1, G, 1..], an element for each group of channels of a tensor of `shape` [N, C, spatial..], in
        blocks that broadcast to those of the tensor."""
        images, groups = shape_of(value)[:2]
        column = self.add(ReshapeOp.get(value, shape=[images, groups, 1]))
        repeated = self.add(BroadcastOp.get(column, shape=[images, groups, shape[1] // groups]))
        flat = self.add(ReshapeOp.get(repeated, shape=[images, shape[1], *[1] * (len(shape) - 2)]))
        return self.pack(flat, channels)

    def pack_vector(self, value: SSAValue, channels: Channels) -> SSAValue:
        """`value` [C] with as many elements as blocks have lanes, zero where there are no channels."""
        packed = self.pack(self.add(ReshapeOp.get(value, shape=[1, *shape_of(value)])), channels)
        return self.add(ReshapeOp.get(packed, shape=[math.prod(shape_of(packed))]))

    @staticmethod
    def is_result(value: SSAValue) -> bool:
        """Whether `value` is only given back by the function, as a plain tensor."""
        return all(not isinstance(use.operation, GraphOp) for use in value.uses)

    @staticmethod
    def is_constant(value: SSAValue) -> bool:
        """Whether `value` is known at compile time: a constant, or computed from some, as dequantised weights are."""
        op = value.op if isinstance(value, OpResult) else None
        if isinstance(op, ElementOp):
            return type(op).evaluate is not GraphOp.evaluate and all(map(Layouts.is_constant, op.operands))
        return isinstance(op, ConstantOp)

    def add(self, op: GraphOp) -> SSAValue:
        """The first result of `op`, which is to go before the operation at hand."""
        self.added.append(op)
        return op.results[0]

    def scheduled(self, op: AnchorOp, schedule: Schedule) -> SSAValue:
        """The first result of `op`, which gets `schedule`."""
        op.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(schedule)
        return self.add(op)

    def copied(self, op: GraphOp, operands: Sequence[SSAValue], **properties: object) -> SSAValue:
        """The result of a copy of `op` on other operands, with other properties, and without its schedule."""
        new = op.clone()
        new.attributes.pop(ScheduleAttr.KEY, None)
        new.operands = operands
        new.properties |= {name: to_attribute(value) for name, value in properties.items()}
        new.refine()
        return self.add(new)

    def copied_on_blocks(self, op: GraphOp, x: Blocked, *operands: SSAValue, **properties: object) -> Blocked:
        """As `copied`, of an operation that leaves channels where they are, on x and other operands."""
        return Blocked(self.copied(op, [x.value, *operands], **properties), x.channels)

    def rescheduled(self, op: AnchorOp, other: type[AnchorOp]) -> SSAValue | None:
        """The first result of `op` as another operation of the same operands and properties, if it has a schedule."""
        if (schedule := schedule_of(op)) is None:
            return None
        return self.scheduled(other.get(*op.operands, **op.properties), schedule)

    @staticmethod
    def unread_regrouping(blocked: Blocked) -> GraphOp | None:
        """What regrouped channels into blocks that nobody reads, where plain tensors cost less; None if nothing did."""
        maker = producer(blocked.value, GraphOp)
        moved = isinstance(maker, RegroupChannelsOp) or _is_padded_join(blocked)
        return maker if moved and blocked.value.first_use is None else None

    def note_blocked(self, value: SSAValue, blocked: Blocked) -> None:
        """Note the blocked form that `value` was computed in."""
        self._computed[value] = blocked


def concatenated(all_parts: Sequence[Channels]) -> Channels:
    """Where channels are when the blocks of all parts stand one after the other."""
    return Channels.of((part for each in all_parts for part in each.parts), all_parts[0].lanes)


def channels_from(starts: Iterable[int], channels: int, lanes: int) -> Channels:
    """So many channels, of which those in `starts` begin a block."""
    bounds = sorted({0, *(start for start in starts if 0 < start < channels), channels})
    return Channels.of((high - low for low, high in pairwise(bounds)), lanes)


def is_compact(channels: Channels) -> bool:
    """Whether padding lanes cost little: what is computed for nothing, and code for parts of many sizes."""
    return 3 * channels.blocks <= 4 * ceil_div(channels.count, channels.lanes) and len(channels.runs) <= MOST_RUNS


def _is_padded_join(blocked: Blocked) -> bool:
    """Whether there are padding lanes between channels because parts stand side by side, as they were computed."""
    maker = producer(blocked.value, GraphOp)
    return blocked.channels.has_padding and maker is not None and maker.part_offsets() is not None
