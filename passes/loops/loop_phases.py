"""The phases of a kernel that threads share: all shares of one are done before any of the next is begun.

A phase ends where a chunk reads or overwrites what other threads wrote. Any thread may do any share of any phase, one
after the other, so that nothing but memory goes from a phase to the next. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from aotc.passes.kernel.builders.loop_builder import trips
from aotc.passes.loops.loop_shares import Chunk, Indivisible, Shares


@dataclass(frozen=True)
class Turns:
    """A loop whose iterations have phases: `each` of them an iteration, the first of the first one is `first`."""

    first: int
    each: int
    trips: int

    @property
    def end(self) -> int:
        """The phase after the last one."""
        return self.first + self.each * self.trips


class Phases:
    """The phase of each chunk, in the block that it stands in; `loops` that have phases; `count`: of all there are."""

    def __init__(self, shares: Shares) -> None:
        """Raises Indivisible."""
        self._shares = shares
        self.of: dict[Chunk, int] = {}
        self.loops: dict[Operation, Turns] = {}
        body = shares.function.body.block
        self.count = max(1, self._number(body))
        self._check_reads(body)
        if self.count > 1 and any(op.results for chunk in self.of for op in chunk.operations if op.regions):
            raise Indivisible("a value is computed in one phase for others")

    def _number(self, block: Block) -> int:
        """Give each chunk of a block its phase; how many there are."""
        phase, pending = 0, list[Chunk]()
        for chunk in self._shares.chunks[block]:
            op = chunk.operations[0]
            if chunk.how == "entered" and self._waits(op):
                turns = self._turns(op, phase + bool(pending))
                self.loops[op] = turns
                phase, pending = turns.end, []
            elif chunk.how != "everywhere":
                if any(self._shares.conflict(before, chunk) for before in pending):
                    phase, pending = phase + 1, []
                self.of[chunk] = phase
                pending.append(chunk)
        return phase + bool(pending)

    def _turns(self, op: Operation, first: int) -> Turns:
        count = trips(op.lb, op.ub, op.step) if isinstance(op, scf.ForOp) and not op.iter_args else None
        if count is None:
            raise Indivisible(f"threads wait for each other in {op.name}, not in a known number of iterations")
        return Turns(first, self._number(op.regions[0].block), count)

    def _waits(self, op: Operation) -> bool:
        """Whether the chunks in `op` have several phases, be it those of different iterations."""
        inside = [chunk for block in _blocks(op) for chunk in self._leaves(block)]
        return any(self._shares.conflict(before, chunk) for before in inside for chunk in inside)

    def _leaves(self, block: Block) -> Iterator[Chunk]:
        for chunk in self._shares.chunks.get(block, ()):
            if chunk.how == "entered":
                for inner in _blocks(chunk.operations[0]):
                    yield from self._leaves(inner)
            else:
                yield chunk

    def _check_reads(self, body: Block) -> None:
        """Data that all threads read must be the same in every phase, whoever comes when."""
        chunks = list(self._leaves(body))
        for chunk in chunks:
            if chunk.how == "everywhere" and any(
                self._shares.conflict(other, chunk) or self._shares.conflict(chunk, other) for other in chunks
            ):
                raise Indivisible("all threads read what the kernel writes")


def _blocks(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        yield from region.blocks
