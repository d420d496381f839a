"""How many instructions the calls of kernels take, about: operations of loops times the trips around them.

All kinds of kernels are estimated alike, by their IR as it is after `interface`, on a core without vectors. Trips and
branches that depend on an outer loop, as those of a window at a border, are what they are in its middle; a loop that
carries numbers on which trips depend, as that over the steps of layers that roll, is followed from one iteration to
the next. Where trips are not known a loop makes a few, and of a branch half is taken. What is compared are programs of
one model, so that most errors cancel.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    ModuleOp,
    i64,
)
from xdsl.ir import Block, Operation, SSAValue

from aotc.dialects import aot
from aotc.dialects.aot.contract import entry, kernels
from aotc.machines.machine import Core
from aotc.machines.targets import core_of

TRIPS: Final = 8.0
"""Of a loop whose trips are not known."""
_ROUND: Final = 3.0
"""Instructions around the body of a loop, and before it."""
_INDEX: Final = 0.5
"""Of arithmetic on indices, which compilers take out of loops or into addresses where they can."""
_DIVISION: Final = 8.0
_FUNCTION: Final = 40.0
"""Of a mathematical function, and of arithmetic on floats where there is no unit for them."""

_ARITHMETIC: Final[Mapping[type[Operation], Callable[[float, float], float]]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.MaxSIOp: max,
    arith.MinSIOp: min,
    arith.DivSIOp: lambda a, b: _divided(a, b),
    arith.DivUIOp: lambda a, b: _divided(a, b),
    arith.FloorDivSIOp: lambda a, b: math.floor(a / b) if b else math.nan,
    arith.CeilDivSIOp: lambda a, b: math.ceil(a / b) if b else math.nan,
}
_COMPARISONS: Final[Sequence[Callable[[float, float], bool]]] = (
    *(operator.eq, operator.ne),
    *(operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.lt, operator.le, operator.gt, operator.ge),
)
"""By the number of a predicate of `arith.cmpi`."""
_DIVISIONS: Final = tuple(
    getattr(arith, f"{name}Op") for name in ("DivSI", "DivUI", "RemSI", "RemUI", "FloorDivSI", "CeilDivSI", "Divf")
)
_ONE: Final = (math_dialect.AbsFOp, math_dialect.FmaOp)
"""Functions that are an instruction where there is a unit for floats."""
_FREE: Final = (arith.ConstantOp, arith.IndexCastOp, scf.YieldOp, func.ReturnOp, aot.BufferOp)
_FLOATS: Final = (BFloat16Type, Float16Type, Float32Type, Float64Type)


def _divided(a: float, b: float) -> float:
    """A quotient, of integers cut off; that of a middle is a middle."""
    if not b:
        return math.nan
    return a / b if a % 1 or b % 1 else float(math.trunc(a / b))


def instructions_of_calls(module: ModuleOp, target: str) -> dict[func.CallOp, float]:
    """For each call of a kernel by the entry, the instructions of all its runs in one of the model."""
    functions = {kernel.sym_name.data: kernel for kernel in kernels(module) if not kernel.is_declaration}
    found: dict[func.CallOp, float] = {}
    known: dict[object, float] = {}

    def call(op: func.CallOp, times: float) -> float:
        kernel = functions.get(op.callee.string_value())
        if kernel is None:
            return 0.0
        given = tuple(_constant(each) for each in op.arguments)
        key = kernel, given
        if key not in known:
            block = kernel.body.block
            numbers: dict[SSAValue, float] = {
                arg: value for arg, value in zip(block.args, given, strict=False) if value is not None
            }
            known[key] = _Count(core_of(target), numbers).block(block, 1.0)
        found[op] = found.get(op, 0.0) + times * known[key]
        return known[key]

    _Count(core_of(target), {}, call).block(entry(module).body.block, 1.0)
    return found


def _constant(value: SSAValue) -> float | None:
    """The number that a value is, where it is an integer constant."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return float(owner.value.value.data)
    return None


class _Count:
    """Adds instructions up; `numbers` are values of integers that are known."""

    def __init__(
        self,
        core: Core,
        numbers: dict[SSAValue, float],
        call: Callable[[func.CallOp, float], float] = lambda op, times: 0.0,
    ) -> None:
        self._core, self._numbers, self._call = core, numbers, call
        self._guesses = 0
        """How many loops were met whose trips are not known."""

    def block(self, block: Block, times: float) -> float:
        """The instructions of one run of a block, which is run so many times in all."""
        return sum(self._operation(op, times) for op in block.ops)

    def _operation(self, op: Operation, times: float) -> float:
        match op:
            case scf.ForOp():
                return self._loop(op, times)
            case scf.IfOp():
                blocks = [region.block for region in op.regions if region.blocks]
                if (taken := self._number(op.cond)) is not None:
                    return 2.0 + sum(self.block(each, times) for each in blocks[int(not taken) :][:1])
                return 2.0 + sum(self.block(each, times / 2) for each in blocks) / 2
            case scf.WhileOp():
                return TRIPS * sum(_ROUND + self.block(each.block, TRIPS * times) for each in op.regions)
            case func.CallOp():
                return self._call(op, times)
            case _:
                self._follow(op)
                return self._cost(op)

    def _loop(self, op: scf.ForOp, times: float) -> float:
        first, last, step = (self._number(each) for each in (op.lb, op.ub, op.step))
        if first is None or last is None or not step:
            self._guesses += 1
            return _ROUND + TRIPS * (_ROUND + self.block(op.body.block, times * TRIPS))
        trips, guesses = max(math.ceil((last - first) / step), 0.0), self._guesses
        carried = [self._number(each) for each in op.iter_args]
        self._learn(op.body.block, [first + step * max(trips - 1, 0) / 2, *(None for _ in carried)])
        found = _ROUND + trips * (_ROUND + self.block(op.body.block, times * trips))
        if self._guesses == guesses or not carried or not trips:
            return found
        guesses, self._guesses = self._guesses, guesses
        followed, end = _ROUND, op.body.block.last_op
        for number in range(int(trips)):
            if None in carried or end is None:
                self._guesses = guesses
                return found
            self._learn(op.body.block, [first + step * number, *carried])
            followed += _ROUND + self.block(op.body.block, times)
            carried = [self._number(each) for each in end.operands]
        return followed

    def _learn(self, block: Block, values: Sequence[float | None]) -> None:
        """Note the arguments of a block, None: not known."""
        for arg, value in zip(block.args, values, strict=False):
            if value is None:
                self._numbers.pop(arg, None)
            else:
                self._numbers[arg] = value

    def _number(self, value: SSAValue) -> float | None:
        return self._numbers.get(value, _constant(value))

    def _follow(self, op: Operation) -> None:
        """Compute an integer of known ones."""
        numbers = [number for each in op.operands if (number := self._number(each)) is not None]
        found = math.nan
        if len(numbers) == len(op.operands):
            match op:
                case arith.IndexCastOp():
                    found = numbers[0]
                case arith.CmpiOp():
                    found = float(_COMPARISONS[op.predicate.value.data](*numbers))
                case arith.SelectOp():
                    found = numbers[1] if numbers[0] else numbers[2]
                case _ if (function := _ARITHMETIC.get(type(op))) is not None:
                    found = function(*numbers)
                case _:
                    pass
        if not math.isnan(found):
            self._numbers[op.results[0]] = found
        elif op.results:
            self._numbers.pop(op.results[0], None)

    def _cost(self, op: Operation) -> float:
        if isinstance(op, _FREE):
            return 0.0
        kinds = [value.type for value in (*op.results, *op.operands)]
        is_one = isinstance(op, _ONE)
        if op.dialect_name() == "math" and not is_one:
            return _FUNCTION
        floats = [kind for kind in kinds if isinstance(kind, _FLOATS)]
        if (op.dialect_name() == "arith" or is_one) and floats:
            soft = not self._core.fpu or any(isinstance(kind, Float64Type) for kind in floats)
            return _FUNCTION if soft else _DIVISION if isinstance(op, _DIVISIONS) else 1.0
        if isinstance(op, _DIVISIONS):
            return _DIVISION
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            return 1.0
        if any(isinstance(kind, IndexType) for kind in kinds[:1]):
            return _INDEX
        return 2.0 if i64 in kinds else 1.0
