"""`aotc plan`: the memory plan of a model, a proof of it, or offsets for buffers from elsewhere."""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from aotc.cli.arguments import options_from
from aotc.cli.commands import answer, print_json, progress
from aotc.errors import EXIT_OK, EXIT_WRONG, Problem, UsageError, show
from aotc.model.metadata import ModelInfo, from_json
from aotc.model.plan_table import plan_lines
from aotc.pipeline.options import CompileOptions

if TYPE_CHECKING:
    from aotc.pipeline.compilation import Compilation


def plan_command(arguments: argparse.Namespace) -> int:
    """`aotc plan`."""
    path = Path(arguments.model)
    _require_suitable(arguments, path)
    if path.suffix == ".csv":
        from aotc.cli.instances import solve_command

        return solve_command(arguments)
    if arguments.check:
        return _check(arguments, path)
    if arguments.pareto:
        return _pareto(arguments)
    compilation = None
    if path.suffix == ".json":
        info = read_metadata(path)
    else:
        compilation, info = _compiled(arguments)
    sizes = {"workspace_bytes": info.workspace_bytes, "weights_bytes": info.weights_bytes, "io_bytes": info.io_bytes}
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    folded = {"folded_channels": [asdict(each) for each in info.folded_channels]}
    lines = plan_lines(info.plan, sizes, width, info.folded_channels)
    status = answer(arguments, asdict(info.plan) | sizes | folded, lines)
    _require_budget(arguments, compilation, info)
    return status


def _require_budget(arguments: argparse.Namespace, compilation: Compilation | None, info: ModelInfo) -> None:
    """Raise BudgetError where a compiled model takes more than --ram allows; its plan says why."""
    from aotc.compiler.checking.budgets import check_budgets

    if compilation is not None:
        check_budgets(compilation, info, options_from(arguments))


def _require_suitable(arguments: argparse.Namespace, path: Path) -> None:
    """Refuse options that say nothing of such a file, and two answers at once."""
    others = {
        ".csv": (("check", "pareto"), "it is of a model, and these are buffers"),
        ".json": (("capacity", "output", "pareto"), "the model is compiled already"),
    }
    names, why = others.get(path.suffix, (("capacity", "output"), "it is of buffers in a FILE.csv"))
    for name in names:
        if getattr(arguments, name) not in (None, False):
            raise UsageError("option-conflict", f"--{name} with {path.name}", why)
    if path.suffix in others and options_from(arguments) != CompileOptions():
        why = "they are of a model that is to be compiled"
        raise UsageError("option-conflict", f"options of `compile` with {path.name}", why, "leave them out")
    if arguments.check and arguments.pareto:
        raise UsageError(
            "option-conflict", "--check with --pareto", "each has an answer of its own", "leave out either"
        )
    if arguments.pareto and arguments.executor == "vm":
        why = "what the machine needs is not measured"
        raise UsageError("option-conflict", "--pareto with --executor vm", why, "leave out either")


def _check(arguments: argparse.Namespace, path: Path) -> int:
    from aotc.compiler.checking.c_calls import checked_plan, source_of

    compilation = None
    if path.suffix == ".json":
        info = read_metadata(path)
        files = [path.with_name(f"{info.name}{end}.c") for end in ("", "_operators")]
        source = "".join(file.read_text(encoding="utf-8") for file in files if file.exists()) or None
    else:
        compilation, info = _compiled(arguments)
        source = source_of(compilation)
    calls, faults = checked_plan(info, source)
    problems = [Problem("unsafe-plan", fault) for fault in faults]
    tasks, buffers = len(info.plan.tasks), len(info.plan.buffers) + len(info.plan.outputs)
    if arguments.json:
        counts = {"tasks": tasks, "buffers": buffers, "calls_of_c": calls}
        print_json({"ok": not problems, "problems": [asdict(problem) for problem in problems]} | counts)
    else:
        for problem in problems:
            print(f"error: {problem}", file=sys.stderr)
        if not problems:
            show(f"nothing that is still read is overwritten: {tasks} tasks, {buffers} buffers")
            without = "no C of it was found" if source is None else "there is no C that calls with pointers"
            show(f"the C calls its kernels so: {calls} calls" if calls else without)
    _require_budget(arguments, compilation, info)
    return EXIT_WRONG if problems else EXIT_OK


def _pareto(arguments: argparse.Namespace) -> int:
    from aotc.compiler.driver import pareto

    options = options_from(arguments)
    if options.ram is not None:
        raise UsageError("option-conflict", "--ram with --pareto", "all budgets are tried", "leave out either")
    with progress() as report:
        points = pareto(arguments.model, options, report)
    head = ["RAM", "flash", "instructions"]
    rows = [
        ["?" if number is None else f"{number:,}" for number in (each.ram_bytes, each.flash_bytes, each.instructions)]
        for each in points
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    texts = ["means", *(", ".join(each.means) for each in points)]
    lines = [
        "  ".join((*(cell.rjust(width) for cell, width in zip(row, widths, strict=True)), text)).rstrip()
        for row, text in zip((head, *rows), texts, strict=True)
    ]
    return answer(arguments, {"points": [asdict(each) for each in points]}, lines)


def read_metadata(path: Path) -> ModelInfo:
    """The NAME.json of a compiled model. Raises UsageError where it is none."""
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError("invalid-file", f"{path} is not the JSON of a compiled model", str(error)) from error


def _compiled(arguments: argparse.Namespace) -> tuple[Compilation, ModelInfo]:
    from aotc.compiler.driver import emission

    with progress() as report:
        found = emission(arguments.model, options_from(arguments), report)
    return found.compilation, found.uncompiled
