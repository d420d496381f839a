"""Integers of less than a byte, several of which are stored in a byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import I64, IntegerAttr, TensorType
from xdsl.ir import OpResult, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.dialects.graph.interfaces import Array, ElementOp, Fusion, ShapeError, element_type_of, producer, shape_of
from aotc.dialects.graph.structure import ConstantOp

_UI8 = ELEMENT_TYPES["uint8"]


def is_packed(value: SSAValue) -> bool:
    """Whether `value` is computed, element by element, from a constant that holds several elements in a byte."""
    while isinstance(value, OpResult) and isinstance(value.op, ElementOp):
        if isinstance(value.op, UnpackOp):
            return producer(value.op.x, ConstantOp) is not None
        value = value.op.operands[0]
    return False


@irdl_op_definition
class UnpackOp(ElementOp):
    """x [.., K] of ui8 as [.., K * 8 / bits]: groups of `bits` bits of each byte, the lowest first."""

    name = "graph.unpack"
    x = operand_def(TensorType)
    bits = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    @property
    def count(self) -> int:
        """Elements of a byte."""
        return 8 // self.bits.value.data

    def infer_types(self) -> Sequence[TensorType]:
        shape = shape_of(self.x)
        if element_type_of(self.x) != _UI8 or not shape:
            raise ShapeError(f"x must be a tensor of ui8, found {self.x.type}")
        if self.bits.value.data not in (1, 2, 4):
            raise ShapeError(f"bits must be 1, 2 or 4, found {self.bits.value.data}")
        return [TensorType(_UI8, [*shape[:-1], shape[-1] * self.count])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        bits = self.bits.value.data
        shifts = np.arange(self.count, dtype=np.uint8) * np.uint8(bits)
        return [((operands[0][..., None] >> shifts) & np.uint8(2**bits - 1)).reshape(shape_of(self.result))]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        bits, count = self.bits.value.data, b.index(self.count)
        byte = reads[0]([*index[:-1], index[-1] / count])
        shift = b.cast(b.rem(index[-1], count) * bits, _UI8)
        return b.shift_right(byte, shift) & (2**bits - 1)
