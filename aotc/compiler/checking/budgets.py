"""Budgets: `--ram`, `--flash` and `--stack` against what the compiled model needs, with the responsible named.

RAM is the arena, and the inputs and outputs unless they are in the arena. Flash is code, constants and weights, unless
the caller has the weights. Stack is what the entry and all it calls need, helpers of the compiler for arithmetic
included, the C library not; where it is an estimate, with its margin. What is not known is over every budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

from aotc.dialects.dtypes import numpy_dtype
from aotc.errors import BudgetError, Problem
from aotc.machines.compilers import helper_stack
from aotc.machines.targets import is_host, lookup
from aotc.model.metadata import Footprint, ModelInfo

if TYPE_CHECKING:
    from aotc.pipeline.compilation import Compilation
    from aotc.pipeline.options import CompileOptions

_NAMED = 4
"""How many of the largest consumers a message names."""


def check_budgets(compilation: Compilation, info: ModelInfo, options: CompileOptions) -> None:
    """Raise BudgetError with one problem for each budget of `options` that does not hold; the program chosen for them
    may be one without.

    `info` is the compilation's metadata, with a footprint where there is a budget for flash or stack.
    """
    footprint = info.footprint
    problems: list[Problem] = []
    if isinstance(options.ram, int) and info.ram_bytes > options.ram:
        problems.append(_ram_problem(info, options.ram, _is_quantised(compilation)))
    if options.flash is not None:
        assert footprint is not None
        if footprint.flash_bytes > options.flash:
            problems.append(_flash_problem(compilation, info, footprint, options.flash))
    if options.stack is not None:
        assert footprint is not None
        if footprint.most_stack_bytes is None or footprint.most_stack_bytes > options.stack:
            problems.append(_stack_problem(info, footprint, options.stack))
    problems += _pool_problems(info)
    if problems:
        raise BudgetError(problems)


def _ram_problem(info: ModelInfo, allowed: int, is_quantised: bool) -> Problem:
    buffers = info.plan.buffers
    steps = sorted({step for buffer in buffers for step in (buffer.first, buffer.last)})
    total = f"the model needs {info.ram_bytes:,} bytes of RAM"
    if (goal := info.ram_goal) is not None:
        slower = f"about {goal.instructions:.2f} times the instructions of the fastest program"
        total += f", the least that was found: layers computed row by row, {slower}, which takes {goal.whole_bytes:,}"
    if not steps:
        tensors = [(each.name, prod(each.shape) * numpy_dtype(each.dtype).itemsize) for each in info.tensors]
        why = f"the inputs and outputs are {_largest(tensors)}"
        return Problem("ram-exceeded", f"{total}, --ram allows {allowed:,}", why, _smaller(is_quantised))
    live = {step: [buffer for buffer in buffers if buffer.first <= step <= buffer.last] for step in steps}
    peak = max(steps, key=lambda step: sum(buffer.size for buffer in live[step]))
    rings: dict[str, list[str]] = {}
    for ring in (ring for roll in info.plan.rolls for ring in roll.rings):
        rings.setdefault(ring.buffer, []).append(f"{ring.rows} rows of {ring.node}")
    named = [
        (f"the state {b.name}" if b.kept else "/".join(_ends(rings.get(b.name, b.nodes))) or b.name, b.size)
        for b in live[peak]
    ]
    names = _largest(named)
    step = "+".join(_ends(info.plan.order[peak].split("+"))) if peak < len(info.plan.order) else "the end"
    what = f"{total} (arena {info.workspace_bytes:,}, inputs and outputs {info.io_bytes:,}), --ram allows {allowed:,}"
    return Problem("ram-exceeded", what, f"at step {peak} ({step}) the arena holds {names}", _smaller(is_quantised))


def _pool_problems(info: ModelInfo) -> Iterator[Problem]:
    """Weights that do not fit the pool that has buffers, too."""
    for pool in info.plan.pools:
        if pool.name == info.weights_pool and pool.peak_bytes + info.weights_bytes > pool.size:
            what = (
                f"the pool {pool.name} has {pool.size:,} bytes, and {info.weights_bytes:,} of weights are to be in it"
            )
            why = f"buffers take {pool.peak_bytes:,} bytes of it"
            yield Problem("pool-exceeded", what, why, "choose a larger pool, or another one for the weights")


def _smaller(is_quantised: bool) -> str:
    """Operators that make tensors smaller."""
    return "make those tensors smaller" if is_quantised else "quantise the model to int8, or make those tensors smaller"


def _is_quantised(compilation: Compilation) -> bool:
    """Whether most bytes of the weights are those of elements of one byte."""
    sizes = [(compilation.store[key].dtype.itemsize, size) for key, size in _weights(compilation).items()]
    narrow = sum(size for width, size in sizes if width == 1)
    return 2 * narrow > sum(size for _, size in sizes)


def _flash_problem(compilation: Compilation, info: ModelInfo, footprint: Footprint, allowed: int) -> Problem:
    weights = 0 if info.weights == "caller" else info.weights_bytes
    functions = _largest((each.symbol, each.text_bytes or 0) for each in footprint.functions)
    why = [f"the largest functions are {functions}"] if functions else []
    fixes: list[str] = []
    if weights:
        why.append(f"the largest weights are {_largest(_weights(compilation).items())}")
        quantise = "" if _is_quantised(compilation) else "quantise the weights to int8 or "
        fixes.append(f"{quantise}keep them elsewhere with --weights caller")
    if compilation.options.optimize != "s":
        fixes.append("compile with -Os")
    if is_host(compilation.options.target):
        fixes.append("name the machine with --target: this is code for the host")
    code, other = footprint.text_bytes, footprint.flash_bytes - footprint.text_bytes - weights
    listed = f"code {code:,}, weights {weights:,}, other {other:,}"
    what = f"the model needs {footprint.flash_bytes:,} bytes of flash ({listed}), --flash allows {allowed:,}"
    if (goal := info.flash_goal) is not None:
        slower = f"about {goal.least_instructions:.2f} times the instructions of fast ones"
        what += f": the least that was found, with small kernels, which take {slower}, {goal.fast_bytes:,} bytes"
    return Problem("flash-exceeded", what, ", ".join(why), ", or ".join(fixes))


def _weights(compilation: Compilation) -> dict[str, int]:
    """Bytes of each weight of the model by name, embedded or laid out in a blob."""
    from aotc.dialects.aot.contract import weight_offsets, weight_sizes

    store, offsets = compilation.store, weight_offsets(compilation.module)
    return {key: store[key].nbytes for key in offsets} or weight_sizes(compilation.module)


def _stack_problem(info: ModelInfo, footprint: Footprint, allowed: int) -> Problem:
    frames = {each.symbol: each.frame_bytes for each in footprint.functions}
    nodes = {kernel.symbol: "/".join(kernel.nodes) for kernel in info.kernels}
    triple = lookup(footprint.target).triple
    steps = [(symbol, frames.get(symbol, helper_stack(triple, symbol))) for symbol in footprint.stack_path]
    path = " calls ".join(_frame(symbol, size, nodes.get(symbol)) for symbol, size in steps)
    if footprint.stack_bytes is None:
        what = f"the stack cannot be bounded, --stack allows {allowed:,}"
        fix = "leave the budget out and measure on the machine, or choose a --target whose stack is known"
        return Problem("stack-unbounded", what, _why_unbounded(footprint, path), fix)
    fixes: list[str] = []
    if info.operator_api != "unpacked":
        fixes.append("use --operator-api unpacked, which has no argument structures")
    elif info.interface_api == "packed":
        fixes.append("use --interface-api c")
    fixes.append("compile with -O1 or -Os, which inline and unroll less")
    size = f"{footprint.stack_bytes:,} bytes"
    if footprint.estimate:
        size = f"about {size} by LLVM, and another compiler may take {footprint.stack_margin_bytes:,} more"
        fixes.insert(0, "measure it with the compiler of your C: --cc COMMAND")
    what = f"the stack needs {size}, --stack allows {allowed:,}"
    uncounted = [call for call in footprint.library_calls if helper_stack(triple, call) is None]
    on_top = f", and on top what {', '.join(uncounted)} use" if uncounted else ""
    return Problem("stack-exceeded", what, path + on_top, ", or ".join(fixes))


def _why_unbounded(footprint: Footprint, path: str) -> str:
    if footprint.target.startswith("wasm"):
        return "the engine keeps calls and local variables on a stack of its own"
    if any(each.frame_bytes is None for each in footprint.functions):
        return f"a frame has no constant size, as with vectors of a length that the machine decides: {path}"
    return "only ELF code is measured"


def _frame(symbol: str, size: int | None, nodes: str | None) -> str:
    where = f" [{nodes}]" if nodes else ""
    return f"{symbol}{where} {'?' if size is None else f'{size:,}'}"


def _ends(names: Sequence[str]) -> Sequence[str]:
    """Some names; of many, which roll together, the first and the last."""
    return names if len(names) <= _NAMED else (names[0], "...", names[-1])


def _largest(consumers: Iterable[tuple[str, int]]) -> str:
    ranked = sorted(consumers, key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{name} {size:,}" for name, size in ranked[:_NAMED])
