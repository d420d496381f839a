"""Constants of a block, and operations that take the place of others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.constants import constant_op
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.interfaces import Array, GraphOp, producer
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.locations import fuse_locations
from aotc.model.weight_store import WeightStore

Op = TypeVar("Op", bound=GraphOp)


def erase_unused_constants(block: Block) -> None:
    """Erase the constants of `block` that nothing reads."""
    for op in list(block.ops):
        if isinstance(op, ConstantOp) and op.result.first_use is None:
            Rewriter.erase_op(op)


def only_for(value: SSAValue, op_class: type[Op]) -> Op | None:
    """The operation of a class that computes `value` for a single reader."""
    return producer(value, op_class) if value.has_one_use() else None


def put_in_place(new: Sequence[GraphOp], ops: Sequence[GraphOp]) -> None:
    """Replace `ops`, in order, by `new`, the last one by the last; those whose results have other uses stay."""
    *others, last = ops
    location = fuse_locations(op.location for op in ops)
    for each in new:
        each.location = location
    Rewriter.insert_op(new, InsertPoint.before(last))
    Rewriter.replace_op(last, [], new[-1].results)
    for op in reversed(others):
        if not any(result.uses for result in op.results):
            Rewriter.erase_op(op)


@dataclass
class Raised:
    """New operations in order, and what the result of each replaced operation is now."""

    ops: list[GraphOp] = field(default_factory=list[GraphOp])
    replaced: list[GraphOp] = field(default_factory=list[GraphOp])
    """The operations that the last one of `ops` stands for, in order; the last one's result is what it computes."""

    def add(self, op: GraphOp) -> SSAValue:
        """Append an operation; its first result."""
        self.ops.append(op)
        return op.results[0]


class Constants:
    """Constants of one block, each made once."""

    def __init__(self, block: Block, store: WeightStore) -> None:
        self.store = store
        self._block = block
        self._made: dict[object, SSAValue] = {}

    def of(self, array: Array, name: str) -> SSAValue:
        """A constant at the head of the block."""
        array = np.ascontiguousarray(array).reshape(array.shape)
        key = (array.dtype, array.shape, array.tobytes())
        if key not in self._made:
            op = constant_op(array, name, self.store)
            Rewriter.insert_op(op, InsertPoint.at_start(self._block))
            self._made[key] = op.result
        return self._made[key]


def with_constants(module: ModuleOp, ctx: Context, op_class: type[Op]) -> Iterator[tuple[Op, Constants]]:
    """The operations of a class in the graphs of a module, in order, each with the constants of its block; what is made
    or erased meanwhile is not among them."""
    for block in graph_blocks(module):
        constants = Constants(block, WeightStore.of(ctx))
        for op in list(block.ops):
            if isinstance(op, op_class) and op.parent is block:
                yield op, constants
