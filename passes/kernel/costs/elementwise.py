"""How many vector registers a kernel without an anchor works on."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.schedules import ElementwiseSchedule
from aotc.machines.machine import Machine


def elementwise_schedule(machine: Machine, dtypes: Iterable[Attribute]) -> ElementwiseSchedule | None:
    """The schedule of a kernel without an anchor that reads and writes elements of `dtypes`.

    A register's worth of the widest type, so that no value takes two; narrow types are computed as f32 or i32 mostly,
    and take no more lanes than these.
    """
    lanes = machine.vector_bytes // max(byte_width(f32), *(byte_width(dtype) for dtype in dtypes))
    return ElementwiseSchedule(lanes, machine.use.chain) if lanes > 1 else None
