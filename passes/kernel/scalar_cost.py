"""The cost of operations in scalar code, found by writing that code and counting: no operator has to declare it."""

import math

from xdsl.dialects import arith, memref, scf
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, Operation, SSAValue

from aotc.dialects.builder import INDEX, Reader, Scalar, Writer
from aotc.dialects.dtypes import storage_type
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, GraphOp, element_type_of, shape_of
from aotc.model.memo import Memo
from aotc.passes.kernel.builders.loop_builder import LoopBuilder, trips
from aotc.passes.kernel.nest import LoopNest
from aotc.passes.kernel.signature import signature
from aotc.passes.kernel.strategy import strategy_of

BRANCH = 8
"""The cost of a branch, in arithmetic operations: it also prevents vectorisation by compilers."""
FUNCTION = 20
"""The cost of a mathematical function (exp, erf, sqrt...) or a division, in arithmetic operations."""
CHEAP = 12
"""Arithmetic operations worth repeating at every read to keep a tensor narrow in memory: a dequantisation."""

_CHEAP_FUNCTIONS = (math_dialect.AbsFOp, math_dialect.FloorOp, math_dialect.CeilOp, math_dialect.RoundEvenOp)
_DIVISIONS = (arith.DivfOp, arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)


class _Probe:
    """An operation's scalar loops, written into a block that is dropped."""

    def __init__(self, op: GraphOp) -> None:
        self.op = op
        self.values = [*op.operands, *(op.scratch() if isinstance(op, AnchorOp) else ())]
        buffers = [MemRefType(storage_type(element_type_of(value)), shape_of(value)) for value in self.values]
        rank = max((len(shape_of(result)) for result in op.results), default=0)
        self.block = Block(arg_types=[*buffers, *([INDEX] * rank)])
        self.buffers = self.block.args[: len(buffers)]
        self.b = LoopBuilder(self.block)
        self.index = [Scalar(self.b, INDEX, arg) for arg in self.block.args[len(buffers) :]]

    def reads(self) -> list[Reader]:
        def reader(buffer: SSAValue, value: SSAValue) -> Reader:
            return lambda index: self.b.decode(self.b.load_element(buffer, index, element_type_of(value)))

        return [reader(buffer, value) for buffer, value in zip(self.buffers, self.values, strict=True)]


_element_costs = Memo[object, int]()
_anchor_reads = Memo[object, tuple[float, ...]]()


def element_cost(op: ElementOp) -> int:
    """Arithmetic operations for one result element, reads and index arithmetic aside."""

    def count() -> int:
        probe = _Probe(op)
        op.element(probe.b, probe.index[: len(shape_of(op.results[0]))], probe.reads())
        return sum(map(_weight, probe.block.walk()))

    return _element_costs.of(signature(op), count)


def anchor_reads(op: AnchorOp) -> tuple[float, ...]:
    """For each operand, how many elements the loops read in total; infinite where a trip count is not constant."""
    return _anchor_reads.of(signature(op), lambda: _count_reads(op))


def _count_reads(op: AnchorOp) -> tuple[float, ...]:
    probe = _Probe(op)
    counts = [0.0] * len(op.operands)
    writes: list[Writer] = [lambda index, value: None for _ in op.results]  # only reads are counted
    strategy_of(op).scalar_nest(LoopNest(op, probe.b, probe.reads(), writes))
    for load in probe.block.walk():
        if isinstance(load, memref.LoadOp) and load.memref in probe.buffers[: len(counts)]:
            counts[probe.buffers.index(load.memref)] += _times(load)
    return tuple(counts)


def _weight(op: Operation) -> int:
    if isinstance(op, scf.IfOp):
        return BRANCH
    if any(isinstance(value.type, IndexType) for value in (*op.operands, *op.results)):
        return 0
    if isinstance(op, _DIVISIONS):
        return FUNCTION
    if op.dialect_name() == "math":
        return 1 if isinstance(op, _CHEAP_FUNCTIONS) else FUNCTION
    return 1 if op.dialect_name() == "arith" and not isinstance(op, arith.ConstantOp) else 0


def _times(op: Operation) -> float:
    """How often `op` runs: the product of the trip counts of the loops around it; infinite where one is unknown."""
    count = 1.0
    while (parent := op.parent_op()) is not None:
        match parent:
            case scf.ForOp():
                found = [trips(parent.lb, parent.ub, parent.step)]
            case scf.ParallelOp():
                found = list(map(trips, parent.lowerBound, parent.upperBound, parent.step))
            case scf.WhileOp():
                found = [None]
            case _:
                found = []
        for each in found:
            if each is None:
                return math.inf
            count *= each
        op = parent
    return count
