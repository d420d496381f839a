"""Which groups of operations are vectorizable, and how well their operands are then loaded.

The strategy of the group's anchor tells along which axes tiles lie where its nest reads and writes (`Accesses`). The
operations that are fused before and after the anchor are evaluated on such tiles, in a block that is dropped; the nest
itself is not written.
"""

from collections.abc import Sequence
from enum import IntEnum

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotc.dialects.aot import TileLoadOp
from aotc.dialects.builder import INDEX, Reader, Scalar
from aotc.dialects.constants import constant_array
from aotc.dialects.dtypes import storage_type
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, element_type_of, shape_of
from aotc.dialects.graph.structure import YieldOp
from aotc.model.weight_store import WeightStore
from aotc.passes.fuse.groups import copy_group
from aotc.passes.kernel.builders.expressions import Destination, Expressions
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.nest import AccessPattern, WritePattern
from aotc.passes.kernel.signature import block_signature, signature
from aotc.passes.kernel.strategy import accesses_of


class Form(IntEnum):
    """How well a group can be vectorised; a greater value is better."""

    NONE = 0
    """Not vectorizable: scalar loops compute the group."""
    GATHERED = 1
    """The elements of some operand are gathered one by one along the lanes."""
    DENSE = 2
    """Every load is contiguous along the lanes, or broadcasts one element."""


class VectorForms:
    """The forms of groups with an anchor, each determined once."""

    def __init__(self, store: WeightStore) -> None:
        self._store = store
        self._known: dict[object, Form] = {}
        self._elements: dict[object, bool] = {}

    def of(self, ops: Sequence[Operation], outputs: Sequence[SSAValue]) -> Form:
        """The form of a kernel that computes `outputs` by `ops`, one of them an anchor; in order, groups opened."""
        block, _, inside = copy_group(ops)
        block.add_op(YieldOp([inside[output] for output in outputs]))
        key = block_signature(block)
        if key not in self._known:
            self._known[key] = _form(block, self._store)
        block.erase(safe_erase=False)
        return self._known[key]

    def is_vectorizable(self, op: ElementOp) -> bool:
        """Whether `op` can be evaluated on tiles."""
        key = signature(op)
        if key not in self._elements:
            self._elements[key] = _is_vectorizable(op)
        return self._elements[key]


def _form(group: Block, store: WeightStore) -> Form:
    """The form of the operations of `group`, of which the last yields the outputs."""
    anchor = next(op for op in group.ops if isinstance(op, AnchorOp))
    if (accesses := accesses_of(anchor)) is None:
        return Form.NONE
    scratch = Block()
    code = _Code(scratch, group, anchor, store)
    try:
        for value, reads in zip((*anchor.operands, *anchor.scratch()), accesses.reads, strict=True):
            for pattern in reads:
                code.read(value, pattern)
        for result, writes in zip(anchor.results, accesses.writes, strict=True):
            for written in writes:
                code.write(result, written)
    except NotVectorizable:
        return Form.NONE
    finally:
        loads = [op.strides.get_values()[-1] for op in scratch.walk() if isinstance(op, TileLoadOp)]
        scratch.erase(safe_erase=False)
    return Form.DENSE if all(stride in (0, 1) for stride in loads) else Form.GATHERED


class _Code:
    """The operations of a group, evaluated where its anchor reads and writes, in a block that is dropped."""

    def __init__(self, block: Block, group: Block, anchor: AnchorOp, store: WeightStore) -> None:
        self._block = block
        self._b = b = TileBuilder(block)
        self._scratch: dict[SSAValue, SSAValue] = {value: self._buffer(value) for value in anchor.scratch()}

        def reader(value: SSAValue, buffer: SSAValue) -> Reader:
            return lambda index: b.load_element(buffer, index, element_type_of(value))

        given: dict[SSAValue, Reader] = {value: reader(value, self._buffer(value)) for value in group.args}
        self._values = Expressions(anchor.name, b, given, lambda op: constant_array(op, store))
        self._destinations: dict[SSAValue, list[Destination]] = {
            result: self._outputs(group, result) for result in anchor.results
        }

    def _argument(self, kind: Attribute) -> SSAValue:
        """A block argument: a value of which nothing is known."""
        return self._block.insert_arg(kind, len(self._block.args))

    def _buffer(self, value: SSAValue) -> SSAValue:
        """Memory for a tensor."""
        return self._argument(_buffer_type(value))

    def _outputs(self, group: Block, result: SSAValue) -> list[Destination]:
        """The outputs of the group that depend on a result of the anchor, and their destinations."""
        computed = {result}
        for op in group.ops:
            if isinstance(op, YieldOp):
                return [(value, self._buffer(value)) for value in op.values if value in computed]
            if not computed.isdisjoint(op.operands):
                computed.update(op.results)
        raise AssertionError("a group ends with what it yields")

    def _index(self, value: SSAValue, pattern: AccessPattern) -> list[Scalar]:
        return pattern.index(self._b, [Scalar(self._b, INDEX, self._argument(INDEX)) for _ in shape_of(value)])

    def read(self, value: SSAValue, pattern: AccessPattern) -> None:
        """Evaluate what the nest reads of an operand or a scratch buffer of the anchor."""
        index = self._index(value, pattern)
        if (buffer := self._scratch.get(value)) is not None:
            self._b.load(buffer, index, element_type_of(value))
        else:
            self._values.reader(value)(index)

    def write(self, result: SSAValue, written: WritePattern) -> None:
        """Evaluate what becomes of a tile of a result; scratch buffers hold any."""
        if result in self._scratch:
            return
        index, value = self._index(result, written.at), self._b.scalar(self._argument(written.value), written.dtype)
        with self._values.bound(result, index, value):
            self._values.store_epilogue(self._destinations[result], index)


def _is_vectorizable(op: ElementOp) -> bool:
    """Try to evaluate `op` on a tile that lies along the last two axes of the result."""
    rank = len(shape_of(op.results[0]))
    block = Block(arg_types=[*map(_buffer_type, op.operands), *[INDEX] * rank])
    buffers, places = block.args[: len(op.operands)], block.args[len(op.operands) :]
    b = TileBuilder(block)
    steps = tuple(((axis + 2 - rank, 1),) if axis >= rank - 2 else () for axis in range(rank))
    index = AccessPattern((2, 4), None, steps).index(b, [Scalar(b, INDEX, place) for place in places])

    def reader(buffer: SSAValue, value: SSAValue) -> Reader:
        return lambda at: b.load(buffer, at, element_type_of(value))

    try:
        op.element(b, index, list(map(reader, buffers, op.operands)))
    except NotVectorizable:
        return False
    finally:
        block.erase(safe_erase=False)
    return True


def _buffer_type(value: SSAValue) -> MemRefType[Attribute]:
    return MemRefType(storage_type(element_type_of(value)), shape_of(value))
