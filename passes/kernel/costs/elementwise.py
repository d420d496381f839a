"""How many vector registers a kernel without an anchor works on."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.schedules import ElementwiseSchedule
from aotc.machines.machine import Machine

REGISTERS_OF_A_CHAIN = 4
"""How many registers of results an elementwise kernel computes at a time: enough to hide the latency of a chain."""


def elementwise_schedule(machine: Machine, dtypes: Iterable[Attribute]) -> ElementwiseSchedule | None:
    """The schedule of a kernel without an anchor that reads and writes elements of `dtypes`.

    A register's worth of the widest type, so that no value takes two; narrow types are computed as f32 or i32 mostly,
    and take no more lanes than these.
    """
    lanes = machine.vector_bytes // max(4, *(byte_width(dtype) for dtype in dtypes))
    return ElementwiseSchedule(lanes, REGISTERS_OF_A_CHAIN) if lanes > 1 else None
