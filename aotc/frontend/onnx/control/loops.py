"""Importing Loop: its iterations in place where that is the better or the only way, else its body as a region.

In place are iterations that are few, or computed from constants only, or of shapes that differ from one to the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import GraphProto
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Block, Region, SSAValue

from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.compound.control_flow import MOST_TRIPS, LoopOp, yield_of
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.structure import YieldOp
from aotc.errors import CompileError
from aotc.frontend.onnx.control.bodies import ControlNode
from aotc.frontend.onnx.node import Bound
from aotc.frontend.onnx.parts.sequences import Given
from aotc.frontend.onnx.scopes import Poison, Value
from aotc.frontend.trips import counted_trips
from aotc.model.limits import MAX_ELEMENTS

MOST_UNROLLED = 32
"""The most nodes that the iterations of a loop become in place where that is not the only way."""


MOST_TRIED = 1 << 13
"""The most nodes that those become of which nobody says how many they are, before they are tried as a loop."""


class Loop(ControlNode):
    """A Loop."""

    def values(self) -> Sequence[Value]:
        body = self._attribute("body")
        count, condition, *carried = [*self.inputs, None, None][: max(2, len(self.inputs))]
        trips, begins = self._known(count), condition is None or self._known(condition)
        never_ends = count is None and begins and _hands_on_condition(body)
        can_unroll = begins is not None and not never_ends and (count is None or trips is not None)
        limit = None if trips is None else max(0, int(trips))
        if can_unroll:
            limit = limit if begins else 0
            most = self.bodies.max_nodes if self._is_known(body, carried) else MOST_UNROLLED
            if limit is None:
                most = min(most, MOST_TRIED)
            if (values := self._unrolled(body, limit, carried, most)) is not None:
                return values
        mark = len(self.bodies.problems)
        try:
            values = self._rolled(body, count, condition, carried)
        except CompileError as error:
            values = self._poisoned()
            self.bodies.problems += error.problems
        if can_unroll and any(isinstance(value, Poison) for value in values):
            most = self.bodies.max_nodes
            if limit and limit * max(1, len(body.node)) > most and _may_end(body):
                limit = None  # as torch.jit.script writes `while`: the condition ends it before
            unrolled = self._unrolled(body, limit, carried, most)
            if unrolled is not None:
                del self.bodies.problems[mark:]
                return unrolled
        return values

    def _unrolled(
        self, body: GraphProto, trips: int | None, carried: Sequence[Value], most: int
    ) -> Sequence[Value] | None:
        """The values where the iterations can be imported in place as at `most` that many nodes."""
        if trips is not None and trips * max(1, len(body.node)) > most:
            return None
        mark, imported = len(self.bodies.problems), self.bodies.imported
        try:
            return self._in_place(body, trips, carried, most)
        except CompileError:
            del self.bodies.problems[mark:]
            self.bodies.imported = imported
            return None

    def _in_place(self, body: GraphProto, trips: int | None, carried: Sequence[Value], most: int) -> Sequence[Value]:
        """Every iteration, as long as constant conditions hold. Raises CompileError, also where all that is carried
        would take more memory than constants may."""
        outputs = [value.name for value in body.output]
        scanned: list[list[SSAValue]] = [[] for _ in outputs[1 + len(carried) :]]
        trip, goes_on, made = 0, True, 0
        while (trips is None or trip < trips) and goes_on:
            if trip * max(1, len(body.node)) > most:
                self._fail("endless-loop", "it has too many iterations")
            inner = self._scope(body, f"{trip}/")
            given = [self._number(trip), self._true(), *carried]
            inner.values.update(zip((value.name for value in body.input), given, strict=False))
            self.bodies.body(body.node, outputs, inner)
            results = [self.bodies.lookup(output, inner) for output in outputs]
            if any(isinstance(value, Poison) for value in results) or (known := self._known(results[0])) is None:
                self._fail("unknown-value", "the condition is computed at run time")
            goes_on = bool(known)
            carried = results[1 : 1 + len(carried)]
            arrays = [known_array(value, self.bodies.store) for value in carried if isinstance(value, SSAValue)]
            made += sum(array.nbytes for array in arrays if array is not None)
            self.bodies.store.require_room(made, self.name, "Loop")
            for column, value in zip(scanned, results[1 + len(carried) :], strict=True):
                assert isinstance(value, SSAValue)
                column.append(self._emit("reshape", value, shape=[1, *shape_of(value)]))
            trip += 1
        if scanned and not trip:
            self._fail("missing-input", "a loop without iterations has nothing to put together")
        return [*carried, *(self._emit("concat", column, axis=0) for column in scanned)]

    def _rolled(
        self, body: GraphProto, given_count: Given, given_condition: Given, carried: Sequence[Given]
    ) -> Sequence[Value]:
        """A loop with a region."""
        self._refuse_sequences(body, "fix the trip count and the condition with --constant NAME=VALUE")
        count = self._tensor(given_count, "the trip count")
        condition = self._tensor(given_condition, "the condition")
        states = [value for each in carried if (value := self._tensor(each, "a carried value")) is not None]
        if len(states) < len(carried):
            self._fail("missing-input", "a carried value is left out", "every one must have a value to begin with")
        kinds = [TensorType(i64, []), *(value.type for value in states)]
        names = [value.name for value in body.input]
        region = self._region(body, kinds, [names[0], *names[2:]], true=names[1])
        if region is None:
            return self._poisoned()
        end = yield_of(region.block)
        self._check_carried(body, 1, states, end.values[1:])
        begins, goes_on = self._known(condition), self._known(end.values[0])
        if begins is not None and not begins:
            count, condition = self._number(0), None
        elif (condition is None or begins) and goes_on:
            condition = None
        elif condition is None or begins:
            if (trips := self._counted(region.block, count, states)) is not None:
                count, condition = self._number(trips), None
            elif condition is None:
                condition = self._true()
        if condition is None:
            end.operands = end.operands[1:]
        elif shape_of(condition) != shape_of(end.values[0]):
            self.bodies.within(region.block, lambda: self._reshape_condition(end, shape_of(condition)))
        trips = self._known(count)
        limit = None if trips is None else max(0, int(trips))
        if count is None or (limit is not None and limit > MOST_TRIPS):
            if condition is None:
                why = "it has neither a condition nor a trip count below 2^31"
                self._fail("endless-loop", "the loop never ends", why)
            count = None
        scans = [value.name for value in body.output[1 + len(states) :]]
        if scans and (count is None or limit is None):
            what = "has as many elements as the loop has iterations"
            why = "that is computed at run time, and shapes must be known when compiling"
            self._fail_waiting("unknown-value", f"its output {scans[0]!r} {what}", why, count, condition)
        counts = bool(scans) and condition is not None
        if counts:
            self._count_iterations(region.block, len(states))
        region.drop_unused()
        loop = LoopOp.of(
            Region(region.block),
            count=count if limit is None or count is None else limit,
            condition=condition,
            carried=[*states, self._number(0)] if counts else states,
            captured=list(region.captures),
        )
        if any((size := math.prod(shape_of(value))) >= MAX_ELEMENTS for value in loop.stacked):
            self._fail("too-large", f"what it stacks has up to {size} elements, 2^31 or more")
        values = self._inserted(loop)
        if not counts:
            return values
        found = values[len(states)]
        return [*values[: len(states)], *(self._cut(value, found) for value in values[len(states) + 1 :])]

    def _count_iterations(self, block: Block, states: int) -> None:
        """Carry on, behind the states, how many iterations there have been."""
        block.insert_arg(TensorType(i64, []), 1 + states)
        end = yield_of(block)

        def one_more() -> None:
            end.detach()
            following = self._emit("add", block.args[0], self._number(1))
            end.operands = [*end.values[: 1 + states], following, *end.values[1 + states :]]
            block.add_op(end)

        self.bodies.within(block, one_more)

    def _cut(self, stacked: SSAValue, count: SSAValue) -> SSAValue:
        """The results that a loop stacked in `count` iterations: zeros from there on."""
        most, *extents = shape_of(stacked)
        ones = self._emit("broadcast", self._number(1), shape=[most, *(1 for _ in extents)])
        numbers = self._emit("cumulative", ones, kind="sum", axis=0, exclusive=True)
        inside = self._emit("compare", numbers, count, how="lt")
        nothing = np.zeros((), numpy_dtype(element_type_of(stacked)))
        value = self._emit("where", inside, stacked, self._constant(nothing))
        self.bodies.bounds[value] = Bound(0, count)
        return value

    def _counted(self, block: Block, count: SSAValue | None, states: Sequence[SSAValue]) -> int | None:
        """The iterations of a loop that begins, where its condition is known to end it."""
        most = self._known(count)
        if count is not None and (most is None or most <= 0):
            return None
        return counted_trips(block, states, most, self.bodies.store)

    def _reshape_condition(self, end: YieldOp, shape: Sequence[int]) -> None:
        end.detach()
        end.operands[0] = self._emit("reshape", end.values[0], shape=list(shape))


def _hands_on_condition(body: GraphProto) -> bool:
    """Whether the condition that a body yields is the one that it is given."""
    makers = {output: node for node in body.node for output in node.output}
    name = body.output[0].name
    while (node := makers.get(name)) is not None and node.op_type == "Identity":
        name = node.input[0]
    return len(body.input) > 1 and name == body.input[1].name


def _may_end(body: GraphProto) -> bool:
    """Whether the condition that a body yields is computed in it, and not handed on."""
    makers = {output: node.op_type for node in body.node for output in node.output}
    return makers.get(body.output[0].name) not in (None, "Constant", "Identity")
