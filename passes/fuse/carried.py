"""Values that a loop, or the entry from call to call, carries: written where the last ones are, which nobody reads any
more by then."""

from collections.abc import Mapping, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import carried_by_entry
from aotc.dialects.graph.compound.control_flow import IfOp, LoopOp, yield_of
from aotc.dialects.graph.interfaces import is_view, viewed_whole
from aotc.dialects.graph.structure import CopyOp, FusedOp
from aotc.passes.fuse.groups import in_order, make_group
from aotc.passes.fuse.reads import in_place


def carried_at(block: Block, position: int) -> BlockArgument | None:
    """The argument of a block whose next value is the operand of its terminator at `position`; None for all others."""
    match block.parent_op():
        case LoopOp() as loop:
            return loop.carried_at(position)
        case FuncOp() as main:
            return carried_by_entry(main, position)
        case _:
            return None


def is_read_once(value: SSAValue) -> bool:
    """Whether `value`, and what it is a view of, has a single reader."""
    source = viewed_whole(value)
    while value.has_one_use():
        if value is source:
            return True
        assert isinstance(value, OpResult)
        value = value.op.operands[0]
    return False


def settle_control_flow(blocks: Sequence[Block]) -> None:
    """See that loops, and the entry, can write what they carry where the last values are, and copy what conditionals
    hand on where its place is another.

    `blocks` are in order, outer ones first; every operation in them that is no view is in a group already, or stays.
    """
    taken_over: dict[SSAValue, SSAValue] = {}
    for block in blocks:
        if not isinstance(block.parent_op(), IfOp):
            taken_over.update(_settle_carried(block))
        for op in block.ops:
            if isinstance(op, IfOp):
                taken_over.update(_settle_conditional(op, taken_over))


def _settle_carried(block: Block) -> dict[SSAValue, SSAValue]:
    """Have a block compute every next carried value after the last read of the carried one, or copy it at the end.

    Every value that the block ends with is a result of its own of one operation. Returns the results that are written
    over an operand of their operation, with the operand.
    """
    end = block.last_op
    assert end is not None
    ops = [op for op in block.ops if op is not end]
    after: dict[Operation, set[Operation]] = {}
    copied: list[int] = []
    taken_over: dict[SSAValue, SSAValue] = {}
    for position, value in enumerate(end.operands):
        argument, source = carried_at(block, position), viewed_whole(value)
        if argument is None or source is argument:
            continue
        source = _written_first(source)
        producer = source.owner
        assert isinstance(producer, Operation)
        wanted = {op: set(others) for op, others in after.items()}
        wanted.setdefault(producer, set()).update(before := set(_readers(argument)))
        wanted[producer].discard(producer)
        if (producer in before and not _may_overwrite(producer, source, argument)) or in_order(ops, wanted) is None:
            copied.append(position)
            continue
        after = wanted
        if producer in before:
            taken_over[source] = argument
    order = in_order(ops, after)
    assert order is not None
    for op in order:
        op.detach()
    block.insert_ops_before(order, end)
    for position in copied:
        make_group([copy := copy_operand(end, position)], [copy.result])
    return taken_over


def _settle_conditional(op: IfOp, taken_over: Mapping[SSAValue, SSAValue]) -> dict[SSAValue, SSAValue]:
    """Copy the arguments that regions yield, but where the result is written over the operand that they are."""
    inner: dict[SSAValue, SSAValue] = {}
    for block in op.blocks:
        end = yield_of(block)
        for position, value in enumerate(end.values):
            source, operand = viewed_whole(value), taken_over.get(op.results[position])
            same = None if operand is None else block.args[list(op.captured).index(operand)]
            if isinstance(source, BlockArgument):
                if source is not same:
                    make_group([copy := copy_operand(end, position)], [copy.result])
            elif same is not None and source.owner in _readers(same):
                inner[source] = same
    return inner


def copy_operand(reader: Operation, place: int) -> CopyOp:
    """Let `reader` read a copy of an operand."""
    value = reader.operands[place]
    copy = CopyOp.get(value)
    copy.location = value.owner.location if isinstance(value.owner, Operation) else reader.location
    Rewriter.insert_op(copy, InsertPoint.before(reader))
    reader.operands[place] = copy.result
    return copy


def _written_first(value: SSAValue) -> SSAValue:
    """The first value in the buffer of `value`: where that is a carried value, what its loop begins with."""
    while isinstance(value, OpResult) and isinstance(value.op, LoopOp) and value.index < len(value.op.carried):
        value = viewed_whole(value.op.carried[value.index])
    return value


def _readers(value: SSAValue) -> list[Operation]:
    """The operations that read `value`, directly or through views."""
    found: list[Operation] = []
    for use in value.uses:
        if is_view(use.operation):
            found += [use.operation, *_readers(use.operation.results[0])]
        else:
            found.append(use.operation)
    return found


def _may_overwrite(op: Operation, result: SSAValue, argument: BlockArgument) -> bool:
    """Whether `op`, which reads `argument`, may write `result` into its buffer."""
    assert isinstance(result, OpResult)
    places = [place for place, value in enumerate(op.operands) if _is_of(value, argument)]
    if isinstance(op, FusedOp):
        allowed = in_place(op.block, op.yield_op.values)[result.index]
        return all(place in allowed for place in places)
    if isinstance(op, IfOp) and len(places) == 1 and places[0] > 0 and op.operands[places[0]] is argument:
        return all(_ends_with(block, block.args[places[0] - 1], result.index) for block in op.blocks)
    return False


def _ends_with(block: Block, argument: BlockArgument, position: int) -> bool:
    """Whether a region computes what it yields at `position` after it has read `argument`, or in its place."""
    value = viewed_whole(yield_of(block).values[position])
    if value is argument:
        return True
    value = _written_first(value)
    if not isinstance(value, OpResult):
        return False
    readers = set(_readers(argument))
    order = {op: number for number, op in enumerate(block.ops)}
    if any(order[reader] > order[value.op] for reader in readers):  # the terminator, too, if it hands it on elsewhere
        return False
    return value.op not in readers or _may_overwrite(value.op, value, argument)


def _is_of(value: SSAValue, argument: BlockArgument) -> bool:
    """Whether `value` is `argument` or a view of it, or of a part."""
    while isinstance(value, OpResult) and is_view(value.op):
        value = value.op.operands[0]
    return value is argument
