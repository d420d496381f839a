"""The cost model of recurrent layers whose inputs are multiplied beside the products with the state; no IR.

A step reads a weight from L2, or from further away, for one multiply-add with each register of it: it waits for the
bytes, and could do more arithmetic meanwhile. The inputs of later steps do not depend on the state. Their products, on
register tiles of several steps, read few bytes for each multiply-add, so they cost what they read beside the weight,
but for those of the first steps, which nothing can be done beside.
"""

from __future__ import annotations

from dataclasses import dataclass

from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.machine import Machine


@dataclass(frozen=True)
class Blocks:
    """How the steps of a sequence are divided: the inputs of the `first` ones are multiplied before all; those of
    `count` blocks of `size` follow, each beside `during` steps."""

    first: int
    size: int
    count: int
    during: int


def blocks_of(steps: int, size: int, during: int) -> Blocks:
    """As many blocks of `size` steps as are done in time, each before the first of its steps."""
    # block i, from 0 on, is done after (i + 1) * during steps, and needed after first + i * size
    count = max(min((steps - during) // size, (steps - size) // during if size < during else steps), 0)
    return Blocks(steps - count * size, size, count, during)


def steps_beside(panels: int, tiles: int, beside: int) -> int:
    """The steps in which `tiles` are summed up, each beside that many of the `panels` of a step."""
    return ceil_div(tiles, panels // beside)


@dataclass(frozen=True)
class Ahead:
    """The register tile of products of inputs, and beside how many panels of the state's weight it is summed up."""

    rows: int
    across: int
    beside: int


def ahead(machine: Machine, lanes: int, width: int, steps: int, columns: int, depths: tuple[int, int]) -> Ahead | None:
    """What is the fastest for a line of `steps` with `columns` gates, if that is faster than all inputs at once.

    `width` are the registers of a panel of the weight of the state; `depths` are those of the state and of the inputs.
    """
    (state, inputs), costs = depths, machine.recurrent
    registers, panels = columns // lanes, columns // (lanes * width)
    weight, given = (registers * depth * machine.vector_bytes for depth in depths)
    if columns % lanes or weight <= machine.l1:
        return None
    multipliers = min(machine.tiles.multipliers, costs.begun_bytes / machine.vector_bytes)
    alone = max(weight / machine.tiles.l2_bytes, registers * state / multipliers)
    row = registers * inputs / multipliers
    best, least = None, costs.most_time * steps * (alone + row)
    for across in range(1, width + 1):
        most = (machine.registers - width - across - 2) // across
        if registers % across:
            continue
        for beside in range(1, panels + 1):
            if inputs < beside or state * beside < inputs:  # a step of each reduction, at least
                continue
            during = steps_beside(panels, registers // across, beside)
            for rows in range(2, most + 1):
                blocks = blocks_of(steps, rows, during)
                read = (weight + given / during) / machine.tiles.l2_bytes
                added = registers * (state + inputs * rows / during) / multipliers
                loads = registers * inputs * (rows + across) / across / during / machine.tiles.loads
                both = max(read + costs.load_share * loads, added)
                busy = blocks.count * during
                cycles = blocks.first * row + busy * both + (steps - busy) * alone
                if blocks.count and cycles < least:
                    best, least = Ahead(rows, across, beside), cycles
    return best
