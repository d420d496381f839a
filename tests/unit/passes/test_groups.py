"""Groups of operations leave what others read in place."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block

from aotc.dialects.graph.elementwise import NegOp
from aotc.dialects.graph.scatter import TopKOp
from aotc.passes.fuse.groups import make_group


def test_an_operation_of_which_another_result_is_read_stays() -> None:
    block = Block(arg_types=[TensorType(f32, [4, 8])])
    top = TopKOp.get(block.args[0], k=2, axis=1)
    negated = NegOp.get(top.results[0])
    block.add_ops([top, negated, ReturnOp(negated.result, top.results[1])])
    group = make_group([top, negated], [negated.result])
    assert list(block.ops)[:2] == [top, group] and negated.parent is None
