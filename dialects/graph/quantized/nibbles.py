"""Integers of few bits: several that are stored in a byte, and matrices of such that are scaled in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import OpResult, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.conversion import DequantizeOp
from aotc.dialects.graph.interfaces import ElementOp, Fusion, ShapeError, element_type_of, producer, shape_of
from aotc.dialects.graph.structure import ConstantOp
from aotc.dialects.properties import int_prop

_UI8 = ELEMENT_TYPES["uint8"]


def is_packed(value: SSAValue) -> bool:
    """Whether `value` is computed, element by element, from a constant that holds several elements in a byte."""
    while isinstance(value, OpResult) and isinstance(value.op, ElementOp):
        if isinstance(value.op, UnpackBitsOp):
            return producer(value.op.x, ConstantOp) is not None
        value = value.op.operands[0]
    return False


@irdl_op_definition
class UnpackBitsOp(ElementOp):
    """x [.., K] of ui8 as [.., K * 8 / bits]: groups of `bits` bits of each byte, the lowest first."""

    name = "graph.unpack_bits"
    x = operand_def(TensorType)
    bits = int_prop()
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    @property
    def count(self) -> int:
        """Elements of a byte."""
        return 8 // self.bits

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. K ui8")
        shape = shape_of(self.x)
        if self.bits not in (1, 2, 4):
            raise ShapeError(f"bits must be 1, 2 or 4, found {self.bits}")
        return [TensorType(_UI8, [*shape[:-1], shape[-1] * self.count])]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        bits, count = self.bits, b.index(self.count)
        byte = reads[0]([*index[:-1], index[-1] / count])
        shift = b.cast(b.rem(index[-1], count) * bits, _UI8)
        return b.shift_right(byte, shift) & (2**bits - 1)


@dataclass(frozen=True)
class FewBitsMatrix:
    """A constant matrix [K, N] of integers of few bits, less their zero points, times scales that may change along K.

    It is as a product reads it: where `transposed`, all that belongs to it is stored with N first.
    """

    values: SSAValue
    bits: int
    """2, 4 or 8, all that the integers need."""
    scales: SSAValue
    """[ceil(K / block), N], or [N], or a single element."""
    points: SSAValue | None
    """As the scales, or a single element; of the type of the values, or a float."""
    block: int
    """Along K; the whole of it where scales do not change."""
    transposed: bool

    @classmethod
    def of(cls, value: SSAValue, transposed: bool) -> Self | None:
        """`value`, the right operand of a product, as such a matrix; None where it is none.

        Integers of 8 bits count where their scales change along K: those of one scale for a column are integers that
        sums of floats may well read widened.
        """
        op = producer(value, DequantizeOp)
        if op is None or len(shape_of(op.x)) != 2 or not _is_known(op):
            return None
        scales, block = shape_of(op.scale), op.block_size
        along, bits = int(transposed), _bits(op.x)
        depth, is_along = shape_of(op.x)[along], op.axis % 2 == along
        if bits is None or (bits == 8 and not block) or (is_along != (block > 0) and scales not in ((), (1,))):
            return None
        return cls(op.x, bits, op.scale, op.zero_point, min(block, depth) if block else depth, transposed)


def _bits(value: SSAValue) -> int | None:
    """The bits of each of constant integers; None where these are no few."""
    kind = element_type_of(value)
    if not isinstance(kind, IntegerType):
        return None
    while isinstance(value, OpResult) and isinstance(value.op, ElementOp):
        if isinstance(value.op, UnpackBitsOp):
            return value.op.bits
        if not value.op.MOVES:
            break
        value = value.op.operands[0]
    return kind.width.data if kind.width.data in (2, 4, 8) else None


def _is_known(op: ElementOp) -> bool:
    """Whether `op` computes from constants, by operations that can be evaluated."""
    makers = [value.op if isinstance(value, OpResult) else None for value in op.operands]
    return all(isinstance(each, ConstantOp) or (isinstance(each, ElementOp) and _is_known(each)) for each in makers)
