"""Kernels stay small: as many operations and buffers as the policy allows, whatever could be fused."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, UnitAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass

from aotc.dialects.graph.elementwise import AddOp, NegOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.normalization import SoftmaxOp
from aotc.dialects.graph.schedules import RowSchedule, ScheduleAttr
from aotc.dialects.graph.structure import FusedOp, YieldOp
from aotc.passes.fuse.fuse_elementwise import FuseElementwisePass
from aotc.passes.fuse.fuse_epilogues import FuseEpiloguesPass
from aotc.passes.fuse.fusion_policy import MAX_BUFFERS, MAX_OPERATIONS, buffers, most_buffers

KIND = TensorType(f32, [4, 4])


def _run(block: Block, ops: list[Operation], each: ModulePass) -> list[Operation]:
    """What `each` leaves of an entry of `ops`, the last of which is the result."""
    block.add_ops([*ops, ReturnOp(ops[-1].results[0])])
    function = FuncOp("main", FunctionType.from_lists([arg.type for arg in block.args], [KIND]), Region(block))
    function.attributes["aot.entry"] = UnitAttr()
    module = ModuleOp([function])
    module.verify()
    each.apply(Context(), module)
    module.verify()
    return [op for op in block.ops if not isinstance(op, ReturnOp)]


def _sizes(ops: list[Operation]) -> list[int]:
    """How many operations are in each kernel."""
    return [sum(not isinstance(op, YieldOp) for op in op.block.ops) if isinstance(op, FusedOp) else 1 for op in ops]


def test_rows_are_permuted_by_a_kernel_of_its_own_behind_a_long_chain() -> None:
    kind = TensorType(f32, [2, 4, 8])
    for length, size in ((MAX_OPERATIONS - 2, MAX_OPERATIONS), (MAX_OPERATIONS - 1, MAX_OPERATIONS)):
        block = Block(arg_types=[kind])
        ops: list[Operation] = [SoftmaxOp.get(block.args[0], axes=[2])]
        ops[0].attributes["schedule"] = ScheduleAttr.of(RowSchedule(8, 1, 1, 1, 1))
        for _ in range(length):
            ops.append(NegOp.get(ops[-1].results[0]))
        ops.append(TransposeOp.get(ops[-1].results[0], permutation=[1, 0, 2]))
        ops.append(ReshapeOp.get(ops[-1].results[0], shape=[4, 16]))
        block.add_ops(ops)
        end = ReturnOp(ops[-1].results[0])
        block.add_op(end)
        function = FuncOp("main", FunctionType.from_lists([kind], [end.arguments[0].type]), Region(block))
        function.attributes["aot.entry"] = UnitAttr()
        FuseEpiloguesPass().apply(Context(), ModuleOp([function]))
        assert max(_sizes(list(block.ops))) == size


@pytest.mark.parametrize("each", [FuseElementwisePass(), FuseEpiloguesPass()])
def test_a_long_chain_is_several_kernels(each: ModulePass) -> None:
    block = Block(arg_types=[KIND])
    ops: list[Operation] = [SoftmaxOp.get(block.args[0], axes=[1])]
    for _ in range(MAX_OPERATIONS + 5):
        ops.append(NegOp.get(ops[-1].results[0]))
    sizes = _sizes(_run(block, ops, each))
    assert max(sizes) == MAX_OPERATIONS and sum(sizes) == len(ops)


@pytest.mark.parametrize("each", [FuseElementwisePass(), FuseEpiloguesPass()])
def test_a_sum_of_many_tensors_is_several_kernels(each: ModulePass) -> None:
    block = Block(arg_types=[KIND] * (MAX_BUFFERS + 5))
    ops: list[Operation] = [MatMulOp.get(*block.args[:2])]
    for other in block.args[2:]:
        ops.append(AddOp.get(ops[-1].results[0], other))
    left = _run(block, ops, each)
    taken = [len(op.operands) + len(op.results) for op in left]
    assert max(taken) == MAX_BUFFERS and len(left) > 1


def test_anchors_of_one_kernel_take_turns() -> None:
    block = Block(arg_types=[KIND])
    first = SoftmaxOp.get(block.args[0], axes=[1])
    second = SoftmaxOp.get(first.result, axes=[0])
    assert most_buffers([NegOp.get(block.args[0])]) == most_buffers([first]) == MAX_BUFFERS
    assert most_buffers([first, second]) == 2 * MAX_BUFFERS
    assert buffers([first, second]) == 2
