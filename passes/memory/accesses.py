"""How often calls touch the bytes of each storage, by an estimate: what a buffer gains by a faster memory.

An anchor reads an operand as often as its multiply-adds are more than the operand's elements, whatever tiles keep in
registers; all else reads and writes an element once. Scratch memory has its share of all that the kernel computes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import SSAValue

from aotc.dialects.aot import contract
from aotc.dialects.graph.interfaces import AnchorOp, GraphOp, shape_of
from aotc.passes.memory.entry_program import EntryBlock


def accesses_of(entry: EntryBlock) -> dict[int, float]:
    """Bytes that a run of the block accesses, by storage; of a loop those of one iteration."""
    found = dict.fromkeys(range(len(entry.storages)), 0.0)
    known: dict[str, Sequence[float]] = {}
    for call, task in zip(entry.calls, entry.tasks, strict=True):
        for inner in call.inner:
            for storage, count in accesses_of(inner).items():
                outer = inner.outside.get(storage, call.arena)
                if outer is not None:
                    found[outer] += count
        kernel = entry.functions.get(call.op.callee.string_value()) if isinstance(call.op, CallOp) else None
        values = [value for value in call.op.operands if isinstance(value.type, MemRefType)]
        if kernel is None or kernel.is_declaration or len(values) != len(call.op.operands):
            for access in () if call.inner else (*task.reads, *task.writes):
                found[access.storage] += access.end - access.start
            continue
        symbol = kernel.sym_name.data
        if symbol not in known:
            known[symbol] = _times(kernel)
        for value, times in zip(values, known[symbol], strict=True):
            access = entry.access(value)
            found[access.storage] += times * (access.end - access.start)
    return found


def _times(kernel: FuncOp) -> list[float]:
    """How often a kernel accesses each element of its buffers, on average."""
    first, arguments = contract.first_output(kernel), list(kernel.args)
    is_scratch = [given.scratch for given in contract.arguments_of(kernel)]
    steps = sum(op.operations() for op in kernel.body.block.ops if isinstance(op, GraphOp)) / 2
    scratch = sum(_elements(each) for each, scratches in zip(arguments, is_scratch, strict=True) if scratches)
    return [
        max(2.0, steps / max(scratch, 1)) if is_scratch[place] else 1.0 if place >= first else _reads(argument)
        for place, argument in enumerate(arguments)
    ]


def _reads(value: SSAValue) -> float:
    """How often the elements of a value are read, on average."""
    count = 0.0
    for use in value.uses:
        op = use.operation
        if op.regions and len(op.regions[0].block.args) == len(op.operands):
            count += _reads(op.regions[0].block.args[use.index])
        elif isinstance(op, AnchorOp):
            count += max(1.0, op.operations() / 2 / max(_elements(value), 1))
        elif isinstance(op, GraphOp) and op.view_offset() is None:
            count += 1.0
        else:
            count += sum(map(_reads, op.results))
    return count


def _elements(value: SSAValue) -> int:
    return math.prod(value.type.get_shape() if isinstance(value.type, MemRefType) else shape_of(value))
