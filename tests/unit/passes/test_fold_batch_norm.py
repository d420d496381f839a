"""Names of large constants that become others."""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, UnitAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region

from aotc.dialects.constants import constant_op, key_of
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.elementwise import AddOp, MulOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.fold_batch_norm import FoldBatchNormPass

CONTEXT = Context()
CHANNELS = 80


def _constant(hint: str, *shape: int) -> ConstantOp:
    array = np.random.default_rng(sum(shape)).random(shape, np.float32)
    return constant_op(array, hint, WeightStore.of(CONTEXT))


def _folded(block: Block, ops: list[Operation]) -> list[str]:
    """The names of what the last operation of the entry reads, without numbers."""
    block.add_ops([*ops, ReturnOp(ops[-1].results[0])])
    types = [argument.type for argument in block.args], [ops[-1].results[0].type]
    main = FuncOp("main", FunctionType.from_lists(*types), Region(block))
    main.attributes["aot.entry"] = UnitAttr()
    FoldBatchNormPass().apply(CONTEXT, ModuleOp([main]))
    end = block.last_op
    assert end is not None
    owner = end.operands[0].owner
    assert isinstance(owner, Operation)
    return [key.partition("_")[0] for value in owner.operands if (key := key_of(value)) is not None]


def test_weight_and_bias_keep_their_names() -> None:
    block = Block(arg_types=[TensorType(f32, [1, CHANNELS, 2, 2])])
    weight, bias = _constant("weight", CHANNELS, CHANNELS, 1, 1), _constant("bias", CHANNELS)
    factor, offset = _constant("factor", CHANNELS, 1, 1), _constant("offset", CHANNELS, 1, 1)
    settings = {"strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1], "group": 1}
    conv = ConvOp.get(block.args[0], weight.result, bias.result, **settings)
    scaled = MulOp.get(conv.result, factor.result)
    shifted = AddOp.get(scaled.result, offset.result)
    assert _folded(block, [weight, bias, factor, offset, conv, scaled, shifted]) == ["weight", "bias"]


def test_what_is_made_of_two_constants_before_a_value_is_a_constant() -> None:
    block = Block(arg_types=[TensorType(f32, [2, CHANNELS])])
    first, second = _constant("first", CHANNELS), _constant("second", 1, CHANNELS)
    scaled = MulOp.get(first.result, block.args[0])
    again = MulOp.get(scaled.result, second.result)
    assert _folded(block, [first, second, scaled, again]) == ["constant"]
