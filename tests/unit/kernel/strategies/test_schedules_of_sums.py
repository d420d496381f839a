"""How cores without vectors sum up products: one by one, by words, by strips of a vector, or four outputs at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from codegens.tested_targets import M0, M3, M4, M4F, M55
from test_schedules import ONE, SUMS, operation

from aotc.dialects.graph.schedules import SumsSchedule
from aotc.machines.machine import Core
from aotc.passes.kernel.costs.sums_cost import depthwise_cycles, scheduled_cycles
from aotc.passes.kernel.strategies.channels_last_strategy import SumsStrategy
from aotc.passes.kernel.strategy import strategies_of

CORES = {"m0": M0.core, "m3": M3.core, "m4": M4.core, "m4f": M4F.core, "m55": M55.core}


def schedule(core: Core, line: str, operands: str, result: str) -> SumsSchedule | None:
    """The one that the strategy for cores without vectors proposes."""
    op = operation(line, operands, result)
    (found,) = (each.schedule(op, core) for each in strategies_of(type(op)) if isinstance(each, SumsStrategy))
    assert found is None or isinstance(found, SumsSchedule)
    return found


def kind(found: SumsSchedule | None) -> str:
    if found is None:
        return ""
    if found.lanes == 4:
        return "patch" if found.patch else "quads"
    return {1: "singles", 4: "words", 8: "strips"}[found.word]


def proposed(core: str, line: str, operands: str, result: str) -> str:
    given = CORES[core]
    assert given is not None
    return kind(schedule(given, line, operands, result))


@pytest.mark.parametrize(
    ("core", "lhs", "rhs", "more", "how"),
    [
        ("m4", "6x32xi8", "const 32x12xi8", "", "words"),
        ("m4", "6x32xui8", "const 32x12xi8", "", "words"),
        ("m4", "6x4xi8", "const 4x12xi8", "", "words"),
        ("m4", "6x3xi8", "const 3x12xi8", "", "singles"),
        ("m4", "6x32xi16", "const 32x12xi8", "", "singles"),
        ("m4", "6x32xi8", "const 32x12xi16", "", "singles"),
        ("m3", "6x32xi8", "const 32x12xi8", "", "singles"),
        ("m0", "6x32xi8", "const 32x12xi8", "", "singles"),
        ("m4", "6x32xi8", "const 32x12xi4", "", "words"),
        # not of a constant matrix with a zero point, nor of several, nor of columns of the left one
        ("m4", "6x32xi8", "32x12xi8", "", ""),
        ("m4", "6x32xi8", "const 32x12xi8", ", rhs_zero_point = 1", ""),
        ("m4", "6x32xi8", "const 32x12xi8", ", lhs_zero_point = 1", "words"),
        ("m4", "2x6x32xi8", "const 2x32x12xi8", "", ""),
        ("m4", "32x6xi8", "const 32x12xi8", ", transpose_lhs = true", ""),
        ("m4", "0x32xi8", "const 32x12xi8", "", ""),
        # four lanes: of signs alone, and of four outputs at least
        ("m55", "6x32xi8", "const 32x12xi8", "", "quads"),
        ("m55", "6x32xi8", "const 32x12xi4", "", "quads"),
        ("m55", "6x32xui8", "const 32x12xi8", "", "strips"),
        ("m55", "6x32xi8", "const 32x3xi8", "", "strips"),
        ("m55", "6x8xui8", "const 8x12xi8", "", "strips"),
        ("m55", "6x7xui8", "const 7x12xi8", "", "words"),
        ("m55", "6x32xi16", "const 32x12xi8", "", "singles"),
        ("m55", "6x32xui8", "const 32x12xi4", "", "words"),  # two weights in a byte
        ("m55", "6x32xui8", "const 32x1xi4", "", "strips"),
    ],
)
def test_products(core: str, lhs: str, rhs: str, more: str, how: str) -> None:
    rows = lhs.split("x")[:-2] if "transpose" not in more else ["6"]
    result = "x".join([*rows, rhs.split("x")[-2], "i32"])
    assert proposed(core, f"matmul %0, %1 {{{SUMS}{more}}}", f"{lhs}, {rhs}", result) == how


@pytest.mark.parametrize(("core", "how"), [("m4f", "singles"), ("m55", "singles"), ("m4", ""), ("m0", "")])
def test_products_of_floats_need_an_fpu(core: str, how: str) -> None:
    assert proposed(core, "matmul %0, %1", "6x32xf32, const 32x12xf32", "6x12xf32") == how
    assert proposed(core, "matmul %0, %1", "6x32xf64, const 32x12xf64", "6x12xf64") == ""
    assert proposed(core, "matmul %0, %1", "6x32xf32, 32x12xf32", "6x12xf32") == ""


@pytest.mark.parametrize(("depth", "pairs"), [(32, True), (65535, True), (65536, False)])
def test_two_weights_in_a_byte_are_of_two_columns(depth: int, *, pairs: bool) -> None:
    """Sixteen times a sum of bytes is an i32: of less than 2^16 products. Three columns are computed at once else."""
    core = CORES["m4"]
    assert core is not None
    for kind, columns in (("i4", 2 if pairs else 3), ("i8", 3)):
        found = schedule(core, f"matmul %0, %1 {{{SUMS}}}", f"1x{depth}xi8, const {depth}x3x{kind}", "1x3xi32")
        assert found is not None
        assert found.columns == columns


PADDED = ONE.replace("pads = array<i64: 0, 0>", "pads = array<i64: 1, 1>")
DILATED = ONE.replace("dilations = array<i64: 1>", "dilations = array<i64: 2>")


def conv(window: str, group: int = 1, more: str = "") -> str:
    return f"conv %0, %1 {{{window}, group = {group}, {SUMS}{more}}}"


@pytest.mark.parametrize(
    ("core", "line", "x", "weight", "result", "how"),
    [
        ("m4", conv(ONE), "1x4x9xi8", "8x4x3xi8", "1x8x7xi32", "words"),
        ("m4", conv(ONE), "1x4x9xui8", "8x4x3xi8", "1x8x7xi32", "words"),
        ("m4", conv(ONE), "1x4x9xi16", "8x4x3xi8", "1x8x7xi32", "singles"),
        ("m4", conv(ONE, more=", w_zero_point = 1"), "1x4x9xi8", "8x4x3xi8", "1x8x7xi32", ""),
        ("m4", conv(ONE, more=", x_zero_point = 1"), "1x4x9xi8", "8x4x3xi8", "1x8x7xi32", "words"),
        ("m0", conv(ONE), "1x4x9xi8", "8x4x3xi8", "1x8x7xi32", "singles"),
        ("m4", conv(ONE), "0x4x9xi8", "8x4x3xi8", "0x8x7xi32", ""),
        ("m4", conv(ONE), "1x4x9xi8", "0x4x3xi8", "1x0x7xi32", ""),
        ("m4", conv(ONE), "1x0x9xi8", "8x0x3xi8", "1x8x7xi32", ""),
        # a strip: of all taps side by side, where they are neighbours
        ("m4", conv(ONE), "1x1x9xi8", "8x1x3xi8", "1x8x7xi32", "singles"),
        ("m4", conv(ONE), "1x1x9xi8", "8x1x4xi8", "1x8x6xi32", "words"),
        ("m4", conv(DILATED), "1x1x9xi8", "8x1x4xi8", "1x8x3xi32", "singles"),
        ("m4", conv(DILATED), "1x4x9xi8", "8x4x3xi8", "1x8x5xi32", "words"),
        ("m4", conv(DILATED, 2), "1x8x9xi8", "8x4x3xi8", "1x8x5xi32", "words"),
        ("m4", conv(ONE, 2), "1x2x9xi8", "8x1x4xi8", "1x8x6xi32", "singles"),
        # four lanes
        ("m55", conv(ONE), "1x16x9xi8", "8x16x3xi8", "1x8x7xi32", "quads"),
        ("m55", conv(ONE), "1x16x9xui8", "8x16x3xi8", "1x8x7xi32", "strips"),
        ("m55", conv(ONE), "1x16x9xi8", "3x16x3xi8", "1x3x7xi32", "strips"),
        ("m55", conv(ONE), "1x1x9xui8", "8x1x7xi8", "1x8x3xi32", "words"),
        ("m55", conv(ONE), "1x1x9xui8", "8x1x8xi8", "1x8x2xi32", "strips"),
        ("m55", conv(ONE), "1x16x9xui8", "8x16x3xi4", "1x8x7xi32", "words"),
        ("m55", conv(ONE, 2), "1x32x9xi8", "8x16x3xi8", "1x8x7xi32", "quads"),
        ("m55", conv(ONE, 2), "1x32x9xi8", "6x16x3xi8", "1x6x7xi32", "words"),  # three outputs of a group
        ("m55", conv(ONE, 2), "1x32x9xui8", "8x16x3xi8", "1x8x7xi32", "words"),
        # depthwise
        ("m4", conv(ONE, 4), "1x4x9xi8", "4x1x3xi8", "1x4x7xi32", "words"),
        ("m4", conv(ONE, 4), "1x4x9xi16", "4x1x3xi8", "1x4x7xi32", "singles"),
        ("m4", conv(ONE, 3), "1x3x9xi8", "3x1x3xi8", "1x3x7xi32", "singles"),
        ("m55", conv(ONE, 4), "1x4x9xi8", "4x1x3xi8", "1x4x7xi32", "quads"),
    ],
)
def test_convolutions(core: str, line: str, x: str, weight: str, result: str, how: str) -> None:
    assert proposed(core, line, f"{x}, const {weight}", result) == how


def test_what_is_no_constant_is_not_summed_up_in_registers() -> None:
    assert proposed("m4", conv(ONE), "1x4x9xi8, 8x4x3xi8", "1x8x7xi32") == ""
    floats = f"conv %0, %1 {{{ONE}, group = 1}}"
    for core, how in (("m4", ""), ("m4f", "singles")):
        assert proposed(core, floats, "1x4x9xf32, const 8x4x3xf32", "1x8x7xf32") == how


def conv2(pad: int) -> str:
    pads = ", ".join([str(pad)] * 4)
    window = f"strides = array<i64: 1, 1>, pads = array<i64: {pads}>, dilations = array<i64: 1, 1>"
    return f"conv %0, %1 {{{window}, group = 1, {SUMS}}}"


@pytest.mark.parametrize(
    ("core", "pad", "x", "weight", "how"),
    [
        # three strips of three bytes are copied where 64 bytes of the result pay for each, and outputs for the copy
        ("m55", 0, "1x1x40x40xi8", "64x1x3x3xi8", "patch"),
        ("m55", 0, "1x1x40x40xi8", "8x1x3x3xi8", "quads"),
        ("m55", 0, "1x1x5x5xi8", "64x1x3x3xi8", "patch"),
        ("m55", 0, "1x1x4x4xi8", "64x1x3x3xi8", "quads"),
        # small code knows no windows that are cut: registers must be filled
        ("m55 small", 1, "1x3x20x20xi8", "8x3x3x3xi8", "patch"),
        ("m55 small", 1, "1x3x4x4xi8", "8x3x3x3xi8", "singles"),
        ("m55 small", 1, "1x4x4x4xi8", "8x4x3x3xi8", "words"),
        ("m55 small", 1, "1x16x4x4xi8", "8x16x3x3xi8", "quads"),
        ("m55 small", 1, "1x16x4x4xui8", "8x16x3x3xi8", "words"),
        ("m55 small", 0, "1x3x4x4xui8", "8x3x3x3xi8", "strips"),
        ("m4 small", 1, "1x3x4x4xi8", "8x3x3x3xi8", "singles"),
        ("m4", 1, "1x3x4x4xi8", "8x3x3x3xi8", "words"),
        ("m4", 1, "1x3x40x40xi8", "8x3x3x3xi8", "words"),
        ("m55", 0, "1x16x9x9xi16", "8x16x3x3xi8", "singles"),
    ],
)
def test_strips_of_cut_windows(core: str, pad: int, x: str, weight: str, how: str) -> None:
    given = CORES[core.split()[0]]
    assert given is not None
    outputs, extent = weight.split("x")[0], int(x.split("x")[2]) + 2 * pad - 2
    result = f"1x{outputs}x{extent}x{extent}xi32"
    assert kind(schedule(replace(given, small="small" in core), conv2(pad), f"{x}, const {weight}", result)) == how


@pytest.mark.parametrize(("outputs", "columns"), [(6, {1, 3}), (8, {2, 4}), (4, {2})])
def test_two_weights_in_a_byte_are_of_one_group(outputs: int, columns: set[int]) -> None:
    core = CORES["m4"]
    assert core is not None
    operands = f"1x8x9xi8, const {outputs}x4x3xi4"
    found = schedule(core, conv(ONE, 2), operands, f"1x{outputs}x7xi32")
    assert found is not None
    assert found.columns in columns


def test_costs_of_convolutions() -> None:
    """Instructions of all rows of positions, of all groups or channels."""
    core = CORES["m4"]
    assert core is not None

    def cost(group: int, weight: str) -> float:
        op = operation(conv(ONE, group), f"2x4x9xi8, const {weight}", "2x4x7xi32")
        (strategy,) = (each for each in strategies_of(type(op)) if isinstance(each, SumsStrategy))
        found = strategy.schedule(op, core)
        assert isinstance(found, SumsSchedule)
        if group == 4:
            assert strategy.cost(op, found, core) == 2 * depthwise_cycles(core.scalars, found, 7, 4, 3)
        return strategy.cost(op, found, core) / scheduled_cycles(core.scalars, found, 7, 4 // group, 1, 12 // group)

    assert cost(1, "4x4x3xi8") == 2
    assert cost(2, "4x2x3xi8") == 2 * 2
    assert cost(4, "4x1x3xi8") > 0


@pytest.mark.parametrize(
    ("group", "outputs", "columns"), [(2, 6, {1, 3}), (2, 8, {1, 2, 4}), (2, 10, {1, 5}), (2, 4, {1, 2})]
)
def test_columns_of_groups_divide_their_outputs(group: int, outputs: int, columns: set[int]) -> None:
    core = CORES["m4"]
    assert core is not None
    operands = f"1x8x9xi16, const {outputs}x4x3xi8"
    found = schedule(core, conv(ONE, group), operands, f"1x{outputs}x7xi32")
    assert found is not None
    assert found.columns in columns
    assert outputs // group % found.columns == 0
