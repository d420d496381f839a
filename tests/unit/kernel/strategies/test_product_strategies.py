"""Which strategy computes a product or a convolution, what it estimates, and the schedules near the one it chooses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import AnchorOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.schedules import (
    InnerProductSchedule,
    MatmulSchedule,
    PositionsSchedule,
    Schedule,
    ScheduleAttr,
    WindowSchedule,
)
from aotc.machines.machine import Machine
from aotc.machines.targets import machine_of
from aotc.passes.kernel.strategy import choose_schedule, strategies_of, strategy_of


@pytest.fixture(scope="module")
def machine() -> Machine:
    found = machine_of("x86-64-v4")
    assert found is not None
    return found


def conv(x: tuple[int, ...], weight: tuple[int, ...], group: int = 1) -> ConvOp:
    """A convolution that keeps the spatial extents."""
    values = Block(arg_types=[TensorType(f32, shape) for shape in (x, weight)]).args
    axes = range(len(x) - 2)
    pads = [weight[2 + axis] // 2 for axis in axes] * 2
    attributes: dict[str, Any] = {"strides": [1 for _ in axes], "pads": pads, "dilations": [1 for _ in axes]}
    return ConvOp.get(*values, group=group, **attributes)


def matmul(*shapes: tuple[int, ...]) -> MatMulOp:
    return MatMulOp.get(*Block(arg_types=[TensorType(f32, shape) for shape in shapes]).args)


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        (conv((1, 64, 9, 9), (64, 64, 3, 3)), MatmulSchedule),
        (conv((1, 64, 9, 9), (64, 32, 3, 3), 2), MatmulSchedule),
        (conv((1, 64, 9, 9), (64, 1, 3, 3), 64), WindowSchedule),
        (conv((1, 64, 9, 9), (64, 4, 3, 3), 16), WindowSchedule),
        (conv((1, 48, 9, 9), (48, 3, 3, 3), 16), MatmulSchedule),
        (conv((1, 64, 9, 9), (64, 16, 3, 3), 4), MatmulSchedule),
        (conv((1, 32, 9, 9), (64, 4, 3, 3), 8), MatmulSchedule),
    ],
    ids=["direct", "groups", "depthwise", "groups in a block", "groups in two blocks", "groups are blocks", "wider"],
)
def test_one_strategy_suits_a_convolution(op: ConvOp, kind: type[Schedule], machine: Machine) -> None:
    proposed = [found for each in strategies_of(ConvOp) if (found := each.schedule(op, machine)) is not None]
    assert [type(schedule) for schedule in proposed] == [kind]
    assert choose_schedule(op, machine) == proposed[0]
    op.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(proposed[0])
    assert kind in strategy_of(op).SCHEDULES


def test_a_convolution_without_groups_is_not_within_blocks(machine: Machine) -> None:
    op = conv((1, 2, 9, 9), (2, 2, 3, 3))
    assert not any(isinstance(each.schedule(op, machine), WindowSchedule) for each in strategies_of(ConvOp))


def test_of_few_channels_lanes_hold_positions_or_channels(machine: Machine) -> None:
    for channels, kinds in ((64, {InnerProductSchedule, PositionsSchedule}), (60, {MatmulSchedule, PositionsSchedule})):
        op = conv((1, channels, 9, 9), (1, channels, 3, 3))
        known = {type(found) for each in strategies_of(ConvOp) if (found := each.schedule(op, machine)) is not None}
        assert known == kinds


@pytest.mark.parametrize(
    "op",
    [matmul((64, 512), (512, 96)), matmul((2, 3, 40), (40, 24)), conv((1, 64, 14, 14), (96, 64, 3, 3))],
    ids=["matmul", "batch", "conv"],
)
def test_the_chosen_tile_is_estimated_to_be_the_fastest_of_those_near_it(op: AnchorOp, machine: Machine) -> None:
    schedule, strategy = choose_schedule(op, machine), strategy_of(op)
    assert isinstance(schedule, MatmulSchedule)
    near = [each for each in strategy.candidates(op, schedule, machine) if isinstance(each, MatmulSchedule)]
    assert schedule not in near and len(set(near)) == len(near)
    assert {each.order for each in near} == {"rows", "columns"}
    assert len({each.unroll for each in near}) > 1 and len({(each.mr, each.nr) for each in near}) > 5
    assert all(each.mr * each.nr + each.nr < machine.registers for each in near)
    least = strategy.cost(op, schedule, machine)
    assert least <= min(strategy.cost(op, each, machine) for each in near)


def test_cycles_are_those_of_one_core(machine: Machine) -> None:
    """At most two multiply-adds of 16 lanes in a cycle, and not much fewer where the product is large."""
    op = matmul((256, 1024), (1024, 512))
    schedule = choose_schedule(op, machine)
    cycles = strategy_of(op).cost(op, schedule, machine)
    assert 1 <= cycles / (256 * 1024 * 512 / (2 * 16)) < 1.5
    batch = matmul((3, 256, 1024), (1024, 512))
    assert strategy_of(batch).cost(batch, schedule, machine) == 3 * cycles


def test_blocks_of_the_reduction_cost_time_between_them(machine: Machine) -> None:
    op = matmul((64, 512), (512, 64))
    strategy = strategy_of(op)
    whole = MatmulSchedule(16, 8, 2)
    in_blocks = MatmulSchedule(16, 8, 2, kc=64)
    assert strategy.cost(op, whole, machine) < strategy.cost(op, in_blocks, machine)


def test_schedules_near_one_of_lines_or_of_partial_sums_are_valid() -> None:
    """`mc` and `kc` go with the order of columns alone; `x86-64-v3` has the small L2 that asks for lines."""
    machine = machine_of("x86-64-v3@l2=512K")
    assert machine is not None
    op = conv((1, 2048, 7, 7), (512, 2048, 1, 1))
    chosen = choose_schedule(op, machine)
    assert isinstance(chosen, MatmulSchedule) and chosen.mc is not None
    for schedule in (chosen, replace(chosen, mc=None, kc=64)):
        near = [*strategy_of(op).candidates(op, schedule, machine)]
        assert {each.order for each in near} == {"columns", "rows"}
        assert all(each.mc is each.kc is None for each in near if each.order == "rows")
    assert replace(chosen, mc=None) in strategy_of(op).candidates(op, chosen, machine)


@pytest.mark.parametrize(("target", "steps"), [("x86-64-v3", 8), ("x86-64-v4", 2)])
def test_steps_within_a_block_of_channels(target: str, steps: int) -> None:
    machine = machine_of(target)
    assert machine is not None
    chosen = choose_schedule(conv((1, 64, 14, 14), (64, 64, 1, 1)), machine)
    assert isinstance(chosen, MatmulSchedule) and chosen.unroll == steps == machine.tiles.block_unroll
