"""A kernel has room for buffers by the anchors in it."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import TensorType, f32, i8
from xdsl.ir import Block, Region

from aotc.dialects.graph.compound.staged import StagedOp
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.elementwise import NegOp
from aotc.dialects.graph.normalization import SoftmaxOp
from aotc.dialects.graph.structure import YieldOp
from aotc.passes.fuse import fusion_policy
from aotc.passes.fuse.fuse_epilogues import FuseEpiloguesPass
from aotc.passes.fuse.fusion_policy import buffers
from aotc.passes.fuse.groups import copy_group


def test_anchors_of_one_kernel_take_turns() -> None:
    block = Block(arg_types=[TensorType(f32, [4, 4])])
    first = SoftmaxOp.get(block.args[0], axes=[1])
    second = SoftmaxOp.get(first.result, axes=[0])
    limits = FuseEpiloguesPass(most_buffers=3)
    body, inputs, inside = copy_group([first, second])
    body.add_op(YieldOp([inside[second.result]]))
    staged = StagedOp.of(inputs, Region(body), [4, 4], None, [TensorType(f32, [4, 4])])
    for kernel, most in (([NegOp.get(block.args[0])], 3), ([first], 3), ([first, second], 6), ([staged], 6)):
        assert limits.has_room(kernel, most) and not limits.has_room(kernel, most + 1)
    assert buffers([first, second]) == 2


def test_what_costs_as_much_as_is_cheap_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    block = Block(arg_types=[TensorType(i8, [4, 4])])
    op = CastOp.get(block.args[0], to=f32)
    cost = fusion_policy.recomputing_cost(op)
    for most in (cost - 1, cost):
        monkeypatch.setattr(fusion_policy, "CHEAP", most)
        assert fusion_policy.may_duplicate(op) == (cost <= most)
