"""`aotc bench`: what it measures, and how that is shown."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from aotc.errors import UsageError
from aotc.model.conventions import PREFIX
from aotc.pipeline.options import CompileOptions

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
