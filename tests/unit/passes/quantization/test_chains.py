"""Chains of functions of bytes: each operation is taken in once, however many read it."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i8
from xdsl.ir import Block

from aotc.dialects.graph.elementwise import AddOp, BinaryOp, NegOp, UnaryOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.quantization.chains import Chain


def test_what_two_operands_share_is_in_a_chain_once() -> None:
    block = Block(arg_types=[TensorType(i8, [4])])
    ops: list[UnaryOp | BinaryOp] = [NegOp.get(block.args[0])]
    for _ in range(3):
        ops.append(AddOp.get(ops[-1].results[0], ops[-1].results[0]))
    block.add_ops(ops)
    chain = Chain(WeightStore())
    assert chain.take(ops[-1]) and chain.ops == ops and chain.source is block.args[0]
