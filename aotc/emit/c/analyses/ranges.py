"""Interval analysis of the integers in a function, so that C needs no wrap-around arithmetic where nothing overflows.

Signed overflow is undefined in C and wraps in the IR. Where the interval of an addition's exact result fits its type,
plain `a + b` is right; an accumulator is bounded by its start, the range of its increments and the trip count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue

from aotc.dialects import aot

Interval: TypeAlias = tuple[int, int]
"""Least and greatest value, both included, of the signed reading (of i1: 0 and 1)."""


def type_interval(kind: Attribute) -> Interval:
    """Every value of an integer type; an index is taken to fit in 32 bits, as are the buffers it goes into."""
    if isinstance(kind, IntegerType):
        bits = kind.width.data
        return (0, 1) if bits == 1 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return (-(1 << 31), (1 << 31) - 1)


def within(inner: Interval, outer: Interval) -> bool:
    """Whether every value of `inner` is one of `outer`."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _hull(a: Interval, b: Interval) -> Interval:
    return (min(a[0], b[0]), max(a[1], b[1]))


def _add(a: Interval, b: Interval) -> Interval:
    return (a[0] + b[0], a[1] + b[1])


def _negate(a: Interval) -> Interval:
    return (-a[1], -a[0])


def _multiply(a: Interval, b: Interval) -> Interval:
    products = [x * y for x in a for y in b]
    return (min(products), max(products))


def _repeat(step: Interval, times: int) -> Interval:
    """The sum of 0 to `times` values of `step`."""
    return (min(0, step[0] * times), max(0, step[1] * times))


class Ranges:
    """Intervals of the integer values of one function, computed when asked for.

    `contents` gives the interval of a buffer's elements where more is known of it than its type.
    """

    def __init__(self, contents: Callable[[SSAValue], Interval | None]) -> None:
        self._contents = contents
        self._known: dict[SSAValue, Interval] = {}

    def of(self, value: SSAValue) -> Interval:
        """The interval of an integer or index value."""
        if (found := self._known.get(value)) is not None:
            return found
        full = type_interval(value.type)
        self._known[value] = full  # while a loop-carried value is being analysed
        found = self._compute(value)
        if found is None or not within(found, full):
            found = full
        self._known[value] = found
        return found

    def exact(self, op: arith.AddiOp | arith.SubiOp | arith.MuliOp) -> Interval:
        """The interval of the result before it wraps."""
        a, b = self.of(op.lhs), self.of(op.rhs)
        if isinstance(op, arith.AddiOp):
            return _add(a, b)
        return _add(a, _negate(b)) if isinstance(op, arith.SubiOp) else _multiply(a, b)

    def trips(self, loop: scf.ForOp) -> int | None:
        """The most iterations of a loop, None where the step may not be positive."""
        step = self.of(loop.step)[0]
        if step <= 0:
            return None
        return max(0, -((self.of(loop.lb)[0] - self.of(loop.ub)[1]) // step))

    def _compute(self, value: SSAValue) -> Interval | None:
        if isinstance(value, BlockArgument):
            return self._argument(value)
        assert isinstance(value, OpResult)
        op = value.op
        match op:
            case arith.ConstantOp():
                if not isinstance(op.value, IntegerAttr):
                    return None
                number = op.value.value.data
                return (number & 1, number & 1) if op.result.type == IntegerType(1) else (number, number)
            case memref.LoadOp():
                return self._contents(op.memref)
            case arith.AddiOp() | arith.SubiOp() | arith.MuliOp():
                return self.exact(op)
            case arith.ExtSIOp() | arith.IndexCastOp() | arith.TruncIOp():
                inner = self.of(op.operands[0])
                if op.operands[0].type == IntegerType(1) and isinstance(op, arith.ExtSIOp):
                    return _negate(inner)
                return inner
            case arith.ExtUIOp():
                inner = self.of(op.input)
                bits = cast(IntegerType, op.input.type).width.data
                return inner if inner[0] >= 0 else (0, (1 << bits) - 1)
            case aot.OpaqueOp():
                return self.of(op.value)
            case arith.SelectOp():
                return _hull(self.of(op.lhs), self.of(op.rhs))
            case arith.MinSIOp() | arith.MaxSIOp():
                chosen = min if isinstance(op, arith.MinSIOp) else max
                a, b = self.of(op.lhs), self.of(op.rhs)
                return (chosen(a[0], b[0]), chosen(a[1], b[1]))
            case arith.MinUIOp() | arith.MaxUIOp():
                a, b = self.of(op.lhs), self.of(op.rhs)
                if isinstance(op, arith.MinUIOp):
                    bounds = [x[1] for x in (a, b) if x[0] >= 0]
                    low = min(a[0], b[0]) if len(bounds) == 2 else 0
                    return (low, min(bounds)) if bounds else None
                if (0, 0) in (a, b):
                    return b if a == (0, 0) else a
                return (max(a[0], b[0]), max(a[1], b[1])) if min(a[0], b[0]) >= 0 else None
            case arith.DivSIOp() | arith.DivUIOp() | arith.RemSIOp() | arith.RemUIOp() | arith.ShRSIOp():
                return self._divide(op)
            case arith.AndIOp():
                a, b = self.of(op.lhs), self.of(op.rhs)
                bounds = [x[1] for x in (a, b) if x[0] >= 0]
                return (0, min(bounds)) if bounds else None
            case scf.ForOp():
                return self._carried(op, value.index, last=True)
            case scf.IfOp():
                then, other = (_yielded(region.block.last_op, value.index) for region in op.regions)
                return _hull(self.of(then), self.of(other))
            case _:
                return None

    def _divide(
        self, op: arith.DivSIOp | arith.DivUIOp | arith.RemSIOp | arith.RemUIOp | arith.ShRSIOp
    ) -> Interval | None:
        """Where the divisor is positive and an unsigned dividend is not negative."""
        a, b = self.of(op.lhs), self.of(op.rhs)
        if isinstance(op, arith.ShRSIOp):
            if b[0] < 0 or b[1] > 63:
                return None
            shifted = [x >> y for x in a for y in b]
            return (min(shifted), max(shifted))
        if b[0] < 1 or (a[0] < 0 and isinstance(op, arith.DivUIOp | arith.RemUIOp)):
            return None
        if isinstance(op, arith.RemSIOp | arith.RemUIOp):
            return (max(min(a[0], 0), 1 - b[1]), max(min(a[1], b[1] - 1), 0))
        quotients = [abs(x) // y * (1 if x >= 0 else -1) for x in a for y in b]
        return (min(quotients), max(quotients))

    def _argument(self, value: BlockArgument) -> Interval | None:
        loop = value.block.parent_op()
        if not isinstance(loop, scf.ForOp):
            return None
        if value.index == 0:
            low, high, step = self.of(loop.lb)[0], self.of(loop.ub)[1], self.of(loop.step)
            return (low, max(low, high - 1)) if step[0] > 0 else None
        return self._carried(loop, value.index - 1, last=False)

    def _carried(self, loop: scf.ForOp, position: int, last: bool) -> Interval | None:
        """Start plus one increment for each iteration that has ended: all of them (`last`) or all but one."""
        start = self.of(loop.iter_args[position])
        argument = loop.body.block.args[position + 1]
        step = self._increment(_yielded(loop.body.block.last_op, position), argument)
        trips = self.trips(loop)
        if step is None or (trips is None and step != (0, 0)):
            return None
        return _add(start, _repeat(step, max(0, (trips or 0) - (0 if last else 1))))

    def _increment(self, value: SSAValue, base: SSAValue) -> Interval | None:
        """The interval of `value - base` where `value` is `base` with something added, else None."""
        if value is base:
            return (0, 0)
        if not isinstance(value, OpResult):
            return None
        op = value.op
        match op:
            case arith.AddiOp():
                for part, rest in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                    if (found := self._increment(part, base)) is not None:
                        return _add(found, self.of(rest))
                return None
            case arith.SubiOp():
                found = self._increment(op.lhs, base)
                return None if found is None else _add(found, _negate(self.of(op.rhs)))
            case scf.ForOp():
                start = self._increment(op.iter_args[value.index], base)
                argument = op.body.block.args[value.index + 1]
                step = self._increment(_yielded(op.body.block.last_op, value.index), argument)
                trips = self.trips(op)
                if start is None or step is None or trips is None:
                    return None
                return _add(start, _repeat(step, trips))
            case scf.IfOp():
                sides = [self._increment(_yielded(region.block.last_op, value.index), base) for region in op.regions]
            case arith.SelectOp():
                sides = [self._increment(op.lhs, base), self._increment(op.rhs, base)]
            case _:
                return None
        if sides[0] is None or sides[1] is None:
            return None
        return _hull(sides[0], sides[1])


def _yielded(terminator: object, position: int) -> SSAValue:
    assert isinstance(terminator, scf.YieldOp)
    return terminator.operands[position]
