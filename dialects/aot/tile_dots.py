"""Dot products of narrow integers on tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, VectorType, i8, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot.tiles import tile_shape
from aotc.dialects.properties import flag, unit_prop

_SUMS = 32
"""Bits of a lane of sums."""


@irdl_op_definition
class TileDotOp(IRDLOperation):
    """Lane by lane, `sums` plus the dot product of as many neighbours of both factors as take 32 bits; sums wrap.

    Lane l of four 8-bit integers each: sums[l] + lhs[4 l] * rhs[4 l] + .. + lhs[4 l + 3] * rhs[4 l + 3], exactly. A
    factor is signed, or not (`lhs_unsigned`, `rhs_unsigned`). `narrow_pairs` promises of 8-bit integers that
    lhs[2 i] * rhs[2 i] + lhs[2 i + 1] * rhs[2 i + 1] always fits 16 bits with sign, whatever the values of lhs, and,
    where both are signed, that no element of rhs is -128: some processors have a faster instruction for that.
    `complement`, of 8-bit integers, multiplies magnitudes of rhs: where an element of rhs is negative, by the
    complement of lhs, -1 - lhs. So a product is lhs * rhs, or lhs * rhs + rhs; two of them always fit 16 bits. An lhs
    without sign counts as lhs - 128 there.

    `aot.tile_dot %x, %w, %sums {lhs_unsigned} : vector<4x2x64xi8>, vector<4x2x16xi32>`
    """

    name = "aot.tile_dot"
    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))
    S: ClassVar = VarConstraint("S", VectorType.constr(AnyAttr()))
    lhs = operand_def(T)
    rhs = operand_def(T)
    sums = operand_def(S)
    lhs_unsigned = unit_prop()
    rhs_unsigned = unit_prop()
    narrow_pairs = unit_prop()
    complement = unit_prop()
    result = result_def(S)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$lhs `,` $rhs `,` $sums attr-dict `:` type($lhs) `,` type($sums)"

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        sums: SSAValue,
        *,
        unsigned: tuple[bool, bool] = (False, False),
        narrow_pairs: bool = False,
        complement: bool = False,
    ) -> None:
        super().__init__(
            operands=[lhs, rhs, sums],
            result_types=[sums.type],
            properties={
                "lhs_unsigned": flag(unsigned[0]),
                "rhs_unsigned": flag(unsigned[1]),
                "narrow_pairs": flag(narrow_pairs),
                "complement": flag(complement),
            },
        )

    @property
    def unsigned(self) -> tuple[bool, bool]:
        """Of each factor, whether it is unsigned."""
        return self.lhs_unsigned, self.rhs_unsigned

    @property
    def bits(self) -> int:
        """Of an element of a factor."""
        return _SUMS * tile_shape(self.sums)[-1] // tile_shape(self.lhs)[-1]

    def verify_(self) -> None:
        assert isinstance(self.lhs.type, VectorType) and isinstance(self.sums.type, VectorType)
        kind = self.lhs.type.element_type
        if not isinstance(kind, IntegerType) or kind.width.data not in (8, 16) or self.sums.type.element_type != i32:
            raise VerifyException("factors are integers of 8 or 16 bits, sums are i32")
        if self.narrow_pairs and kind.width.data != 8:
            raise VerifyException("narrow pairs are pairs of 8-bit integers")
        if self.complement and (kind.width.data != 8 or self.unsigned[1]):
            raise VerifyException("complements are of 8-bit integers, with a signed rhs")
        *outer, lanes = tile_shape(self.sums)
        if tile_shape(self.lhs) != (*outer, lanes * (_SUMS // kind.width.data)):
            raise VerifyException(
                f"factors of shape {list(tile_shape(self.lhs))} do not fit sums of shape {[*outer, lanes]}"
            )


@irdl_op_definition
class TileDotPairOp(IRDLOperation):
    """Two `aot.tile_dot` of 8-bit integers after each other, of `lhs` and `rhs`, then of `next_lhs` and `next_rhs`.

    All four products that meet in 16 bits fit there together, which is promised: those of the elements 2 i and 2 i + 1
    of both. So they are added there, which takes fewer instructions. Without `complement` lhs has no sign; with it, it
    has one unless `lhs_unsigned` is given.

    `aot.tile_dot_pair %x, %w, %y, %v, %sums {lhs_unsigned} : vector<4x1x32xi8>, vector<4x1x8xi32>`
    """

    name = "aot.tile_dot_pair"
    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))
    S: ClassVar = VarConstraint("S", VectorType.constr(AnyAttr()))
    lhs = operand_def(T)
    rhs = operand_def(T)
    next_lhs = operand_def(T)
    next_rhs = operand_def(T)
    sums = operand_def(S)
    lhs_unsigned = unit_prop()
    complement = unit_prop()
    result = result_def(S)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$lhs `,` $rhs `,` $next_lhs `,` $next_rhs `,` $sums attr-dict `:` type($lhs) `,` type($sums)"

    def __init__(
        self,
        factors: Sequence[SSAValue],
        sums: SSAValue,
        *,
        unsigned: bool = False,
        complement: bool = False,
    ) -> None:
        super().__init__(
            operands=[*factors, sums],
            result_types=[sums.type],
            properties={"lhs_unsigned": flag(unsigned), "complement": flag(complement)},
        )

    def verify_(self) -> None:
        assert isinstance(self.lhs.type, VectorType) and isinstance(self.sums.type, VectorType)
        kind = self.lhs.type.element_type
        if kind != i8 or self.sums.type.element_type != i32:
            raise VerifyException("factors are integers of 8 bits, sums are i32")
        if not self.complement and not self.lhs_unsigned:
            raise VerifyException("a signed lhs is multiplied by complements only")
        *outer, lanes = tile_shape(self.sums)
        if tile_shape(self.lhs) != (*outer, lanes * (_SUMS // 8)):
            raise VerifyException(
                f"factors of shape {list(tile_shape(self.lhs))} do not fit sums of shape {[*outer, lanes]}"
            )
