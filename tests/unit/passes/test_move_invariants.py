"""Effects that keep an operation in its loop, though it might be computed without need."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def
from xdsl.traits import AlwaysSpeculatable, MemoryWriteEffect, NoMemoryEffect

from aotc.passes.loops.move_invariants import MoveInvariantsPass


@irdl_op_definition
class Free(IRDLOperation):
    name = "test.free"
    traits = traits_def(AlwaysSpeculatable(), NoMemoryEffect())


@irdl_op_definition
class Writes(IRDLOperation):
    name = "test.writes"
    traits = traits_def(AlwaysSpeculatable(), MemoryWriteEffect())


def test_what_has_an_effect_stays_in_its_loop() -> None:
    """Be it in a condition, of which others have none."""
    first, last, step = bounds = [arith.ConstantOp.from_int_and_width(value, 64) for value in (0, 8, 1)]
    holds = arith.ConstantOp.from_int_and_width(1, 1)
    free, writes = (scf.IfOp(holds, [], [each(), scf.YieldOp()]) for each in (Free, Writes))
    body = Block([Free(), Writes(), free, writes, scf.YieldOp()], arg_types=[bounds[0].result.type])
    loop = scf.ForOp(first, last, step, [], Region(body))
    function = FuncOp("f", ([], []), Region(Block([*bounds, holds, loop, ReturnOp()])))
    MoveInvariantsPass().apply(Context(), ModuleOp([function]))
    assert list(map(type, body.ops)) == [Writes, scf.IfOp, scf.YieldOp] and writes in body.ops
    assert list(map(type, function.body.block.ops))[4:] == [Free, scf.IfOp, scf.ForOp, ReturnOp]
