"""The kernels of a model in portions, which are compiled at the same time.

From where `by_function` of `phases` begins a kernel needs nothing of the others, and two thirds of a compilation are
still to come. So the kernels are dealt out to portions, and processes take one portion after the other: each is
unrolled, verified, printed as C, or compiled to an object of its own. Which portions there are depends on the model
alone, not on how many processes there are, and so do the results.

What is not a kernel, or is one that names memory of the model, is the first portion. Whoever watches the passes has
the last ones run on the whole module, after the kernels have been dealt out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from aotc.dialects.aot import StringOp, WeightOp, WeightsOp, WorkspaceOp
from aotc.dialects.aot.contract import is_kernel
from aotc.dialects.operations import walk
from aotc.machines.targets import is_host
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import finish
from aotc.pipeline.workers import usable_cores

_PORTIONS = 16
"""At most; some more than there are cores, so that these end at about the same time."""
_SHARES = 1.6, 0.4
"""Of the greatest and of the least portion, if 1 is the average: the last ones are short, so that no process waits long
for another."""
_LEAST = 2000
"""Registers that a portion handles, by its estimate, or it is not worth an object of its own: 0.03 s."""
_OF_THE_MODEL = (StringOp, WeightOp, WeightsOp, WorkspaceOp)
"""Operations that name memory of the model."""


def is_divided(options: CompileOptions) -> bool:
    """Whether the kernels of a compilation are compiled in portions.

    They are for what is linked here, and for C: an object file is one piece, and so is what measures a stack.
    """
    kinds = {*options.emit}
    return (
        kinds <= {"c", "header", "shared"}
        and ("shared" in kinds or (is_host(options.target) and options.flash is None))
        and options.is_vectorized
        and options.threads == 1
        and options.stack is None
        and options.cc is None
        and not (options.split or options.profile or options.debug_info or options.has_bytecode or options.offload)
    )


def processes(options: CompileOptions) -> int:
    """How many processes take part in a compilation that is divided; one where somebody watches the passes."""
    return 1 if options.is_watched else options.jobs or usable_cores()


@dataclass
class Portions:
    """The parts of a module after the last phase: the first portion, and those of the kernels."""

    first: list[Operation]
    kernels: list[list[FuncOp]]
    """The greatest portion first; of each its kernels in the order of the module."""
    is_unfinished: bool = False
    """Whether the passes that end the last phase, and verifying, are left to do."""

    @staticmethod
    def of(module: ModuleOp) -> Portions:
        """Deal the kernels out: the greatest first, each to the portion that then has least of its share."""
        costs = {op: _cost(op) for op in module.ops if isinstance(op, FuncOp) and is_kernel(op) and _is_on_its_own(op)}
        count = max(1, min(_PORTIONS, len(costs), sum(costs.values()) // _LEAST))
        portions = dealt(costs, count)
        order = {op: number for number, op in enumerate(module.ops)}
        kernels = [sorted(portion, key=lambda each: order[each]) for portion in portions]
        first = [op for op in module.ops if op not in costs]
        return Portions(first, [each for each in kernels if each])

    def finish(self, ctx: Context, options: CompileOptions, selected: Sequence[Operation]) -> None:
        """Do to a portion what is left of the last phase, if anything is. Raises CompileError."""
        if self.is_unfinished:
            finish(ctx, options, selected)


def dealt(costs: Mapping[FuncOp, int], count: int) -> list[list[FuncOp]]:
    """Kernels of these costs in `count` portions, the greatest portion first."""
    shares = [_SHARES[0] + (_SHARES[1] - _SHARES[0]) * place / max(1, count - 1) for place in range(count)]
    portions: list[list[FuncOp]] = [[] for _ in range(count)]
    totals = [0] * count
    for kernel in sorted(costs, key=lambda each: -costs[each]):
        place = min(range(count), key=lambda place: (totals[place] + costs[kernel]) / shares[place])
        portions[place].append(kernel)
        totals[place] += costs[kernel]
    return [portions[place] for place in sorted(range(count), key=lambda place: -totals[place])]


def _is_on_its_own(kernel: FuncOp) -> bool:
    return bool(kernel.body.blocks) and not any(isinstance(op, _OF_THE_MODEL) for op in walk(kernel))


def _cost(kernel: FuncOp) -> int:
    """About how many operations on registers there are in a kernel when it is unrolled."""
    return sum(1 + sum(prod(_rows(value.type)) for value in op.results) for op in walk(kernel))


def _rows(kind: object) -> Sequence[int]:
    return kind.get_shape()[:-1] if isinstance(kind, VectorType) else ()
