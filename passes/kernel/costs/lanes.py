"""How many elements of which types a register holds, on how many of them rows are computed; sizes only, no IR."""

from collections.abc import Iterable, Sequence
from math import prod

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width, compute_type, is_float, is_minifloat
from aotc.dialects.graph.schedules import ElementwiseSchedule, RowSchedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.machine import Machine, RegisterUse


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


def axis_of_lanes(shape: Sequence[int]) -> int:
    """The last axis that is longer than 1; the last one where none is."""
    return max((axis for axis, extent in enumerate(shape) if extent > 1), default=len(shape) - 1)


def axis_of_steps(shape: Sequence[int], axes: Sequence[int]) -> int | None:
    """The innermost of the reduced `axes` that is longer than 1 and does not hold the lanes."""
    lanes = axis_of_lanes(shape)
    return max((axis for axis in axes if axis != lanes and shape[axis] > 1), default=None)


def reduction_schedule(
    machine: Machine, dtype: Attribute, shape: Sequence[int], axes: Sequence[int]
) -> RowSchedule | None:
    """The schedule for reading rows along `axes` of a tensor of `dtype` once; None where the type is not vectorised."""
    if (lanes := _lanes(machine, dtype, shape, axes)) == 1:
        return None
    step_axis = axis_of_steps(shape, axes)
    sums = machine.use.sums
    registers = _even(ceil_div(shape[axis_of_lanes(shape)], lanes), sums)
    steps = 1 if step_axis is None else _even(shape[step_axis], max(sums // registers, 1))
    return RowSchedule(lanes, registers, steps)


def row_schedule(machine: Machine, dtype: Attribute, shape: Sequence[int], axes: Sequence[int]) -> RowSchedule | None:
    """The schedule for rows that are read several times; None where the type is not vectorised.

    Rows stay in registers where they fit, several at once; if some spill, the stack is no farther away than x itself.
    """
    if (lanes := _lanes(machine, dtype, shape, axes)) == 1:
        return None
    lane_axis, step_axis = axis_of_lanes(shape), axis_of_steps(shape, axes)
    needed = ceil_div(shape[lane_axis], lanes)
    steps = 1 if step_axis is None else shape[step_axis]
    most = machine.registers
    if prod(shape[axis] for axis in axes if axis not in (lane_axis, step_axis)) == 1:
        if lane_axis not in axes and steps <= most:
            return RowSchedule(lanes, _even(needed, max(machine.use.sums // steps, 1)), steps)
        if steps == 1 and needed <= most:
            stages, rows = _rows_at_once(machine.use, needed)
            return RowSchedule(lanes, needed, rows=rows, stages=stages)
        if steps * needed <= most:
            return RowSchedule(lanes, needed, steps)
    return reduction_schedule(machine, dtype, shape, axes)


def _rows_at_once(use: RegisterUse, needed: int) -> tuple[int, int]:
    """For rows of `needed` registers: how many groups are pipelined, and how many rows each group has."""

    def rows(registers: int) -> int:
        """The largest power of two that fits."""
        return min(1 << max(registers // needed, 1).bit_length() - 1, use.most_rows)

    together = rows(use.row_tile)
    return max(rows(use.row_parts), use.fewest_rows) // together, together


def _lanes(machine: Machine, dtype: Attribute, shape: Sequence[int], axes: Sequence[int]) -> int:
    return lanes_of(machine, dtype) if axes and prod(shape) > 1 else 1


def _even(count: int, most: int) -> int:
    """The part size when `count` is divided into the fewest parts of at most `most`, as equal as possible."""
    return ceil_div(count, ceil_div(count, most))
