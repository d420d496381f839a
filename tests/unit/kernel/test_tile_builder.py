"""What a builder of tiles refuses, so that a kernel is written in scalar loops instead."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Block

from aotc.passes.kernel.builders.tile_builder import NotVectorizable, TileBuilder


def test_conditions_of_tiles_decide_no_branch() -> None:
    block = Block(arg_types=[VectorType(i1, [1, 4]), i1])
    b = TileBuilder(block)
    many, one = (b.scalar(each, i1) for each in block.args)
    assert b.single(one) is one
    with pytest.raises(NotVectorizable, match="each index of a tile is checked"):
        b.single(many)
