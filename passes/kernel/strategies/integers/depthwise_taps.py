"""Which taps of a depthwise convolution of 8-bit integers are multiplied at once."""

from __future__ import annotations

from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.packed.integers.dot_products import GROUP
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.dot_cost import depthwise_cycles, depthwise_pair_cycles
from aotc.passes.kernel.nests.convolution.window_nest import MOST_UNROLLED


def has_neighbouring_taps(op: ConvOp) -> bool:
    """Whether `op` is depthwise and its taps along the last axis see neighbouring elements."""
    return op.is_depthwise and op.ints("dilations")[-1] == 1


def sums_neighbours(op: ConvOp, machine: Machine) -> bool:
    """Whether `op` is computed in this way, or by pairs."""
    return has_neighbouring_taps(op) or is_paired(op, machine)


def is_paired(op: ConvOp, machine: Machine) -> bool:
    """Whether taps in the same column of two rows are better multiplied at once than neighbouring ones of a row, if
    `machine` multiplies pairs of 16 bits, and the taps of a row are few enough to be written one by one."""
    cycles = depthwise_pair_cycles(machine, op.kernel())
    if cycles is None or not op.is_depthwise or op.kernel()[-1] > MOST_UNROLLED:
        return False
    return not has_neighbouring_taps(op) or cycles < depthwise_cycles(machine, op.kernel(), GROUP)
