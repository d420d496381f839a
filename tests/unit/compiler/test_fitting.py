"""`--flash` as a goal: forms of kernels, the estimate that they are chosen by, and models that fit."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import aotc
from aotc.cli.tables import summary
from aotc.compiler.driver import lower
from aotc.compiler.fitting.choice import FAST, SHARED, SMALL, Form, Program, bytes_of, choose, instructions
from aotc.compiler.fitting.instructions import instructions_of_calls
from aotc.compiler.fitting.ram import within_ram
from aotc.compiler.lowering import new_context
from aotc.dialects.aot.contract import plan_of
from aotc.emit.artifacts import Emission
from aotc.errors import BudgetError
from aotc.model.metadata import ModelInfo, PlanInfo, RamGoal, from_json
from aotc.pipeline.options import ANY_RAM, CompileOptions

# --- the choice ------------------------------------------------------------------------------------------------------


def program(functions: dict[str, int], call: float = 0.0) -> Program:
    return Program(functions, call, sum(functions.values()) + 100)


SIZES = (program({"s": 50}), program({"a": 200, "b": 300}), program({"f0": 180, "f1": 180, "f2": 290}))
UNITS = [
    [Form(frozenset("s"), 1, 900.0), Form(frozenset("a"), 1, 500.0), Form(frozenset(["f0"]), 1, 490.0)],
    [Form(frozenset("s"), 1, 900.0), Form(frozenset("a"), 1, 500.0), Form(frozenset(["f1"]), 1, 490.0)],
    [Form(frozenset("s"), 1, 500.0), Form(frozenset("b"), 1, 450.0), Form(frozenset(["f2"]), 1, 440.0)],
]


@pytest.mark.parametrize(
    ("limit", "forms"),
    [
        (149, None),
        (150, (SMALL, SMALL, SMALL)),
        (349, (FAST, SMALL, SMALL)),
        (350, (SHARED, SHARED, SMALL)),
        (640, (SHARED, SHARED, FAST)),
        (750, (FAST, FAST, FAST)),
    ],
)
def test_bytes_go_where_they_save_most(limit: int, forms: tuple[int, ...] | None) -> None:
    """A function counts once: for two that share one it is cheaper than for one of its own."""
    assert choose(UNITS, SIZES, limit) == forms


def test_small_forms_that_are_larger_are_not_taken() -> None:
    units = [[Form(frozenset("s"), 1, 9.0), Form(frozenset("a"), 1, 9.0), Form(frozenset(["f0"]), 1, 9.0)]]
    sizes = (program({"s": 300}), program({"a": 200}), program({"f0": 180}))
    assert choose(units, sizes, 279) is None
    assert choose(units, sizes, 280) == (FAST,)
    assert choose(units, sizes, 330) in [(FAST,), (SHARED,)]


def test_calls_take_bytes_too() -> None:
    units = [[Form(frozenset("s"), 2, 9.0), Form(frozenset("a"), 2, 8.0), Form(frozenset(["f0"]), 2, 7.0)]]
    sizes = (program({"s": 10}, 20.0), program({"a": 40}, 10.0), program({"f0": 50}))
    assert [bytes_of(units, sizes, [form]) for form in (SMALL, SHARED, FAST)] == [150, 160, 150]


def test_drawn_choices_fit_and_are_near_the_best() -> None:
    rng = random.Random(5)
    for _ in range(60):
        count = rng.randint(1, 5)
        units = [
            [
                Form(frozenset([f"s{rng.randint(0, 1)}"]), 1, rng.randint(60, 100)),
                Form(frozenset([f"a{rng.randint(0, 2)}"]), 1, rng.randint(40, 60)),
                Form(frozenset([f"f{number}"]), 1, rng.randint(30, 40)),
            ]
            for number in range(count)
        ]
        sizes = tuple(
            program({f"{letter}{number}": rng.randint(*ends) for number in range(count + 3)}, rng.randint(0, 9))
            for letter, ends in (("s", (10, 30)), ("a", (40, 70)), ("f", (50, 90)))
        )
        every = list(itertools.product((SMALL, SHARED, FAST), repeat=count))
        least = min(bytes_of(units, sizes, forms) for forms in every)
        most = bytes_of(units, sizes, [FAST] * count)
        for part in (0.0, 0.3, 0.6, 1.0):
            limit = max(least, least + part * (most - least))
            fitting = [forms for forms in every if bytes_of(units, sizes, forms) <= limit]
            found = choose(units, sizes, limit)
            if found is None:  # the way down ends at a least of its neighbourhood
                assert part < 0.3
                continue
            assert found in fitting
            best = min(instructions(units, forms) for forms in fitting)
            assert instructions(units, found) <= 1.5 * best


# --- budgets of RAM ---------------------------------------------------------------------------------------------------


def planned(options: CompileOptions) -> PlanInfo:
    return plan_of(lower(layers(), replace(options, stop_after="plan")).module)


def test_layers_are_chosen_again_for_less() -> None:
    """Offsets take 30 bytes more than was estimated, and never less than 150 in all."""
    node = helper.make_node("Relu", ["x"], ["y"])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", values[:1], values[1:]))
    asked: list[tuple[int | str | None, int | None]] = []

    def lowered(options: CompileOptions) -> Emission:
        asked.append((options.ram, options.chosen_ram))
        emission = Emission(lower(model, replace(options, ram=None)))
        chosen = min(options.most_ram, 300)
        taken = chosen + 30 if 160 < chosen < 300 else min(max(chosen - 10, 150), 300)
        emission.uncompiled = replace(emission.uncompiled, workspace_bytes=taken - emission.uncompiled.io_bytes)
        return emission

    options = CompileOptions.of(target="cortex-m4f", ram=200)
    assert within_ram(options, lowered, planned).info.ram_goal is None
    assert asked == [(200, None), (200, 170)]
    found = within_ram(replace(options, ram=149), lowered, planned).info
    assert found.ram_goal == RamGoal(149, 290, 1.0) and found.ram_bytes == 150


@pytest.mark.parametrize(
    ("arena", "fastest", "least", "taken"),
    [(None, 100, 150, 100), (120, 100, 150, 100), (99, 100, 150, 100), (120, 170, 120, 120), (160, 155, 120, 155)],
)
def test_other_programs_may_be_the_least(arena: int | None, fastest: int, least: int, taken: int) -> None:
    """The fastest one, where layers that roll, here in an arena of 150 bytes, take more than otherwise, which the
    estimate did not know; and the one for as little as there can be, where those for a budget take more than it. Of two
    that fit it is the fastest."""
    chosen = CompileOptions.of(target="cortex-m4f", ram="min")
    io = Emission(lower(layers(), chosen)).uncompiled.io_bytes
    options = chosen if arena is None else replace(chosen, ram=io + arena)

    def bytes_of(options: CompileOptions) -> int:
        return fastest if options.chosen_ram == ANY_RAM else least if options.ram == "min" else 150

    def lowered(options: CompileOptions) -> Emission:
        emission = Emission(lower(layers(), options))
        emission.uncompiled = replace(emission.uncompiled, workspace_bytes=bytes_of(options))
        return emission

    found = within_ram(options, lowered, lambda options: replace(planned(options), peak_bytes=bytes_of(options)))
    assert found.uncompiled.workspace_bytes == taken and found.uncompiled.ram_goal is None


@pytest.mark.parametrize("more", [-16, 0, 16])
def test_without_a_budget_rows_need_less(more: int) -> None:
    """Where offsets of the fastest program need no more than those of layers that roll, it is taken."""
    options = CompileOptions.of(target="cortex-m4f")

    def needed(options: CompileOptions) -> PlanInfo:
        assert options.chosen_ram == ANY_RAM
        return replace(planned(options), peak_bytes=planned(CompileOptions.of(target="cortex-m4f")).peak_bytes + more)

    found = within_ram(options, lambda options: Emission(lower(layers(), options)), needed)
    assert bool(found.uncompiled.plan.rolls) == (more > 0)


@pytest.mark.parametrize("phase", ["import", "schedule", "loops"])
def test_ir_goes_on_with_the_program_that_it_is(phase: str, tmp_path: Path) -> None:
    """Layers that roll are not chosen again where that is done."""
    options: dict[str, Any] = {"name": "m", "target": "cortex-m4f"}
    aotc.compile_to(layers(), tmp_path, stop_after=phase, **options)
    info = aotc.compile_to(tmp_path / f"m.{phase}.mlir", tmp_path / "out", start_at=phase, **options).info
    assert info is not None and info.plan.rolls and info.plan == aotc.build(layers(), **options).metadata.plan


# --- the estimate ----------------------------------------------------------------------------------------------------

KERNELS = """
builtin.module attributes {aot.name = "m"} {
  func.func private @k(%x: !aot.ptr<i32>, %n: index) -> i32 attributes {aot.kernel} {
    %b = aot.buffer %x : !aot.ptr<i32> to memref<?xi32>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %n step %one {
      %left = arith.subi %n, %i : index
      scf.for %j = %zero to LAST step %one {
        %0 = memref.load %b[%j] : memref<?xi32>
        BODY
        memref.store %1, %b[%j] : memref<?xi32>
      }
    }
    %s = arith.constant 0 : i32
    func.return %s : i32
  }
  func.func @run(%x: !aot.ptr<i32>, %u: index) -> i32 attributes {aot.entry} {
    %a = arith.constant 10 : index
    %b = arith.constant 20 : index
    %0 = func.call @k(%x, %a) : (!aot.ptr<i32>, index) -> i32
    %1 = func.call @k(%x, %b) : (!aot.ptr<i32>, index) -> i32
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %a step %one {
      %2 = func.call @k(%x, %a) : (!aot.ptr<i32>, index) -> i32
    }
    %3 = func.call @k(%x, %u) : (!aot.ptr<i32>, index) -> i32
    func.return %0 : i32
  }
}
"""


def estimated(last: str = "%n", body: str = "%1 = arith.addi %0, %0 : i32", target: str = "cortex-m4f") -> list[float]:
    from xdsl.parser import Parser

    module = Parser(new_context(), KERNELS.replace("LAST", last).replace("BODY", body)).parse_module()
    assert isinstance(module, ModuleOp)
    return list(instructions_of_calls(module, target).values())


def test_operations_count_as_often_as_their_loops_run() -> None:
    """Bounds may be arguments, and calls may be in loops; what is not known is a few trips."""
    small, large, often, unknown = estimated()
    assert 3 * 10 * 10 < small < 10 * 10 * 10
    assert 3.5 * small < large < 4 * small
    assert often == 10 * small
    assert unknown < small


def test_trips_that_shrink_are_those_of_the_middle() -> None:
    whole, half = estimated()[1], estimated("%left")[1]
    assert 0.4 * whole < half < 0.65 * whole


STEPS = """
    %ten = arith.constant 10 : index
    %rows = scf.for %t = %zero to %n step %one iter_args(%made = %zero) -> (index) {
      %more = arith.addi %made, %one : index
      %now = arith.minsi %more, %ten : index
      scf.for %j = %made to %now step %one {
        %0 = memref.load %b[%j] : memref<?xi32>
        %1 = math.ctpop %0 : i32
        memref.store %1, %b[%j] : memref<?xi32>
      }
      scf.yield %now : index
    }
"""
"""A row in each of the first ten steps, and none after them."""


def test_carried_bounds_are_followed() -> None:
    from xdsl.parser import Parser

    begin, end = KERNELS.index("    scf.for %i = %zero to %n"), KERNELS.index("    %s =")
    module = Parser(new_context(), KERNELS[:begin] + STEPS + KERNELS[end:]).parse_module()
    assert isinstance(module, ModuleOp)
    ten, twenty, *_ = instructions_of_calls(module, "cortex-m4f").values()
    assert 40 * 10 < ten < 60 * 10
    assert 4 * 10 < twenty - ten < 20 * 10


FLOATS = "%f = arith.sitofp %0 : i32 to f32\n%g = arith.addf %f, %f : f32\n%1 = arith.fptosi %g : f32 to i32"
"""A sum in f32."""
FUSED = FLOATS.replace("arith.addf %f, %f", "math.fma %f, %f, %f")


def test_what_takes_longer_counts_more() -> None:
    cheap = estimated()[0]
    assert estimated(body="%1 = arith.divsi %0, %0 : i32")[0] > 1.5 * cheap
    assert estimated(body="%1 = math.ctpop %0 : i32")[0] > 3 * cheap
    assert estimated(body=FLOATS, target="cortex-m0")[0] > 3 * estimated(body=FLOATS)[0]
    assert estimated(body=FLOATS, target="cortex-m0")[0] == estimated(body=FUSED, target="cortex-m0")[0]


def test_a_fused_multiplication_is_one_instruction_of_a_unit_for_floats() -> None:
    assert estimated(body=FUSED)[0] == estimated(body=FLOATS)[0]


# --- models ----------------------------------------------------------------------------------------------------------


def layers() -> ModelProto:
    """Three convolutions that differ in numbers, one in size, and a matrix product, of int8."""
    rng = np.random.default_rng(3)
    scalars = {"s": np.float32(0.5), "w_s": np.float32(0.02), "z": np.int8(0)}
    scalars |= {f"z{n}": np.int8(3 * n + 2) for n in range(4)}
    weights = {f"w{n}": rng.integers(-9, 9, (8, 8, 3, 3), np.int8) for n in range(3)}
    weights["m"] = rng.integers(-9, 9, (8 * 8 * 8, 10), np.int8)
    nodes = [
        helper.make_node(
            "QLinearConv",
            [f"x{n}", "s", f"z{n}", f"w{n}", "w_s", "z", "s", f"z{n + 1}"],
            [f"x{n + 1}"],
            name=f"conv{n}",
            pads=[1, 1, 1, 1],
            strides=[1 + (n > 1)] * 2,
        )
        for n in range(3)
    ]
    nodes.append(helper.make_node("Flatten", ["x3"], ["f"]))
    nodes.append(helper.make_node("QLinearMatMul", ["f", "s", "z3", "m", "w_s", "z", "s", "z"], ["y"], name="product"))
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x0", TensorProto.INT8, [1, 8, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.INT8, [1, 10])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in (scalars | weights).items()],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


def compiled(folder: Path, **options: object) -> tuple[ModelInfo, str]:
    aotc.compile_to(layers(), folder, name="m", target="cortex-m4f", emit="c", **options)  # pyright: ignore[reportArgumentType]
    return from_json((folder / "m.json").read_text()), (folder / "m.c").read_text()


def flash_of(info: ModelInfo) -> int:
    assert info.footprint is not None
    return info.footprint.flash_bytes


def test_a_budget_chooses_forms_kernel_by_kernel(tmp_path: Path) -> None:
    fast, text = compiled(tmp_path / "fast")
    assert fast.flash_goal is None and not any(each.form for each in fast.kernels)
    same, also = compiled(tmp_path / "same", flash=flash_of(fast))
    assert same == fast and also == text, "what fits stays as it is"
    assert fast.plan.rolls
    whole, _ = compiled(tmp_path / "whole", ram=ANY_RAM)
    with pytest.raises(BudgetError, match="flash-exceeded") as caught:
        compiled(tmp_path / "none", flash=4096)
    message = str(caught.value)
    assert "the least that was found" in message and "the largest weights are" in message
    least = int(message.partition("needs ")[2].partition(" bytes")[0].replace(",", ""))
    assert f"{flash_of(whole):,} bytes" in message and least < flash_of(whole)
    allowed = (least + flash_of(whole)) // 2
    info, mixed = compiled(tmp_path / "mixed", flash=allowed)
    assert flash_of(info) <= allowed and mixed != text
    goal = info.flash_goal
    assert goal is not None
    assert (goal.allowed, goal.fast_bytes, goal.least_bytes) == (allowed, flash_of(whole), least)
    assert not info.plan.rolls, "kernels that roll have little code in common"
    assert 1 <= goal.instructions < goal.least_instructions
    assert {each.form for each in info.kernels} & {"small", "shared"}
    assert info.origin is not None and f"--flash {allowed}" in info.origin.options
    assert [line for line in summary(info) if line.startswith("budget")]
    smallest, _ = compiled(tmp_path / "least", flash=least)
    assert flash_of(smallest) <= least


@pytest.mark.parametrize(
    "options",
    [
        {"optimize": "0"},
        {"optimize": "s"},
        {"interface_api": "packed", "operator_api": "packed"},
        {"target": "aarch64"},
    ],
    ids=str,
)
def test_other_programs_are_only_checked(tmp_path: Path, options: dict[str, str]) -> None:
    with pytest.raises(BudgetError) as caught:
        aotc.compile_to(layers(), tmp_path, name="m", emit="c", flash=4096, **{"target": "cortex-m4f"} | options)  # pyright: ignore[reportArgumentType]
    assert "flash-exceeded" in str(caught.value) and "least that was found" not in str(caught.value)


def test_fast_kernels_are_shared_at_o1(tmp_path: Path) -> None:
    kernels = {level: len(compiled(tmp_path / level, optimize=level, ram=ANY_RAM)[0].kernels) for level in "12s"}
    assert kernels["s"] <= kernels["1"] < kernels["2"]
