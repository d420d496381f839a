"""Compute softmax of quantised tensors in integers, with exponentials from a table: for cores on which floats are slow,
or missing.

The exponential of the distance from the greatest integer of a row is one of at most 256; what these add up to divides
each of them exactly. The logarithm of softmax, and scales of 1 and more, stay as they are.

Before:
```mlir
%0 = graph.dequantize %x, %scale, %zero {to = f32, ..} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
%1 = graph.softmax %0 {axes = array<i64: 1>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
%2 = graph.quantize %1, %s, %z {to = i8, ..} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
```
After:
```mlir
%2 = graph.fixed_softmax %x, %table {axes = array<i64: 1>, accumulator = i32, factor = 1 : i64, shift = 8 : i64,
    zero_point = -128 : i64, low = -128 : i64, high = 127 : i64, to = i8}
    : (tensor<1x4xi8>, tensor<203xi32>) -> tensor<1x4xi8>
```
"""

import math
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.dtypes import integer_range
from aotc.dialects.graph.conversion import DequantizeOp, QuantizeOp
from aotc.dialects.graph.interfaces import Array, producer
from aotc.dialects.graph.normalization import SoftmaxOp
from aotc.dialects.graph.quantized.softmax import FixedSoftmaxOp
from aotc.model.locations import fuse_locations
from aotc.passes.graph.quantization.chains import is_byte
from aotc.passes.graph.quantization.real_values import dequantized, quantization
from aotc.passes.graph.rewriting import Constants, with_constants

_BITS = 30
"""Of the greatest exponential in a table, where an accumulator has room."""
_LEAST_BITS = 24
"""Of it in i32; rows that are longer have sums in i64."""


class FixSoftmaxPass(ModulePass):
    name = "fix-softmax"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each, constants in with_constants(op, ctx, QuantizeOp):
            _fix(each, constants)


def _fix(op: QuantizeOp, constants: Constants) -> None:
    target, softmax = quantization(op, constants.store), producer(op.x, SoftmaxOp)
    if target is None or softmax is None or softmax.log:
        return
    source = dequantized(softmax.x, constants.store)
    if source is None or not is_byte(source.value):
        return
    found = exponentials(float(source.scale), float(target.scale), math.prod(softmax.row_extents()))
    if found is None:
        return
    low, high = integer_range(target.kind)
    new = FixedSoftmaxOp.get(
        source.value,
        constants.of(found.table, "exponentials"),
        axes=softmax.axes,
        accumulator=found.accumulator,
        factor=found.factor,
        shift=found.shift,
        zero_point=target.zero_point,
        low=low,
        high=high,
        to=target.kind,
    )
    inner = producer(softmax.x, DequantizeOp)
    assert inner is not None
    new.location = fuse_locations(each.location for each in (inner, softmax, op))
    Rewriter.replace_op(op, new)


@dataclass(frozen=True)
class Exponentials:
    """The numbers of a `graph.fixed_softmax`."""

    table: Array
    """i32: round(e^(-k input_scale) * 2^bits) for k = 0, 1, .., while that is not 0."""
    factor: int
    shift: int
    """The scale of the result is factor / 2^shift."""
    accumulator: Attribute


def exponentials(input_scale: float, scale: float, count: int) -> Exponentials | None:
    """For rows of `count` integers, to be quantised by `scale`; None for one that is not below 1.

    An entry is off by at most a half, a sum of them by half of `count`. So a quotient differs from softmax by at most
    (count + 1) / 2^(bits + 1), and the result is the rounded one unless softmax / scale is as near as that, times
    1 / scale, to the middle between two integers.
    """
    mantissa, exponent = math.frexp(scale)
    factor = int(mantissa * 2**24)
    zeros = (factor & -factor).bit_length() - 1
    factor, shift = factor >> zeros, 24 - zeros - exponent
    if not 0 < shift - (factor.bit_length() - 1) <= 31 or count < 1:
        return None
    # the sum times the factor, doubled, is less than 2^31 or 2^63
    room = 30 - factor.bit_length() - math.ceil(math.log2(count))
    accumulator, bits = (i32, room) if room >= _LEAST_BITS else (i64, min(room + 32, _BITS))
    if bits < _LEAST_BITS:
        return None
    values = np.rint(np.exp(-np.arange(256) * input_scale) * 2.0**bits).astype(np.int64)
    return Exponentials(values[values > 0].astype(np.int32), factor, shift, accumulator)
