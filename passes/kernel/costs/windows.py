"""How pooling and convolution within blocks of channels are computed on registers: sizes only, no IR."""

from __future__ import annotations

from xdsl.ir import Attribute

from aotc.dialects.graph.schedules import WindowSchedule
from aotc.machines.machine import Machine


def window_schedule(machine: Machine, dtype: Attribute, block: int) -> WindowSchedule | None:
    """The schedule of windows over blocks of channels; None where they are no vectors of the machine.

    As many accumulators as hide latency, so few that rows of the operand and of the weight have room beside them.
    """
    if block == 1 or machine.lanes_of_products(dtype) != block:
        return None
    return WindowSchedule(block, max(machine.registers // 4, 6))
