"""In which range sums of products of integers lie."""

import math

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.constants import computed_array
from aotc.dialects.dtypes import integer_range, is_narrow_integer
from aotc.dialects.graph.accumulation import AccumulatingOp
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.convolution import ConvolutionOp
from aotc.dialects.graph.elementwise import AddOp, MulOp, SubOp
from aotc.dialects.graph.interfaces import Array, element_type_of, producer, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.windows.pooling import SumPoolOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.quantization.epilogues import along_axis_only
from aotc.passes.graph.quantization.integer_sums import CHANNEL_AXIS, by_output

_ANYTHING = 2**31


def greatest_of(value: SSAValue, axis: int, store: WeightStore) -> Array:
    """The greatest absolute value of sums in i32, i64: one, or one for each index of `axis`."""
    rank = len(shape_of(value))
    if (add := producer(value, AddOp)) is not None:
        for one, other in ((add.lhs, add.rhs), (add.rhs, add.lhs)):
            array = computed_array(other, store)
            along = None if array is None else along_axis_only(array, axis, rank)
            if along is not None and shape_of(one) == shape_of(value):
                return np.minimum(greatest_of(one, axis, store) + np.abs(along.astype(np.int64)), _ANYTHING)
    if (terms := _terms_of_mean(value)) is not None:
        return np.array(terms, np.int64)
    if (product := producer(value, MulOp)) is not None:
        factors = [_greatest_factor(each, store) for each in (product.lhs, product.rhs)]
        return np.array(min(math.prod(factors), _ANYTHING), np.int64)
    op = producer(value, AccumulatingOp)
    found = None if op is None or not op.sums_integers else range_of(op, axis, rank, store)
    if found is None:
        return np.array(_ANYTHING, np.int64)
    most = np.maximum(np.abs(found[0]), np.abs(found[1]))
    if isinstance(op, ConvolutionOp) and op.bias is not None:
        bias = computed_array(op.bias, store)
        most = most + (_ANYTHING if bias is None else np.abs(bias.astype(np.int64)))
    return np.minimum(most, _ANYTHING)


def _greatest_factor(value: SSAValue, store: WeightStore) -> int:
    """The greatest absolute value of narrow integers less a zero point, in i32, or of constants."""
    if (known := computed_array(value, store)) is not None:
        return int(np.abs(known.astype(np.int64)).max(initial=0))
    point, difference = 0, producer(value, SubOp)
    if difference is not None:
        given, value = computed_array(difference.rhs, store), difference.lhs
        if given is None or given.size != 1:
            return _ANYTHING
        point = int(given.item())
    cast = producer(value, CastOp)
    if cast is None or not is_narrow_integer(element_type_of(cast.x)):
        return _ANYTHING
    low, high = integer_range(element_type_of(cast.x))
    return max(abs(low - point), abs(high - point))


def _terms_of_mean(value: SSAValue) -> int | None:
    """The greatest absolute value of a sum that is a mean's; None where `value` is something else."""
    pool, reduction = producer(value, SumPoolOp), producer(value, ReduceOp)
    if pool is not None:
        low, high = integer_range(element_type_of(pool.x))
        point = pool.x_zero_point or 0
        return math.prod(pool.ints("kernel")) * max(point - low, high - point)
    if reduction is None or reduction.kind.data != "sum" or (cast := producer(reduction.x, CastOp)) is None:
        return None
    if not is_narrow_integer(element_type_of(cast.x)):
        return None
    low, high = integer_range(element_type_of(cast.x))
    return reduction.count() * max(-low, high)


def range_of(op: AccumulatingOp, axis: int, rank: int, store: WeightStore) -> tuple[Array, Array] | None:
    """The least and greatest sum of products of each channel, i64; None where they lie along another axis."""
    point, right_point = op.zero_points
    low, high = (each - point for each in integer_range(element_type_of(op.operands[0])))
    values = computed_array(op.operands[1], store)
    if values is None:
        if not isinstance(op, MatMulOp):
            return None
        ends = [x * (y - right_point) for x in (low, high) for y in integer_range(element_type_of(op.rhs))]
        depth = op.sizes()[-1]
        return np.array(depth * min(ends), np.int64), np.array(depth * max(ends), np.int64)
    weights = op.factor_array(1, values).astype(np.int64)
    if isinstance(op, ConvolutionOp):
        if axis % rank != CHANNEL_AXIS:
            return None
        low, high = min(low, 0), max(high, 0)  # some elements may be outside
        columns = by_output(op, weights).reshape(shape_of(op.result)[CHANNEL_AXIS], -1)
    else:
        assert isinstance(op, MatMulOp)
        matrix = weights if op.transpose_rhs else weights.swapaxes(-1, -2)
        if axis % rank != rank - 1:
            matrix = matrix.reshape(1, math.prod(matrix.shape[:-1]), -1)
        columns = np.moveaxis(matrix, -2, 0).reshape(matrix.shape[-2], -1, matrix.shape[-1])
        ends = ends_of_sums(columns, low, high)
        least, greatest = ends[0].min(-1), ends[1].max(-1)
        return (least, greatest) if axis % rank == rank - 1 else (least.min(), greatest.max())
    return ends_of_sums(columns, low, high)


def ends_of_sums(weights: Array, low: Array | int, high: Array | int) -> tuple[Array, Array]:
    """The least and greatest sum over the last axis of `weights` times numbers from low to high, of all sums or of
    each."""
    positive, negative = np.maximum(weights, 0).sum(-1), np.minimum(weights, 0).sum(-1)
    return positive * low + negative * high, positive * high + negative * low
