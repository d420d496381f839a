"""Softmax by a table of exponentials is rounded correctly but close to the middle between two integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, i8, i16, i32, i64
from xdsl.ir import Block

from aotc.dialects.graph.quantized.softmax import FixedSoftmaxOp
from aotc.passes.graph.fix_softmax import exponentials

Array = np.ndarray[Any, Any]


def _softmax(x: Array, input_scale: float, scale: float) -> Array:
    real = np.exp((x - x.max(-1, keepdims=True)) * input_scale)
    return real / real.sum(-1, keepdims=True) / scale


@pytest.mark.parametrize("scale", [1 / 256, 1 / 255, 0.0123, 3 / 1024, 1 / 32768])
@pytest.mark.parametrize("count", [1, 2, 12, 100, 3000])
def test_results_are_the_nearest_integers(count: int, scale: float) -> None:
    r = np.random.default_rng(count)
    input_scale, scale = float(np.float32(r.uniform(0.01, 0.3))), float(np.float32(scale))
    found = exponentials(input_scale, scale, count)
    assert found is not None and found.factor % 2 == 1 and found.factor * 2.0**-found.shift == scale
    x = r.integers(-128, 128, (40, count)).astype(np.int8)
    x[0] = 7  # equal ones: the middle between two integers may be just met
    values = Block(arg_types=[TensorType(i8, x.shape), TensorType(i32, found.table.shape)]).args
    op = FixedSoftmaxOp.get(
        *values,
        axes=[1],
        accumulator=found.accumulator,
        factor=found.factor,
        shift=found.shift,
        zero_point=0,
        low=-32768,
        high=32767,
        to=i16,
    )
    evaluated = op.evaluate([x, found.table])
    assert evaluated is not None
    exact = np.clip(_softmax(x.astype(np.float64), input_scale, scale), None, 32767)
    bits = int(found.table[0]).bit_length() - 1
    error = (count + 1) / 2.0 ** (bits + 1) / scale
    assert (np.abs(evaluated[0] - exact) <= 0.5 + error + 1e-9).all()
    width = 31 if found.accumulator == i32 else 63
    assert 2 * count * int(found.table[0]) * found.factor < 2**width


def test_short_rows_to_powers_of_two_need_32_bits() -> None:
    short, long = exponentials(0.1, 1 / 256, 32), exponentials(0.1, 1 / 256, 33)
    assert short is not None and short.accumulator == i32
    assert long is not None and long.accumulator == i64
    odd = exponentials(0.1, float(np.float32(1 / 255)), 4)
    assert odd is not None and odd.accumulator == i64


@pytest.mark.parametrize("scale", [1.0, 3.0, 2.0**-40])
def test_there_is_none_for_a_scale_of_1_or_next_to_nothing(scale: float) -> None:
    assert exponentials(0.1, scale, 4) is None


def test_rows_that_are_too_long_have_none() -> None:
    assert exponentials(0.1, float(np.float32(1 / 255)), 1 << 20) is None
