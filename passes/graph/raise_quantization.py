"""Compute quantised operators on integers: the operands that are stored, sums in i32, one requantisation.

Convolutions and matrix products whose operands are dequantised become sums of products of the integers; what follows
them up to a quantisation, a bias, relu and clip too, becomes one `graph.requantize` (or a dequantisation, where the
model goes on with real numbers). What only moves or picks elements does that with integers. The zero point of
weights is taken off them, that of the other operand goes into the bias where sums have all their terms. Means are
sums. Sums that might leave the range of i32, scales that differ between the terms of a sum, and what is not known at
compile time stay as they are.

Before:
```mlir
%0 = graph.dequantize %x, %scale, %zero {..} : (tensor<1x4x8xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4x8xf32>
%1 = graph.dequantize %w, %scales {axis = 0 : i64, ..} : (tensor<6x4x3xi8>, tensor<6xf32>) -> tensor<6x4x3xf32>
%2 = graph.conv %0, %1 {..} : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x8xf32>
%3 = graph.quantize %2, %scale, %zero {to = i8, ..} : (tensor<1x6x8xf32>, ..) -> tensor<1x6x8xi8>
```
After:
```mlir
%2 = graph.conv %x, %w {accumulator = i32, x_zero_point = 3 : i64, ..} : (tensor<1x4x8xi8>, tensor<6x4x3xi8>) ->
    tensor<1x6x8xi32>
%3 = graph.requantize %2, %multiplier {axis = 1 : i64, zero_point = 3 : i64, low = -128 : i64, high = 127 : i64,
    to = i8} : (tensor<1x6x8xi32>, tensor<6xf32>) -> tensor<1x6x8xi8>
```
The multiplier is the product of the operands' scales over that of the result, rounded as onnxruntime rounds it.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.graph.accumulation import MOST_BITS, AccumulatingOp
from aotc.dialects.graph.conversion import QuantizeOp
from aotc.dialects.graph.convolution import ConvolutionOp, ConvOp
from aotc.dialects.graph.interfaces import GraphOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.passes.graph.quantization.integer_movement import raise_movement, same_integers, take_padding
from aotc.passes.graph.quantization.integer_sums import raise_sum
from aotc.passes.graph.quantization.pooling import raise_mean
from aotc.passes.graph.rewriting import Constants, Raised, put_in_place, with_constants


@dataclass(frozen=True)
class RaiseQuantizationPass(ModulePass):
    name = "raise-quantization"

    means: bool = False
    """Whether all means are sums of integers, those too where errors of floats decide what the model's are: for cores
    on which floats are slow, or missing."""

    averages: bool = False
    """Whether average pooling is in fixed point, the nearest means decided as onnxruntime's floats do: for the same
    cores."""

    most_bits: int = MOST_BITS
    """Of operands of sums that are no constants: 8 for cores with vectors, which have registers for sums of products of
    bytes and of floats."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each, constants in with_constants(op, ctx, GraphOp):
            if isinstance(each, QuantizeOp):
                if (value := same_integers(each, constants)) is not None:
                    Rewriter.replace_op(each, [], [value])
            elif (raised := _raised(each, constants, self)) is not None:
                put_in_place(raised.ops, raised.replaced)


def _raised(op: GraphOp, constants: Constants, options: RaiseQuantizationPass) -> Raised | None:
    if isinstance(op, AccumulatingOp) and op.sums_integers:
        return None
    if isinstance(op, ConvOp):
        take_padding(op, constants)
    if isinstance(op, ConvolutionOp | MatMulOp):
        return raise_sum(op, constants, most_bits=options.most_bits)
    return raise_mean(op, constants, always=options.means, fixed=options.averages) or raise_movement(op, constants)
