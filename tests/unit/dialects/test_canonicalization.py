"""Simplifications by themselves, of what others leave nothing of."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from aotc.dialects.graph.canonicalization import matmul_of_transpose, nothing_changes
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import TransposeOp


def test_a_transpose_that_moves_nothing_is_its_operand_and_no_transposed_matrix() -> None:
    x, y = Block(arg_types=[TensorType(f32, [2, 3]), TensorType(f32, [3, 4])]).args
    same = TransposeOp.get(y, permutation=[0, 1])
    assert nothing_changes(same) is y
    assert matmul_of_transpose(MatMulOp.get(x, same.result)) is None
