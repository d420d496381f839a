"""Cost models of dot products, windows, Strassen's and Winograd's algorithms and recurrent layers, reckoned by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from kernels.plain_machine import MACHINE
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute

from aotc.dialects.graph.schedules import PairedSchedule, PositionsSchedule, WindowSchedule
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.machines.expansions.dot_costs import StepPairs
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs import strassen_cost, winograd_cost
from aotc.passes.kernel.costs.conv_cost import conv_cycles, conv_schedule
from aotc.passes.kernel.costs.dot_cost import (
    PanelSteps,
    depthwise_pair_cycles,
    pair_machine,
    paired_cycles,
    paired_schedule,
)
from aotc.passes.kernel.costs.product_cost import with_fetching
from aotc.passes.kernel.costs.recurrent_cost import (
    Ahead,
    Layer,
    Lead,
    ahead,
    lead,
    shares_registers,
    steps_beside,
)
from aotc.passes.kernel.costs.window_cost import (
    stretches,
    window_row_cycles,
    window_rows_schedule,
    window_schedule,
)
from aotc.passes.kernel.costs.winograd_cost import ConvolutionSizes

# Dot products

PAIRS = StepPairs(plain=1, complemented=1, flip_cycles=3, loop_cycles=5, registers=8)
DOTS = replace(MACHINE, dot=replace(MACHINE.dot, cycles=1, busy_sums=0, weight_cycles=2, pairs=PAIRS, pair_cycles=1))
NO_PAIRS = replace(DOTS, dot=replace(DOTS.dot, pairs=None, pair_cycles=None))


@pytest.mark.parametrize(
    ("steps", "unsigned", "cycles"),
    [
        # A pair loads eight times for two rows: eight cycles, and four more where weights come from L2.
        (PanelSteps(3, 0, 0), False, 3 * 8 + 5 + 1),
        (PanelSteps(4, 0, 0), False, 4 * (8 + 4) + 5 + 1),  # 256 bytes, which L1 does not keep
        (PanelSteps(0, 3, 0), False, 3 * (8 + 2 * 2) + 5 + 1),  # each weight becomes others
        (PanelSteps(0, 3, 0), True, 3 * (8 + 2 * 5) + 5 + 1),
        (PanelSteps(3, 0, 0), True, 3 * 8 + 5 + 1),
        (PanelSteps(0, 0, 2), False, 2 * (4 + 2) + 5 + 1),
        (PanelSteps(1, 1, 1), False, 8 + 12 + 6 + 3 * 5 + 1),
    ],
)
def test_cycles_of_pairs_of_steps(steps: PanelSteps, *, unsigned: bool, cycles: float) -> None:
    schedule = PairedSchedule(8, 2, unsigned=unsigned)
    assert paired_cycles(DOTS, schedule, (1, 2), 1, steps) == cycles
    assert paired_cycles(DOTS, schedule, (3, 4), 5, steps) == 3 * 5 * 2 * cycles


def test_schedules_of_pairs_of_steps() -> None:
    """Panels are streamed where the weight is more than half of L3."""
    steps = PanelSteps(4, 0, 0)
    for more, order in ((0, "rows"), (-1, "columns")):
        machine = replace(DOTS, l3=2 * 8 * 3 * 32 + more)
        found = paired_schedule(machine, (1, 2), 3, steps, unsigned=True)
        assert found == PairedSchedule(8, 2, order, unsigned=True)  # pyright: ignore
    assert paired_schedule(NO_PAIRS, (1, 2), 3, steps, unsigned=True) is None


def test_pairs_of_16_bits() -> None:
    found = pair_machine(DOTS)
    assert found is not None
    assert (found.tiles.multipliers, found.registers) == (1, 15)
    assert pair_machine(NO_PAIRS) is None
    # Two rows of three taps, twice, and two shuffles, which the machine begins in 2 / 3 of a cycle.
    assert depthwise_pair_cycles(DOTS, (3, 3)) == 2 * (3 + 2 / 3)
    assert depthwise_pair_cycles(NO_PAIRS, (3, 3)) is None


# Windows


@pytest.mark.parametrize(("kind", "block", "fits"), [(f32, 8, 1), (f32, 4, 0), (i32, 8, 1), (i8, 8, 0), (i8, 1, 0)])
def test_windows_on_blocks(kind: Attribute, block: int, *, fits: bool) -> None:
    assert window_schedule(MACHINE, kind, block) == (WindowSchedule(8, 6) if fits else None)


def along(positions: int, size: int = 3, stride: int = 1, before: int = 0) -> SlidingWindow:
    """A window with so many positions and as much padding behind as before."""
    return SlidingWindow((positions - 1) * stride + size - 2 * before, size, stride, 1, before, before)


def lanes_and_registers(machine: Machine, window: SlidingWindow, width: int = 4) -> tuple[int, int] | None:
    found = window_rows_schedule(machine, width, window, 1, in_parts=False)
    return None if found is None else (found.lanes, found.nr)


@pytest.mark.parametrize(
    ("positions", "width", "lanes"),
    [
        # no less than 16 bytes, of which more than a quarter is filled
        (5, 4, 8),
        (4, 4, 4),
        (2, 4, 4),
        (1, 4, None),
        (17, 1, 32),
        (16, 1, 16),
        (5, 1, 16),
        (4, 1, None),
    ],
)
def test_lanes_of_rows(positions: int, width: int, lanes: int | None) -> None:
    found = lanes_and_registers(MACHINE, along(positions), width)
    assert (found and found[0]) == lanes


def test_lanes_that_are_needed() -> None:
    assert lanes_and_registers(replace(MACHINE, vector_bytes=16), along(20), 8) == (2, 5)
    assert lanes_and_registers(replace(MACHINE, vector_bytes=8), along(20), 8) is None
    assert lanes_and_registers(MACHINE, along(1000, 16)) is not None
    assert lanes_and_registers(MACHINE, along(1000, 17)) is None


@pytest.mark.parametrize(
    ("stride", "registers", "tile"),
    [
        # R registers of positions read R + 1 and take 2 R + 3; with a stride of two 2 R + 1, twice, and 5 R + 4
        (1, 16, 6),
        (1, 10, 3),
        (1, 9, 3),
        (1, 8, 2),
        (1, 4, 1),  # one at least
        (2, 14, 2),
        (2, 13, 1),
    ],
)
def test_registers_of_rows(stride: int, registers: int, tile: int) -> None:
    machine = replace(MACHINE, registers=registers)
    assert lanes_and_registers(machine, along(999, stride=stride)) == (8, tile)


def test_tiles_of_rows_are_few() -> None:
    window = along(999, before=1)
    counts = {nr: len(stretches(window, 8 * nr, 8)) for nr in range(1, 7)}
    for most in (min(counts.values()), min(counts.values()) - 1):
        few = replace(MACHINE, windows=replace(MACHINE.windows, most_stretches=most))
        found = lanes_and_registers(few, window)
        assert (found is not None) == (most in counts.values())
        assert found is None or counts[found[1]] == most
    assert all(each.count > 0 for size in range(1, 40) for each in stretches(along(20, before=2), size, 8))


def test_cycles_of_a_row() -> None:
    """Two tiles of eight positions read ten elements, in two registers, of each row; each tap takes two cycles."""
    one = PositionsSchedule(8, 1, 1)
    assert window_row_cycles(MACHINE, one, along(16), 2, in_parts=False) == 2 * (2 * 2 + 2 * 6 + 1)
    assert window_row_cycles(MACHINE, one, along(16), 2, in_parts=True) == 2 * (2 * 2 * 2 + 6 + 1)
    # With a stride of two 17 elements, in three registers, each of which is shuffled before.
    assert window_row_cycles(MACHINE, one, along(16, stride=2), 1, in_parts=False) == 2 * (3 + 6 + 3 + 1)


# Strassen's and Winograd's algorithms


def test_what_strassen_multiplies() -> None:
    found = strassen_cost.schedule(MACHINE, f32, 4, 16, 8)
    assert found is not None
    assert found.lanes == 8
    assert strassen_cost.schedule(MACHINE, i8, 4, 16, 8) is None
    for sizes in ((0, 16, 8), (4, 0, 8), (4, 16, 0)):
        assert strassen_cost.schedule(MACHINE, f32, *sizes) is None


def test_direct_convolution_reads_its_weight_for_each_block_of_rows() -> None:
    sizes = ConvolutionSizes(1, 16, 64, 8, 16, taps=1)
    machine = MACHINE.with_weights(1 << 30)
    schedule = conv_schedule(machine, f32, 16 * 8 * 16, (8, 16), 64, 16, (1,))
    assert schedule is not None
    assert schedule.mc is not None
    products = conv_cycles(machine, schedule, (8, 16), 64, 16, (1,))
    weight, blocks = 16 * 64 * 4, -(-8 // schedule.mc)
    assert blocks > 1
    fetching = weight / 4 + (blocks - 1) * weight / machine.bytes_from(weight)  # first from memory
    assert winograd_cost.direct_cycles(machine, sizes) == with_fetching(machine, schedule, 128, products, fetching)


def test_transforms_of_narrow_integers_have_a_cost_of_their_own() -> None:
    for group, name in ((1, "transform_cycles"), (2, "narrow_cycles")):
        sizes = ConvolutionSizes(1, 16, 16, 8, 8, group=group)
        more = replace(MACHINE, winograd=replace(MACHINE.winograd, **{name: 40}))  # pyright: ignore
        before, after = (winograd_cost.cycles(each, sizes, 2) for each in (MACHINE, more))
        # 16 tiles, 16 products; registers of the operand and of the result
        count = 16 * 16 * (2 // group + 2 if group == 1 else 1 + 2)
        assert after - before == count * (40 - 4)


# Recurrent layers


@pytest.mark.parametrize(
    ("spare", "begun", "shares"),
    [
        # 2048 bytes wait for 64 cycles, of which 2048 / begun are used; registers come in 16, 288 / spare make them
        (19, 33, True),
        (18, 33, False),
        (19, 32, False),
        (0, 33, False),
    ],
)
def test_registers_are_shared_where_steps_wait(spare: int, begun: int, *, shares: bool) -> None:
    costs = replace(MACHINE.recurrent, spare_bytes=spare, begun_bytes=begun)
    assert shares_registers(replace(MACHINE, recurrent=costs), 2048) == shares


def layer(steps: int = 10, inputs: int = 64, width: int = 1, columns: int = 64) -> Layer:
    """A layer whose weight for 64 states is in L2, and waits there: 32 registers, a panel each."""
    machine = replace(MACHINE, registers=32, recurrent=replace(MACHINE.recurrent, most_time=1))
    return Layer(machine, 8, width, steps, columns, (64, inputs))


@pytest.mark.parametrize(("inputs", "panels"), [(2, [1, 2]), (3, [2, 3]), (4, [2, 3, 4]), (8, [4]), (9, []), (1, [1])])
def test_panels_beside_which_inputs_are_summed_up(inputs: int, panels: list[int]) -> None:
    """Of four panels with two steps each: a step of both reductions at least."""
    assert Layer(MACHINE, 8, 1, 10, 32, (2, inputs)).besides(inputs) == panels


@pytest.mark.parametrize(("columns", "waits"), [(32, False), (40, True), (44, False)])
def test_weights_that_steps_wait_for(columns: int, *, waits: bool) -> None:
    """Of eight states: 1024 bytes stay in L1, and no register is filled in part."""
    assert Layer(MACHINE, 8, 1, 10, columns, (8, 8)).waits() == waits


def choices(given: Layer, begun: int) -> Iterator[Ahead]:
    """All tiles of inputs, in the order in which they are tried, with their cycles."""
    for across in range(1, given.width + 1):
        for beside in given.besides(given.depths[1]) if given.registers % across == 0 else ():
            for rows in range(2, given.rows(given, across) + 1):
                found = Ahead(rows, across, beside, 0)
                blocks = found.blocks(given, begun)
                busy = blocks.count * blocks.during
                alone = (given.steps - busy) * given.alone() + (blocks.first - begun) * given.row()
                cycles = alone + busy * given.both(given, rows, across, blocks.during)
                if blocks.count:
                    yield replace(found, cycles=cycles)


@pytest.mark.parametrize("steps", [9, 20])
@pytest.mark.parametrize("begun", [0, 2, 7])
@pytest.mark.parametrize("width", [1, 2])
def test_no_tile_of_inputs_is_faster(steps: int, begun: int, width: int) -> None:
    """The first of the fastest, where that is faster than all inputs at once."""
    given = layer(steps, 8, width)
    least = steps * (given.alone() + given.row())
    best = min(choices(given, begun), key=lambda each: each.cycles, default=None)
    assert ahead(given, begun) == (best if best is not None and best.cycles < least else None)


def test_inputs_that_are_begun_are_no_reason_for_a_tile() -> None:
    """Of ten steps nine are begun: there is no block of two."""
    assert ahead(layer(10, 64), 9) is None


@pytest.mark.parametrize("steps", [9, 20, 40])
@pytest.mark.parametrize("alone", [False, True])
def test_no_lead_is_faster(steps: int, *, alone: bool) -> None:
    given, following = layer(steps, 8), layer(steps, 16)
    own = None if alone else ahead(given)
    then = ahead(following) or Ahead(2, 1, 1, 1e9)
    free = steps - (0 if own is None else (blocks := own.blocks(given)).count * blocks.during)
    found: list[tuple[float, Lead]] = []
    for beside in given.besides(16):
        during = steps_beside(given.panels, following.registers // then.across, beside)
        for count in range(2, min(given.rows(following, then.across), steps - during) + 1):
            after = ahead(following, count, then.across)
            if during <= free and after is not None:
                more = given.both(following, count, then.across, during) - given.alone()
                found.append((after.cycles + during * more, Lead(count, beside)))
    best = min(found, key=lambda each: each[0], default=None)
    assert lead(given, own, 0, following, then) == (None if best is None or best[0] >= then.cycles else best[1])
