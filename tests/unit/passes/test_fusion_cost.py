"""The cost and the reads of operations, measured on the code they write."""

from __future__ import annotations

import math

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32, i8
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.graph.conversion import DequantizeOp
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.elementwise import AddOp, ReluOp
from aotc.dialects.graph.functions import ExpOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ConcatOp, TransposeOp
from aotc.dialects.graph.normalization import SoftmaxOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.scatter import TopKInMemoryOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.passes.fuse.fusion_policy import FREE, may_duplicate, may_recompute, recomputing_cost, widens
from aotc.passes.fuse.reads import reads_of
from aotc.passes.kernel.scalar_cost import BRANCH, CHEAP, anchor_reads, element_cost


def value(*shape: int, element_type: Attribute = f32) -> SSAValue:
    return test.TestOp(result_types=[TensorType(element_type, shape)]).results[0]


def test_element_cost_orders_operations() -> None:
    x = value(4, 8)
    transpose = TransposeOp.get(x, permutation=[1, 0])
    dequantize = DequantizeOp.get(value(4, 8, element_type=i8), value(), value(element_type=i8), to=f32)
    assert element_cost(transpose) == 0
    assert element_cost(ConcatOp.get([value(4), value(12)], axis=0)) == BRANCH  # comparing indices costs nothing
    assert element_cost(ReluOp.get(x)) <= FREE < element_cost(dequantize) <= CHEAP < element_cost(ExpOp.get(x))


def test_anchor_reads_count_every_element() -> None:
    product = MatMulOp.get(value(2, 8), value(8, 4))
    assert anchor_reads(product) == (2 * 4 * 8, 2 * 4 * 8)
    assert anchor_reads(ReduceOp.get(value(2, 8), kind="sum", axes=[1], keepdims=False)) == (16,)
    assert anchor_reads(SoftmaxOp.get(value(2, 8), axes=[1]))[0] > 16
    assert anchor_reads(TopKInMemoryOp.get(value(16), k=2, axis=0)) == (2 * 16,)  # those of its scratch buffers aside


def test_padded_convolution_reads_unknown_often() -> None:
    conv = ConvOp.get(
        value(1, 3, 8, 8), value(4, 3, 3, 3), None, strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], group=1
    )
    assert anchor_reads(conv) == (math.inf, math.inf)


@pytest.mark.parametrize("narrow, wide, fits", [(i8, f32, True), (f32, f32, False)])
def test_only_widening_is_duplicated(narrow: Attribute, wide: Attribute, fits: bool) -> None:
    if narrow == wide:
        op = AddOp.get(value(4, 8), value(4, 8))
    else:
        op = DequantizeOp.get(value(4, 8, element_type=narrow), value(), to=wide)
    assert may_duplicate(op) is fits
    assert may_recompute(op, 0)
    assert not may_recompute(op, CHEAP)


def test_reads_of_a_broadcast_and_of_a_concatenation() -> None:
    x, bias = value(4, 8), value(8)
    add = AddOp.get(x, bias)
    reads = reads_of([add], [add.result])
    assert (reads[x].count, reads[x].aligned) == (32, True)
    assert (reads[bias].count, reads[bias].aligned) == (32, False)

    part, other = value(4, 8), value(12, 8)
    concat = ConcatOp.get([part, other], axis=0)
    reads = reads_of([concat], [concat.result])
    assert (reads[part].count, reads[other].count) == (32, 96)
    assert not reads[part].aligned


def test_constants_that_stand_in_the_kernel_are_neither_loaded_nor_stored() -> None:
    scale = ConstantOp(DenseIntOrFPElementsAttr.from_list(TensorType(f32, []), [0.5]))
    assert widens(DequantizeOp.get(value(1, element_type=i8), scale.result, to=f32))
    assert not widens(DequantizeOp.get(value(1, element_type=i8), value(), to=f32))
    assert recomputing_cost(AddOp.get(value(4), scale.result)) == 1
    assert recomputing_cost(AddOp.get(value(4), value(4))) == 2
