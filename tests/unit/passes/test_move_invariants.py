"""Effects that keep an operation in its loop, though it might be computed without need."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region
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
    first, last, step = bounds = [arith.ConstantOp.from_int_and_width(value, 64) for value in (0, 8, 1)]
    inside: list[Operation] = [Free(), Writes(), scf.YieldOp()]
    body = Block(inside, arg_types=[bounds[0].result.type])
    loop = scf.ForOp(first, last, step, [], Region(body))
    function = FuncOp("f", ([], []), Region(Block([*bounds, loop, ReturnOp()])))
    MoveInvariantsPass().apply(Context(), ModuleOp([function]))
    assert [type(op) for op in body.ops] == [Writes, scf.YieldOp]
    assert [type(op) for op in function.body.block.ops][3:] == [Free, scf.ForOp, ReturnOp]
