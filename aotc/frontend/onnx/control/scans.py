"""Importing Scan: a loop over slices; that of version 8 once for each element of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnx import GraphProto
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Block, Region, SSAValue

from aotc.dialects.graph.compound.control_flow import LoopOp, yield_of
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.structure import YieldOp
from aotc.frontend.onnx.control.bodies import ControlNode, RegionBody
from aotc.frontend.onnx.scopes import Scope, Value
from aotc.frontend.onnx.tensors import attribute_value


class Scan(ControlNode):
    """A Scan."""

    def values(self) -> Sequence[Value]:
        body = self._attribute("body")
        self._refuse_sequences(body)
        attributes = {each.name: attribute_value(each, None) for each in self.node.attribute if each.name != "body"}
        given = list(self.inputs)
        if self.opset < 9 and given and given.pop(0) is not None:
            why = "every sequence must be as long as the tensor"
            self._fail("unsupported-attribute", "sequence_lens is not supported", why)
        values = [value for each in given if (value := self._tensor(each, "an input")) is not None]
        if len(values) < len(given):
            self._fail("missing-input", "an input is left out", "the operator requires it")
        count = int(attributes.get("num_scan_inputs", 0))
        states, scanned = values[: len(values) - count], values[len(values) - count :]
        if not scanned or count > len(values) or len(values) != len(body.input):
            what = "the inputs do not fit num_scan_inputs and the body"
            self._fail("invalid-attribute", what, fix="the model is invalid: export it again")
        if self.opset >= 9:
            stacked = len(body.output) - len(states)
            ways = [self._numbers(attributes, f"scan_input_{each}", count) for each in ("axes", "directions")]
            ways += [self._numbers(attributes, f"scan_output_{each}", stacked) for each in ("axes", "directions")]
            return self._scanned(body, self.scope, states, scanned, *ways)
        return self._batched(body, states, scanned, self._numbers(attributes, "directions", count))

    def _numbers(self, attributes: Mapping[str, Any], name: str, count: int) -> list[int]:
        found = [int(number) for number in attributes.get(name) or [0] * count]
        if len(found) != count:
            what = f"{name} has {len(found)} numbers for {count} tensors"
            self._fail("invalid-attribute", what, fix="the model is invalid: export it again")
        return found

    def _batched(
        self, body: GraphProto, states: Sequence[SSAValue], scanned: Sequence[SSAValue], directions: Sequence[int]
    ) -> Sequence[Value]:
        """Scan 8: one after the other for the elements of a batch, the first axis of everything."""
        given = [*states, *scanned]
        slices = [TensorType(element_type_of(value), shape_of(value)[1:]) for value in given]
        block = Block(arg_types=[TensorType(i64, []), *slices])
        scope = Scope(self.scope.sets, block, self.scope.prefix, outer=self.scope, captures={})
        arguments = list(block.args[1:])
        zeros = [0] * (len(body.output) - len(states))
        results: list[Value] = []

        def fill() -> None:
            halves = arguments[: len(states)], arguments[len(states) :]
            results.extend(self._scanned(body, scope, *halves, [0] * len(scanned), directions, zeros, zeros))

        self.bodies.within(block, fill)
        found = [value for value in results if isinstance(value, SSAValue)]
        if len(found) < len(results):
            return self._poisoned()
        block.add_op(YieldOp(found))
        region = RegionBody(block, scope)
        region.drop_unused()
        loop = LoopOp.of(Region(block), count=shape_of(given[0])[0], scanned=given, captured=list(region.captures))
        return self._inserted(loop)

    def _scanned(
        self,
        body: GraphProto,
        scope: Scope,
        states: Sequence[SSAValue],
        scanned: Sequence[SSAValue],
        axes: Sequence[int],
        directions: Sequence[int],
        output_axes: Sequence[int],
        output_directions: Sequence[int],
    ) -> Sequence[Value]:
        """A loop over slices; other axes than the first are moved there and back."""
        tensors = [self._moved(value, axis, 0) for value, axis in zip(scanned, axes, strict=True)]
        trips = shape_of(tensors[0])[0]
        if any(shape_of(tensor)[0] != trips for tensor in tensors):
            what = f"it scans tensors of {', '.join(str(shape_of(tensor)[0]) for tensor in tensors)} slices"
            self._fail("invalid-shape", what)
        slices = [TensorType(element_type_of(tensor), shape_of(tensor)[1:]) for tensor in tensors]
        kinds = [TensorType(i64, []), *(value.type for value in states), *slices]
        region = self._region(body, kinds, ["", *(value.name for value in body.input)], around=scope)
        if region is None:
            return self._poisoned()
        self._check_carried(body, 0, states, yield_of(region.block).values)
        region.drop_unused()
        loop = LoopOp.of(
            Region(region.block),
            count=trips,
            carried=states,
            scanned=tensors,
            captured=list(region.captures),
            scanned_backward=directions,
            stacked_backward=output_directions,
        )
        results = list(self._inserted(loop))
        for place, axis in enumerate(output_axes, len(states)):
            value = results[place]
            assert isinstance(value, SSAValue)
            results[place] = self._moved(value, 0, axis)
        return results

    def _moved(self, value: SSAValue, source: int, target: int) -> SSAValue:
        """The tensor with the axis `source` at `target`, the others in order."""
        rank = len(shape_of(value))
        if not rank or not all(-rank <= axis < rank for axis in (source, target)):
            what = f"a tensor of shape {list(shape_of(value))} has no axis {source or target} to scan along"
            self._fail("invalid-shape", what)
        source, target = source % rank, target % rank
        order = [axis for axis in range(rank) if axis != source]
        order.insert(target, source)
        if order == sorted(order):
            return value
        return self._emit("transpose", value, permutation=order)
