"""Which element types are computed in vectors, how many elements of them a register holds, how many at a time."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width, compute_type, is_float, is_minifloat
from aotc.dialects.graph.schedules import ElementwiseSchedule
from aotc.machines.machine import Machine


def lanes_of(machine: Machine, dtype: Attribute) -> int:
    """How many elements a register holds in the type that they are computed in: f32 for f16 and bf16, else f32 or f64
    itself; 1 for every other type, which is not computed in vectors."""
    if not is_float(dtype) or is_minifloat(dtype):
        return 1
    return max(machine.vector_bytes // byte_width(compute_type(dtype)), 1)


def lanes_of_products(machine: Machine, dtype: Attribute) -> int:
    """As `lanes_of`, for sums of products, which are computed in vectors of i32, too."""
    return lanes_of(machine, f32 if dtype == i32 else dtype)


def elementwise_schedule(machine: Machine, dtypes: Iterable[Attribute]) -> ElementwiseSchedule | None:
    """The schedule of a kernel without an anchor that reads and writes elements of `dtypes`.

    The lanes are those of the widest type, so that no value takes two registers; narrow types are mostly computed as
    f32 or i32, and take no more lanes than these.
    """
    lanes = machine.vector_bytes // max(byte_width(f32), *(byte_width(dtype) for dtype in dtypes))
    return ElementwiseSchedule(lanes, machine.use.chain) if lanes > 1 else None
