"""Building kernel bodies: what is folded instead of emitted, and what tiles cannot be."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import MemRefType, VectorType, f32, i1, i64
from xdsl.ir import Block

from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile


@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient"),
    [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (2**62 + 3, 3, (2**62 + 3) // 3), (-(2**63), -1, -(2**63))],
)
def test_a_quotient_of_constants_is_exact_and_towards_zero(dividend: int, divisor: int, quotient: int) -> None:
    b = LoopBuilder(Block())
    assert (b.const(dividend, i64) / b.const(divisor, i64)).constant == quotient


def test_an_unsigned_quotient_of_constants_is_exact() -> None:
    b, u64 = LoopBuilder(Block()), ELEMENT_TYPES["uint64"]
    assert (b.const(2**64 - 1, u64) / b.const(5, u64)).constant == (2**64 - 1) // 5


def test_conditions_of_tiles_decide_no_branch() -> None:
    block = Block(arg_types=[VectorType(i1, [1, 4]), i1])
    b = TileBuilder(block)
    many, one = (b.scalar(each, i1) for each in block.args)
    assert b.single(one) is one
    with pytest.raises(NotVectorizable, match="each index of a tile is checked"):
        b.single(many)


def test_tiles_of_minifloats_are_not_stored() -> None:
    minifloat = ELEMENT_TYPES["float8_e4m3fn"]
    block = Block(arg_types=[VectorType(f32, [1, 4]), MemRefType(minifloat, [1, 4])])
    b = TileBuilder(block)
    index = [b.index(0), Tile((1, 4)).index(b, b.index(0), {-1: 1})]
    with pytest.raises(NotVectorizable, match="tiles of f8E4M3FN"):
        b.store(b.scalar(block.args[0], f32), block.args[1], index)
