"""Building kernel bodies: what is folded instead of emitted."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import i64
from xdsl.ir import Block

from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.passes.kernel.builders.loop_builder import LoopBuilder


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
