"""Into how many parts, which threads compute at the same time, a kernel with scratch buffers is divided: sizes only.

The estimates are cycles until the last of the threads is done.
"""

from __future__ import annotations

from dataclasses import dataclass

from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.machine import Machine


@dataclass(frozen=True)
class BlockedWork:
    """Work in blocks of rows. Of each block the operand is transformed, then all panels of a weight are multiplied with
    it, panel by panel."""

    rows: int
    block_rows: int
    panels: int
    transform_cycles: float
    """To transform a row of the operand."""
    product_cycles: float
    """Of a row: the products with all panels, and the results."""
    weight_cycles: float
    """To fetch the whole weight once, which each block does."""
    transformed: int
    """Bytes of the transformed operand of all rows."""
    together: int = 1
    """Rows that stay in one part: of all parts but the last a multiple of them."""


@dataclass(frozen=True)
class Parts:
    """Parts of the rows, and of the panels for each of these."""

    rows: int = 1
    panels: int = 1

    @property
    def properties(self) -> dict[str, int]:
        """Those of the operation that says so."""
        return {"row_parts": self.rows, "panel_parts": self.panels}


def choose_parts(machine: Machine, work: BlockedWork, threads: int) -> Parts:
    """The parts for so many threads, as many as there are threads, or one.

    In parts of the rows each thread fetches all of the weight for each of its blocks; in parts of the panels each
    transforms the operand. In one part they share every loop: they wait twice for each panel of a block, and read what
    others transformed.
    """
    options = [Parts(by, threads // by) for by in range(1, threads + 1) if threads % by == 0]
    units = ceil_div(work.rows, work.together)
    found = {each: _parts_cycles(work, each) for each in options if each.rows <= units and each.panels <= work.panels}
    found[Parts()] = _shared_cycles(machine, work, threads)
    return min(found, key=lambda each: found[each])


def _parts_cycles(work: BlockedWork, parts: Parts) -> float:
    units, share = ceil_div(work.rows, work.together), ceil_div(work.panels, parts.panels) / work.panels
    most = min(ceil_div(units, parts.rows) * work.together, work.rows)
    blocks = ceil_div(most, work.block_rows)
    return most * (work.transform_cycles + share * work.product_cycles) + blocks * share * work.weight_cycles


def _shared_cycles(machine: Machine, work: BlockedWork, threads: int) -> float:
    whole, blocks = _parts_cycles(work, Parts()), ceil_div(work.rows, work.block_rows)
    costs = machine.threads
    if costs is None or threads == 1:
        return whole
    phases = 2 * work.panels * blocks * costs.phase_operations / machine.tiles.multipliers
    read = work.transformed * (threads - 1) / threads / costs.shared_bytes / machine.tiles.multipliers
    return whole / threads + phases + read
