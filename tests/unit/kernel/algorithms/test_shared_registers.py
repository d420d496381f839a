"""Weights of recurrent layers of which seven registers are read and eight made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from test_inputs_ahead import agree_by_every_route, model_of

from aotc.compiler.driver import lower
from aotc.dialects.graph.recurrent.shared import (
    BYTE,
    REGISTERS,
    SHARED,
    STORED,
    WORDS,
    exponent_of,
    shared_panels,
)
from aotc.machines.families import X86_AVX2, X86_AVX512, of_vendor
from aotc.passes.kernel.costs.recurrent_cost import shares_registers
from aotc.pipeline.options import CompileOptions

ZEN4, ZEN3 = "x86_64-unknown-linux-gnu:znver4", "x86_64-unknown-linux-gnu:znver3"
LANES = 4


def unpacked(panels: np.ndarray, exponent: int, lanes: int) -> np.ndarray:
    """The matrix [columns, k], as the registers that a step makes hold it."""
    rows = panels.reshape(*panels.shape[:2], STORED, lanes)
    a, b, c = (rows[:, :, register].astype(np.int64) for register in range(WORDS))
    fourth = ((((a << BYTE) + b) << BYTE) + c << BYTE).astype(np.uint32).view(np.int32)
    words = np.stack([*(rows[:, :, register] for register in range(WORDS)), fourth], axis=2).astype(np.float32)
    others = np.ascontiguousarray(rows[:, :, WORDS:]).view(np.float32)
    whole = np.concatenate([words, others], axis=2).astype(np.float64) * 2.0**exponent
    return whole.transpose(0, 2, 3, 1).reshape(-1, panels.shape[1])


def matrices() -> dict[str, np.ndarray]:
    random, shape = np.random.default_rng(0), (2 * REGISTERS * LANES, 64)
    edges = random.choice([1.0, -1.0, np.nextafter(np.float32(1), np.float32(0)), 2.0**-20, 0.0], shape)
    return {
        "uniform": random.uniform(-1 / 16, 1 / 16, shape),
        "normal": random.normal(0, 3, shape),
        "edges": edges,
        "greatest": random.choice([1.0, -1.0], shape) * np.nextafter(np.float32(1), np.float32(0)),
        "large": random.uniform(-1, 1, shape) * 2.0**30,
        "small": random.uniform(-1, 1, shape) * 2.0**-60,
    }


@pytest.mark.parametrize("name", matrices())
def test_half_of_the_registers_are_exact_and_half_within_the_bound(name: str) -> None:
    matrix = matrices()[name].astype(np.float32)
    exponent = exponent_of(matrix, LANES)
    assert exponent is not None
    panels = shared_panels(matrix, exponent, LANES)
    assert panels.dtype == np.int32 and panels.shape == (2, 64, STORED * LANES)
    error = np.abs(unpacked(panels, exponent, LANES) - matrix).reshape(2, REGISTERS, LANES, 64)
    assert (error[:, SHARED:] == 0).all()
    power = 2.0 ** (exponent + 31)
    assert np.abs(matrix).max() < power <= 2 * np.abs(matrix).max()
    assert 0 < error[:, :SHARED].max() <= 1.5 * 2.0**-24 * power
    assert error[:, WORDS].max() <= 2.0**-24 * power


def test_columns_that_rounding_would_change_are_left() -> None:
    matrix = matrices()["uniform"].astype(np.float32)
    assert exponent_of(matrix, LANES) is not None
    for column, value, refused in [
        (0, 0.0, True),  # of integers: a column of zeros would be none
        (SHARED * LANES - 1, 1e-4, True),
        (SHARED * LANES, 0.0, False),  # of floats
        (5, np.nan, True),
        (SHARED * LANES, np.inf, True),
    ]:
        changed = matrix.copy()
        changed[column] = value
        assert (exponent_of(changed, LANES) is None) == refused, (column, value)
    assert exponent_of(matrix * np.float32(2.0**-70), LANES) is None
    assert exponent_of(matrix * np.float32(2.0**40), LANES) is None
    assert exponent_of(np.zeros_like(matrix), LANES) is None
    assert exponent_of(matrix[1:], LANES) is None
    assert exponent_of(matrix, 3) is None


def test_costs_ask_for_units_beside_the_multipliers_and_a_weight_beyond_l1() -> None:
    for row in (X86_AVX512, X86_AVX2):
        zen = of_vendor(row, zen=5)
        assert shares_registers(zen, 2 * zen.l1) and not shares_registers(zen, 3 * zen.l1 // 2)
        assert not shares_registers(of_vendor(row, zen=0), 1 << 20)
        fast = replace(zen, bandwidths=replace(zen.bandwidths, l2=8 * zen.bandwidths.l2))
        assert not shares_registers(fast, 1 << 20)


CASES = [
    ("LSTM", (40, 128, 128), "forward", True),
    ("GRU", (33, 64, 128), "bidirectional", True),
    ("LSTM", (1, 50, 128), "forward", True),
    ("LSTM", (12, 33, 160), "reverse", False),
]


def count(case: tuple[str, tuple[int, int, int], str, bool], target: str, accuracy: str = "fast") -> int:
    """How many layers have a weight of seven registers."""
    lowered = lower(model_of(*case), CompileOptions.of(stop_after="schedule", target=target, accuracy=accuracy))
    return str(lowered.module).count("exponent = ")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_agrees_by_every_route(case: tuple[str, tuple[int, int, int], str, bool], tmp_path: Path) -> None:
    agree_by_every_route(case, tmp_path, rtol=1e-5, atol=2e-6, strict=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_layers_of_one_line_are_rounded_where_it_pays(case: tuple[str, tuple[int, int, int], str, bool]) -> None:
    layers = 2 if case[2] == "bidirectional" else 1
    assert count(case, target=ZEN4) == count(case, target=ZEN3) == layers
    assert count(case, target=ZEN4, accuracy="strict") == count(case, target="x86-64-v4") == 0


def test_a_column_that_is_small_leaves_the_weight_as_it_is() -> None:
    case = CASES[0]
    assert count(case, target=ZEN4) == 1
    model = model_of(*case)
    weight = next(each for each in model.graph.initializer if each.name == "r")
    values = numpy_helper.to_array(weight).copy()
    values[0, 3] *= 1e-3
    weight.CopyFrom(numpy_helper.from_array(values, "r"))
    lowered = lower(model, CompileOptions.of(stop_after="schedule", target=ZEN4))
    assert "exponent = " not in str(lowered.module)


def test_several_lines_and_lengths_keep_their_weight() -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 18]> g (float[9,{batch},64] x{more}) => (float[9,1,{batch},128] y)'
        " {{ y = LSTM <hidden_size = 128> (x, w, r{names}) }}"
    )
    random = np.random.default_rng(0)
    for batch, more, names, layers in [(1, "", "", 1), (3, "", "", 0), (1, ", int32[1] n", ', "", n', 0)]:
        model = onnx.parser.parse_model(text.format(batch=batch, more=more, names=names))
        for name, shape in {"w": (1, 512, 64), "r": (1, 512, 128)}.items():
            values = random.uniform(-0.1, 0.1, shape).astype(np.float32)
            model.graph.initializer.append(numpy_helper.from_array(values, name))
        lowered = lower(model, CompileOptions.of(stop_after="schedule", target=ZEN4))
        assert str(lowered.module).count("exponent = ") == layers
