"""The summary of a model at the end of `aotc compile`: a table on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys

from aotc.errors import show
from aotc.machines.helpers import helper_stack
from aotc.machines.targets import lookup
from aotc.model.conventions import PREFIX
from aotc.model.metadata import Footprint, FunctionFootprint, ModelInfo


def print_footprint(info: ModelInfo) -> None:
    """Sizes of the model, and where there is machine code its functions with their stack."""
    show(*summary(info))
    if info.footprint is None or not info.footprint.functions:
        return
    if sys.stdout.isatty():
        _print_table(info, info.footprint)
    else:
        for function in _by_stack(info.footprint):
            code, frame, stack = _cells(function)
            show(f"  {_plain(info, function.symbol):40} code {code:>9} frame {frame:>7} stack {stack:>7}")


def summary(info: ModelInfo) -> list[str]:
    """One line each for RAM, flash and stack."""
    io = "inputs and outputs in it" if info.io == "workspace" else f"inputs and outputs {info.io_bytes:,}"
    lines = [f"ram    {info.ram_bytes:>12,} bytes (arena {info.workspace_bytes:,}, {io})"]
    footprint = info.footprint
    if footprint is None:
        return [*lines, f"weights{info.weights_bytes:>12,} bytes"]
    weights = "" if info.weights == "caller" else f"weights {info.weights_bytes:,}, "
    other = footprint.flash_bytes - footprint.text_bytes - (0 if info.weights == "caller" else info.weights_bytes)
    what = " by LLVM: an estimate for C" if footprint.estimate else ""
    if footprint.compiler is not None:
        what = f" by {footprint.compiler}"
    lines.append(
        f"flash  {footprint.flash_bytes:>12,} bytes "
        f"(code {footprint.text_bytes:,}, {weights}other {other:,}; {footprint.target}{what})"
    )
    if not footprint.functions:
        return lines
    path = " > ".join(_plain(info, symbol) for symbol in footprint.stack_path)
    triple = lookup(footprint.target).triple
    uncounted = [call for call in footprint.library_calls if helper_stack(triple, call) is None]
    calls = f", without {', '.join(uncounted)}" if uncounted else ""
    margin = f", {footprint.stack_margin_bytes:,} more by another compiler" if footprint.stack_margin_bytes else ""
    lines.append(f"stack  {_number(footprint.stack_bytes):>12} bytes ({path}{calls}{margin})")
    return lines


def _by_stack(footprint: Footprint) -> list[FunctionFootprint]:
    return sorted(footprint.functions, key=lambda each: (-(each.stack_bytes or 0), each.symbol))


def _cells(function: FunctionFootprint) -> tuple[str, str, str]:
    return _number(function.text_bytes), _number(function.frame_bytes), _number(function.stack_bytes)


def _print_table(info: ModelInfo, footprint: Footprint) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{info.name} on {footprint.target}, bytes", title_justify="left")
    table.add_column("function")
    for column in ("code", "frame", "stack, with calls"):
        table.add_column(column, justify="right", no_wrap=True)
    for function in _by_stack(footprint):
        table.add_row(_plain(info, function.symbol), *_cells(function))
    Console().print(table)


def _plain(info: ModelInfo, symbol: str) -> str:
    """A symbol without the prefix that all of the model's have."""
    return symbol.removeprefix(f"{PREFIX}_{info.name}_")


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"
