"""Absorbing transposes into weights: the products stay the same, and no transpose stays that can go."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, TensorType, UnitAttr, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from aotc.dialects.constants import constant_op, known_array
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.interfaces import Array, GraphOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.absorb_transposes import AbsorbTransposesPass

COLUMNS = 5
CONTEXT = Context()


def _weights(depth: int) -> Array:
    return np.random.default_rng(depth).integers(-99, 99, (depth, COLUMNS), np.int8)


def _model(shape: tuple[int, ...], permutation: tuple[int, ...], matrix: tuple[int, int], left: bool) -> Block:
    """A transpose of x, then a product with weights cast from i8, of which x is the left or the right operand."""
    x_type = TensorType(i32, shape)
    block = Block(arg_types=[x_type])
    moved = TransposeOp.get(block.args[0], permutation=permutation)
    flat = ReshapeOp.get(moved.result, shape=matrix)
    weights = _weights(matrix[1] if left else matrix[0])
    constant = constant_op(weights if left else np.ascontiguousarray(weights.T), "w", WeightStore.of(CONTEXT))
    wide = CastOp.get(constant.result, to=i32)
    product = MatMulOp.get(*((flat.result, wide.result) if left else (wide.result, flat.result)))
    block.add_ops([moved, flat, constant, wide, product, ReturnOp(product.result)])
    function = FuncOp("main", FunctionType.from_lists([x_type], [product.result.type]), Region(block))
    function.attributes["aot.entry"] = UnitAttr()
    module = ModuleOp([function], {"aot.name": StringAttr("m")})
    module.verify()
    AbsorbTransposesPass().apply(CONTEXT, module)
    module.verify()
    return block


def _run(block: Block, x: Array) -> Array:
    values: dict[SSAValue, Array] = {block.args[0]: x}
    for op in block.ops:
        if isinstance(op, ConstantOp):
            array = known_array(op.result, WeightStore.of(CONTEXT))
            assert array is not None
            values[op.result] = array
        elif isinstance(op, GraphOp):
            results = op.evaluate([values[operand] for operand in op.operands])
            assert results is not None
            values.update(zip(op.results, results, strict=True))
        else:
            return values[op.operands[0]]
    raise AssertionError("no return")


def _rows_are_permuted_alike(shape: tuple[int, ...], permutation: tuple[int, ...], matrix: tuple[int, int]) -> bool:
    """Whether the matrix of the transposed x is that of x with its columns in another order, by looking at each."""
    places = np.arange(math.prod(shape)).reshape(shape).transpose(permutation).reshape(matrix)
    rows = np.arange(matrix[0])[:, None] * matrix[1]
    return bool((places - rows == places[0]).all() and places[0].max() < matrix[1])


def _moves_x(op: Operation, x: SSAValue) -> bool:
    return isinstance(op, TransposeOp) and op.x is x


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("shape", [(2, 3, 4, 1), (1, 4, 3, 2), (6, 2, 2)])
def test_every_permutation_and_matrix(shape: tuple[int, ...], left: bool) -> None:
    size = math.prod(shape)
    x = np.random.default_rng(0).integers(-99, 99, shape, np.int32)
    absorbed = 0
    for permutation in permutations(range(len(shape))):
        for rows in (each for each in range(1, size + 1) if size % each == 0):
            matrix = (rows, size // rows)
            block = _model(shape, permutation, matrix, left)
            flat = x.transpose(permutation).reshape(matrix)
            weights = _weights(matrix[1] if left else matrix[0]).astype(np.int32)
            np.testing.assert_array_equal(_run(block, x), flat @ weights if left else weights.T @ flat)
            stays = any(_moves_x(op, block.args[0]) for op in block.ops)
            original = TransposeOp.get(block.args[0], permutation=permutation)
            if left and original.view_offset() is None:
                assert stays != _rows_are_permuted_alike(shape, permutation, matrix)
            original.erase()
            absorbed += not stays
    assert absorbed > 0
