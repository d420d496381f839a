"""The schedules of pooling and of convolution within blocks of channels; sizes only, no IR."""

from __future__ import annotations

from xdsl.ir import Attribute

from aotc.dialects.graph.schedules import WindowSchedule
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.lanes import lanes_of_products


def window_schedule(machine: Machine, dtype: Attribute, block: int) -> WindowSchedule | None:
    """The schedule of windows over blocks of channels; None where a block is no vector register of the machine."""
    if block == 1 or lanes_of_products(machine, dtype) != block:
        return None
    return WindowSchedule(block, machine.use.window)
