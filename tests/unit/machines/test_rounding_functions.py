"""Roundings of products: their meaning is what numpy's floats round products to, for every shift and near ties."""

from __future__ import annotations

import numpy as np
import pytest

from aotc.dialects.aot import RoundProductOp
from aotc.machines.instructions.evaluation import ArrayValue
from aotc.machines.instructions.floats import ROUNDINGS

COUNT = 4000


@pytest.mark.parametrize("shift", RoundProductOp.SHIFTS)
@pytest.mark.parametrize("name", ROUNDINGS)
def test_products_are_rounded_as_floats_round_them(name: str, shift: int) -> None:
    random = np.random.default_rng(shift)
    factor = random.integers(1 << 22, 1 << 24, COUNT) >> random.integers(0, 12, COUNT)
    factor[: COUNT // 4] = 1 << random.integers(14, 24, COUNT // 4)  # of which some products are ties
    above = random.integers(-(1 << 22) + 2, 1 << 22, COUNT) >> random.integers(0, 22, COUNT)
    x = np.rint((above - 0.5) * 2.0**shift / factor).astype(np.int64)  # the product is next to the middle
    x += random.integers(-2, 3, COUNT)
    distance = x * factor - ((2 * above - 1) << shift - 1)
    fits = (np.abs(x) < 1 << 31) & (np.abs(distance) < 1 << (shift if name == "round_product" else min(shift, 31)))
    assert fits.sum() > 100 and (distance[fits] == 0).any()
    given = [ArrayValue(each[fits], "s32") for each in (x, factor, above, np.full(COUNT, shift))]
    found = ROUNDINGS[name].meaning(*given)
    assert isinstance(found, ArrayValue)
    product = (x * factor).astype(np.float32)[fits]
    np.testing.assert_array_equal(found.array, np.rint(np.ldexp(product, -shift)).astype(np.int32))
