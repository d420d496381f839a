"""Take out of control flow what is known when compiling, and what is the same in every iteration.

A conditional of a constant condition is the branch that it takes; a loop of no or one iteration is nothing or its body.
A condition that always holds is none, a constant count is a number of trips. What a loop carries on as it is, is
captured; captured constants are constants of the region; what nothing reads is neither captured, scanned, carried nor
stacked. What a loop computes from captured values only, it computes once, before.

Before:
```mlir
%y = graph.loop %n, %x, %w {operandSegmentSizes = ..} : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %u: tensor<4xf32>):
  %e = graph.exp %u : (tensor<4xf32>) -> tensor<4xf32>
  %a = graph.add %v, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  graph.yield %a : tensor<4xf32>
}
```
After:
```mlir
%e = graph.exp %w : (tensor<4xf32>) -> tensor<4xf32>
%y = graph.loop %n, %x, %e {operandSegmentSizes = ..} : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %u: tensor<4xf32>):
  %a = graph.add %v, %u : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  graph.yield %a : tensor<4xf32>
}
```
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.constants import constant_op, known_array
from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.compound.control_flow import MOST_TRIPS, ControlOp, IfOp, LoopOp, graph_blocks, yield_of
from aotc.dialects.graph.interfaces import GraphOp, bytes_of, element_type_of, producer, shape_of
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.structure import ConstantOp, YieldOp
from aotc.model.weight_store import WeightStore


class SimplifyControlFlowPass(ModulePass):
    name = "simplify-control-flow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for block in reversed(graph_blocks(op)):
            for each in list(block.ops):
                if isinstance(each, IfOp):
                    _simplify_conditional(each, store)
                elif isinstance(each, LoopOp):
                    _Loop(each, store).simplify()


# --- conditionals ----------------------------------------------------------------------------------------------------


def _simplify_conditional(op: IfOp, store: WeightStore) -> None:
    condition = known_array(op.condition, store)
    if condition is not None:
        taken = op.blocks[0 if condition.item() else 1]
        for argument, value in zip(taken.args, op.captured, strict=True):
            argument.replace_all_uses_with(value)
        yielded = yield_of(taken).values
        _move_out(taken, op)
        Rewriter.replace_op(op, [], yielded)
        return
    for place in reversed(range(len(op.captured))):
        arguments = [block.args[place] for block in op.blocks]
        for argument in arguments:
            _sink_constant(op.captured[place], argument)
        if not any(argument.first_use for argument in arguments):
            for argument in arguments:
                argument.block.erase_arg(argument)
            op.operands = [*op.operands[: 1 + place], *op.operands[2 + place :]]
    unread = [place for place, result in enumerate(op.results) if result.first_use is None]
    if unread:
        for block in op.blocks:
            end = yield_of(block)
            end.operands = [value for place, value in enumerate(end.values) if place not in unread]
            _erase_unread(block)
        new = IfOp.of(op.condition, op.captured, *(Region(block) for block in map(_detached, op.regions)))
        _put_in_place(new, op, [result for result in op.results if result.first_use is not None])
        _simplify_conditional(new, store)


# --- loops -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Yielded:
    """The values that the region yields, and their uses."""

    use: Use
    """Where the region yields it."""
    result: OpResult

    @property
    def value(self) -> SSAValue:
        """The values that the region yields."""
        return self.use.operation.operands[self.use.index]


@dataclass(eq=False)
class _Carried(_Yielded):
    """The values for the next iteration."""

    first: SSAValue
    argument: BlockArgument


@dataclass(eq=False)
class _Stacked(_Yielded):
    """A slice of a result."""

    backward: bool


@dataclass(eq=False)
class _Scanned:
    tensor: SSAValue
    argument: BlockArgument
    backward: bool


class _Loop:
    """The parts of a loop; `simplify` writes another loop with fewer of them, or none."""

    def __init__(self, op: LoopOp, store: WeightStore) -> None:
        self.op = op
        self.store = store
        self.count: SSAValue | int | None = op.count if op.trips is None else op.trips
        self.condition = op.condition
        end = yield_of(op.block)
        uses = [Use(end, place) for place in range(len(end.values))][int(op.condition is not None) :]
        self.carried = list(map(_Carried, uses, op.last_carried, op.carried, op.carried_arguments))
        self.scanned = list(map(_Scanned, op.scanned, op.slices, op.backward("scanned_backward", len(op.scanned))))
        self.captured = list(zip(op.captured, op.captured_arguments, strict=True))
        self.stacked = list(
            map(_Stacked, uses[len(op.carried) :], op.stacked, op.backward("stacked_backward", len(op.stacked)))
        )

    def simplify(self) -> None:
        self._know()
        for each in [each for each in self.carried if each.value is each.argument]:
            each.result.replace_all_uses_with(each.first)
            self.carried.remove(each)
            self.captured.append((each.first, each.argument))
        for value, argument in self.captured:
            _sink_constant(value, argument)
        self._hoist()
        self.stacked = [each for each in self.stacked if each.result.first_use is not None]
        self.carried = [each for each in self.carried if each.result.first_use or each.argument.first_use]
        end = yield_of(self.op.block)
        condition = [] if self.condition is None else [end.values[0]]
        yielded = [*condition, *(each.value for each in (*self.carried, *self.stacked))]
        self.op.block.add_op(following := YieldOp(yielded))
        Rewriter.erase_op(end)
        for place, each in enumerate((*self.carried, *self.stacked), len(condition)):
            each.use = Use(following, place)
        _erase_unread(self.op.block)
        self.scanned = [each for each in self.scanned if each.argument.first_use is not None]
        self.captured = [(value, argument) for value, argument in self.captured if argument.first_use is not None]
        if isinstance(self.count, int) and self.count <= (self.condition is None):
            self._run(self.count)
        else:
            self._write()

    def _know(self) -> None:
        """Take constants for what they are."""
        count = None if self.op.count is None else known_array(self.op.count, self.store)
        if count is not None:
            trips = max(0, int(count.item()))
            # The number of iterations of a loop with a condition is bounded by it in practice.
            self.count = trips if trips <= MOST_TRIPS else None if self.condition is not None else self.count
        begins = None if self.condition is None else known_array(self.condition, self.store)
        if begins is None:
            return
        if not begins.item():
            self.count, self.condition = 0, None
            return
        goes_on = known_array(yield_of(self.op.block).values[0], self.store)
        if goes_on is not None and goes_on.item() and self.count is not None:
            self.condition = None

    def _hoist(self) -> None:
        """Move what depends on captured values and constants only in front of the loop."""
        inside: dict[SSAValue, SSAValue] = {argument: value for value, argument in self.captured}
        for op in list(self.op.block.ops):
            if not isinstance(op, GraphOp) or isinstance(op, ControlOp):
                continue
            is_free = all(value in inside or producer(value, ConstantOp) for value in op.operands)
            if not is_free or not any(value in inside for value in op.operands) or not _may_hoist(op):
                continue
            for place, value in enumerate(op.operands):
                if value in inside:
                    op.operands[place] = inside[value]
                elif (constant := producer(value, ConstantOp)) is not None:
                    copy = constant.clone()
                    _insert(copy, self.op)
                    op.operands[place] = copy.results[0]
            op.detach()
            _insert(op, self.op)
            for result in op.results:
                argument = self.op.block.insert_arg(result.type, len(self.op.block.args))
                argument.name_hint = result.name_hint
                result.replace_all_uses_with(argument)
                inside[argument] = result
                self.captured.append((result, argument))

    def _run(self, trips: int) -> None:
        """Replace the loop by its body, or by nothing."""
        op = self.op
        if trips == 0:
            for each in self.carried:
                each.result.replace_all_uses_with(each.first)
            for each in self.stacked:
                empty = constant_op(
                    np.zeros(shape_of(each.result), numpy_dtype(element_type_of(each.result))), "constant", self.store
                )
                _insert(empty, op)
                each.result.replace_all_uses_with(empty.result)
        else:
            number = constant_op(np.array(0, np.int64), "constant", self.store)
            _insert(number, op)
            values: dict[SSAValue, SSAValue] = {op.iteration: number.result}
            values |= {each.argument: each.first for each in self.carried}
            values |= {argument: value for value, argument in self.captured}
            for each in self.scanned:
                values[each.argument] = self._reshaped(each.tensor, shape_of(each.argument))
            for argument in op.block.args:
                if argument in values:
                    argument.replace_all_uses_with(values[argument])
            _move_out(op.block, op)
            for each in self.carried:
                each.result.replace_all_uses_with(each.value)
            for each in self.stacked:
                each.result.replace_all_uses_with(self._reshaped(each.value, shape_of(each.result)))
        Rewriter.erase_op(op)

    def _reshaped(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        view = ReshapeOp.get(value, shape=list(shape))
        view.location = self.op.location
        _insert(view, self.op)
        return view.result

    def _write(self) -> None:
        """Replace the loop by one with the parts that are left, if it is another one."""
        op = self.op
        left = [each.first for each in self.carried], [each.tensor for each in self.scanned]
        captured = list(dict.fromkeys(value for value, _ in self.captured))
        count = op.count if op.trips is None else op.trips
        before = count, op.condition, *map(list, (op.carried, op.scanned, op.captured)), len(op.stacked)
        if before == (self.count, self.condition, *left, captured, len(self.stacked)):
            return
        old = _detached(op.body)
        kinds = [each.argument.type for each in (*self.carried, *self.scanned)]
        block = Block(arg_types=[TensorType(i64, []), *kinds, *(value.type for value in captured)])
        arguments = [old.args[0], *(each.argument for each in (*self.carried, *self.scanned))]
        for argument, new in zip(arguments, block.args, strict=False):
            new.name_hint = argument.name_hint
            argument.replace_all_uses_with(new)
        position = {value: block.args[len(arguments) + place] for place, value in enumerate(captured)}
        for value, argument in self.captured:
            position[value].name_hint = argument.name_hint
            argument.replace_all_uses_with(position[value])
        Rewriter.inline_block(old, InsertPoint.at_end(block))
        new_loop = LoopOp.of(
            Region(block),
            count=self.count,
            condition=self.condition,
            carried=left[0],
            scanned=left[1],
            captured=captured,
            scanned_backward=[each.backward for each in self.scanned],
            stacked_backward=[each.backward for each in self.stacked],
        )
        _put_in_place(new_loop, op, [each.result for each in (*self.carried, *self.stacked)])


# --- moving operations -----------------------------------------------------------------------------------------------


def _may_hoist(op: GraphOp) -> bool:
    """Whether it pays to compute `op` once and to keep its result: not where that is larger than what it is made of,
    nor where quantised operators look for it at their operands."""
    sizes = [sum(map(bytes_of, values)) for values in (op.operands, op.results)]
    return sizes[1] <= sizes[0] and op.operand_quantization() is None and op.result_quantization() is None


def _sink_constant(value: SSAValue, argument: BlockArgument) -> None:
    """Let a region read a constant of its own instead of a captured one."""
    if (constant := producer(value, ConstantOp)) is not None and argument.first_use is not None:
        copy = constant.clone()
        Rewriter.insert_op(copy, InsertPoint.at_start(argument.block))
        argument.replace_all_uses_with(copy.result)


def _move_out(block: Block, op: Operation) -> None:
    for each in list(block.ops):
        if not isinstance(each, YieldOp):
            each.detach()
            _insert(each, op)


def _insert(new: Operation, op: Operation) -> None:
    Rewriter.insert_op(new, InsertPoint.before(op))


def _put_in_place(new: ControlOp, old: ControlOp, results: Sequence[SSAValue]) -> None:
    """Replace `old`, of whose results only `results` are read."""
    new.location = old.location
    new.attributes |= old.attributes
    _insert(new, old)
    for result, value in zip(results, new.results, strict=True):
        result.replace_all_uses_with(value)
    Rewriter.erase_op(old)


def _detached(region: Region) -> Block:
    """The block of a region, taken out of it."""
    block = region.detach_block(region.block)
    region.add_block(Block())
    return block


def _erase_unread(block: Block) -> None:
    for op in reversed(list(block.ops)):
        if isinstance(op, GraphOp) and not any(result.first_use for result in op.results):
            Rewriter.erase_op(op)
