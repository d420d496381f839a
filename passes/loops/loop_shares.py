"""How loops are divided among threads: costs, the loops to split, what must wait for what. Nothing is changed.

All threads of a kernel run the same code. Some parallel loops are split, each thread taking its share of the
iterations. Around these, stores, and what is computed for stores only, are left to one thread; all threads do the rest.
Costs are counted in operations on registers, which is enough to compare alternatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import VectorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free
from xdsl.transforms.canonicalization_patterns.utils import const_evaluate_operand

from aotc.dialects import aot
from aotc.dialects.aot.contract import argument_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.passes.kernel.builders.loop_builder import trips
from aotc.passes.loops.loop_reads import Reads

_UNKNOWN_TRIPS = 4
"""The assumed trip count of a loop whose bounds are not constant."""
_EVEN = 1.05
"""By what factor the longest share may exceed the average; beyond it more dimensions are split as one."""
_WORTH = 0.95
"""Other loops than the outermost ones are split where that takes less than this share of the time."""


class Indivisible(Exception):
    """The kernel's work cannot be shared; the message says why."""


def _for_trips(op: scf.ForOp) -> int:
    """The trip count of a loop, or the assumed one."""
    found = trips(op.lb, op.ub, op.step)
    return _UNKNOWN_TRIPS if found is None else found


def _registers(value: SSAValue) -> int:
    return prod(value.type.get_shape()[:-1]) if isinstance(value.type, VectorType) else 1


# --- shares ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """A parallel loop that is split: `dimensions` of its loops from number `start` on count as one, with `total`
    iterations; from the thread `first` on, threads do one iteration more."""

    start: int
    dimensions: int
    total: int
    first: int

    @property
    def stop(self) -> int:
        """The loop after them."""
        return self.start + self.dimensions


@dataclass(frozen=True)
class Alone:
    """The work of one thread: the one with this number, or, in the loop over `turn`, each iteration the next one."""

    thread: int
    turn: tuple[SSAValue, int] | None = None
    """A loop variable and its step."""


@dataclass(frozen=True)
class _Plan:
    """A way to divide an operation: the operations of a thread, and those it could do while it gets what it reads.

    `cut` is where a parallel loop itself is split.
    """

    time: float
    memory: float = 0
    cut: tuple[int, int] | None = None
    """The first loop, and how many."""

    @property
    def total(self) -> float:
        """Both."""
        return self.time + self.memory


@dataclass(frozen=True)
class Chunk:
    """Consecutive operations of a block: one that is split; several that one thread does; one that is entered, whose
    body is shared; or one that all threads do, which only reads."""

    operations: tuple[Operation, ...]
    how: Cut | Alone | Literal["entered", "everywhere"]


class Shares:
    """The division of a kernel's operations: `chunks` of each block that all threads run through, in order; everything
    else is arithmetic, which all threads do."""

    def __init__(self, function: FuncOp, threads: int, reads: Reads) -> None:
        """Raises Indivisible."""
        self.function = function
        self.threads = threads
        self._reads = reads
        self._plans: dict[Operation, _Plan] = {}
        self._costs: dict[Operation, float] = {}
        self.chunks: dict[Block, list[Chunk]] = {}
        self._accesses: dict[Operation, Accesses] = {}
        self._next = 0
        everything = self.accesses(function)
        self._scratch = everything.loads & everything.stores
        self._decide(function.body.block, None)

    def accesses(self, *operations: Operation) -> Accesses:
        """The buffers that operations read and write."""
        for op in operations:
            if op not in self._accesses:
                self._accesses[op] = Accesses.of(op)
        found = [self._accesses[op] for op in operations]
        return Accesses(
            frozenset[SSAValue]().union(*(each.loads for each in found)),
            frozenset[SSAValue]().union(*(each.stores for each in found)),
        )

    @property
    def time(self) -> float:
        """The time until all threads are done, that in which they get what they read included, in operations on
        registers."""
        return sum(self._plan(op).total for op in self.function.body.block.ops)

    @property
    def time_alone(self) -> float:
        """The same of a single thread, which gets what others wrote, too."""
        block = self.function.body.block
        read = sum(self._reads.cost(op, set(), self.threads) for op in block.ops)
        return self._block_cost(block) + read

    def _block_cost(self, block: Block) -> float:
        """The cost of a block, in operations on registers."""
        return sum(self._cost(op) for op in block.ops)

    def _cost(self, op: Operation) -> float:
        """The cost of `op` with all it contains."""
        if op not in self._costs:
            match op:
                case scf.ParallelOp():
                    found = splittable(op)
                    count = _UNKNOWN_TRIPS if found is None else prod(found)
                    cost = count * (self._block_cost(op.body.block) + 1)
                case scf.ForOp():
                    cost = _for_trips(op) * (self._block_cost(op.body.block) + 1)
                case scf.IfOp():
                    cost = 1 + max(sum(map(self._block_cost, region.blocks)) for region in op.regions)
                case arith.ConstantOp() | scf.YieldOp() | scf.ReduceOp():
                    cost = 0
                case _:
                    cost = max((_registers(value) for value in (*op.results, *op.operands)), default=1)
            self._costs[op] = cost
        return self._costs[op]

    # Which loops are split

    def _is_shared(self, op: Operation) -> bool:
        """Whether a loop in `op` is split."""
        return bool(op.regions) and any(splittable(inner) is not None for inner in op.walk())

    def _plan(self, op: Operation) -> _Plan:
        """How all threads together do `op` best."""
        if op not in self._plans:
            self._plans[op] = self._best(op)
        return self._plans[op]

    def _best(self, op: Operation) -> _Plan:
        if isinstance(op, scf.ParallelOp) and (sizes := splittable(op)) is not None:
            first, *others = self._cuts(op, sizes)
            inside = list(op.body.block.ops)
            if any(map(self._is_shared, inside)) and not self._wait(inside):
                turn = _turn(op, self.threads)
                count = 1 if turn is None else sizes[turn[0].index]
                most = ceil_div(count, self.threads) / count  # the turns of the thread with most of them
                time = sum(self._plan(inner).time * (most if self._is_alone(inner) else 1) for inner in inside)
                others.append(_Plan(prod(sizes) * time, sum(self._plan(inner).memory for inner in inside)))
            best = min(others, key=lambda plan: plan.total, default=first)
            return best if best.total < _WORTH * first.total else first
        if self._is_shared(op):
            inside = [self._plan(inner) for region in op.regions for block in region.blocks for inner in block.ops]
            times = _for_trips(op) if isinstance(op, scf.ForOp) else 1
            return _Plan(times * sum(plan.time for plan in inside), sum(plan.memory for plan in inside))
        return _Plan(self._cost(op))

    def _wait(self, operations: Sequence[Operation]) -> bool:
        """Whether threads that share the loops among these, and leave the rest to one, would wait for each other."""
        shared = [op for op in operations if self._is_shared(op)]
        rest = self.accesses(*(op for op in operations if op not in shared))
        found = [*map(self.accesses, shared), rest]
        return any(self._conflict(a, b) for a in found for b in found)

    def _is_alone(self, op: Operation) -> bool:
        """Whether one thread does an operation among those that all threads run through."""
        return not self._is_shared(op) and bool(self.accesses(op).stores)

    def _cuts(self, op: scf.ParallelOp, sizes: Sequence[int]) -> list[_Plan]:
        """The ways to split a parallel loop itself, the outermost first."""
        found: list[_Plan] = []
        for start in range(len(sizes)):
            count = _dimensions(sizes[start:], self.threads)
            split = sizes[start : start + count]
            rest = prod(sizes) // max(prod(split), 1)
            time = ceil_div(prod(split), self.threads) * rest * (self._block_cost(op.body.block) + 1)
            # of loops that count as one, shares differ in the first one that has as many iterations as there are shares
            by = op.body.block.args[start : start + 1 if split[0] >= self.threads else start + count]
            found.append(_Plan(time, self._reads.cost(op, set(by), self.threads), (start, count)))
        return found

    def _decide(self, block: Block, turn: tuple[SSAValue, int] | None) -> None:
        """Decide how to divide the operations of a block that all threads run through. In a loop over `turn` they take
        turns with what one of them does."""
        chunks = self.chunks[block] = []
        between: list[Operation] = []
        for op in block.ops:
            if not self._is_shared(op):
                between.append(op)
                continue
            self._decide_between(between, chunks, turn)
            between = []
            inside = turn
            if isinstance(op, scf.ParallelOp) and (sizes := splittable(op)) is not None:
                if (cut := self._plan(op).cut) is not None:
                    chunks.append(Chunk((op,), self._cut(sizes, *cut)))
                    continue
                inside = _turn(op, self.threads) or turn
            elif not isinstance(op, scf.ForOp | scf.IfOp):
                raise Indivisible(f"a parallel loop is in {op.name}")
            chunks.append(Chunk((op,), "entered"))
            for region in op.regions:
                for inner in region.blocks:
                    self._decide(inner, inside)
        self._decide_between(between, chunks, turn)

    def _cut(self, sizes: Sequence[int], start: int, dimensions: int) -> Cut:
        total = prod(sizes[start : start + dimensions])
        cut = Cut(start, dimensions, total, self._next)
        self._next = (self._next + total) % self.threads
        return cut

    def _decide_between(
        self, operations: Sequence[Operation], chunks: list[Chunk], turn: tuple[SSAValue, int] | None
    ) -> None:
        """Leave stores to one thread, with all that is computed for them only; all threads do the other reads."""
        alone = {op for op in operations if self.accesses(op).stores}
        for op in reversed(operations):
            users = _users(op)
            if op in alone and not users <= alone:
                raise Indivisible(f"{op.name} stores, and all threads need its results")
            if users and users <= alone and not isinstance(op, arith.ConstantOp):
                alone.add(op)
        one = Chunk(tuple(op for op in operations if op in alone), Alone(self._next, turn))
        if alone:
            self._next = (self._next + 1) % self.threads
        passed = 0
        for op in operations:
            if op in alone:
                passed += 1
                if passed == len(alone):  # where they will be, side by side
                    chunks.append(one)
            elif self.accesses(op).loads:
                chunk = Chunk((op,), "everywhere")
                if 0 < passed < len(alone) and self.conflict(one, chunk):
                    raise Indivisible("all threads read what one thread stores, between its stores")
                chunks.append(chunk)

    # Waiting

    def conflict(self, before: Chunk, after: Chunk) -> bool:
        """Whether all threads must have finished `before` when one of them begins `after`.

        Loops that write one result write different elements of it. Where a result takes over the buffer of an operand,
        each element is read where it is written, by the same iteration.
        """
        if isinstance(before.how, Alone) and before.how == after.how:
            return False
        return self._conflict(self.accesses(*before.operations), self.accesses(*after.operations))

    def _conflict(self, a: Accesses, b: Accesses) -> bool:
        if a.stores & (b.loads | (b.stores & self._scratch)) or a.loads & b.stores:
            return True
        return _overwrites(a, b) or _overwrites(b, a)


def is_arithmetic(op: Operation) -> bool:
    """Whether `op` does nothing but compute its results."""
    return is_side_effect_free(op) or isinstance(op, _ARITHMETIC)


def splittable(op: Operation) -> list[int] | None:
    """The extents of a parallel loop that threads can share; None for everything else."""
    if not isinstance(op, scf.ParallelOp) or op.initVals:
        return None
    found = [trips(*bounds) for bounds in zip(op.lowerBound, op.upperBound, op.step, strict=True)]
    return None if None in found else [extent for extent in found if extent is not None]


def _turn(op: scf.ParallelOp, threads: int) -> tuple[BlockArgument, int] | None:
    """The variable, and its step, of the first of nested loops that has an iteration for each thread."""
    extents = splittable(op) or []
    steps = [const_evaluate_operand(step) for step in op.step]
    found = zip(op.body.block.args, extents, steps, strict=False)
    return next(((each, step) for each, extent, step in found if step and extent >= threads), None)


def _users(op: Operation) -> set[Operation]:
    """The operations beside `op` that use its results, by themselves or inside."""
    block = op.parent
    assert block is not None
    users = (block.find_ancestor_op_in_block(use.operation) for result in op.results for use in result.uses)
    return {user for user in users if user is not None}


def _overwrites(reader: Accesses, writer: Accesses) -> bool:
    """Whether `writer` may store over what `reader` loads through another argument."""
    return any(map(_may_alias, reader.loads)) and any(
        _may_alias(buffer) and buffer not in reader.stores for buffer in writer.stores
    )


def _dimensions(sizes: Sequence[int], threads: int) -> int:
    """How many of the first dimensions to split as one: the fewest that divide evenly, or best."""
    best, least = len(sizes), float("inf")
    for count in range(1, len(sizes) + 1):
        total = prod(sizes[:count])
        longest = ceil_div(total, threads) * threads / total if total else 1.0
        if longest <= _EVEN:
            return count
        if longest < least:
            best, least = count, longest
    return best


@dataclass(frozen=True)
class Accesses:
    """The arguments of a kernel that operations read and write."""

    loads: frozenset[SSAValue]
    stores: frozenset[SSAValue]

    @staticmethod
    def of(op: Operation) -> Accesses:
        """The accesses of an operation with all it contains. Raises Indivisible where they are unknown."""
        loads: set[SSAValue] = set()
        stores: set[SSAValue] = set()
        for inner in op.walk():
            match inner:
                case memref.LoadOp():
                    loads.add(inner.memref)
                case aot.TileLoadOp() | aot.WordLoadOp():
                    loads.add(inner.buffer)
                case memref.StoreOp():
                    stores.add(inner.memref)
                case aot.TileStoreOp() | aot.WordStoreOp():
                    stores.add(inner.buffer)
                case _ if inner.regions or is_arithmetic(inner) or isinstance(inner, _HARMLESS):
                    pass
                case _:
                    raise Indivisible(f"the effects of {inner.name} on memory are unknown")
        if not all(isinstance(buffer, BlockArgument) for buffer in loads | stores):
            raise Indivisible("a buffer is not an argument of the kernel")
        return Accesses(frozenset(loads), frozenset(stores))


_ARITHMETIC = (arith.RemUIOp, arith.ExtSIOp)
"""Operations that have no effect, though xDSL does not declare it."""
_HARMLESS = (ReturnOp, scf.YieldOp, scf.ReduceOp, scf.ReduceReturnOp, aot.PrefetchOp, aot.RequireOp)
"""Operations that touch no buffer. A thread that `aot.require` stops leaves its share of a phase, for which nobody
waits: the others end theirs, and the call ends with the phase."""


def _may_alias(buffer: SSAValue) -> bool:
    return isinstance(buffer, BlockArgument) and argument_of(buffer).may_alias
