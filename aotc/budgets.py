"""Budgets: `--ram` and `--flash` against what the compiled model needs, with the responsible named."""

from __future__ import annotations

from math import prod

from aotc.dtypes import numpy_dtype
from aotc.errors import BudgetError, Problem, UsageError
from aotc.metadata import ModelInfo
from aotc.options import CompileOptions

_NAMED = 4
"""How many of the largest consumers a message names."""


def check_budgets(info: ModelInfo, options: CompileOptions) -> None:
    """Raise BudgetError if the model does not fit.

    RAM is the arena plus the inputs' and outputs' buffers; flash is the weights (code comes on top and depends on the
    C compiler). Raises UsageError for `--stack`, which needs the machine code.
    """
    if options.stack is not None:
        raise UsageError(
            Problem(f"--stack {options.stack}", why="stack use is not measured yet", fix="compile C with -fstack-usage")
        )
    problems: list[Problem] = []
    if options.ram is not None and (needed := info.workspace_bytes + info.io_bytes) > options.ram:
        problems.append(_ram_problem(info, needed, options.ram))
    if options.flash is not None and info.weights_bytes > options.flash:
        problems.append(
            Problem(
                f"weights take {info.weights_bytes:,} bytes, --flash allows {options.flash:,}",
                fix="quantise the weights to int8, or place them with --weights external or caller",
            )
        )
    if problems:
        raise BudgetError(problems)


def _ram_problem(info: ModelInfo, needed: int, allowed: int) -> Problem:
    buffers = info.plan.buffers
    steps = sorted({step for buffer in buffers for step in (buffer.first, buffer.last)})
    if not steps:
        return Problem(f"inputs and outputs take {needed:,} bytes, --ram allows {allowed:,}")
    live = {step: [buffer for buffer in buffers if buffer.first <= step <= buffer.last] for step in steps}
    peak = max(steps, key=lambda step: sum(buffer.size for buffer in live[step]))
    largest = sorted(live[peak], key=lambda buffer: -buffer.size)[:_NAMED]
    names = ", ".join(f"{'/'.join(buffer.nodes) or buffer.name} {buffer.size:,}" for buffer in largest)
    io = sum(prod(tensor.shape) * numpy_dtype(tensor.dtype).itemsize for tensor in (*info.inputs, *info.outputs))
    return Problem(
        f"the model needs {needed:,} bytes of RAM (arena {info.workspace_bytes:,}, inputs and outputs {io:,}), "
        f"--ram allows {allowed:,}",
        why=f"at step {peak} the arena holds {names}",
        fix="quantise, or make the tensors of that step smaller",
    )
