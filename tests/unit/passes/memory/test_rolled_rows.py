"""Networks whose layers are computed row by row: the numbers of the program without a budget, in less memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.networks import Network, drawn
from harness import SCALAR
from onnx import ModelProto
from quick_c import quick_flags, write_c

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.compiler.fitting.instructions import instructions_of_calls
from aotc.dialects.aot.contract import plan_of
from aotc.errors import BudgetError
from aotc.executor import compiled_in_process, load
from aotc.measuring.routes import build_shared
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import ANY_RAM, CompileOptions


def compiled(model: ModelProto, ram: int | str | None) -> Compilation:
    options = CompileOptions.of(target=SCALAR, ram=ram)
    return lower(model, replace(in_process(options), weights="embedded"))


def check(plain: Compilation, rolled: Compilation, feed: dict[str, Any], tmp_path: Path) -> None:
    """The numbers of the program without a budget, by C and by LLVM."""
    expected = compiled_in_process(plain)(feed)
    library = build_shared(write_c(rolled, tmp_path), quick_flags())
    for found in (load(library)(feed), compiled_in_process(rolled)(feed)):
        assert {name: array.tobytes() for name, array in found.items()} == {
            name: array.tobytes() for name, array in expected.items()
        }


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_those_without_a_budget(seed: int, quantized: bool, tmp_path: Path) -> None:
    model = drawn(seed, quantized=quantized)
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    feed = {"x": np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 2}
    plain, rolled = compiled(model, ANY_RAM), compiled(model, "min")
    assert rolled.info().workspace_bytes <= plain.info().workspace_bytes
    check(plain, rolled, feed, tmp_path)


def pictures() -> ModelProto:
    """Three layers of 8 channels on a picture of 24 x 12."""
    g = Network(0, quantized=True)
    g.shapes["x"] = (3, 24, 12)
    x = g.same(g.real("x"), 8, 3)
    return g.giving(g.same(g.same(x, 8, 3), 2, 1))


def test_budget_is_met_at_the_least_cost(tmp_path: Path) -> None:
    """Layers that fit stay as they are, others roll; of a budget that is less than the least the message says so."""
    model = pictures()
    plain, least = compiled(model, ANY_RAM).info(), compiled(model, "min").info()
    assert least.workspace_bytes <= 8 * 12 * (3 + 1) + 3 * 12 * 24 + 64 < plain.workspace_bytes
    assert compiled(model, plain.ram_bytes + 64).info().plan == plain.plan
    assert compiled(model, least.ram_bytes).info().plan == least.plan
    found = f"{least.ram_bytes:,} bytes of RAM, the least that was found: .* 1\\.[0-9]+ times .* {plain.ram_bytes:,}"
    found += ".* holds [0-9] rows of "
    with pytest.raises(BudgetError, match=found):
        aotc.compile_to(model, tmp_path, target=SCALAR, ram=least.ram_bytes - 1, name="m")


def test_least_ram_that_takes_hardly_any_time(tmp_path: Path) -> None:
    """Without a budget layers roll where that costs a hundredth at most, by the estimate, and never at -Os."""
    g = Network(0, quantized=True)
    g.shapes["x"] = (3, 24, 12)
    model = g.giving(g.same(g.same(g.same(g.real("x"), 32, 3), 32, 3), 8, 3))
    chosen = [lower(model, CompileOptions.of(target="cortex-m4f", ram=ram)) for ram in (ANY_RAM, None, "min")]
    plain, free, least = (each.info() for each in chosen)
    assert least.ram_bytes < free.ram_bytes < plain.ram_bytes - 256 and free.plan.rolls and not plain.plan.rolls
    counts = [sum(instructions_of_calls(each.module, "cortex-m4f").values()) for each in chosen]
    assert counts[1] < 1.01 * counts[0] < counts[2]
    small = lower(model, CompileOptions.of(target=SCALAR, optimize="s", stop_after="plan"))
    assert not plan_of(small.module).rolls
    check(
        compiled(model, ANY_RAM),
        compiled(model, None),
        {"x": np.random.default_rng(0).standard_normal((1, 3, 24, 12)).astype(np.float32)},
        tmp_path,
    )


def test_few_layers_say_what_many_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same cut as where all layers in a row are tried, with few more at a time than the network has."""
    g = Network(1, quantized=True)
    x = g.real("x")
    for _ in range(4):
        x = g.residual(g.same(x, 4, 3))
    model, found = g.giving(x), list[Any]()
    for more in ((None,), (2, 2, None)):
        monkeypatch.setattr("aotc.passes.fuse.choose_rolls._MORE", more)
        options = CompileOptions.of(target=SCALAR, ram="min", stop_after="plan")
        found.append(str(lower(model, options).module.attributes["aot.plan"]))
    assert found[0] == found[1]


REDUCTIONS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "GlobalAveragePool": ({}, (16, 1, 1)),
    "MaxPool": ({"kernel_shape": [5, 7], "dilations": [2, 1], "pads": [1, 0, 0, 0], "strides": [24, 1]}, (16, 1, 1)),
    "LpPool": ({"kernel_shape": [11, 7], "strides": [24, 1], "p": 3}, (16, 1, 1)),
    "ReduceMax": ({"axes": [2, 3]}, (16, 1, 1)),
    "ReduceMean": ({"axes": [2]}, (16, 1, 7)),
    "AveragePool": ({"kernel_shape": [25, 3], "pads": [1, 1, 0, 1], "strides": [3, 2]}, (16, 1, 4)),
}


@pytest.mark.parametrize(("quantized", "absent"), [(False, ("AveragePool",)), (True, ("ReduceMean", "LpPool"))])
def test_reductions_take_rows_as_they_come(quantized: bool, absent: Sequence[str], tmp_path: Path) -> None:
    """A picture that is pooled, or reduced, over all rows is never whole."""
    g = Network(3, quantized=quantized)
    g.shapes["x"] = (3, 24, 7)
    x = g.same(g.same(g.real("x"), 8, 3), 16, 1)
    drawn = {kind: how for kind, how in REDUCTIONS.items() if kind not in absent}
    model = g.giving(*(g.real(g.node(kind, x, shape=shape, **how)) for kind, (how, shape) in drawn.items()))
    plain, rolled = compiled(model, ANY_RAM), compiled(model, "min")
    whole = 16 * 24 * 7 * (1 if quantized else 4)
    assert rolled.info().workspace_bytes < whole < plain.info().workspace_bytes
    check(plain, rolled, {"x": g.r.standard_normal((1, 3, 24, 7)).astype(np.float32) * 2}, tmp_path)


def test_a_mean_that_rows_are_multiplied_with_ends_a_kernel(tmp_path: Path) -> None:
    """Of what is multiplied with its own mean rows are computed up to the mean; those behind are another kernel's."""
    g = Network(5, quantized=False)
    g.shapes["x"] = (3, 20, 6)
    x = g.same(g.same(g.same("x", 8, 3), 16, 1), 4, 3)
    gates = g.node("Sigmoid", g.same(g.node("GlobalAveragePool", x, shape=(4, 1, 1)), 4, 1))
    y = g.node("Mul", x, gates)
    model = g.giving(g.node("GlobalMaxPool", g.same(g.same(y, 16, 3), 8, 1), shape=(8, 1, 1)))
    plain, rolled = compiled(model, ANY_RAM), compiled(model, "min")
    assert rolled.info().workspace_bytes < 4 * 20 * 6 * 4 + 3200 < plain.info().workspace_bytes
    check(plain, rolled, {"x": g.r.standard_normal((1, 3, 20, 6)).astype(np.float32)}, tmp_path)
