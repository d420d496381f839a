"""Tiles of bytes from tiles of wider numbers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import VectorType, f32, i8, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot.tiles import tile_shape, tile_type
from aotc.dialects.properties import flag, int_prop, integer, unit_prop

PARTS = 4
"""Registers of 32-bit lanes whose bytes fill a register."""
_MOST_POINT = 255
"""The greatest magnitude of a zero point: between integers of 8 bits, whatever their signs."""


@irdl_op_definition
class TileNarrowOp(IRDLOperation):
    """Each element, of f32 the nearest integer, to even between two, plus `zero_point`, clamped to `low`..`high`.

    These are in the range of the result's bytes, which have no sign where `unsigned`. Elements are i32, or f32 below
    2^31 in magnitude; nothing wraps. Once tiles are unrolled there are several operands, `PARTS` at most, whose lanes
    follow each other in the result: some processors narrow several registers at once.

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
    traits = traits_def(Pure())
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
        if len(kinds) != 1 or len(self.parts) > PARTS:
            raise VerifyException(f"one to {PARTS} operands have one type, found {', '.join(map(str, kinds))}")
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
