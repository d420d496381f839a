"""Let several threads run each kernel together: every one does its share of the parallel loops.

Shares are static: equal ranges of iterations of the outermost loop that divides evenly, several of its dimensions as
one if need be. Stores between such loops are left to one thread. Where a thread reads what others wrote, a new phase
begins: the kernel is called for each phase and each share of it, and does only that. A kernel whose own
work does not pay for its phases, or without parallel loops, stays with one thread.

Before, with `split-parallel-loops{threads=2}`:
```mlir
scf.parallel (%i, %j) = (0, 0) to (56, 8) step (1, 1) {
  "body"(%i, %j)
}
```
After:
```mlir
%t = aot.thread
%low = arith.muli %t, %c28
%high = arith.addi %low, %c28
scf.for %i = %low to %high step %c1 {
  scf.for %j = %c0 to %c8 step %c1 {
    "body"(%i, %j)
  }
}
```
No iteration does anything else than with one thread, so results are the same to the last bit. Kernels with `aot.thread`
are called for all shares, others once (see `run-on-threads`). Chunks of a kernel with several phases, of which
`aot.phase` is the one to do, are conditional, and of a loop with phases in its body one iteration runs. All remaining
parallel loops become sequential ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.canonicalization_patterns.utils import const_evaluate_operand
from xdsl.utils.exceptions import PassFailedException

from aotc.dialects.aot import PhaseOp, ThreadOp
from aotc.dialects.aot.contract import THREADS, is_kernel, target_of
from aotc.dialects.builder import INDEX, Scalar
from aotc.machines.machine import ThreadCosts
from aotc.machines.targets import core_of
from aotc.passes.kernel.builders.loop_builder import LoopBuilder, trips
from aotc.passes.loops.loop_reads import Reads, weights_of
from aotc.passes.loops.loop_shares import Alone, Chunk, Cut, Indivisible, Shares, is_arithmetic, splittable
from aotc.passes.loops.serialize_parallel_loops import serialize


@dataclass(frozen=True)
class SplitParallelLoopsPass(ModulePass):
    name = "split-parallel-loops"

    threads: int = 2

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.threads < 1:
            raise PassFailedException(f"the number of threads must be positive, found {self.threads}")
        THREADS.set(op, self.threads)
        weights, costs = weights_of(op), None if self.threads == 1 else core_of(target_of(op)).threads
        for function in op.walk():
            if isinstance(function, FuncOp) and is_kernel(function) and function.body.blocks:
                _merge_nests(function)
                if costs is not None and (found := self._shares(function, costs, weights)) is not None:
                    _Split(*found).run()
        for loop in [inner for inner in op.walk() if isinstance(inner, scf.ParallelOp)]:
            serialize(loop)

    def _shares(self, function: FuncOp, costs: ThreadCosts, weights: set[SSAValue]) -> tuple[Shares, Phases] | None:
        """How to divide a kernel among threads, and into phases; None where one thread should compute it."""
        try:
            shares = Shares(function, self.threads, Reads(function, costs, weights))
            phases = Phases(shares)
        except Indivisible:
            return None
        together = shares.time + phases.count * costs.phase_operations
        return (shares, phases) if together < costs.most_time * shares.time_alone else None


def _merge_nests(function: FuncOp) -> None:
    """Merge nested parallel loops with nothing but index arithmetic between them, which moves into the inner one."""
    for outer in [op for op in function.walk() if isinstance(op, scf.ParallelOp)]:
        while outer.parent is not None and (merged := _merged(outer)) is not None:
            outer = merged


def _merged(outer: scf.ParallelOp) -> scf.ParallelOp | None:
    body = outer.body.block
    inner = _only_loop(body.ops)
    if inner is None or splittable(outer) is None or splittable(inner) is None:
        return None
    bounds = [*inner.lowerBound, *inner.upperBound, *inner.step]
    if any(value.owner.parent is body for value in bounds if isinstance(value.owner, Operation)):
        return None
    inner_body = inner.body.block
    block = Block(arg_types=[INDEX] * (len(body.args) + len(inner_body.args)))
    for new, old in zip(block.args, (*body.args, *inner_body.args), strict=True):
        old.replace_all_uses_with(new)
    for op in [op for op in body.ops if op is not inner and not isinstance(op, scf.ReduceOp)]:
        op.detach()
        block.add_op(op)
    Rewriter.inline_block(inner_body, InsertPoint.at_end(block))
    both = scf.ParallelOp(
        [*outer.lowerBound, *inner.lowerBound],
        [*outer.upperBound, *inner.upperBound],
        [*outer.step, *inner.step],
        Region(block),
    )
    both.location = outer.location
    Rewriter.replace_op(outer, both)
    return both


def _only_loop(ops: Iterable[Operation]) -> scf.ParallelOp | None:
    """The one parallel loop among operations that are index arithmetic otherwise."""
    found: scf.ParallelOp | None = None
    for op in ops:
        if isinstance(op, scf.ParallelOp) and found is None:
            found = op
        elif not isinstance(op, scf.ReduceOp) and (op.regions or not is_arithmetic(op)):
            return None
    return found


# --- phases -----------------------------------------------------------------------------------------------------------


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


# --- rewriting --------------------------------------------------------------------------------------------------------


class _Arithmetic(LoopBuilder):
    """A LoopBuilder whose insertion point can be set."""

    def before(self, op: Operation) -> None:
        """Insert before `op`."""
        self._builder.insertion_point = InsertPoint.before(op)

    def until(self, block: Block) -> None:
        """Insert at the end of a block."""
        self._builder.insertion_point = InsertPoint.at_end(block)


class _Split:
    """Rewrites one kernel."""

    def __init__(self, shares: Shares, phases: Phases) -> None:
        self._shares = shares
        self._phases = phases
        block = shares.function.body.block
        self._b = _Arithmetic(block)
        thread = ThreadOp()
        Rewriter.insert_op(thread, InsertPoint.at_start(block))
        self._thread = self._b.scalar(thread.result, INDEX)
        self._thread.ssa.name_hint = "thread"

    def run(self) -> None:
        """Split, and let each chunk run in its phase only."""
        body = self._shares.function.body.block
        if self._phases.count == 1:
            self._share(body, None)
            return
        phase = PhaseOp(self._phases.count)
        Rewriter.insert_op(phase, InsertPoint.at_start(body))
        phase.result.name_hint = "phase"
        self._share(body, self._b.scalar(phase.result, INDEX))

    def _share(self, block: Block, phase: Scalar | None) -> None:
        """Split the chunks of a block. `phase` is that of the block, None where all its chunks have the same one."""
        for chunk in self._shares.chunks[block]:
            op = chunk.operations[-1]
            turns = self._phases.loops.get(op)
            if turns is not None:
                assert isinstance(op, scf.ForOp) and phase is not None
                self._take_turns(op, turns, phase)
                continue
            match chunk.how:
                case Cut():
                    assert isinstance(op, scf.ParallelOp)
                    self._only_in(op, chunk, phase)
                    self._split(op, chunk.how)
                case Alone():
                    self._only_in(self._run_on_one_thread(chunk.operations, chunk.how), chunk, phase)
                case "entered":
                    self._only_in(op, chunk, phase)
                    for region in op.regions:
                        for inner in region.blocks:
                            if inner in self._shares.chunks:
                                self._share(inner, None)
                case _:
                    pass

    def _only_in(self, op: Operation, chunk: Chunk, phase: Scalar | None) -> None:
        """Let a chunk run in its phase only."""
        if phase is not None:
            self._b.before(op)
            self._only_when(self._b.compare("eq", phase, self._phases.of[chunk]), [op])

    def _only_when(self, condition: Scalar, operations: Sequence[Operation]) -> scf.IfOp:
        """Make consecutive operations conditional, where the builder is."""
        block = Block()
        conditional = scf.IfOp(condition.ssa, [], Region(block), Region(Block([scf.YieldOp()])))
        self._b.effect(conditional)
        for op in operations:
            op.detach()
            block.add_op(op)
        block.add_op(scf.YieldOp())
        return conditional

    def _take_turns(self, op: scf.ForOp, turns: Turns, phase: Scalar) -> None:
        """Let a loop run the one iteration that the phase belongs to, if there is one, and of that the one phase."""
        b = self._b
        b.before(op)
        self._only_when(b.compare("lt", phase, turns.end), [op])
        b.before(op)
        if turns.first:
            self._only_when(b.compare("ge", phase, turns.first), [op])
            b.before(op)
        since = phase - turns.first
        iteration = since / turns.each
        low = b.scalar(op.lb, INDEX) + iteration * b.scalar(op.step, INDEX)
        inside = None if turns.each == 1 else b.rem(since, b.index(turns.each))
        op.operands[0], op.operands[1] = low.ssa, (low + 1).ssa
        self._share(op.body.block, inside)

    def _run_on_one_thread(self, operations: Sequence[Operation], alone: Alone) -> scf.IfOp:
        b = self._b
        b.before(operations[-1])
        number = b.index(alone.thread)
        if alone.turn is not None:
            variable, step = alone.turn
            number = b.rem(b.scalar(variable, INDEX) / step + number, b.index(self._shares.threads))
        return self._only_when(b.compare("eq", self._thread, number), operations)

    def _split(self, op: scf.ParallelOp, cut: Cut) -> None:
        """Replace a parallel loop by a nest of loops over this thread's share.

        The share is a range of the iterations of some of the dimensions, in row-major order; each of these loops covers
        the part of that range that lies within one iteration of those around it.
        """
        b, block = self._b, op.parent
        assert block is not None
        b.before(op)
        low, high = self._range(cut)
        sizes, body = splittable(op) or [], op.body.block
        base, index, blocks = b.index(0), list[SSAValue](), list[Block]()
        for axis, (size, argument) in enumerate(zip(sizes, body.args, strict=True)):
            first, step = (
                b.index(const_evaluate_operand(value) or 0) for value in (op.lowerBound[axis], op.step[axis])
            )
            inside = Block(arg_types=[INDEX])
            inside.args[0].name_hint = argument.name_hint
            here = b.scalar(inside.args[0], INDEX)
            inner = prod(sizes[axis + 1 : cut.stop])
            if cut.start <= axis < cut.stop:
                begin, end = low - base, high - base
                if axis > cut.start:
                    begin, end = b.max(begin, 0), b.min(end, size * inner)
                begin, end, by = begin / inner, (end + (inner - 1)) / inner, b.index(1)
                if axis == cut.stop - 1:
                    begin, end, by = begin * step + first, end * step + first, step
            else:
                begin, end, by = first, b.scalar(op.upperBound[axis], INDEX), step
            loop = scf.ForOp(begin.ssa, end.ssa, by.ssa, [], Region(inside))
            loop.location = op.location
            b.effect(loop)
            b.until(inside)
            blocks.append(inside)
            if cut.start <= axis < cut.stop - 1:
                base = base + here * inner
                here = here * step + first
            index.append(here.ssa)
        Rewriter.inline_block(body, InsertPoint.at_end(blocks[-1]), index)
        for inside in blocks:
            if isinstance(reduce := inside.last_op, scf.ReduceOp):
                Rewriter.erase_op(reduce)
            inside.add_op(scf.YieldOp())
        Rewriter.erase_op(op)

    def _range(self, cut: Cut) -> tuple[Scalar, Scalar]:
        """The iterations of this thread, as a half-open range."""
        b, threads = self._b, self._shares.threads
        rank = b.rem(self._thread + (threads - cut.first), b.index(threads)) if cut.first else self._thread
        each, more = divmod(cut.total, threads)
        low = rank * each
        if not more:
            return low, low + each
        return low + b.min(rank, more), low + b.min(rank + 1, more) + each
