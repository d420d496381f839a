"""Macros of quads for a Cortex-M55: GCC takes them for one line, in which no statement may look guarded by an `if`."""

from __future__ import annotations

import pytest

from aotc.emit.c.vector_types import Vector
from aotc.emit.c.vectors.quads import quantized


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("is_signed", [False, True])
def test_quantised_lanes_are_one_expression_without_conditions_on_statements(bits: int, is_signed: bool) -> None:
    _, variants = quantized(is_signed)(Vector("f", 32, 4), bits)
    texts = [text for _, text in variants]
    assert any("vcvtnq_s32_f32" in text for text in texts)
    assert not any("if (" in text for text in texts)
