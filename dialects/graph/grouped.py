"""Convolutions in groups that are smaller than a block of channels: several groups at once, with zeros between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import I64, IntegerAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.graph.interfaces import Array, ElementOp, Fusion, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.loops import LoopBuilder, Reader, Scalar

MOST_WORK = 4
"""Groups are joined where that is at most so many times the lanes of work for each of them: below, vectors pay."""


def groups_to_join(groups: int, inputs: int, outputs: int, lanes: int) -> int | None:
    """How many groups, of `inputs` and `outputs` channels each, make whole blocks of `lanes`: the fewest, or all.

    None where that would be too much work.
    """
    for count in range(1, groups + 1):
        whole = count == groups or (count * inputs % lanes == 0 and count * outputs % lanes == 0)
        if groups % count == 0 and whole:
            return count if count <= MOST_WORK * lanes else None
    return None


@irdl_op_definition
class JoinGroupsOp(ElementOp):
    """The weight [M, C / group, kernel..] of a convolution for `by` times fewer groups: [M, by * C / group, kernel..].

    It is zero where an output channel does not see the input channel.
    """

    name = "graph.join_groups"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    ORDERS_WEIGHTS: ClassVar[bool] = True
    weight = operand_def(TensorType)
    group = prop_def(IntegerAttr[I64])
    by = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        shape, group, by = shape_of(self.weight), self.group.value.data, self.by.value.data
        if len(shape) < 3:
            raise ShapeError(f"the weight must be [M, C / group, kernel...], found {list(shape)}")
        if group < 1 or by < 1 or group % by or shape[0] % group:
            raise ShapeError(f"{group} groups of {shape[0]} output channels cannot be joined by {by}")
        return [TensorType(element_type_of(self.weight), [shape[0], by * shape[1], *shape[2:]])]

    def _slot(self, output: int) -> int:
        """Which of the groups joined with it the output channel belongs to."""
        return output // (shape_of(self.weight)[0] // self.group.value.data) % self.by.value.data

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        weight, by = operands[0], self.by.value.data
        outputs, inputs, *kernel = weight.shape
        joined = np.zeros((outputs, by, inputs, *kernel), weight.dtype)
        joined[np.arange(outputs), [self._slot(output) for output in range(outputs)]] = weight
        return [joined.reshape(outputs, by * inputs, *kernel)]

    def element(self, b: LoopBuilder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        output, channel, *taps = index
        outputs, inputs, *_ = shape_of(self.weight)
        slot = b.rem(output / (outputs // self.group.value.data), b.index(self.by.value.data))
        within = b.rem(channel, b.index(inputs))
        zero = b.const(0, element_type_of(self.weight))
        seen = b.compare("eq", channel / inputs, slot)
        return b.when(seen, lambda: [reads[0]([output, within, *taps])], lambda: [zero])[0]
