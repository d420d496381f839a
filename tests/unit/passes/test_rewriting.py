"""Helpers that passes of the graph share."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region

from aotc.dialects.graph.elementwise import NegOp, ReluOp
from aotc.dialects.graph.scatter import TopKOp
from aotc.passes.graph.rewriting import put_in_place, with_constants

KIND = TensorType(f32, [4, 8])


def test_a_replaced_operation_stays_for_another_result_that_is_read() -> None:
    block = Block(arg_types=[KIND])
    top = TopKOp.get(block.args[0], k=2, axis=1)
    negated = NegOp.get(top.results[0])
    block.add_ops([top, negated, ReturnOp(negated.result, top.results[1])])
    new = ReluOp.get(top.results[0])
    put_in_place([new], [top, negated])
    assert list(block.ops)[:2] == [top, new]


def test_what_is_erased_meanwhile_is_not_among_the_operations() -> None:
    block = Block(arg_types=[KIND])
    first, second = NegOp.get(block.args[0]), NegOp.get(block.args[0])
    block.add_ops([first, second, ReturnOp(first.result)])
    main = FuncOp("main", ([KIND], [KIND]), Region(block))
    main.attributes["aot.entry"] = UnitAttr()
    found: list[Operation] = []
    for op, _ in with_constants(ModuleOp([main]), Context(), NegOp):
        found.append(op)
        if op is first:
            second.detach()
            second.erase()
    assert found == [first]
