"""How operations pass the channels of a tensor on.

Every tensor has at most one axis of channels: that of the channels of the sum that it comes from. An operation that
is none of these needs all channels of its operands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from aotc.dialects.constants import known_array
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import Array, ElementOp, GraphOp, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ConcatOp, ReshapeOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.dialects.graph.windows.pooling import WindowOp
from aotc.model.weight_store import WeightStore

CONVOLVED = 1
"""The axis of the channels of convolutions and pools, of operands and results."""


@dataclass(frozen=True)
class Sum:
    """A convolution without groups, or a product, of integers with a constant weight and bias: each channel of its
    result is a sum over all channels of x."""

    op: ConvOp | MatMulOp
    weight: Array
    """As it is."""
    bias: Array
    """[outputs], 0 where there is none."""

    @property
    def x(self) -> SSAValue:
        return self.op.operands[0]

    @property
    def axis(self) -> int:
        """Of the channels of x."""
        return CONVOLVED if isinstance(self.op, ConvOp) else len(shape_of(self.x)) - 1

    @property
    def result_axis(self) -> int:
        return CONVOLVED if isinstance(self.op, ConvOp) else len(shape_of(self.op.result)) - 1

    @property
    def is_padded(self) -> bool:
        """Whether some taps count for nothing at the borders."""
        return isinstance(self.op, ConvOp) and any(self.op.ints("pads"))

    @property
    def factors(self) -> Array:
        """The weight less its zero point, [outputs, channels, taps], i64."""
        is_columns = isinstance(self.op, MatMulOp) and not self.op.transpose_rhs
        weight = self.op.factor_array(1, self.weight).astype(np.int64)
        weight = weight.T if is_columns else weight
        return weight.reshape(*weight.shape[:2], -1)

    @cached_property
    def reads(self) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
        """[outputs, channels]: whether the weight is not 0 everywhere."""
        return (self.factors != 0).any(axis=2)


@dataclass(frozen=True)
class Source:
    """An operand of which channel c becomes channels first + c * spread .. first + (c + 1) * spread of the result."""

    place: int
    axis: int
    first: int = 0
    spread: int = 1


@dataclass(frozen=True)
class Passing:
    """An operation each channel of whose result depends on that channel of its operands alone."""

    op: GraphOp
    sources: tuple[Source, ...]
    result_axis: int
    constants: Mapping[int, int]
    """Constant operands with an element for each channel, and the axis of these."""


def flows(block: Block, store: WeightStore) -> Iterator[Sum | Passing]:
    """Those of a block's operations whose channels are known, in order."""
    axes: dict[SSAValue, int] = {}
    for op in block.ops:
        if (flow := _flow(op, axes, store)) is not None:
            axes[op.results[0]] = flow.result_axis
            yield flow


def _flow(op: Operation, axes: Mapping[SSAValue, int], store: WeightStore) -> Sum | Passing | None:
    match op:
        case ConvOp() if op.groups == 1:
            return _sum(op, store)
        case ConvOp() if shape_of(op.weight)[1] == 1 and axes.get(op.x) == CONVOLVED:
            constants = dict.fromkeys(range(1, len(op.operands)), 0)
            outputs = shape_of(op.weight)[0] // op.groups
            return _passing(op, (Source(0, CONVOLVED, 0, outputs),), CONVOLVED, constants)
        case MatMulOp() if not op.transpose_lhs and len(shape_of(op.rhs)) == 2:
            return _sum(op, store)
        case WindowOp() if axes.get(op.x) == CONVOLVED:
            return Passing(op, (Source(0, CONVOLVED),), CONVOLVED, {})
        case ReshapeOp() if op.x in axes:
            return _reshape(op, axes[op.x])
        case ConcatOp() if all(axes.get(each) == op.axis for each in op.operands):
            extents = [shape_of(each)[op.axis] for each in op.operands]
            starts = np.cumsum([0, *extents]).tolist()
            return Passing(op, tuple(Source(i, op.axis, starts[i]) for i in range(len(extents))), op.axis, {})
        case ElementOp() if op.operands:
            return _elements(op, axes)
        case _:
            return None


def _sum(op: ConvOp | MatMulOp, store: WeightStore) -> Sum | None:
    weight = known_array(op.operands[1], store)
    if weight is None or not op.sums_integers:
        return None
    if isinstance(op, MatMulOp) or op.bias is None:
        return Sum(op, weight, np.zeros(shape_of(op.result)[-1 if isinstance(op, MatMulOp) else CONVOLVED], np.int32))
    bias = known_array(op.bias, store)
    return None if bias is None else Sum(op, weight, bias)


def _elements(op: ElementOp, axes: Mapping[SSAValue, int]) -> Passing | None:
    """An operation on elements, all of whose operands that have channels have them along one axis of the result."""
    for axis in range(len(shape_of(op.results[0]))):
        along = op.operand_axes(axis)
        if along is not None and any(axes.get(op.operands[place]) == own for place, own in along.items()):
            tensors = {p: own for p, own in along.items() if not isinstance(op.operands[p].owner, ConstantOp)}
            if any(axes.get(op.operands[place]) != own for place, own in tensors.items()):
                return None
            others = [p for p in range(len(op.operands)) if op.operands[p] in axes and p not in tensors]
            constants = {place: own for place, own in along.items() if place not in tensors}
            sources = tuple(Source(place, own) for place, own in tensors.items())
            return None if others else _passing(op, sources, axis, constants)
    return None


def _passing(op: GraphOp, sources: tuple[Source, ...], axis: int, constants: Mapping[int, int]) -> Passing | None:
    given = all(isinstance(op.operands[place].owner, ConstantOp) for place in constants)
    return Passing(op, sources, axis, constants) if given else None


def _reshape(op: ReshapeOp, axis: int) -> Passing | None:
    """A view that leaves each channel in one piece, as flattening behind it does."""
    source, shape = shape_of(op.x), op.ints("shape")
    for own, extent in enumerate(shape):
        is_outside = math.prod(shape[:own]) == math.prod(source[:axis])
        if is_outside and extent > 1 and extent % source[axis] == 0:
            return Passing(op, (Source(0, axis, 0, extent // source[axis]),), own, {})
    return None
