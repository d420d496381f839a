"""How tensors lie in memory while `assign-layouts` goes through a function: plain, or in blocks of channels.

An operation that has a form on blocked tensors says so in `GraphOp.lay_out`, which takes its operands from here as it
wants them and gives its result back as it came out. What no operation asks for is never made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import OpResult, SSAValue

from aotc.dialects.graph.blocked import PackChannelsOp
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, GraphOp, shape_of, to_attribute
from aotc.dialects.graph.movement import ReshapeOp, SliceOp
from aotc.dialects.graph.schedule import Schedule, ScheduleAttr, schedule_of
from aotc.dialects.graph.structure import ConstantOp


class Layouts:
    """The blocked forms of values, as far as there are any, and the operations to insert for what was asked."""

    def __init__(self) -> None:
        self._computed: dict[SSAValue, SSAValue] = {}
        self._packed: dict[tuple[SSAValue, int], SSAValue] = {}
        self.added: list[GraphOp] = []
        """In order, to go before the operation at hand."""

    def computed(self, value: SSAValue) -> SSAValue | None:
        """The blocked form that `value` was computed in: [N, blocks, spatial.., lanes]."""
        return self._computed.get(value)

    def block_of(self, *values: SSAValue) -> int | None:
        """The lanes of the first of `values` that was computed in blocks."""
        found = [blocked for value in values if (blocked := self.computed(value)) is not None]
        return shape_of(found[0])[-1] if found else None

    def pack(self, value: SSAValue, block: int) -> SSAValue:
        """`value` [N, C, spatial..] in blocks of `block` channels, packed where it was not computed so."""
        computed = self.computed(value)
        if computed is not None and shape_of(computed)[-1] == block:
            return computed
        if (value, block) not in self._packed:
            self._packed[value, block] = self.add(PackChannelsOp.get(value, block=block))
        return self._packed[value, block]

    def pack_parameter(self, value: SSAValue, shape: Sequence[int], block: int) -> SSAValue:
        """`value`, which broadcasts to the tensor `shape` [N, C, spatial..], as it broadcasts to that in blocks."""
        extents = shape_of(value)
        if math.prod(extents) == 1:
            return value
        if len(extents) < len(shape):
            extents = (1,) * (len(shape) - len(extents)) + extents
            value = self.add(ReshapeOp.get(value, shape=extents))
        if extents[1] == shape[1]:
            return self.pack(value, block)
        blocked = self.computed(value)
        if blocked is None:
            return self.add(ReshapeOp.get(value, shape=[*extents, 1]))
        ones, zeros = [1] * (len(extents) + 1), [0] * (len(extents) + 1)
        return self.add(SliceOp.get(blocked, starts=zeros, steps=ones, shape=[*extents, 1]))

    def pack_vector(self, value: SSAValue, block: int) -> SSAValue:
        """`value` [C] with as many elements as blocks of `block` have, the last ones zero."""
        packed = self.pack(self.add(ReshapeOp.get(value, shape=[1, *shape_of(value)])), block)
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

    def again(self, op: GraphOp, operands: Sequence[SSAValue], **properties: object) -> SSAValue:
        """The result of a copy of `op` on other operands, with other properties, and without its schedule."""
        new = op.clone()
        new.attributes.pop(ScheduleAttr.KEY, None)
        new.operands = operands
        new.properties |= {name: to_attribute(value) for name, value in properties.items()}
        new.refine()
        return self.add(new)

    def rescheduled(self, op: AnchorOp, other: type[AnchorOp]) -> SSAValue | None:
        """The first result of `op` as another operation of the same operands and properties, if it has a schedule."""
        if (schedule := schedule_of(op)) is None:
            return None
        return self.scheduled(other.get(*op.operands, **op.properties), schedule)

    def know(self, value: SSAValue, blocked: SSAValue) -> None:
        """Note the blocked form that `value` was computed in."""
        self._computed[value] = blocked
