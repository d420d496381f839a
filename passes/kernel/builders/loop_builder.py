"""Building kernel bodies: memory, loops and conditionals around the arithmetic of `scalar_builder`.

`LoopBuilder` is what an operation's `element` or `loops` writes with for scalar loops. It emits scf, arith, math and
memref operations.
"""

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import AnyFloat, IntegerType, MemRefType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.transforms.canonicalization_patterns.utils import const_evaluate_operand

from aotc.dialects.builder import INDEX, Scalar, ScalarLike
from aotc.dialects.dtypes import compute_type, is_encoded
from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.passes.kernel.builders.encodings import low_bits
from aotc.passes.kernel.builders.scalar_builder import ScalarBuilder


class LoopBuilder(ScalarBuilder):
    """Writes one function's body at a moving insertion point."""

    @property
    def block(self) -> Block:
        """The block being written; values of an enclosing block are visible in it, not the other way round."""
        return self._builder.insertion_point.block

    def within(self, block: Block, body: Callable[[], None]) -> None:
        """Run `body` with the insertion point at the end of `block`."""
        saved = self._builder.insertion_point
        self._builder.insertion_point = InsertPoint.at_end(block)
        body()
        self._builder.insertion_point = saved

    # Memory

    def load(self, buffer: SSAValue, index: Sequence[Scalar], dtype: Attribute) -> Scalar:
        """buffer[index] in the compute type of `dtype`, the buffer's graph element type; encoded ones stay encoded."""
        value = self.emit(memref.LoadOp.get(buffer, [i.ssa for i in index]))
        if is_encoded(dtype):
            return Scalar(self, dtype, value)
        if compute_type(dtype) != dtype:
            value = self.emit(arith.ExtFOp(value, cast(AnyFloat, compute_type(dtype))))
        return Scalar(self, compute_type(dtype), value)

    def load_element(self, buffer: SSAValue, index: Sequence[Scalar], dtype: Attribute) -> Scalar:
        """buffer[index] as memory holds it, f16 and bf16 as f32; integers of less than a byte are extended to it."""
        value = self.load(buffer, index, dtype)
        if isinstance(dtype, IntegerType) and is_encoded(dtype):
            return self.scalar(low_bits(self, self.scalar(value.ssa, compute_type(dtype)), dtype).ssa, dtype)
        return value

    def store(self, value: Scalar, buffer: SSAValue, index: Sequence[Scalar]) -> None:
        """buffer[index] = value, narrowed to the buffer's element type where that is f16 or bf16."""
        kind = cast(MemRefType[Attribute], buffer.type).get_element_type()
        ssa = value.ssa
        if ssa.type != kind:
            ssa = self.emit(arith.TruncFOp(ssa, cast(AnyFloat, kind)))
        self.effect(memref.StoreOp.get(ssa, buffer, [i.ssa for i in index]))

    def listed(self, values: Sequence[Scalar]) -> Callable[[Scalar], Scalar]:
        """Values of one type in an array on the stack, by their numbers."""
        kind = values[0].ssa.type
        array = self.emit(memref.AllocaOp.get(kind, shape=[len(values)]))
        for number, value in enumerate(values):
            self.effect(memref.StoreOp.get(value.ssa, array, [self.index(number).ssa]))
        return lambda number: self.scalar(self.emit(memref.LoadOp.get(array, [number.ssa])), values[0].dtype)

    # Structure

    def parallel_for(self, extents: Sequence[int], body: Callable[[list[Scalar]], None]) -> None:
        """An scf.parallel over the index space 0..extents, row-major; dimensions of extent 1 get no loop."""
        if any(extent == 0 for extent in extents):
            return
        looped = [axis for axis, extent in enumerate(extents) if extent != 1]
        index = [self.index(0) for _ in extents]
        if not looped:
            body(index)
            return

        def at(places: list[Scalar]) -> None:
            for axis, place in zip(looped, places, strict=True):
                index[axis] = place
            body(index)

        self._parallel([(0, extents[axis], 1) for axis in looped], at)

    def parallel_range(self, low: int, high: int, step: int, body: Callable[[Scalar], None]) -> None:
        """One scf.parallel; a loop of one constant step gets none, of no step is nothing."""
        if low >= high:
            return
        if high <= low + step:
            body(self.index(low))
            return
        self._parallel([(low, high, step)], lambda index: body(index[0]))

    def parallel_segments(self, extent: int, size: int, body: Callable[[Scalar, int], None]) -> None:
        """`body` for 0..extent, `size` at a time, the tail as fewer: given the first place and how many there are."""
        for part in segments(extent, size):
            self.parallel_range(part.start, part.stop, part.size, lambda first, part=part: body(first, part.size))

    def sequential_segments(self, extent: int, size: int, body: Callable[[Scalar, int], None]) -> None:
        """As `parallel_segments`, one after the other."""
        for part in segments(extent, size):
            self.sequential_range(part.start, part.stop, part.size, lambda first, part=part: body(first, part.size))

    def _parallel(self, bounds: Sequence[tuple[int, int, int]], body: Callable[[list[Scalar]], None]) -> None:
        """An scf.parallel with a loop for each of `bounds` (low, high, step)."""
        block = Block(arg_types=[INDEX] * len(bounds))
        self._ends |= {arg: high for arg, (low, high, _) in zip(block.args, bounds, strict=True) if low >= 0}

        def fill() -> None:
            body([Scalar(self, INDEX, arg) for arg in block.args])
            self.effect(scf.ReduceOp())

        self.within(block, fill)
        lows, highs, steps = ([self.index(bound).ssa for bound in each] for each in zip(*bounds, strict=True))
        self.effect(scf.ParallelOp(lows, highs, steps, Region(block)))

    def loop(
        self,
        low: ScalarLike,
        high: ScalarLike,
        step: int,
        init: Sequence[Scalar],
        body: Callable[[Scalar, list[Scalar]], Sequence[Scalar]],
    ) -> list[Scalar]:
        """One sequential scf.for carrying `init`; a loop of one constant step gets none, of no step is nothing.

        `body(position, carried)` gives the next values.
        """
        first, last = (bound if isinstance(bound, Scalar) else self.index(int(bound)) for bound in (low, high))
        if first.constant is not None and last.constant is not None:
            if last.constant <= first.constant:
                return list(init)
            if last.constant <= first.constant + step:
                return list(body(first, list(init)))
        initial = [value.ssa for value in init]
        block = Block(arg_types=[INDEX, *(value.type for value in initial)])
        inside = [Scalar(self, value.dtype, arg) for value, arg in zip(init, block.args[1:], strict=True)]
        if first.constant is not None and first.constant >= 0 and last.constant is not None:
            self._ends[block.args[0]] = int(last.constant)

        def fill() -> None:
            following = body(Scalar(self, INDEX, block.args[0]), inside)
            self.effect(scf.YieldOp(*(value.ssa for value in following)))

        self.within(block, fill)
        op = scf.ForOp(first.ssa, last.ssa, self.index(step).ssa, initial, Region(block))
        self.effect(op)
        return [Scalar(self, value.dtype, result) for value, result in zip(init, op.results, strict=True)]

    def loop_while(
        self,
        init: Sequence[Scalar],
        condition: Callable[[list[Scalar]], Scalar],
        body: Callable[[list[Scalar]], Sequence[Scalar]],
    ) -> list[Scalar]:
        """One scf.while carrying `init`."""
        initial = [value.ssa for value in init]
        kinds = [value.type for value in initial]
        before, after = Block(arg_types=kinds), Block(arg_types=kinds)

        def carried(block: Block) -> list[Scalar]:
            return [Scalar(self, value.dtype, arg) for value, arg in zip(init, block.args, strict=True)]

        def test() -> None:
            self.effect(scf.ConditionOp(self.single(condition(carried(before))).ssa, *before.args))

        self.within(before, test)
        self.within(after, lambda: self.effect(scf.YieldOp(*(value.ssa for value in body(carried(after))))))
        op = scf.WhileOp(initial, kinds, Region(before), Region(after))
        self.effect(op)
        return [Scalar(self, value.dtype, result) for value, result in zip(init, op.results, strict=True)]

    def when(
        self, condition: Scalar, then: Callable[[], Sequence[Scalar]], otherwise: Callable[[], Sequence[Scalar]]
    ) -> list[Scalar]:
        """An scf.if with results: only the taken side is evaluated."""
        blocks = (Block(), Block())
        results: list[list[Scalar]] = []
        for block, side in zip(blocks, (then, otherwise), strict=True):
            self.within(block, lambda side=side: results.append(list(side())))
        for block, values, others in zip(blocks, results, reversed(results), strict=True):
            both = list(zip(values, others, strict=True))

            def fill(both: list[tuple[Scalar, Scalar]] = both) -> None:
                self.effect(scf.YieldOp(*(self._alike(value, other) for value, other in both)))

            self.within(block, fill)
        first = blocks[0].last_op
        assert first is not None
        kinds = [value.type for value in first.operands]
        op = scf.IfOp(condition.ssa, kinds, Region(blocks[0]), Region(blocks[1]))
        self.effect(op)
        return [Scalar(self, value.dtype, result) for value, result in zip(results[0], op.results, strict=True)]

    def _alike(self, value: Scalar, other: Scalar) -> SSAValue:
        """`value` with the type of `other`, of which only one will be there."""
        return value.ssa


def trips(low: SSAValue, high: SSAValue, step: SSAValue) -> int | None:
    """Iterations of a loop, None where its bounds are not constant."""
    first, last, by = map(const_evaluate_operand, (low, high, step))
    return None if first is None or last is None or by is None else max(ceil_div(last - first, by), 0)
