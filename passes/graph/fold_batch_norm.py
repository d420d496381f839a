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

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.constants import constant_op, known_array
from aotc.dialects.graph.contraction import ConvolutionOp, ConvOp, ConvTransposeOp, MatMulOp
from aotc.dialects.graph.elementwise import AddOp, MulOp
from aotc.dialects.graph.interfaces import GraphOp, element_type_of, shape_of
from aotc.dialects.graph.loops import is_float
from aotc.dialects.graph.normalization import BatchNormOp
from aotc.dtypes import numpy_dtype
from aotc.locations import fuse_locations
from aotc.passes.graph.groups import entries
from aotc.passes.graph.weights import erase_unused_constants, key_of
from aotc.weights import Array, WeightStore


@dataclass(frozen=True)
class FoldBatchNormPass(ModulePass):
    """Fold batch normalisation, and other constant factors and offsets per channel, into the weights before it."""

    name = "fold-batch-norm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in entries(op):
            folder = _Folder(WeightStore.of(ctx))
            for each in list(entry.body.block.ops):
                if isinstance(each, BatchNormOp):
                    folder.split(each)
            for each in list(entry.body.block.ops):
                if isinstance(each, MulOp | AddOp) and is_float(element_type_of(each.result)):
                    folder.fold(each)
            erase_unused_constants(entry.body.block)


class _Folder:
    """Rewrites one operation at a time."""

    def __init__(self, store: WeightStore) -> None:
        self.store = store

    def split(self, norm: BatchNormOp) -> None:
        """batch_norm -> a multiplication and an addition, where its parameters are constant."""
        parameters = [known_array(operand, self.store) for operand in norm.operands[1:]]
        known = [array.astype(np.float64) for array in parameters if array is not None]
        if len(known) < len(parameters):
            return
        scale, bias, mean, variance = known
        factor = scale / np.sqrt(variance + norm.epsilon.value.data)
        offset = bias - mean * factor
        rank = len(shape_of(norm.x))
        column = [-1] + [1] * (rank - 2) if rank > 1 else [1]
        multiply = MulOp.get(norm.x, self._insert(factor.reshape(column), norm, norm.scale))
        Rewriter.insert_op(multiply, InsertPoint.before(norm))
        add = AddOp.get(multiply.result, self._insert(offset.reshape(column), norm, norm.bias))
        multiply.location = add.location = norm.location
        Rewriter.replace_op(norm, add)

    def fold(self, op: MulOp | AddOp) -> None:
        """Fold x * c or x + c, c having one value per channel, into what computes x."""
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            array = known_array(other, self.store)
            if array is None or value.type != op.result.type or not isinstance(value, OpResult):
                continue
            if len(list(value.uses)) != 1:
                continue
            new = self._into(op, value.op, array)
            if new is not None:
                new.location = fuse_locations([value.op.location, op.location])
                old = value.op
                Rewriter.replace_op(op, new)
                old.detach()
                old.erase()
                return

    def _into(self, op: MulOp | AddOp, producer: object, array: Array) -> GraphOp | None:
        wide = array.astype(np.float64)
        match producer:
            case ConvolutionOp():
                channels = _along(wide, shape_of(producer.result), 1)
                return None if channels is None else self._convolution(op, producer, channels)
            case MatMulOp() if isinstance(op, MulOp):
                columns = _along(wide, shape_of(producer.result), -1)
                return None if columns is None else self._matmul(producer, columns)
            case AddOp():
                return self._sum(op, producer, wide)
            case _:
                return None

    def _convolution(self, op: MulOp | AddOp, conv: ConvolutionOp, channels: Array) -> GraphOp | None:
        bias = None if conv.bias is None else known_array(conv.bias, self.store)
        if conv.bias is not None and bias is None:
            return None
        offset = np.zeros(channels.shape) if bias is None else bias.astype(np.float64)
        weight = conv.weight
        if isinstance(op, MulOp):
            scaled = self._scaled_weight(conv, channels)
            if scaled is None:
                return None
            weight, offset = scaled, offset * channels
        else:
            offset = offset + channels
        operands = [conv.x, weight]
        if isinstance(op, AddOp) or bias is not None:
            operands.append(self._insert(offset, op, conv.bias if conv.bias is not None else conv.weight))
        return type(conv).get(*operands, **conv.properties)

    def _scaled_weight(self, conv: ConvolutionOp, channels: Array) -> SSAValue | None:
        array = self._own_weight(conv.weight)
        if array is None:
            return None
        if isinstance(conv, ConvOp):
            factor = channels.reshape([-1] + [1] * (array.ndim - 1))
        elif isinstance(conv, ConvTransposeOp):
            # input channel c of group g reaches the output channels g * (M / group) + j
            by_group = channels.reshape(conv.groups, array.shape[1])
            factor = np.repeat(by_group, array.shape[0] // conv.groups, axis=0)
            factor = factor.reshape([*array.shape[:2]] + [1] * (array.ndim - 2))
        else:
            return None
        return self._insert(array * factor, conv, conv.weight)

    def _matmul(self, matmul: MatMulOp, columns: Array) -> GraphOp | None:
        array = self._own_weight(matmul.rhs)
        if array is None:
            return None
        factor = columns[:, None] if matmul.flag("transpose_rhs") else columns
        return MatMulOp.get(matmul.lhs, self._insert(array * factor, matmul, matmul.rhs), **matmul.properties)

    def _sum(self, op: MulOp | AddOp, inner: AddOp, array: Array) -> GraphOp | None:
        """A matrix product m with a bias: (m + c) + d -> m + (c + d); (m + c) * d -> m' + c * d."""
        for value, other in ((inner.lhs, inner.rhs), (inner.rhs, inner.lhs)):
            constant = known_array(other, self.store)
            if constant is None or value.type != inner.result.type:
                continue
            if not isinstance(value, OpResult) or not isinstance(value.op, MatMulOp) or len(list(value.uses)) != 1:
                continue
            columns, bias = (_along(each, shape_of(value), -1) for each in (array, constant.astype(np.float64)))
            if columns is None or bias is None:
                continue
            if isinstance(op, AddOp):
                return AddOp.get(value, self._insert(bias + columns, op, other))
            scaled = self._matmul(value.op, columns)
            if scaled is not None:
                scaled.location = value.op.location
                Rewriter.replace_op(value.op, scaled)
                return AddOp.get(scaled.results[0], self._insert(bias * columns, op, other))
        return None

    def _own_weight(self, value: SSAValue) -> Array | None:
        """The constant `value` that nothing else reads, as f64; scaling a shared one would store it twice."""
        array = known_array(value, self.store)
        return array.astype(np.float64) if array is not None and len(list(value.uses)) == 1 else None

    def _insert(self, array: Array, before: GraphOp, like: SSAValue) -> SSAValue:
        """A constant in the element type of `before`'s result, named after the constant `like`."""
        dtype = numpy_dtype(element_type_of(before.results[0]))
        constant = constant_op(array.astype(dtype), key_of(like) or "constant", self.store)
        constant.location = before.location
        Rewriter.insert_op(constant, InsertPoint.before(before))
        return constant.result


def _along(array: Array, shape: tuple[int, ...], axis: int) -> Array | None:
    """One value of `array`, broadcast to `shape`, for each index of `axis`; None where it varies along another."""
    padded = array.reshape([1] * (len(shape) - array.ndim) + list(array.shape))
    axis %= len(shape)
    if any(extent != 1 for place, extent in enumerate(padded.shape) if place != axis):
        return None
    return np.broadcast_to(padded.reshape(-1), shape[axis])
