"""Facts that an outside operator tells passes of the graph: they rewrite it like ours, and only as far as it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, TensorType, UnitAttr, f32, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.pattern_rewriter import PatternRewriter

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.constants import constant_op, known_array
from aotc.dialects.graph import patterns
from aotc.dialects.graph.elementwise import AddOp, MulOp, NegOp
from aotc.dialects.graph.interfaces import (
    Array,
    ChannelWeightsOp,
    ElementOp,
    Fusion,
    Quantization,
    ScaleShiftOp,
    producer,
    shape_of,
    tensor_type,
)
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.patterns import Simplified, simplifies
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.weight_store import WeightStore
from aotc.passes.fuse.growing import is_fusible
from aotc.passes.graph.absorb_transposes import AbsorbTransposesPass
from aotc.passes.graph.annotate_quantization import AnnotateQuantizationPass
from aotc.passes.graph.fold_batch_norm import FoldBatchNormPass
from aotc.passes.graph.shrink_constants import ShrinkConstantsPass

CONTEXT = Context()
STORE = WeightStore.of(CONTEXT)


class _BinaryOp(ElementOp):
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        return [TensorType(f32, shape_of(self.x))]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        return reads[0](index) + reads[1](index)


@irdl_op_definition
class DequantizingSumOp(_BinaryOp):
    """0.5 * x + y for integers x and y: that of x is said, that of y is another."""

    name = "test.dequantizing_sum"

    def operand_quantization(self) -> Quantization | None:
        scale = constant_op(np.array(0.5, np.float32), "scale", STORE)
        return Quantization(scale.result, None)


@irdl_op_definition
class AloneOp(_BinaryOp):
    """x + y in a kernel of its own."""

    name = "test.alone"
    FUSION: ClassVar[Fusion] = Fusion.NEVER


@irdl_op_definition
class HalfOp(ScaleShiftOp):
    """x / 2 + y, with a y for each index of the last axis."""

    name = "test.half"
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        return [tensor_type(self.x)]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        return reads[0](index) / 2 + reads[1](index[-1:])

    def factor_and_offset(self, parameters: Sequence[Array]) -> tuple[Array, Array]:
        return np.full_like(parameters[0], 0.5), parameters[0]


@irdl_op_definition
class ColumnProductOp(ChannelWeightsOp):
    """x [M, K] times a weight [N, K]: a column of the result for each row of the weight."""

    name = "test.column_product"
    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    CHANNELS: ClassVar[int] = 1

    def infer_types(self) -> Sequence[TensorType]:
        return [TensorType(f32, (shape_of(self.x)[0], shape_of(self.weight)[0]))]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        raise NotImplementedError

    def contracted_axes(self) -> tuple[int, int] | None:
        return 1, 1

    def scaled_weight(self, weight: Array, factors: Array) -> Array:
        return weight * factors[:, None]


def _entry(ops: Sequence[Operation], arguments: Sequence[SSAValue], block: Block) -> ModuleOp:
    result = ops[-1].results[0]
    block.add_ops([*ops, ReturnOp(result)])
    signature = FunctionType.from_lists([argument.type for argument in arguments], [result.type])
    function = FuncOp("main", signature, Region(block))
    function.properties["arg_attrs"] = ArrayAttr(DictionaryAttr({}) for _ in arguments)
    function.properties["res_attrs"] = ArrayAttr([DictionaryAttr({})])
    function.attributes["aot.entry"] = UnitAttr()
    return ModuleOp([function])


def _constant(values: object) -> ConstantOp:
    return constant_op(np.array(values, np.float32), "c", STORE)


def test_only_the_operand_that_is_dequantized_is_said_to_be() -> None:
    block = Block(arg_types=[TensorType(i8, [2]), TensorType(i8, [2])])
    module = _entry([DequantizingSumOp.get(*block.args)], block.args, block)
    AnnotateQuantizationPass().apply(CONTEXT, module)
    function = module.body.block.first_op
    assert isinstance(function, FuncOp) and function.arg_attrs is not None
    assert [sorted(each.data) for each in function.arg_attrs] == [["aot.scale", "aot.zero_point"], []]


def test_a_scale_and_shift_goes_into_the_weights_of_a_product() -> None:
    block = Block(arg_types=[TensorType(f32, [3, 2])])
    weight, offset = _constant([[1, 2], [3, 4]]), _constant([5, 6])
    product = ColumnProductOp.get(block.args[0], weight)
    module = _entry([weight, offset, product, HalfOp.get(product.result, offset)], block.args, block)
    FoldBatchNormPass().apply(CONTEXT, module)
    ops = [op for op in block.ops if not isinstance(op, ConstantOp)]
    assert [type(op) for op in ops] == [ColumnProductOp, AddOp, ReturnOp]
    np.testing.assert_array_equal(known_array(ops[0].operands[1], STORE), [[0.5, 1], [1.5, 2]])  # pyright: ignore
    np.testing.assert_array_equal(known_array(ops[1].operands[1], STORE), [5, 6])  # pyright: ignore


def test_weights_of_a_product_are_permuted() -> None:
    block = Block(arg_types=[TensorType(f32, [3, 2, 2])])
    moved = TransposeOp.get(block.args[0], permutation=[0, 2, 1])
    flat, weight = ReshapeOp.get(moved.result, shape=[3, 4]), _constant([[1, 2, 3, 4]])
    module = _entry([moved, flat, weight, ColumnProductOp.get(flat.result, weight)], block.args, block)
    AbsorbTransposesPass().apply(CONTEXT, module)
    assert not any(isinstance(op, TransposeOp) and op.x is block.args[0] for op in block.ops)


def test_what_is_never_fused_is_taken_in_by_no_group() -> None:
    block = Block(arg_types=[TensorType(f32, [2])])
    assert not is_fusible(AloneOp.get(*block.args, *block.args))
    assert is_fusible(NegOp.get(*block.args))


def test_a_constant_stays_where_single_elements_are_not_said_to_do() -> None:
    block = Block(arg_types=[TensorType(f32, [2, 3])])
    twos = _constant([2, 2, 2])
    half = HalfOp.get(block.args[0], twos)
    module = _entry([twos, half, MulOp.get(half.result, twos)], block.args, block)
    ShrinkConstantsPass().apply(CONTEXT, module)
    shapes = {op.name: shape_of(op.operands[1]) for op in block.ops if isinstance(op, HalfOp | MulOp)}
    assert shapes == {"test.half": (3,), "graph.mul": ()}


@pytest.fixture
def doubled() -> Iterator[None]:
    """neg(x) of a negation of a sum -> the sum, while a test runs."""
    before = list(patterns._TABLE)  # pyright: ignore[reportPrivateUsage]

    @simplifies(DequantizingSumOp)
    def of_negation(op: DequantizingSumOp) -> Simplified:
        inner = producer(op.y, NegOp)
        return None if inner is None else DequantizingSumOp.get(op.x, inner.x)

    assert of_negation
    yield
    patterns._TABLE[:] = before  # pyright: ignore[reportPrivateUsage]
    patterns.patterns_of.cache_clear()


def test_a_pattern_from_outside_is_tried_on_its_operator_alone(doubled: None) -> None:
    block = Block(arg_types=[TensorType(f32, [2])])
    negated = NegOp.get(block.args[0])
    total = DequantizingSumOp.get(block.args[0], negated)
    _entry([negated, total], block.args, block)
    own = [each for each in DequantizingSumOp.get_canonicalization_patterns() if each not in _inherited()]
    assert len(own) == 1 and own[0] not in AddOp.get_canonicalization_patterns()
    own[0].match_and_rewrite(total, PatternRewriter(total))
    (new,) = [op for op in block.ops if isinstance(op, DequantizingSumOp)]
    assert new.y is block.args[0]


def _inherited() -> Sequence[object]:
    return HalfOp.get_canonicalization_patterns()
