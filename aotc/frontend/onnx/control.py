"""Importing If, Loop and Scan: as control flow with regions, or in place where all is known when compiling.

A branch whose condition is a constant is imported in place, and so are the iterations of a loop that are few, or
computed from constants only, or of shapes that differ from one to the next. Everything else becomes `graph.if` and
`graph.loop`. A constant that a region reads is copied into it; other values of the bodies around it are captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
from onnx import GraphProto, NodeProto
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, Block, OpResult, Region, SSAValue

from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.control import MOST_TRIPS, ControlOp, IfOp, LoopOp, yield_of
from aotc.dialects.graph.interfaces import GraphOp, element_type_of, shape_of
from aotc.dialects.graph.movement import ConcatOp, ReshapeOp, TransposeOp
from aotc.dialects.graph.structure import ConstantOp, YieldOp
from aotc.errors import CompileError, Problem
from aotc.frontend.onnx.attributes import attribute_value
from aotc.frontend.onnx.bodies import free_names
from aotc.frontend.onnx.scopes import POISON, Poison, Scope, Value, name_value
from aotc.model.weights import Array, WeightStore

CONTROL_FLOW = ("If", "Loop", "Scan")
"""The operators of the standard that have bodies."""

MOST_UNROLLED = 32
"""The most nodes that the iterations of a loop become in place where that is not the only way."""


class Bodies(Protocol):
    """What control flow needs of the import of a model."""

    store: WeightStore
    max_nodes: int
    problems: list[Problem]

    def body(self, nodes: Sequence[NodeProto], outputs: Sequence[str], scope: Scope) -> None:
        """Import the nodes that the outputs depend on, where the import is."""
        ...

    def lookup(self, name: str, scope: Scope) -> Value:
        """What `name` stands for."""
        ...

    def constant(self, array: Array, name: str) -> SSAValue:
        """A constant where the import is."""
        ...

    def folded(self, op: GraphOp, name: str) -> SSAValue:
        """The first result of an operation, which is inserted where the import is if it is not a constant."""
        ...

    def insert(self, op: ControlOp, name: str) -> Sequence[SSAValue]:
        """The results of control flow, which is inserted where the import is."""
        ...

    def within(self, block: Block, action: Callable[[], None]) -> None:
        """Have `action` import into `block`."""
        ...


def captured(value: Value, scope: Scope) -> Value:
    """A value of the body around a region, in the region: a constant again, another one as an argument."""
    if not isinstance(value, SSAValue) or scope.captures is None:
        return value
    is_constant = isinstance(value, OpResult) and isinstance(value.op, ConstantOp)
    inside = scope.copies if is_constant else scope.captures
    if value not in inside:
        if isinstance(value, OpResult) and isinstance(value.op, ConstantOp):
            scope.block.add_op(copy := value.op.clone())
            inside[value] = copy.result
        else:
            inside[value] = scope.block.insert_arg(value.type, len(scope.block.args))
        inside[value].name_hint = value.name_hint
    return inside[value]


@dataclass(frozen=True)
class ControlFlow:
    """One node with bodies, which is imported."""

    bodies: Bodies
    node: NodeProto
    name: str
    inputs: Sequence[SSAValue | None]
    scope: Scope
    opset: int

    def values(self) -> Sequence[Value]:
        """The values of the node's outputs; raises CompileError."""
        match self.node.op_type:
            case "If":
                return self._if()
            case "Loop":
                return self._loop()
            case _:
                return self._scan()

    # If

    def _if(self) -> Sequence[Value]:
        condition = self.inputs[0]
        if condition is None:
            self._fail("input 0 is missing", "the operator requires it")
        known = known_array(condition, self.bodies.store)
        if known is not None and known.size == 1:
            branch = self._attribute("then_branch" if known.item() else "else_branch")
            inner = self._scope(branch, "")
            outputs = [value.name for value in branch.output]
            self.bodies.body(branch.node, outputs, inner)
            return [self.bodies.lookup(output, inner) for output in outputs]
        branches = [self._attribute(name) for name in ("then_branch", "else_branch")]
        regions = [self._region(branch, []) for branch in branches]
        if any(region is None for region in regions):
            return self._poisoned()
        for output, *sides in zip(
            branches[0].output, *(yield_of(region.block).values for region in regions if region), strict=False
        ):
            if sides[0].type != sides[1].type:
                kinds = " and ".join(str(side.type) for side in sides)
                self._fail(
                    f"its output {output.name!r} has the types {kinds} by branch",
                    "shapes must be known when compiling",
                    "fix the inputs that the condition depends on with --constant NAME=VALUE",
                )
        found = [region for region in regions if region is not None]
        outside = list(dict.fromkeys(value for region in found for value in region.captures))
        for region in found:
            region.capture(outside)
        return self.bodies.insert(IfOp.of(condition, outside, *(Region(region.block) for region in found)), self.name)

    # Loop

    def _loop(self) -> Sequence[Value]:
        body = self._attribute("body")
        self._refuse_sequences(body)
        count, condition, *carried = [*self.inputs, None, None][: max(2, len(self.inputs))]
        trips, begins = self._known(count), self._known(condition)
        is_counted = trips is not None and (condition is None or begins is not None)
        if is_counted:
            trips = max(0, int(trips)) if begins is None or begins else 0
        if trips is not None and is_counted:
            nodes = trips * max(1, len(body.node))
            if nodes <= MOST_UNROLLED or (nodes <= self.bodies.max_nodes and self._is_known(body, carried)):
                if (values := self._attempt(lambda: self._unrolled(body, trips, carried))) is not None:
                    return values
        elif count is None and begins is not None and self._is_known(body, carried):
            if (values := self._attempt(lambda: self._unrolled(body, None, carried))) is not None:
                return values
        try:
            return self._rolled(body, count, condition, carried)
        except CompileError:
            if trips is None or not is_counted or trips * max(1, len(body.node)) > self.bodies.max_nodes:
                raise
            if (values := self._attempt(lambda: self._unrolled(body, trips, carried))) is not None:
                return values
            raise

    def _attempt(self, way: Callable[[], Sequence[Value]]) -> Sequence[Value] | None:
        """The values, or None where there are problems, which are forgotten."""
        mark = len(self.bodies.problems)
        try:
            values = way()
        except CompileError:
            values = [POISON]
        if any(isinstance(value, Poison) for value in values):
            del self.bodies.problems[mark:]
            return None
        return values

    def _unrolled(self, body: GraphProto, trips: int | None, carried: Sequence[Value]) -> Sequence[Value]:
        """Every iteration in place, as long as constant conditions hold."""
        outputs = [value.name for value in body.output]
        scanned: list[list[SSAValue]] = [[] for _ in outputs[1 + len(carried) :]]
        trip, goes_on = 0, True
        while (trips is None or trip < trips) and goes_on:
            inner = self._scope(body, f"{trip}/")
            given = [self._number(trip), self._true(), *carried]
            inner.values.update(zip((value.name for value in body.input), given, strict=False))
            self.bodies.body(body.node, outputs, inner)
            results = [self.bodies.lookup(output, inner) for output in outputs]
            if any(isinstance(value, Poison) for value in results):
                return self._poisoned()
            known = self._known(results[0])
            if known is None:
                self._fail("the condition is computed at run time", "the loop is unrolled when compiling")
            goes_on = bool(known)
            carried = results[1 : 1 + len(carried)]
            for column, value in zip(scanned, results[1 + len(carried) :], strict=True):
                assert isinstance(value, SSAValue)
                column.append(self.bodies.folded(ReshapeOp.get(value, shape=[1, *shape_of(value)]), self.name))
            trip += 1
        if scanned and not trip:
            self._fail("a loop without rounds has no elements to put together")
        return [*carried, *(self.bodies.folded(ConcatOp.get(column, axis=0), self.name) for column in scanned)]

    def _rolled(
        self, body: GraphProto, count: SSAValue | None, condition: SSAValue | None, carried: Sequence[SSAValue | None]
    ) -> Sequence[Value]:
        """A loop with a region."""
        states = [value for value in carried if value is not None]
        if len(states) < len(carried):
            self._fail("a carried value is left out", "every one must have a value to begin with")
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
                self._fail("the loop never ends", "it has neither a condition nor a trip count below 2^31")
            count = None
        scans = [value.name for value in body.output[1 + len(states) :]]
        if scans and (condition is not None or limit is None):
            what = "has as many elements as the loop has iterations"
            self._fail(
                f"its output {scans[0]!r} {what}",
                "that is computed at run time, and shapes must be known when compiling",
                "fix the inputs that the trip count and the condition depend on with --constant NAME=VALUE",
            )
        region.drop_unused()
        loop = LoopOp.of(
            Region(region.block),
            count=count if limit is None or count is None else limit,
            condition=condition,
            carried=states,
            captured=list(region.captures),
        )
        return self._inserted(loop)

    def _inserted(self, loop: LoopOp) -> Sequence[Value]:
        """The results of a loop; what it stacks in no iterations is a constant without elements."""
        values = list(self.bodies.insert(loop, self.name))
        for position, value in enumerate(values):
            if 0 in shape_of(value):
                values[position] = self.bodies.constant(
                    np.empty(shape_of(value), numpy_dtype(element_type_of(value))), self.name
                )
        return values

    def _reshape_condition(self, end: YieldOp, shape: Sequence[int]) -> None:
        end.detach()
        end.operands[0] = self.bodies.folded(ReshapeOp.get(end.values[0], shape=list(shape)), self.name)

    def _check_carried(
        self, body: GraphProto, first: int, states: Sequence[SSAValue], values: Sequence[SSAValue]
    ) -> None:
        for output, state, value in zip(body.output[first:], states, values, strict=False):
            if state.type != value.type:
                self._fail(
                    f"the carried value {output.name!r} begins as {state.type} and goes on as {value.type}",
                    "a carried value has one type, and shapes must be known when compiling",
                )

    # Scan

    def _scan(self) -> Sequence[Value]:
        body = self._attribute("body")
        self._refuse_sequences(body)
        attributes = {each.name: attribute_value(each, None) for each in self.node.attribute if each.name != "body"}
        given = list(self.inputs)
        if self.opset < 9 and given and given.pop(0) is not None:
            self._fail("sequence_lens is not supported", "every sequence must be as long as the tensor")
        values = [value for value in given if value is not None]
        if len(values) < len(given):
            self._fail("an input is left out", "the operator requires it")
        count = int(attributes.get("num_scan_inputs", 0))
        states, scanned = values[: len(values) - count], values[len(values) - count :]
        if not scanned or count > len(values) or len(values) != len(body.input):
            self._fail(
                "the inputs do not fit num_scan_inputs and the body", fix="the model is invalid: export it again"
            )
        if self.opset >= 9:
            stacked = len(body.output) - len(states)
            return self._scanned(
                body,
                self.scope,
                states,
                scanned,
                axes=self._numbers(attributes, "scan_input_axes", count),
                directions=self._numbers(attributes, "scan_input_directions", count),
                output_axes=self._numbers(attributes, "scan_output_axes", stacked),
                output_directions=self._numbers(attributes, "scan_output_directions", stacked),
            )
        return self._batched(body, states, scanned, self._numbers(attributes, "directions", count))

    def _numbers(self, attributes: Mapping[str, Any], name: str, count: int) -> list[int]:
        found = [int(number) for number in attributes.get(name) or [0] * count]
        if len(found) != count:
            self._fail(
                f"{name} has {len(found)} numbers for {count} tensors", fix="the model is invalid: export it again"
            )
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
            results.extend(
                self._scanned(
                    body,
                    scope,
                    arguments[: len(states)],
                    arguments[len(states) :],
                    axes=[0] * len(scanned),
                    directions=directions,
                    output_axes=zeros,
                    output_directions=zeros,
                )
            )

        self.bodies.within(block, fill)
        found = [value for value in results if isinstance(value, SSAValue)]
        if len(found) < len(results):
            return self._poisoned()
        block.add_op(YieldOp(found))
        region = _Region(block, scope)
        region.drop_unused()
        loop = LoopOp.of(Region(block), count=shape_of(given[0])[0], scanned=given, captured=list(region.captures))
        return self._inserted(loop)

    def _scanned(
        self,
        body: GraphProto,
        scope: Scope,
        states: Sequence[SSAValue],
        scanned: Sequence[SSAValue],
        *,
        axes: Sequence[int],
        directions: Sequence[int],
        output_axes: Sequence[int],
        output_directions: Sequence[int],
    ) -> Sequence[Value]:
        """A loop over slices; other axes than the first are moved there and back."""
        tensors = [self._moved(value, axis, 0) for value, axis in zip(scanned, axes, strict=True)]
        trips = shape_of(tensors[0])[0]
        if any(shape_of(tensor)[0] != trips for tensor in tensors):
            self._fail(f"it scans tensors of {', '.join(str(shape_of(tensor)[0]) for tensor in tensors)} slices")
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
            self._fail(f"a tensor of shape {list(shape_of(value))} has no axis {source or target} to scan along")
        source, target = source % rank, target % rank
        order = [axis for axis in range(rank) if axis != source]
        order.insert(target, source)
        if order == sorted(order):
            return value
        return self.bodies.folded(TransposeOp.get(value, permutation=order), self.name)

    # Regions

    def _region(
        self,
        body: GraphProto,
        kinds: Sequence[Attribute],
        names: Sequence[str] = (),
        *,
        true: str = "",
        around: Scope | None = None,
    ) -> _Region | None:
        """The body as the block of a region with arguments of these types and names, and its outputs yielded; `true`
        is the name of a value that holds. None where it cannot be imported."""
        block = Block(arg_types=kinds)
        around = self.scope if around is None else around
        inner = self._scope(body, "", around)
        inner.block, inner.captures = block, {}
        for name, argument in zip(names, block.args, strict=True):
            if name:
                inner.values[name] = argument
                name_value(argument, name)
        outputs = [value.name for value in body.output]
        results: list[Value] = []

        def fill() -> None:
            if true:
                inner.values[true] = self._true()
            self.bodies.body(body.node, outputs, inner)
            results.extend(self.bodies.lookup(output, inner) for output in outputs)

        self.bodies.within(block, fill)
        found = [value for value in results if isinstance(value, SSAValue)]
        if len(found) < len(outputs):
            if None in results:
                self._fail("an output of its body is left out")
            return None
        block.add_op(YieldOp(found))
        region = _Region(block, inner)
        region.drop_unused()
        return region

    def _scope(self, body: GraphProto, suffix: str, around: Scope | None = None) -> Scope:
        """The names that a body sees."""
        outer = self.scope if around is None else around
        branch = f"{self.name}/{suffix}"
        inner = Scope(outer.sets, outer.block, outer.prefix, branch, outer.only_name, outer)
        inner.tensors.update({tensor.name: tensor for tensor in body.initializer})
        return inner

    # Values

    def _known(self, value: Value) -> Any:
        """The only element of a constant; None where it is computed at run time, or left out."""
        array = known_array(value, self.bodies.store) if isinstance(value, SSAValue) else None
        return None if array is None or array.size != 1 else array.item()

    def _is_known(self, body: GraphProto, values: Sequence[Value]) -> bool:
        """Whether the body computes from constants only."""
        outside = [self.bodies.lookup(name, self.scope) for name in sorted(free_names(body))]
        return all(
            isinstance(value, SSAValue) and known_array(value, self.bodies.store) is not None
            for value in (*values, *outside)
        )

    def _number(self, value: int) -> SSAValue:
        return self.bodies.constant(np.array(value, np.int64), self.name)

    def _true(self) -> SSAValue:
        return self.bodies.constant(np.array(True), self.name)

    def _poisoned(self) -> Sequence[Value]:
        return [POISON] * len(self.node.output)

    def _attribute(self, name: str) -> GraphProto:
        found = next((attribute.g for attribute in self.node.attribute if attribute.name == name), None)
        if found is None:
            self._fail(f"the attribute {name} is missing", fix="the model is invalid: export it again")
        return found

    def _refuse_sequences(self, body: GraphProto) -> None:
        for value in (*body.input, *body.output):
            if (kind := value.type.WhichOneof("value")) not in (None, "tensor_type"):
                self._fail(f"{value.name!r} of its body is no tensor but of {kind}", "only tensors are supported")

    def _fail(self, what: str, why: str = "", fix: str = "") -> NoReturn:
        raise CompileError(Problem(what, self.name, self.node.op_type, why, fix))


@dataclass(frozen=True)
class _Region:
    """The block of a region to be, with what it captures."""

    block: Block
    scope: Scope

    @property
    def captures(self) -> dict[SSAValue, SSAValue]:
        """The arguments that stand for values of the bodies around it, in order."""
        assert self.scope.captures is not None
        return self.scope.captures

    def drop_unused(self) -> None:
        """Erase what nothing reads."""
        for op in _backward(self.block):
            if op.results and not any(result.first_use for result in op.results):
                self.block.erase_op(op)
        for value, argument in list(self.captures.items()):
            if argument.first_use is None:
                del self.captures[value]
                if argument.owner is self.block:
                    self.block.erase_arg(argument)

    def capture(self, values: Sequence[SSAValue]) -> None:
        """Make the arguments those that stand for `values`."""
        for value in values:
            argument = self.block.insert_arg(value.type, len(self.block.args))
            argument.name_hint = value.name_hint
            if (old := self.captures.get(value)) is not None:
                old.replace_all_uses_with(argument)
                self.block.erase_arg(old)
            self.captures[value] = argument


def _backward(block: Block) -> Iterator[GraphOp]:
    return (op for op in reversed(list(block.ops)) if isinstance(op, GraphOp))


__all__ = ["CONTROL_FLOW", "Bodies", "ControlFlow", "captured"]
