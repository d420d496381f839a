"""Tiles of integers: dot products, bytes from wider numbers, lanes and bytes that are looked up."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, VectorType, f32, i8, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot.tiles import TILE, tile_shape, tile_type
from aotc.dialects.operations import PureOp
from aotc.dialects.properties import flag, int_prop, integer, unit_prop
from aotc.machines.expansions.narrowing import NARROWED

SUMS = VarConstraint("S", VectorType.constr(AnyAttr()))
"""The type of tiles of sums."""
_BITS = 32
"""Bits of a lane of sums."""


@irdl_op_definition
class TileDotOp(PureOp):
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
    lhs = operand_def(TILE)
    rhs = operand_def(TILE)
    sums = operand_def(SUMS)
    lhs_unsigned = unit_prop()
    rhs_unsigned = unit_prop()
    narrow_pairs = unit_prop()
    complement = unit_prop()
    result = result_def(SUMS)
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
        return _BITS * tile_shape(self.sums)[-1] // tile_shape(self.lhs)[-1]

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
        if tile_shape(self.lhs) != (*outer, lanes * (_BITS // kind.width.data)):
            raise VerifyException(
                f"factors of shape {list(tile_shape(self.lhs))} do not fit sums of shape {[*outer, lanes]}"
            )


@irdl_op_definition
class TileDotPairOp(PureOp):
    """Two `aot.tile_dot` of 8-bit integers after each other, of `lhs` and `rhs`, then of `next_lhs` and `next_rhs`.

    All four products that meet in 16 bits fit there together, which is promised: those of the elements 2 i and 2 i + 1
    of both. So they are added there, which takes fewer instructions. Without `complement` lhs has no sign; with it, it
    has one unless `lhs_unsigned` is given.

    `aot.tile_dot_pair %x, %w, %y, %v, %sums {lhs_unsigned} : vector<4x1x32xi8>, vector<4x1x8xi32>`
    """

    name = "aot.tile_dot_pair"
    lhs = operand_def(TILE)
    rhs = operand_def(TILE)
    next_lhs = operand_def(TILE)
    next_rhs = operand_def(TILE)
    sums = operand_def(SUMS)
    lhs_unsigned = unit_prop()
    complement = unit_prop()
    result = result_def(SUMS)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$lhs `,` $rhs `,` $next_lhs `,` $next_rhs `,` $sums attr-dict `:` type($lhs) `,` type($sums)"

    def __init__(
        self, factors: Sequence[SSAValue], sums: SSAValue, *, unsigned: bool = False, complement: bool = False
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
        if tile_shape(self.lhs) != (*outer, lanes * (_BITS // 8)):
            raise VerifyException(
                f"factors of shape {list(tile_shape(self.lhs))} do not fit sums of shape {[*outer, lanes]}"
            )


@irdl_op_definition
class TilePickOp(PureOp):
    """Register by register of L lanes, those of two tiles that `numbers` says, modulo 2 L, counted through both.

    `aot.tile_pick %a, %b, %numbers : vector<3x16xi32>`
    """

    name = "aot.tile_pick"
    a = operand_def(TILE)
    b = operand_def(TILE)
    numbers = operand_def(TILE)
    result = result_def(TILE)
    assembly_format = "$a `,` $b `,` $numbers attr-dict `:` type($a)"

    def __init__(self, a: SSAValue, b: SSAValue, numbers: SSAValue) -> None:
        super().__init__(operands=[a, b, numbers], result_types=[a.type])

    def verify_(self) -> None:
        lanes = tile_shape(self.a)[-1]
        if self.a.type != tile_type(tile_shape(self.a), i32) or lanes & (lanes - 1):
            raise VerifyException(f"lanes are i32, a power of two of them, found {self.a.type}")


@irdl_op_definition
class TileRescaleOp(PureOp):
    """Each i32 times the factor / 2^(31 + shift) at its place, rounded twice, as `Builder.rescaled` says.

    `aot.tile_rescale %x, %factor, %shift : vector<3x16xi32>`
    """

    name = "aot.tile_rescale"
    x = operand_def(TILE)
    factor = operand_def(TILE)
    shift = operand_def(TILE)
    result = result_def(TILE)
    assembly_format = "$x `,` $factor `,` $shift attr-dict `:` type($x)"

    def __init__(self, x: SSAValue, factor: SSAValue, shift: SSAValue) -> None:
        super().__init__(operands=[x, factor, shift], result_types=[x.type])

    def verify_(self) -> None:
        if self.x.type != tile_type(tile_shape(self.x), i32):
            raise VerifyException(f"elements are i32, found {self.x.type}")


ENTRIES = 256
"""Of a table: one for each byte."""


@irdl_op_definition
class TileLookupOp(PureOp):
    """Each byte of a tile, without sign, as the number of one of the 256 bytes of a table.

    The table is one tile, its registers one after the other; or, once tiles are unrolled, as many registers.
    `width` bytes are looked up at once, so several registers of the tile together.

    `aot.tile_lookup %x, %table {width = 64} : vector<6x16xi8>, vector<4x64xi8>`
    """

    name = "aot.tile_lookup"
    x = operand_def(TILE)
    table = var_operand_def(VectorType)
    width = int_prop()
    result = result_def(TILE)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$x `,` $table attr-dict `:` type($x) `,` type($table)"

    def __init__(self, x: SSAValue, table: Sequence[SSAValue], width: int) -> None:
        super().__init__(operands=[x, table], result_types=[x.type], properties={"width": integer(width)})

    def verify_(self) -> None:
        for value in self.operands:
            assert isinstance(value.type, VectorType)
            if not isinstance(value.type.element_type, IntegerType) or value.type.element_type.width.data != 8:
                raise VerifyException(f"elements are integers of 8 bits, found {value.type}")
        entries = sum(value.type.element_count() for value in self.table if isinstance(value.type, VectorType))
        if entries != ENTRIES or len({value.type for value in self.table}) > 1:
            raise VerifyException(f"a table has {ENTRIES} entries in registers of one type, found {entries}")
        lanes, width = tile_shape(self.x)[-1], self.width
        if width < lanes or width % lanes:
            raise VerifyException(f"{width} bytes at once are not whole registers of {lanes}")


_MOST_POINT = 255
"""The greatest magnitude of a zero point: between integers of 8 bits, whatever their signs."""


@irdl_op_definition
class TileNarrowOp(PureOp):
    """Each element, of f32 the nearest integer, to even between two, plus `zero_point`, clamped to `low`..`high`.

    These are in the range of the result's bytes, which have no sign where `unsigned`. Elements are i32, or f32 below
    2^31 in magnitude; nothing wraps. Once tiles are unrolled there are several operands, `NARROWED` at most, whose
    lanes follow each other in the result: some processors narrow several registers at once.

    `aot.tile_narrow %x {zero_point = 3 : i64, low = 0 : i64, high = 255 : i64, unsigned} : vector<7x2x16xf32> ->
    vector<7x2x16xi8>`
    """

    name = "aot.tile_narrow"
    parts = var_operand_def(VectorType)
    zero_point = int_prop()
    low = int_prop()
    high = int_prop()
    unsigned = unit_prop()
    result = result_def(VectorType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$parts attr-dict `:` type($parts) `->` type($result)"

    def __init__(self, parts: Sequence[SSAValue], zero_point: int, low: int, high: int, *, unsigned: bool) -> None:
        numbers = {"zero_point": integer(zero_point), "low": integer(low), "high": integer(high)}
        *outer, lanes = tile_shape(parts[0])
        super().__init__(
            operands=[parts],
            result_types=[tile_type((*outer, lanes * len(parts)), i8)],
            properties={**numbers, "unsigned": flag(unsigned)},
        )

    @property
    def numbers(self) -> tuple[int, int, int]:
        """The zero point, the least and the greatest result."""
        return self.zero_point, self.low, self.high

    @property
    def range(self) -> tuple[int, int]:
        """Of the bytes."""
        return (-128, 127) if not self.unsigned else (0, 255)

    def verify_(self) -> None:
        kinds = {value.type for value in self.parts}
        if len(kinds) != 1 or len(self.parts) > NARROWED:
            raise VerifyException(f"one to {NARROWED} operands have one type, found {', '.join(map(str, kinds))}")
        (kind,) = kinds
        assert isinstance(kind, VectorType)
        *outer, lanes = kind.get_shape()
        if kind.element_type not in (f32, i32) or (outer and len(self.parts) > 1):
            raise VerifyException(f"operands are of i32 or f32, several ones registers, found {kind}")
        if self.result.type != tile_type((*outer, lanes * len(self.parts)), i8):
            raise VerifyException(f"the result of {len(self.parts)} operands {kind} is {self.result.type}")
        point, low, high = self.numbers
        least, most = self.range
        if abs(point) > _MOST_POINT or not least <= low <= high <= most:
            raise VerifyException(f"zero point {point} and clamp {low} to {high} do not fit {least} to {most}")
