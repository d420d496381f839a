"""Weights of 4 bits in pairs: those of two outputs share a byte, which kernels read once and take apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType, i8, i32
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.interfaces import Array, ElementOp, Fusion, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.shapes import ceil_div

NIBBLE = 4
"""Bits."""
FEW_BITS = IntegerType(2), IntegerType(NIBBLE)
"""The types of weights that fit a nibble."""


@irdl_op_definition
class PairNibblesOp(ElementOp):
    """Weights [M, ..] of i8, each from -8 to 7, as [ceil(M / 2), ..]: row 2 j in the lower four bits of each byte, row
    2 j + 1, or 0 where there is none, in the upper ones."""

    name = "graph.pair_nibbles"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    ORDERS_WEIGHTS: ClassVar[bool] = True
    x = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        shape = shape_of(self.x)
        if element_type_of(self.x) != i8 or not shape:
            raise ShapeError(f"the weights must be a tensor of i8, found {self.x.type}")
        return [TensorType(i8, [ceil_div(shape[0], 2), *shape[1:]])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        rows = np.zeros((2 * shape_of(self.result)[0], *operands[0].shape[1:]), np.uint8)
        rows[: operands[0].shape[0]] = operands[0].view(np.uint8)
        return [(rows[::2] & np.uint8(15) | rows[1::2] << np.uint8(NIBBLE)).view(np.int8)]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        first, *rest = index
        rows = shape_of(self.x)[0]

        def row(number: Scalar) -> Scalar:
            return b.cast(reads[0]([number, *rest]), i32)

        lower, second = row(first * 2) & 15, first * 2 + 1
        if rows % 2:
            zero = b.const(0, i32)
            (upper,) = b.when(b.compare("lt", second, rows), lambda: [row(second)], lambda: [zero])
        else:
            upper = row(second)
        return b.cast(lower | b.shift_left(upper, b.const(NIBBLE, i32)), i8)


def nibbles(b: Builder, byte: Scalar) -> tuple[Scalar, Scalar]:
    """Both weights of a byte, as i32."""
    wide = b.cast(byte, i32)
    bits = b.const(NIBBLE, i32)
    top = b.const(32 - NIBBLE, i32)
    return b.shift_right(b.shift_left(wide, top), top), b.shift_right(wide, bits)
