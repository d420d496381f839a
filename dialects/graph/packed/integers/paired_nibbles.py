"""Weights of 4 bits in pairs: those of two outputs share a byte, which kernels read once and take apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType, i8, i32
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import Array, ConstantPackerOp, shape_of
from aotc.dialects.graph.packed.layout import Layout, Mode, blocks

NIBBLE = 4
"""Bits."""
FEW_BITS = IntegerType(2), IntegerType(NIBBLE)
"""The types of weights that fit a nibble."""


@irdl_op_definition
class PairNibblesOp(ConstantPackerOp):
    """Weights [M, ..] of i8, each from -8 to 7, as [ceil(M / 2), ..]: row 2 j in the lower four bits of each byte, row
    2 j + 1, or 0 where there is none, in the upper ones."""

    name = "graph.pair_nibbles"
    x = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x="M .. i8")
        return [TensorType(i8, self.layout.packed(shape_of(self.x))[1:])]

    @property
    def layout(self) -> Layout:
        """Of the weights: the lower ones, then the upper ones."""
        pair, which = blocks(0, 2)
        return Layout("nibbles", ((which,), (pair,), *((Mode(dim),) for dim in range(1, len(shape_of(self.x))))))

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array]:
        lower, upper = self.layout.pack(operands[0].view(np.uint8))
        return [(lower & np.uint8(15) | upper << np.uint8(NIBBLE)).view(np.int8)]


def nibbles(b: Builder, byte: Scalar) -> tuple[Scalar, Scalar]:
    """Both weights of a byte, as i32."""
    wide = b.cast(byte, i32)
    bits = b.const(NIBBLE, i32)
    top = b.const(32 - NIBBLE, i32)
    return b.shift_right(b.shift_left(wide, top), top), b.shift_right(wide, bits)
