"""Fold batch normalisation, and other constant factors and offsets per channel, into the weights before it.

A batch_norm of constants is one factor and one offset per channel. They go into the weight and the bias of the
convolution or matrix product that computes the operand, if its weight is a constant and nothing else reads either.
What cannot go on stays a multiplication and an addition.

Before:
```mlir
%0 = graph.conv %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
%1 = graph.batch_norm %0, %scale, %bias, %mean, %variance {epsilon = 1.0e-05 : f64} : (...) -> tensor<1x4x8x8xf32>
```
After:
```mlir
%1 = graph.conv %x, %scaled, %offset : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
```
"""

import math

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.constants import constant_op, key_of, known_array
from aotc.dialects.dtypes import is_float, numpy_dtype
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.elementwise import AddOp, BinaryOp, MulOp
from aotc.dialects.graph.interfaces import ChannelWeightsOp, GraphOp, ScaleShiftOp, element_type_of, shape_of
from aotc.model.locations import fuse_locations
from aotc.model.weight_store import Array, WeightStore
from aotc.passes.graph.rewriting import erase_unused_constants, only_for


class FoldBatchNormPass(ModulePass):
    name = "fold-batch-norm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in graph_blocks(op):
            folder = _Folder(WeightStore.of(ctx))
            for each in list(block.ops):
                if isinstance(each, ScaleShiftOp):
                    folder.split(each)
            for each in list(block.ops):
                if isinstance(each, MulOp | AddOp) and is_float(element_type_of(each.result)):
                    folder.fold(each)
            erase_unused_constants(block)


class _Folder:
    """Rewrites one operation at a time."""

    def __init__(self, store: WeightStore) -> None:
        self.store = store

    def split(self, op: ScaleShiftOp) -> None:
        """x * factor + offset -> a multiplication and an addition, where the parameters of `op` are constant."""
        x, *parameters = op.operands
        arrays = [known_array(operand, self.store) for operand in parameters]
        known = [array.astype(np.float64) for array in arrays if array is not None]
        if len(known) < len(arrays):
            return
        factor, offset = op.factor_and_offset(known)
        named = parameters[:2]  # scale and bias, where there are any
        multiply = MulOp.get(x, self._insert(factor, op, named[0]))
        Rewriter.insert_op(multiply, InsertPoint.before(op))
        add = AddOp.get(multiply.result, self._insert(offset, op, named[-1]))
        multiply.location = add.location = op.location
        Rewriter.replace_op(op, add)

    def fold(self, op: BinaryOp) -> None:
        """Fold x * c or x + c into what computes x, where c is constant and nothing else reads x."""
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            array = known_array(other, self.store)
            producer = only_for(value, GraphOp)
            if array is None or value.type != op.result.type:
                continue
            fold = self._product if isinstance(op, MulOp) else self._sum
            new = fold(producer, array.astype(np.float64))
            if new is not None:
                assert producer is not None
                new.location = fuse_locations([producer.location, op.location])
                Rewriter.replace_op(op, new)
                Rewriter.erase_op(producer)
                return

    def _product(self, producer: GraphOp | None, array: Array) -> GraphOp | None:
        """The operation for the result of `producer` times `array`, or None where the factor does not go in."""
        match producer:
            case ChannelWeightsOp():
                x, value, *biases = producer.operands
                channels = _along(array, producer)
                # scaling a weight that something else reads would store it twice
                weight = known_array(value, self.store) if value.has_one_use() else None
                known = [(bias, like) for like in biases if (bias := known_array(like, self.store)) is not None]
                if weight is None or channels is None or len(known) < len(biases):
                    return None
                scaled = self._insert(producer.scaled_weight(weight, channels), producer, value)
                offsets = [self._insert(bias.astype(np.float64) * channels, producer, like) for bias, like in known]
                return type(producer).get(x, scaled, *offsets, **producer.properties)
            case MulOp():
                return self._merged(producer, array, np.multiply)
            case AddOp():
                side = self._constant_side(producer)
                if side is None or not _same_size(side[1], array):
                    return None
                inner = only_for(side[0], GraphOp)
                if (scaled := self._product(inner, array)) is None:
                    return None
                assert inner is not None
                scaled.location = inner.location
                Rewriter.replace_op(inner, scaled)
                return AddOp.get(scaled.results[0], self._insert(side[1] * array, producer, producer.rhs))
            case _:
                return None

    def _sum(self, producer: GraphOp | None, array: Array) -> GraphOp | None:
        """The operation for the result of `producer` plus `array`, or None where the offset does not go in."""
        match producer:
            case ChannelWeightsOp() if producer.BIAS is not None:
                x, weight, *biases = producer.operands
                bias = known_array(biases[0], self.store) if biases else np.zeros(1)
                channels = _along(array, producer)
                if channels is None or bias is None:
                    return None
                offset = self._insert(bias.astype(np.float64) + channels, producer, biases[0] if biases else weight)
                return type(producer).get(x, weight, offset, **producer.properties)
            case AddOp():
                return self._merged(producer, array, np.add)
            case _:
                return None

    def _merged(self, op: BinaryOp, array: Array, merge: np.ufunc) -> GraphOp | None:
        """(x * c) * d -> x * (c * d), (x + c) + d -> x + (c + d); only vectors: (x + 1e8) - 1e8 is to round."""
        if (side := self._constant_side(op)) is None:
            return None
        value, constant = side
        if min(constant.size, array.size) == 1 or not _same_size(constant, array):
            return None
        return type(op).get(value, self._insert(merge(constant, array), op, op.rhs))

    def _constant_side(self, op: BinaryOp) -> tuple[SSAValue, Array] | None:
        """x and c of x * c or x + c, c as f64; None where neither operand is constant, or x is repeated."""
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            constant = known_array(other, self.store)
            if constant is not None and value.type == op.result.type:
                return value, constant.astype(np.float64)
        return None

    def _insert(self, array: Array, before: GraphOp, like: SSAValue) -> SSAValue:
        """A constant in the element type of `before`'s result, named after the constant `like`."""
        dtype = numpy_dtype(element_type_of(before.results[0]))
        constant = constant_op(array.astype(dtype, copy=False), key_of(like) or "constant", self.store)
        constant.location = before.location
        Rewriter.insert_op(constant, InsertPoint.before(before))
        return constant.result


def _same_size(a: Array, b: Array) -> bool:
    """Whether the two broadcast to an array no larger than the larger one."""
    return math.prod(np.broadcast_shapes(a.shape, b.shape)) == max(a.size, b.size)


def _along(array: Array, op: ChannelWeightsOp) -> Array | None:
    """One value of `array`, broadcast to the result of `op`, for each channel; None where it varies along others."""
    shape = shape_of(op.results[0])
    axis = op.CHANNELS % len(shape)
    padded = array.reshape([1] * (len(shape) - array.ndim) + list(array.shape))
    if any(extent != 1 for place, extent in enumerate(padded.shape) if place != axis):
        return None
    return np.broadcast_to(padded.reshape(-1), shape[axis])
