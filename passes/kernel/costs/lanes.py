"""Which element types are computed in vectors, and how many elements of them a register holds."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width
from aotc.machines.machine import Machine


def lanes_of(machine: Machine, dtype: Attribute) -> int:
    """How many f32 or f64 elements a register holds; 1 for every other type, which is not computed in vectors."""
    return max(machine.vector_bytes // byte_width(dtype), 1) if dtype in (f32, f64) else 1


def lanes_of_products(machine: Machine, dtype: Attribute) -> int:
    """As `lanes_of`, for sums of products, which are computed in vectors of i32, too."""
    return lanes_of(machine, f32 if dtype == i32 else dtype)
