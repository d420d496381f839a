"""Convolutions and matrix products of what integers stand for, on the integers."""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32, i32
from xdsl.ir import SSAValue

from aotc.dialects.constants import key_of, known_array
from aotc.dialects.dtypes import MOST_BITS
from aotc.dialects.graph.conversion import CastOp, DequantizeOp
from aotc.dialects.graph.convolution import ConvolutionOp, ConvOp, ConvTransposeOp
from aotc.dialects.graph.elementwise import AddOp, MulOp, SubOp
from aotc.dialects.graph.interfaces import Array, GraphOp, element_type_of, producer, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import PadOp, ReshapeOp
from aotc.dialects.graph.quantized.requantization import RequantizeOp
from aotc.passes.graph.quantization.epilogues import along_axis_only, bias, epilogue
from aotc.passes.graph.quantization.real_values import (
    Quantized,
    Weights,
    as_type,
    is_scale,
    narrowest,
    quantized,
    weights,
)
from aotc.passes.graph.rewriting import Constants, Raised

SumOp: TypeAlias = ConvolutionOp | MatMulOp


def raise_sum(op: SumOp, constants: Constants, *, most_bits: int = MOST_BITS) -> Raised | None:
    """`op` and what follows it, on integers; None where its operands stand for none, where one that is no constant is
    wider than `most_bits`, or sums would not fit i32."""
    store = constants.store
    x, y = quantized(op.operands[0], store), None
    if x is None or _bits(x.value) > most_bits:
        return None
    known = weights(op.operands[1], store)
    if known is None and (isinstance(op, ConvolutionOp) or (y := quantized(op.operands[1], store)) is None):
        return None
    if x.offset is not None and not (known is not None and _may_be_taken_off(op, x.offset)):
        return None
    if y is not None and (y.offset is not None or _bits(y.value) > most_bits):
        return None
    axis = CHANNEL_AXIS if isinstance(op, ConvolutionOp) else -1
    scale = None
    if x.scale is not None:
        if known is not None:
            factors = _scale_of_results(op, known)
        else:
            assert y is not None
            factors = y.scale
        if factors is None:
            return None
        with np.errstate(over="ignore", under="ignore"):
            scale = np.asarray(x.scale * factors, np.float32)
        if not is_scale(scale):
            return None
    sums = _Sums(op, x, known, y, scale, axis, constants)
    return sums.build()


CHANNEL_AXIS = 1
"""The axis of channels in the operand and the result of a convolution."""


@dataclass
class _Sums:
    op: SumOp
    x: Quantized
    known: Weights | None
    y: Quantized | None
    scale: Array | None
    axis: int
    constants: Constants

    def build(self) -> Raised | None:
        op, store = self.op, self.constants.store
        start = self._start()
        if start is None and isinstance(op, ConvolutionOp) and op.bias is not None:
            return self._dequantized(after=op.bias)
        after = epilogue(op.result, self._unit(), self.axis, store)
        added = None if after is None else after.bias
        if after is None or not self._fits(start, added):
            return self._dequantized(start)
        raised = Raised(replaced=[op, *after.ops])
        value, multiplier = self._sums(raised, start, added), self.constants.of(after.multiplier(), "multiplier")
        axis = self.axis % len(shape_of(value))
        raised.add(RequantizeOp.get(value, multiplier, axis=axis, **after.integers))
        return raised

    def _start(self) -> Array | None:
        """First addends of sums, one for each output channel, i32; None where there is nothing, or no integers are as
        good."""
        op = self.op
        if not isinstance(op, ConvolutionOp) or op.bias is None:
            return None
        return bias(op.bias, self._unit(), self.constants.store)

    def _unit(self) -> Array:
        """The number that 1 of a sum stands for: one f32, or one for each channel."""
        return np.ones((), np.float32) if self.scale is None else self.scale

    def _dequantized(self, start: Array | None = None, after: SSAValue | None = None) -> Raised | None:
        """The sums as real numbers, or as they are where they stand for integers; `after` is a bias to add to these."""
        op, constants = self.op, self.constants
        raised = Raised(replaced=[op])
        if not self._fits(start, None):
            return None
        value = self._sums(raised, start, None)
        if self.scale is not None:
            scale = constants.of(self.scale, "scale")
            axis = self.axis % len(shape_of(op.result))
            value = raised.add(DequantizeOp.get(value, scale, axis=axis, to=f32))
        if after is not None:
            shape = [-1 if each == self.axis else 1 for each in range(len(shape_of(op.result)))]
            shape[self.axis] = shape_of(after)[0]
            raised.add(AddOp.get(value, raised.add(ReshapeOp.get(after, shape=shape))))
        return raised

    # Sums

    def _sums(self, raised: Raised, start: Array | None, added: Array | None) -> SSAValue:
        """Emit the sums, with constants that they start with, and that are added."""
        op, x = self.op, self.x
        point, more = x.zero_point, None
        if self.known is not None and point and not self._has_borders():
            more, point = -point * self._totals(self.known.values), 0  # wraps as the sums do
        right = _integers(self.known, self.constants) if self.known is not None else self.y.value if self.y else None
        assert right is not None
        points = (point or None, self.y.zero_point or None if self.y is not None else None)
        if isinstance(op, MatMulOp):
            product = MatMulOp.get(
                x.value,
                right,
                transpose_lhs=op.transpose_lhs,
                transpose_rhs=op.transpose_rhs,
                accumulator=i32,
                lhs_zero_point=points[0],
                rhs_zero_point=points[1],
            )
            value, terms = raised.add(product), [each for each in (more, added) if each is not None]
        else:
            terms: list[Array] = []
            channels = shape_of(op.result)[CHANNEL_AXIS]
            starts = [each for each in (start, more) if each is not None]
            if added is not None:
                along = along_axis_only(added, self.axis, len(shape_of(op.result)))
                (terms if along is None else starts).append(added if along is None else along)
            total = sum((np.broadcast_to(each, (channels,)).astype(np.int64) for each in starts), np.zeros(channels))
            beginning = self.constants.of(_wrapped(total), "bias") if starts else None
            value = raised.add(self._convolution(self._padded(raised), right, beginning, points))
        total = sum((each.astype(np.int64) for each in terms), np.zeros((), np.int64))
        if np.any(total):
            value = raised.add(AddOp.get(value, self.constants.of(_wrapped(np.asarray(total)), "bias")))
        if x.offset is not None:
            assert self.known is not None
            shape = (-1, *(1,) * (len(shape_of(value)) - 2)) if isinstance(op, ConvolutionOp) else None
            totals = _wrapped(self._totals(self.known.values))
            totals = self.constants.of(totals if shape is None else totals.reshape(shape), "totals")
            value = raised.add(SubOp.get(value, raised.add(MulOp.get(x.offset, totals))))
        return value

    def _padded(self, raised: Raised) -> SSAValue:
        """The operand of a convolution, with what stands for zeros around it where only the data say what that is."""
        op, x = self.op, self.x
        if x.offset is None or not self._has_borders():
            return x.value
        narrow = producer(x.offset, CastOp)
        assert narrow is not None
        pads = op.ints("pads")
        spatial = len(pads) // 2
        around = [0, 0, *pads[:spatial], 0, 0, *pads[spatial:]]
        return raised.add(PadOp.get(x.value, narrow.x, pads=around, mode="constant"))

    def _convolution(
        self, x: SSAValue, weight: SSAValue, beginning: SSAValue | None, points: tuple[int | None, int | None]
    ) -> GraphOp:
        op = self.op
        assert isinstance(op, ConvolutionOp)
        given: dict[str, object] = dict(op.properties)
        if self.x.offset is not None:
            given["pads"] = [0] * len(op.ints("pads"))  # `x` has them
        return type(op).get(
            x, weight, beginning, **given, accumulator=i32, x_zero_point=points[0], w_zero_point=points[1]
        )

    def _has_borders(self) -> bool:
        """Whether some sums have fewer terms than others."""
        op = self.op
        if isinstance(op, MatMulOp):
            return False
        return isinstance(op, ConvTransposeOp) or any(op.ints("pads"))

    def _totals(self, values: Array) -> Array:
        """The sum of the weights of each sum, i64, as it broadcasts to the matrix products, or by channel."""
        op, wide = self.op, values.astype(np.int64)
        if isinstance(op, MatMulOp):
            return wide.sum(-1 if op.transpose_rhs else -2, keepdims=True).reshape(
                (*values.shape[:-2], *((1,) if values.ndim > 2 else ()), -1)
            )
        return by_output(op, wide).sum(axis=tuple(range(1, wide.ndim)))

    def _fits(self, start: Array | None, added: Array | None) -> bool:
        """Whether no sum can leave the range of i32."""
        most = 0
        for each in (start, added):
            most += int(np.abs(each.astype(np.int64)).max(initial=0)) if each is not None else 0
        if self.known is None:
            assert isinstance(self.op, MatMulOp) and self.y is not None
            *_, depth = self.op.sizes()
            most += depth * self.x.greatest * self.y.greatest
        else:
            most += self.x.greatest * int(self._totals(np.abs(self.known.values)).max(initial=0))
        return most < 2**31


def _may_be_taken_off(op: SumOp, offset: SSAValue) -> bool:
    """Whether a zero point is the same for all terms of a sum, so that it can be taken off the sums; padding is then
    written as such zero points."""
    shape = shape_of(offset)
    if isinstance(op, MatMulOp):
        return math.prod(shape) == 1 or (shape[-1] == 1 and not op.transpose_lhs)
    return isinstance(op, ConvOp) and math.prod(shape) == 1 and min(op.ints("pads")) >= 0


def by_output(op: ConvolutionOp, values: Array) -> Array:
    """Weights with the output channels along the first axis, each with all weights of its group."""
    if not isinstance(op, ConvTransposeOp):
        return values
    inputs, outputs, *kernel = values.shape
    grouped = values.reshape(op.groups, inputs // op.groups, outputs, *kernel)
    return np.swapaxes(grouped, 1, 2).reshape(op.groups * outputs, inputs // op.groups, *kernel)


def _scale_of_results(op: SumOp, known: Weights) -> Array | None:
    """The weights' scale as it holds for the results: one, or one for each output channel or column. None where sums
    have terms of several scales."""
    scale = known.scale
    assert scale is not None
    if scale.size == 1:
        return scale.reshape(())
    rank = known.values.ndim
    if isinstance(op, MatMulOp):
        return scale if known.axis == rank - (2 if op.transpose_rhs else 1) else None
    if isinstance(op, ConvTransposeOp):
        return np.tile(scale, op.groups) if known.axis == 1 else None
    return scale if known.axis == 0 else None


def _bits(integers: SSAValue) -> int:
    kind = element_type_of(integers)
    assert isinstance(kind, IntegerType)
    return kind.width.data


def _wrapped(total: Array) -> Array:
    """i64 as i32, modulo 2^32."""
    return np.asarray(total).astype(np.int64).astype(np.int32)


def _integers(given: Weights, constants: Constants) -> SSAValue:
    """The integers of weights in the narrowest type, those of the model where they are that."""
    kind = narrowest(given.values, element_type_of(given.source))
    assert kind is not None
    array = as_type(given.values, kind)
    known = known_array(given.source, constants.store)
    if known is not None and known.dtype == array.dtype and bool((known == array).all()):
        return given.source
    return constants.of(array, key_of(given.source) or "weight")
