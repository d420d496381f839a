"""The layouts of tensors while `assign-layouts` goes through a function: plain (row-major NCHW) or blocked (NCHWc).

`KernelStrategy.lay_out` gets the operands of an operation from here, in the layout that it wants, and returns the
result in the layout in which it is computed. Conversions are made only when an operation asks for them.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from xdsl.dialects.builtin import i8
from xdsl.ir import OpResult, SSAValue

from aotc.dialects.attributes import to_attribute
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, GraphOp, element_type_of, producer, shape_of
from aotc.dialects.graph.movement import BroadcastOp, ReshapeOp, SliceOp
from aotc.dialects.graph.packed.channels import Channels, GroupedPanels
from aotc.dialects.graph.packed.convolution.blocked_conv import channel_blocks
from aotc.dialects.graph.packed.convolution.regrouping import PADDING_LANE, RegroupChannelsOp
from aotc.dialects.graph.packed.layout import Layout
from aotc.dialects.graph.packed.pack import pack, unpack
from aotc.dialects.graph.schedules import Schedule, ScheduleAttr
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine


@dataclass(frozen=True)
class Blocked:
    """A tensor [N, C, spatial..] in NCHWc layout: [N, blocks, spatial.., lanes], and where its channels are."""

    value: SSAValue
    channels: Channels


ChannelsOf: TypeAlias = Callable[..., Channels | None]
"""The channels of the first of some values that was computed in NCHWc layout, if any was."""
BlockStarts: TypeAlias = Callable[[GraphOp, ChannelsOf], "Iterable[int] | None"]
"""The channels that should begin a block for an operation to leave them in place (`KernelStrategy.block_starts`)."""


MOST_STRIPS = 6
"""The most strips of blocks with different numbers of channels; each strip is code of its own."""


class Layouts:
    """The blocked values computed so far, and the operations to insert for the layouts that were asked for."""

    def __init__(self, block_starts: BlockStarts, machine: Machine | None = None) -> None:
        """`block_starts` is `KernelStrategy.block_starts` of an operation's strategy; `machine` is what code is for,
        where that is known."""
        self.machine = machine
        self._block_starts = block_starts
        self._computed: dict[SSAValue, Blocked] = {}
        self._packed: dict[tuple[SSAValue, Channels], SSAValue] = {}
        self.added: list[GraphOp] = []
        """To be inserted before the current operation, in order."""

    def computed(self, value: SSAValue) -> Blocked | None:
        """`value` in the NCHWc layout that it was computed in; None where it was not."""
        return self._computed.get(value)

    def channels_of(self, *values: SSAValue) -> Channels | None:
        """The channels of the one of `values` that takes the fewest blocks, of those computed in NCHWc layout."""
        found = [blocked.channels for value in values if (blocked := self.computed(value)) is not None]
        alike = [channels for channels in found if channels.lanes == found[0].lanes]
        return min(alike, key=lambda channels: channels.blocks, default=None)

    def blocked(self, value: SSAValue, lanes: int) -> Blocked:
        """`value` [N, C, spatial..] in blocks of `lanes` channels: as it was computed, or packed."""
        computed = self.computed(value)
        if computed is not None and computed.channels.lanes == lanes:
            return computed
        channels = Channels.of([shape_of(value)[1]], lanes)
        return Blocked(self.pack(value, channels), channels)

    def pack(self, value: SSAValue, channels: Channels) -> SSAValue:
        """`value` [N, C, spatial..] in blocks, with each channel in the lane that `channels` gives it."""
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
                packed = self.packed(value, channel_blocks(len(shape_of(value)), channels.lanes))
            self._packed[value, channels] = packed
        return self._packed[value, channels]

    def regroup(self, parts: Sequence[Blocked], chosen: Sequence[int], channels: Channels) -> SSAValue:
        """The channels `chosen`, numbered through all parts, moved to the lanes that `channels` gives them."""
        places: list[int] = []
        first = 0
        for part in parts:
            places += [first + place for place in part.channels.places]
            first += part.channels.blocks * part.channels.lanes
        sources = [PADDING_LANE] * (channels.blocks * channels.lanes)
        for place, channel in zip(channels.places, chosen, strict=True):
            sources[place] = places[channel]
        return self.add(RegroupChannelsOp.get([part.value for part in parts], sources=sources))

    def unpack(self, blocked: Blocked) -> SSAValue:
        """A blocked value as [N, C, spatial..]."""
        channels, (images, _, *spatial, lanes) = blocked.channels, shape_of(blocked.value)
        layout = channel_blocks(len(spatial) + 2, lanes, channels.parts if channels.has_padding else ())
        return self.add(unpack(blocked.value, layout, [images, channels.count, *spatial]))

    def spread(self, value: SSAValue, axis: int, channels: Channels) -> SSAValue:
        """`value` with zeros along `axis` for padding lanes, so that each element is in the lane of its channel."""
        if not channels.has_padding:
            return value
        shape = shape_of(value)
        folded = self.add(ReshapeOp.get(value, shape=[math.prod(shape[:axis]), *shape[axis:]]))
        wide = self.unpack(Blocked(self.pack(folded, channels), Channels.of([channels.slots], channels.lanes)))
        return self.add(ReshapeOp.get(wide, shape=[*shape[:axis], channels.slots, *shape[axis + 1 :]]))

    def channels_for_readers(self, value: SSAValue, lanes: int) -> Channels:
        """The lanes for the channels of `value`, a blocked result, such that its readers need not move them."""
        count = shape_of(value)[1]
        starts: set[int] = set()
        visited, pending = {value}, [value]
        while pending:
            for use in pending.pop().uses:
                if not isinstance(op := use.operation, GraphOp) or self.is_result(op.results[0]):
                    continue
                if (found := self._block_starts(op, self.channels_of)) is not None:
                    starts |= set(found)
                elif op.results[0] not in visited and shape_of(op.results[0])[1:2] == (count,):
                    visited.add(op.results[0])
                    pending.append(op.results[0])
        channels = channels_from(starts, count, lanes)
        return channels if is_compact(channels) else Channels.of([count], lanes)

    def compacted(self, value: SSAValue, result: SSAValue) -> Channels:
        """The lanes for the channels of `result`, which is computed from `value` element by element.

        Where `value` is a concatenation with padding lanes between channels, `result` drops them: its kernel reads
        every element anyway.
        """
        blocked = self._computed[value]
        if not _is_padded_join(blocked):
            return blocked.channels
        wanted = self.channels_for_readers(result, blocked.channels.lanes)
        return wanted if wanted.blocks < blocked.channels.blocks else blocked.channels

    def pack_parameter(self, value: SSAValue, shape: Sequence[int], channels: Channels) -> SSAValue:
        """`value`, which broadcasts to `shape` [N, C, spatial..], laid out so that it does to the blocked tensor."""
        extents = shape_of(value)
        if math.prod(extents) == 1 < math.prod(shape):
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
        """`value` [N or 1, G, 1..], which has an element for each group of channels of a tensor of `shape` [N, C,
        spatial..], laid out so that it broadcasts to the blocked tensor."""
        images, groups = shape_of(value)[:2]
        column = self.add(ReshapeOp.get(value, shape=[images, groups, 1]))
        repeated = self.add(BroadcastOp.get(column, shape=[images, groups, shape[1] // groups]))
        flat = self.add(ReshapeOp.get(repeated, shape=[images, shape[1], *[1] * (len(shape) - 2)]))
        return self.pack(flat, channels)

    def pack_vector(self, value: SSAValue, channels: Channels) -> SSAValue:
        """`value` [C] with an element for each lane of all blocks; zero for padding lanes."""
        packed = self.pack(self.add(ReshapeOp.get(value, shape=[1, *shape_of(value)])), channels)
        return self.add(ReshapeOp.get(packed, shape=[math.prod(shape_of(packed))]))

    @staticmethod
    def is_result(value: SSAValue) -> bool:
        """Whether `value` is used by nothing but the function's return, which takes plain tensors."""
        return all(not isinstance(use.operation, GraphOp) for use in value.uses)

    @staticmethod
    def is_constant(value: SSAValue) -> bool:
        """Whether `value` is known at compile time: a constant, or computed from some, as dequantised weights are."""
        op = value.op if isinstance(value, OpResult) else None
        if isinstance(op, ElementOp):
            return type(op).evaluate is not GraphOp.evaluate and all(map(Layouts.is_constant, op.operands))
        return isinstance(op, ConstantOp)

    def complements(self, x: SSAValue) -> bool:
        """Whether x is multiplied with magnitudes of weights, its complement with those of negative ones."""
        return self.machine is not None and self.machine.dot.complements and element_type_of(x) == i8

    def add(self, op: GraphOp) -> SSAValue:
        """Insert `op` before the current operation; its first result."""
        self.added.append(op)
        return op.results[0]

    def packed(self, value: SSAValue, layout: Layout) -> SSAValue:
        """`value` in a layout."""
        return self.add(pack(value, layout))

    def scheduled(self, op: AnchorOp, schedule: Schedule) -> SSAValue:
        """Insert `op` with `schedule`; its first result."""
        op.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(schedule)
        return self.add(op)

    def narrowed(self, value: SSAValue, result: SSAValue) -> SSAValue:
        """`value` in the element type of `result`, where it was computed from operands that are all wider."""
        kind = element_type_of(result)
        return value if element_type_of(value) == kind else self.add(CastOp.get(value, to=kind))

    def copied(self, op: GraphOp, operands: Sequence[SSAValue], **properties: object) -> SSAValue:
        """Insert a copy of `op` with other operands and properties, without its schedule; its result."""
        new = op.clone()
        new.attributes.pop(ScheduleAttr.KEY, None)
        new.operands = operands
        new.properties |= {name: to_attribute(value) for name, value in properties.items()}
        new.refine()
        return self.add(new)

    def copied_on_blocks(self, op: GraphOp, x: Blocked, *operands: SSAValue, **properties: object) -> Blocked:
        """As `copied`, for an operation on x and other operands that leaves channels in their lanes."""
        return Blocked(self.copied(op, [x.value, *operands], **properties), x.channels)

    @staticmethod
    def unread_regrouping(blocked: Blocked) -> GraphOp | None:
        """The operation that regrouped channels into blocks, if nothing reads them blocked: it had better not be done.
        None where no channels were regrouped."""
        maker = producer(blocked.value, GraphOp)
        moved = isinstance(maker, RegroupChannelsOp) or _is_padded_join(blocked)
        return maker if moved and blocked.value.first_use is None else None

    def note_blocked(self, value: SSAValue, blocked: Blocked) -> None:
        """Record that `value` was computed as `blocked`."""
        self._computed[value] = blocked


def concatenated(all_parts: Sequence[Channels]) -> Channels:
    """The channels of a tensor whose blocks are those of all parts, one part after the other."""
    return Channels.of((part for each in all_parts for part in each.parts), all_parts[0].lanes)


def channels_from(starts: Iterable[int], channels: int, lanes: int) -> Channels:
    """A number of `channels`, of which those in `starts` begin a block."""
    bounds = sorted({0, *(start for start in starts if 0 < start < channels), channels})
    return Channels.of((high - low for low, high in pairwise(bounds)), lanes)


def is_compact(channels: Channels) -> bool:
    """Whether padding lanes cost little: few of them are computed, and few strips of blocks need code of their own."""
    return 3 * channels.blocks <= 4 * ceil_div(channels.count, channels.lanes) and len(channels.strips) <= MOST_STRIPS


def _is_padded_join(blocked: Blocked) -> bool:
    """Whether `blocked` is a concatenation of blocked parts with padding lanes between their channels."""
    maker = producer(blocked.value, GraphOp)
    return blocked.channels.has_padding and maker is not None and maker.part_offsets() is not None


LEAST_DEPTH = 4
"""The least depth of a block of the weight: the loop over it must not be too short."""


def block_depth(groups: int, inputs: int, outputs: int, width: int, lanes: int) -> int:
    """The depth of blocks of the weight, a divisor of `lanes`, with which panels of `width` read the fewest channels;
    the greatest such."""
    if groups == 1:
        return lanes
    parts = [lanes >> halvings for halvings in range(lanes.bit_length()) if lanes >> halvings >= LEAST_DEPTH]
    return min(parts or [lanes], key=lambda depth: GroupedPanels(groups, inputs, outputs, width, depth).channels)
