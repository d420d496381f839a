"""The schedule of kernels without an anchor: how many vector registers they compute at a time."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.schedules import ElementwiseSchedule
from aotc.machines.machine import Machine


def elementwise_schedule(machine: Machine, dtypes: Iterable[Attribute]) -> ElementwiseSchedule | None:
    """The schedule of a kernel without an anchor that reads and writes elements of `dtypes`.

    The lanes are those of the widest type, so that no value takes two registers; narrow types are mostly computed as
    f32 or i32, and take no more lanes than these.
    """
    lanes = machine.vector_bytes // max(byte_width(f32), *(byte_width(dtype) for dtype in dtypes))
    return ElementwiseSchedule(lanes, machine.use.chain) if lanes > 1 else None
