"""8-bit integers with and without sign, exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, i8
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.elementwise import BroadcastOp
from aotc.dialects.graph.interfaces import element_type_of

UI8 = ELEMENT_TYPES["uint8"]
FLIPPED = 128
"""The addend, modulo 256: the top bit changes."""


def flipped_type(kind: Attribute) -> Attribute:
    """ui8 for i8, i8 for ui8."""
    return UI8 if kind == i8 else i8


@irdl_op_definition
class FlipSignOp(BroadcastOp):
    """8-bit integers with the top bit flipped: i8 as ui8, 128 more; ui8 as i8, 128 less."""

    name = "graph.flip_sign"
    ORDERS_WEIGHTS: ClassVar[bool] = True
    x = operand_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. byte")
        return super().infer_types()

    def result_element_type(self) -> Attribute:
        return flipped_type(element_type_of(self.x))

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        kind = self.result_element_type()
        return b.cast(operands[0], kind) + b.const(FLIPPED if kind == UI8 else -FLIPPED, kind)
