"""Making `graph.fused` groups out of operations of a block: the mechanism of fusion, without its cost model."""

import math
from collections.abc import Collection, Mapping, Sequence

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.graph.interfaces import is_join, is_kernel, shape_of
from aotc.dialects.graph.structure import ConstantOp, FusedOp, YieldOp
from aotc.model.locations import fuse_locations


def is_single_constant(value: SSAValue) -> bool:
    """Whether `value` is a constant of one element: it becomes part of the kernel."""
    return isinstance(value, OpResult) and isinstance(value.op, ConstantOp) and math.prod(shape_of(value)) == 1


def make_group(ops: Sequence[Operation], outputs: Sequence[SSAValue]) -> FusedOp:
    """Put copies of `ops` into a group in place of the last one, and let it compute `outputs`.

    `ops` are in order; groups among them are dissolved. An operation that is used elsewhere also stays in place, so
    that several groups can recompute one producer. With several outputs, `sort_operations` must follow.
    """
    block, inputs, inside = copy_group(ops)
    block.add_op(YieldOp([inside[output] for output in outputs]))

    group = FusedOp(inputs, [output.type for output in outputs], Region(block))
    group.location = fuse_locations(op.location for op in block.ops if not isinstance(op, ConstantOp | YieldOp))
    Rewriter.insert_op(group, InsertPoint.before(ops[-1]))
    for output, result in zip(outputs, group.outputs, strict=True):
        output.replace_all_uses_with(result)
    for op in reversed(ops):
        if not any(result.first_use is not None for result in op.results):
            Rewriter.erase_op(op)
    return group


def group_lone_kernels(block: Block) -> None:
    """Make a group of each operation of a block that becomes a kernel and is in none, with all of its results that are
    used; joins stay. Unused operations are erased."""
    for op in reversed(list(block.ops)):
        used = [result for result in op.results if result.first_use is not None]
        if op.results and not used:
            Rewriter.erase_op(op)
        elif is_kernel(op) and not is_join(op):
            make_group([op], used)


def copy_group(ops: Sequence[Operation]) -> tuple[Block, list[SSAValue], dict[SSAValue, SSAValue]]:
    """Copies of `ops`, which are in order, in a block of their own; groups among them are dissolved.

    Returns the block, the values that its arguments stand for, and a mapping from old to new values.
    """
    block = Block()
    inputs: list[SSAValue] = []
    inside: dict[SSAValue, SSAValue] = {}

    def enter(value: SSAValue) -> None:
        if value in inside:
            return
        if is_single_constant(value):
            assert isinstance(value, OpResult)
            constant = value.op.clone()
            block.add_op(constant)
            inside[value] = constant.results[0]
        else:
            inputs.append(value)
            inside[value] = block.insert_arg(value.type, len(block.args))
            inside[value].name_hint = value.name_hint

    def add(op: Operation) -> None:
        for operand in op.operands:
            enter(operand)
        block.add_op(op.clone(inside))

    for op in ops:
        if isinstance(op, FusedOp):
            for operand, arg in zip(op.inputs, op.block.args, strict=True):
                enter(operand)
                inside[arg] = inside[operand]
            for inner in op.block.ops:
                if isinstance(inner, YieldOp):
                    for result, value in zip(op.outputs, inner.values, strict=True):
                        inside[result] = inside[value]
                else:
                    add(inner)
        else:
            add(op)
    return block, inputs, inside


def sort_operations(block: Block) -> None:
    """Put every operation of `block` after the ones it needs, otherwise keeping the order."""
    ops, order = list(block.ops), in_order(list(block.ops))
    assert order is not None
    if order != ops:
        for op in ops:
            op.detach()
        block.add_ops(order)


def in_order(
    ops: Sequence[Operation], after: Mapping[Operation, Collection[Operation]] | None = None
) -> list[Operation] | None:
    """The operations of a block, each after those among them whose results it reads and those that it must come
    `after`, otherwise in the order they are in; None where there is no such order."""
    place = {op: number for number, op in enumerate(ops)}
    waiting: set[Operation] = set()
    placed: dict[Operation, None] = {}
    for root in ops:
        pending = [root]
        while pending:
            op = pending[-1]
            if op in placed:
                pending.pop()
                continue
            needed = [value.op for value in op.operands if isinstance(value, OpResult)]
            needed += sorted((after or {}).get(op, ()), key=place.__getitem__)
            missing = [other for other in needed if other not in placed]
            if not missing:
                pending.pop()
                waiting.discard(op)
                placed[op] = None
                continue
            if op in waiting and any(other in waiting for other in missing):
                return None
            waiting.add(op)
            pending.append(missing[0])
    return list(placed)
