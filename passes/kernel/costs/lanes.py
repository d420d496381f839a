"""Which element types are computed in vectors, and how many elements of them a register holds."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width, compute_type, is_float, is_minifloat
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
