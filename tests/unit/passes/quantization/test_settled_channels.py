"""Channels with multipliers of a common power of two give what they gave, for every sum that there may be."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, i8, i32
from xdsl.ir import Block, SSAValue

from aotc.dialects.constants import constant_op, known_array
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import Array
from aotc.dialects.graph.quantized.requantization import RequantizeOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.quantization.settled_channels import settled_channels
from aotc.passes.graph.rewriting import Constants

_X = np.arange(-128, 128)


def _results(weight: Array, bias: Array, multiplier: Array) -> Array:
    sums = weight.reshape(-1, 1).astype(np.int64) * _X + bias.reshape(-1, 1)
    return np.clip(np.rint(sums.astype(np.float32) * multiplier.reshape(-1, 1)), -128, 127)


@pytest.mark.parametrize("seed", range(20))
def test_settled_channels_have_the_same_results(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.integers(-127, 128, (16, 1, 1, 1)).astype(np.int8)
    multiplier = (10 ** rng.uniform(-8, -2, 16)).astype(np.float32)
    multiplier[0] = 0.3
    bias = np.clip(rng.integers(-120, 120, 16) / multiplier.astype(np.float64), -(2**30), 2**30).astype(np.int32)
    store, block = WeightStore(), Block(arg_types=[TensorType(i8, [1, 1, 1, 256])])
    w, b, m = (constant_op(array, "c", store) for array in (weight, bias, multiplier))
    window = {"strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1]}
    conv = ConvOp.get(block.args[0], w.result, b.result, group=1, accumulator=i32, **window)
    op = RequantizeOp.get(conv.result, m.result, axis=1, zero_point=0, low=-128, high=127, to=i8)
    block.add_ops([w, b, m, conv, op])
    settled = settled_channels(op, multiplier, Constants(block, store))
    assert settled is not None
    conv_weight, conv_bias = (known_array(value, store) for value in conv.operands[1:])
    assert conv_weight is not None and conv_bias is not None
    np.testing.assert_array_equal(
        _results(conv_weight, conv_bias, settled), _results(weight, bias, multiplier), strict=True
    )
    scaled = np.ldexp(settled.astype(np.float64), 32)  # 0.3 in 31 bits
    fits = np.ptp(_results(weight, bias, multiplier), axis=1) <= 2
    assert fits.sum() > 4 and (scaled == np.rint(scaled))[fits].all()


@pytest.mark.parametrize("known", ["weight", "bias"])
def test_channels_of_what_is_not_known_keep_their_multipliers(known: str) -> None:
    multiplier = np.array([0.3, 1e-8], np.float32)
    store, block = WeightStore(), Block(arg_types=[TensorType(i8, [1, 1, 1, 256])])
    arrays = {"weight": np.zeros((2, 1, 1, 1), np.int8), "bias": np.zeros(2, np.int32)}
    kinds = {"weight": TensorType(i8, [2, 1, 1, 1]), "bias": TensorType(i32, [2])}
    values: list[SSAValue] = []
    for name, array in arrays.items():
        if name == known:
            made = constant_op(array, name, store)
            block.add_op(made)
            values.append(made.result)
        else:
            values.append(block.insert_arg(kinds[name], len(block.args)))
    m = constant_op(multiplier, "m", store)
    conv = ConvOp.get(block.args[0], *values, group=1, accumulator=i32, strides=[1, 1], pads=[0] * 4, dilations=[1, 1])
    op = RequantizeOp.get(conv.result, m.result, axis=1, zero_point=0, low=-128, high=127, to=i8)
    block.add_ops([m, conv, op])
    assert settled_channels(op, multiplier, Constants(block, store)) is None
