"""Tables and lines that commands print: measurements, the phases, the costs of a model."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from aotc.errors import UsageError, show
from aotc.machines.compilers import helper_stack
from aotc.machines.targets import lookup
from aotc.model.conventions import PREFIX
from aotc.model.metadata import Footprint, FunctionFootprint, ModelInfo
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, Phase, pipeline_of

if TYPE_CHECKING:
    from aotc.measuring.tuning import Gain


ROUTES = {"jit": "aotc", "shared": "aotc shared", "c": "aotc C"}
"""Our peers by what `--emit` says."""


def compare(
    model: str, options: CompileOptions, arguments: argparse.Namespace, report: Callable[[str], None] | None
) -> dict[str, Any]:
    """Time a model, in turns with others; seconds are medians, a ratio is the other's time over ours."""
    from aotc.measuring.bench.rounds import Rounds, parse_peers, ratio, run_peers

    ours = ROUTES[arguments.emit]
    others = [] if arguments.against is None else parse_peers(arguments.against)
    if others and options.state:
        why = "others take and return what is kept here"
        raise UsageError("option-conflict", "--state with --against", why, "leave out either")
    if others and options.changes_interface:
        what = "--io quantized or layouts of inputs and outputs with --against"
        raise UsageError("option-conflict", what, "others take what the model has", "leave out either")
    rounds = Rounds(arguments.rounds, arguments.seconds)
    results = run_peers(
        model, [ours, *others], options, rounds, threads=options.threads, inputs=arguments.inputs, report=report
    )
    reference = results[ours]
    shown = {
        name: asdict(result)
        | ({"seconds": result.seconds, "ratio": ratio(result, reference)} if result.error is None else {})
        for name, result in results.items()
    }
    overall = {"seconds": reference.seconds, "overhead_seconds": reference.overhead_seconds}
    if others and results[others[0]].error is None:
        first = results[others[0]]
        overall |= {"peer": first.peer, "peer_seconds": first.seconds, "ratio": ratio(first, reference)}
    return overall | {"threads": options.threads, "peers": shown}


def comparison_table(result: dict[str, Any]) -> str:
    """A line for each peer."""
    rows = [("", "version", "ms", "/ aotc", "overhead, us", "difference")]
    for name, peer in result["peers"].items():
        if peer["error"] is not None:
            rows.append((name, peer["version"] or "", peer["error"], "", "", ""))
            continue
        overhead = "" if peer["overhead_seconds"] is None else f"{peer['overhead_seconds'] * 1e6:.2f}"
        milliseconds, times, difference = peer["seconds"] * 1e3, f"{peer['ratio']:.3f}", f"{peer['difference']:.1e}"
        rows.append((name, peer["version"] or "", f"{milliseconds:.4f}", times, overhead, difference))
    note = "medians; overhead: a call that computes one element"
    if len(rows) > 2:
        note += "; difference: of the outputs, relative, from onnxruntime's or else ours"
    return f"{_aligned(rows, left=2)}\n{note}"


def profile(
    model: str, options: CompileOptions, inputs: str | None, report: Callable[[str], None] | None
) -> dict[str, Any]:
    """The time of each call of a kernel, in the order of execution."""
    from aotc.measuring.profiling import profile as measure

    found = measure(model, options, inputs, report=report)
    calls = [
        asdict(call)
        | {
            "share": call.seconds / found.seconds if found.seconds else 0.0,
            "gflops": call.rate * 1e-9,
            "share_of_peak": found.share_of_peak(call),
        }
        for call in found.calls
    ]
    return {
        "seconds": found.seconds,
        "peak_gflops": found.processor.peak * 1e-9,
        "peak_gops_int8": found.processor.peak_of("int8") * 1e-9,
        "kernels": calls,
    }


def profile_table(result: dict[str, Any]) -> str:
    """A line for each call."""
    rows = [("us", "share", "GFLOP/s", "of peak", "kernel", "nodes")]
    for call in result["kernels"]:
        time, share = f"{call['seconds'] * 1e6:.2f}", f"{call['share']:.1%}"
        rate, of_peak = f"{call['gflops']:.1f}", f"{call['share_of_peak']:.0%}"
        if not call["operations"]:
            rate = of_peak = ""
        name = call["symbol"].removeprefix(f"{PREFIX}_") + (" (scalar fallback)" if call["scalar_fallback"] else "")
        rows.append((time, share, rate, of_peak, name, ", ".join(call["nodes"])))
    total = f"{result['seconds'] * 1e3:.4f} ms in kernels; peak {result['peak_gflops']:.0f} GFLOP/s in f32, measured"
    if any(call["dtype"] in ("int8", "uint8") for call in result["kernels"]):
        total += f"; {result['peak_gops_int8']:.0f} in sums of 8-bit integers, by their instructions"
    return f"{_aligned(rows, left=0, last=2)}\n{total}"


def gains_table(gains: Sequence[Gain]) -> str:
    """A line for each operation that was measured."""
    rows = [("us", "tuned", "gain", "nodes", "choice")]
    for gain in gains:
        share = f"{1 - gain.after / gain.before:.0%}" if gain.choice else ""
        rows.append((f"{gain.before * 1e6:.2f}", f"{gain.after * 1e6:.2f}", share, ", ".join(gain.nodes), gain.choice))
    return _aligned(rows, left=0, last=2)


def _aligned(rows: Sequence[Sequence[str]], left: int, last: int = 0) -> str:
    """Columns of text: the first `left` and the last `last` begin on a line, the others end on one."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        cells = [
            cell.ljust(width) if column < left or column >= len(row) - last else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def every_row() -> str:
    """All passes of each phase with the conditions under which they run, and what these mean."""
    lines: list[str] = []
    for phase in PHASES:
        lines.append(_head(phase))
        for when, rows in groupby(phase.rows, lambda row: row.when):
            passes = ", ".join(row.text() for row in rows)
            conditions = ", ".join(each.name for each in when) or "always"
            lines += wrap(f"{conditions}: {passes}", 118, initial_indent="  ", subsequent_indent="      ")
    lines += ["", *(f"{name}: {sentence}" for name, sentence in _conditions().items())]
    return "\n".join(lines)


def what_runs(asked: CompileOptions) -> str:
    """The pipeline of each phase in a compilation with some options, each on one line."""
    return "\n".join(f"{_head(phase)}\n  {pipeline_of(phase, asked)}".rstrip() for phase in PHASES)


def as_json(asked: CompileOptions | None) -> dict[str, Any]:
    """Both as an object; without options every row."""
    if asked is not None:
        return {"phases": [_described(phase) | {"pipeline": pipeline_of(phase, asked)} for phase in PHASES]}
    rows = {
        phase.name: [{"pass": row.text(), "when": [each.name for each in row.when]} for row in phase.rows]
        for phase in PHASES
    }
    return {"phases": [_described(phase) | {"passes": rows[phase.name]} for phase in PHASES], "when": _conditions()}


def _head(phase: Phase) -> str:
    return f"{phase.name:10} {phase.sentence}"


def _described(phase: Phase) -> dict[str, Any]:
    return {"name": phase.name, "sentence": phase.sentence}


def _conditions() -> dict[str, str]:
    """Conditions whose names do not say all, and what they mean."""
    found = dict.fromkeys(when for phase in PHASES for row in phase.rows for when in row.when)
    return {when.name: when.sentence for when in found if when.sentence}


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
    arenas = ", ".join(f"{name or 'arena'} {size:,}" for name, size in info.plan.arenas.items())
    lines = [f"ram    {info.ram_bytes:>12,} bytes ({arenas}, {io})"]
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
    if (goal := info.flash_goal) is not None:
        forms = Counter(each.form for each in info.kernels)
        lines.append(
            f"budget {goal.allowed:>12,} bytes (kernels: {forms['small']} small, {forms['shared']} shared, {forms['']} "
            f"fast; about {goal.instructions:.2f} times the instructions of fast ones, which take "
            f"{goal.fast_bytes:,} bytes; at least {goal.least_bytes:,} bytes, {goal.least_instructions:.2f} times)"
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
