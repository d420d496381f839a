"""The cost model of recurrent layers whose inputs are multiplied beside the products with the state; no IR.

A step reads a weight from L2, or from further away, for one multiply-add with each register of it: it waits for the
bytes, and could do more arithmetic meanwhile. The inputs of later steps do not depend on the state. Their products, on
register tiles of several steps, read few bytes for each multiply-add, so they cost what they read beside the weight,
but for those of the first steps, which nothing can be done beside. Of a layer that follows another one these are beside
the other one's last steps, which have no inputs left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from aotc.dialects.graph.recurrent.shared import MADE, REGISTERS, SHARED
from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.product_cost import overlapped


@dataclass(frozen=True)
class Blocks:
    """How the steps of a sequence are divided: the inputs of the `first` ones are multiplied before all; those of
    `count` blocks of `size` follow, each beside `during` steps."""

    first: int
    size: int
    count: int
    during: int


def blocks_of(steps: int, size: int, during: int, begun: int = 0) -> Blocks:
    """As many blocks of `size` steps as are done in time, each before the first of its steps; of the `first` ones so
    many are `begun` elsewhere."""
    # block i, from 0 on, is done after (i + 1) * during steps, and needed after first + i * size
    late = (steps - size) // during
    count = max(min((steps - during) // size, (steps - begun) // size, late), 0)
    return Blocks(steps - count * size, size, count, during)


def steps_beside(panels: int, tiles: int, beside: int) -> int:
    """The steps in which `tiles` are summed up, each beside that many of the `panels` of a step."""
    return ceil_div(tiles, panels // beside)


def shares_registers(machine: Machine, weight: int) -> bool:
    """Whether a step waits so long for a `weight` for the state, in bytes, that reading seven registers of eight and
    making the others of them (`shared.py`) is faster: a conversion for each, three shifts and two additions for one."""
    costs, width = machine.recurrent, machine.vector_bytes
    waited = reread_cycles(machine, weight - machine.l1)  # steps go back and forth: so much stays in L1
    if not (spare := costs.spare_bytes) or waited <= weight / costs.begun_bytes:
        return False
    made = (SHARED + MADE) * width / spare
    return made < REGISTERS * width / machine.bandwidths.l2


def reread_cycles(machine: Machine, weight: float) -> float:
    """Cycles to read a weight in each step, in turn forwards and backwards: what L2 does not keep comes from L3."""
    near = min(weight, machine.l2)
    return near / machine.bandwidths.l2 + (weight - near) / machine.bandwidths.l3


@dataclass(frozen=True)
class Layer:
    """Reads and products of one row of a layer in each step."""

    machine: Machine
    lanes: int
    width: int
    """The registers of a panel of the weight for the state."""
    steps: int
    columns: int
    """The gates of all units."""
    depths: tuple[int, int]
    """Of the products with the state, and with the inputs."""

    @property
    def registers(self) -> int:
        """Those of a row of gates."""
        return self.columns // self.lanes

    @property
    def panels(self) -> int:
        """Those of the weight for the state."""
        return self.registers // self.width

    @property
    def weights(self) -> tuple[int, int]:
        """Bytes of the weight for the state, and of that for the inputs."""
        row = self.registers * self.machine.vector_bytes
        return row * self.depths[0], row * self.depths[1]

    @property
    def multipliers(self) -> float:
        """Multiply-adds of registers that begin in a cycle."""
        machine = self.machine
        return min(machine.tiles.multipliers, machine.recurrent.begun_bytes / machine.vector_bytes)

    def waits(self) -> bool:
        """Whether whole registers of the weight for the state come from beyond L1."""
        return self.columns % self.lanes == 0 and self.weights[0] > self.machine.l1

    def row(self) -> float:
        """Cycles of the products of one step's inputs, with nothing beside."""
        return self.registers * self.depths[1] / self.multipliers

    def alone(self) -> float:
        """Cycles of one step's products with the state, with nothing beside."""
        weight, _ = self.weights
        return max(reread_cycles(self.machine, weight), self.registers * self.depths[0] / self.multipliers)

    def both(self, given: Layer, rows: int, across: int, during: int) -> float:
        """Cycles of a step's products with the state, beside those of `rows` inputs of `given` in `during` steps."""
        machine, costs = self.machine, self.machine.recurrent
        state, inputs = self.depths[0], given.depths[1]
        read = reread_cycles(machine, self.weights[0] + given.weights[1] / during)
        added = (self.registers * state + given.registers * inputs * rows / during) / self.multipliers
        loads = given.registers * inputs * (rows + across) / across / during / machine.tiles.loads
        return overlapped(read + costs.load_share * loads, added, costs.sharpness)

    def rows(self, given: Layer, across: int) -> int:
        """The most rows of a tile of inputs of the layer `given` beside a panel."""
        return min((self.machine.registers - self.width - across - 2) // across, given.near_rows())

    def near_rows(self) -> int:
        """So many rows of inputs have a cache line each in L1 at a time, and leave room in their sets for what streams
        through."""
        ways = self.machine.recurrent.l1_ways
        way = self.machine.l1 // ways
        row = self.depths[1] * self.machine.vector_bytes // self.lanes
        return max(way // gcd(way, row), 1) * (ways - 1)

    def besides(self, inputs: int) -> list[int]:
        """Panels beside which a tile of so many inputs may be summed up: with a step of each reduction, at least."""
        state = self.depths[0]
        return [each for each in range(1, self.panels + 1) if each <= inputs <= state * each]


@dataclass(frozen=True)
class Ahead:
    """The register tile of products of inputs, and beside how many panels of the state's weight it is summed up."""

    rows: int
    across: int
    beside: int
    cycles: float
    """Of all steps."""

    def blocks(self, layer: Layer, begun: int = 0) -> Blocks:
        """How the steps of the layer are divided."""
        during = steps_beside(layer.panels, layer.registers // self.across, self.beside)
        return blocks_of(layer.steps, self.rows, during, begun)


@lru_cache  # of layers in a row most are alike
def ahead(layer: Layer, begun: int = 0, only: int | None = None) -> Ahead | None:
    """The fastest choice for a layer, if that is faster than all inputs at once.

    The products of the inputs of so many steps are `begun` elsewhere; the tile has `only` so many registers in a row.
    """
    if not layer.waits():
        return None
    alone, row = layer.alone(), layer.row()
    best, least = None, layer.machine.recurrent.most_time * layer.steps * (alone + row)
    for across in range(1, layer.width + 1) if only is None else [only]:
        if layer.registers % across:
            continue
        for beside in layer.besides(layer.depths[1]):
            for rows in range(2, layer.rows(layer, across) + 1):
                found = Ahead(rows, across, beside, 0.0)
                blocks = found.blocks(layer, begun)
                busy = blocks.count * blocks.during
                both = layer.both(layer, rows, across, blocks.during)
                cycles = (blocks.first - begun) * row + busy * both + (layer.steps - busy) * alone
                if blocks.count and cycles < least:
                    best, least = Ahead(rows, across, beside, cycles), cycles
    return best


@dataclass(frozen=True)
class Lead:
    """How many of a layer's first states are multiplied for the following layer, and beside how many panels."""

    steps: int
    beside: int


@lru_cache
def lead(layer: Layer, own: Ahead | None, begun: int, following: Layer, then: Ahead) -> Lead | None:
    """The fastest choice for a layer and the `following` one, which takes tiles as `then` otherwise: the products of
    its first inputs are multiplied beside the last steps, which have none of their own to multiply."""
    if not layer.waits():
        return None
    blocks = None if own is None else own.blocks(layer, begun)
    free = layer.steps if blocks is None else layer.steps - blocks.count * blocks.during
    best, least = None, then.cycles
    for beside in layer.besides(following.depths[1]):
        during = steps_beside(layer.panels, following.registers // then.across, beside)
        for steps in range(2, min(layer.rows(following, then.across), layer.steps - during) + 1):
            after = ahead(following, steps, then.across)
            if during > free or after is None:
                continue
            more = layer.both(following, steps, then.across, during) - layer.alone()
            if after.cycles + during * more < least:
                best, least = Lead(steps, beside), after.cycles + during * more
    return best
