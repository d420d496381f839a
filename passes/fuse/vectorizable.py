"""Which groups of operations have a form on register tiles: found by writing it, into a kernel that nobody keeps."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from xdsl.dialects.builtin import ArrayAttr, MemRefType, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from aotc.dialects.aot import TileLoadOp
from aotc.dialects.builder import INDEX, Reader, Scalar
from aotc.dialects.dtypes import storage_type
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, element_type_of, shape_of
from aotc.model.weights import WeightStore
from aotc.passes.fuse.groups import body_key, copy_group
from aotc.passes.kernel.builders.tile_builder import NotVectorizable, Tile, TileBuilder
from aotc.passes.kernel.strategy import KernelStrategy, follows_schedule, strategy_of
from aotc.passes.loops.convert_graph_to_loops import KernelLowering
from aotc.passes.memory.bufferize import bufferize_kernel


class Form(IntEnum):
    """How good a form on tiles a group has."""

    NONE = 0
    """It is computed by plain loops."""
    GATHERED = 1
    """Some operand's elements are collected one by one along the lanes."""
    DENSE = 2
    """What is loaded lies along the lanes, or is one element for all of them."""


class TileForms:
    """The forms of groups with an anchor, each found once."""

    def __init__(self, store: WeightStore) -> None:
        self._store = store
        self._known: dict[object, Form] = {}
        self._elements: dict[object, bool] = {}

    def has_element(self, op: ElementOp) -> bool:
        """Whether the elements of `op` can be computed a tile at a time."""
        key = (type(op), *op.properties.items(), *(value.type for value in op.operands))
        if key not in self._elements:
            self._elements[key] = _has_element(op)
        return self._elements[key]

    def of(self, ops: Sequence[Operation], outputs: Sequence[SSAValue]) -> Form:
        """The form of a kernel of `ops` (in order, groups opened) that computes `outputs`."""
        block, _, inside = copy_group(ops)
        block.add_op(ReturnOp(*(inside[output] for output in outputs)))
        key = body_key(block)
        if key not in self._known:
            self._known[key] = self._try(block)
        return self._known[key]

    def _try(self, block: Block) -> Form:
        end = block.last_op
        assert isinstance(end, ReturnOp)
        signature = ([arg.type for arg in block.args], [value.type for value in end.operands])
        kernel = FuncOp("probe", signature, Region(block), "private")
        kernel.attributes |= {"aot.kernel": UnitAttr(), "aot.in_place": ArrayAttr([])}
        bufferize_kernel(kernel)
        try:
            KernelLowering(kernel, self._store, TileBuilder).run()
        except NotVectorizable:
            return Form.NONE
        loads = [op for op in kernel.walk() if isinstance(op, TileLoadOp)]
        return Form.DENSE if all(load.strides.get_values()[-1] in (0, 1) for load in loads) else Form.GATHERED


def _has_element(op: ElementOp) -> bool:
    """Try it on a tile that lies along the last two axes of the result."""
    rank = len(shape_of(op.results[0]))
    buffers = [MemRefType(storage_type(element_type_of(value)), shape_of(value)) for value in op.operands]
    block = Block(arg_types=[*buffers, *[INDEX] * rank])
    b, tile = TileBuilder(block), Tile((2, 4))
    index = [Scalar(b, INDEX, arg) for arg in block.args[len(buffers) :]]
    for axis in range(-min(rank, 2), 0):
        index[axis] = tile.index(b, index[axis], {axis: 1})

    def reader(buffer: SSAValue, value: SSAValue) -> Reader:
        return lambda at: b.load(buffer, at, element_type_of(value))

    try:
        op.element(b, index, [reader(arg, value) for arg, value in zip(block.args, op.operands, strict=False)])
    except NotVectorizable:
        return False
    return True


def is_tiled(op: Operation) -> bool:
    """Whether `op` is an anchor that is to be computed on tiles."""
    if not isinstance(op, AnchorOp) or not follows_schedule(op):
        return False
    return type(strategy_of(op)).nest is not KernelStrategy.nest
