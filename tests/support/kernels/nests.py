"""Kernels as a strategy writes them for one operation, compared with the operation's own loops in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from kernels.evaluated import Array
from kernels.interpreted import Run
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, SSAValue

from aotc.compiler.lowering import new_context
from aotc.dialects.builder import Reader, Writer
from aotc.dialects.dtypes import numpy_dtype, storage_type
from aotc.dialects.evaluation import evaluate_loops
from aotc.dialects.graph.interfaces import AnchorOp, LoopNestOp, element_type_of, shape_of, tensor_type
from aotc.dialects.graph.schedules import Schedule, schedule_of
from aotc.passes.kernel.builders.word_builder import WordBuilder
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.strategy import strategy_of
from aotc.pipeline.textual_ir import IRParser

Case = tuple[str, str, str | int]
"""An operation on %0, %1, .., the types of its operands and of its results: `4x8xf32, 8xf32`; or how many results there
are, of types that follow."""


def anchor(line: str, operands: str, results: str | int) -> AnchorOp:
    """The operation of a case."""
    if isinstance(results, int):
        op = _parsed(line, operands, ["0xf32"] * results)
        kinds = [f"{'x'.join(map(str, each.get_shape()))}x{each.get_element_type()}" for each in op.infer_types()]
    else:
        kinds = results.split(", ")
    op = _parsed(line, operands, kinds)
    op.verify()
    return op


def _parsed(line: str, operands: str, results: Sequence[str]) -> AnchorOp:
    kinds = [f"tensor<{kind}>" for kind in operands.split(", ")]
    of_results = ", ".join(f"tensor<{kind}>" for kind in results)
    arguments = ", ".join(f"%{n}: {kind}" for n, kind in enumerate(kinds))
    names = ", ".join(f"%r{n}" for n in range(len(results)))
    body = f"{names} = graph.{line} : ({', '.join(kinds)}) -> ({of_results})\n func.return"
    module = IRParser(new_context(), f"func.func @main({arguments}) {{ {body} }}", "case.mlir").parse_module()
    return next(op for op in module.walk() if isinstance(op, AnchorOp))


def arrays(op: AnchorOp) -> list[Array]:
    """Small whole numbers, of which sums are exact."""
    source = np.random.default_rng(7)
    found: list[Array] = []
    for value in op.operands:
        kind = numpy_dtype(element_type_of(value))
        low = 0 if kind.kind == "u" else -9
        found.append(source.integers(low, 10, shape_of(value)).astype(kind))
    return found


def by_strategy(nest: Nest[AnchorOp, Schedule]) -> None:
    """The nest that the strategy of the schedule writes."""
    strategy_of(nest.op).nest(nest)


def by_definition(nest: Nest[AnchorOp, Schedule]) -> None:
    """The loops of the operation."""
    assert isinstance(nest.op, LoopNestOp)
    nest.op.loops(nest.b, nest.reads, nest.writes)


class Written:
    """A nest as it is written for buffers of the operands and results."""

    def __init__(self, op: AnchorOp, write: Callable[[Nest[AnchorOp, Schedule]], None] = by_strategy) -> None:
        self.op = op
        values = [*op.operands, *op.results]
        self.block = Block(
            arg_types=[MemRefType(storage_type(element_type_of(each)), shape_of(each)) for each in values]
        )
        self._memory = dict(zip(values, self.block.args, strict=True))
        b, schedule = WordBuilder(self.block), schedule_of(op)
        assert schedule is not None

        def reader(value: SSAValue) -> Reader:
            return lambda index: b.load_element(self._memory[value], index, element_type_of(value))

        def writer(value: SSAValue) -> Writer:
            return lambda index, element: b.store(element, self._memory[value], index)

        reads = list(map(reader, (*op.operands, *op.scratch())))
        write(Nest(op, b, reads, list(map(writer, op.results)), schedule))
        self.prefetched: dict[SSAValue, list[int]] = {}
        self.stores: dict[SSAValue, Array] = {}
        """Of each value after a run."""

    def run(self, operands: Sequence[Array]) -> list[Array]:
        """The results, no address outside of a buffer touched, and each element of a result stored once; scratch
        buffers have any contents before."""
        op = self.op
        results = [np.full(shape_of(each), 77, numpy_dtype(element_type_of(each))) for each in op.results]
        stored = [each.view(f"i{each.itemsize}") if each.dtype.kind == "u" else each for each in (*operands, *results)]
        run = Run(dict(zip(self._memory.values(), stored, strict=True)))
        run.block(self.block)
        self.stores = {value: run.stores[buffer] for value, buffer in self._memory.items()}
        self.prefetched = {value: run.prefetched[buffer] for value, buffer in self._memory.items()}
        found = results[: len(op.results) - len(op.scratch())]
        for value in op.results[: len(found)]:
            assert (self.stores[value] == 1).all(), "an element is stored never or twice"
        return found

    def count(self, name: str) -> int:
        """How many operations of a name there are."""
        return sum(each.name == name for op in self.block.ops for each in op.walk())


def check(op: AnchorOp, given: Sequence[Array]) -> None:
    """That the nest gives what the loops of the operation give."""
    assert isinstance(op, LoopNestOp)
    expected = evaluate_loops(op.loops, given, [tensor_type(each) for each in op.results], len(op.scratch()))
    if expected is None:  # an index goes beyond its extent, which arrays do not know
        expected = Written(op, by_definition).run(given)
    for found, wanted in zip(Written(op).run(given), expected, strict=False):
        np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=2e-5, atol=1e-6)
