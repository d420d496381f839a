"""The page and the data that run.py leaves: ratios first, what was measured below."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from aotc.measuring.bench.rounds import Result, ratio

OURS = ("aotc shared", "aotc C")
Results: TypeAlias = dict[str, dict[str, Result]]
"""By model and peer."""

_PAGE = """\
# On one core

Written by `make bench`. Batch 1, float32, the networks of [networks.py](networks.py). Ratios of times: below 1, aotc is
faster. Each is the median over {rounds} rounds of the ratio within a round, in which every runtime has its turn, in a
process of its own, called from Python on bound buffers. `aotc` is `aotc compile --emit shared`; `C` is
`aotc compile --emit c`, compiled by `cc -O3 -march=native`; emx is emx-onnx-cgen, another generator of C, compiled with
`-Ofast`. `difference` is the greatest one of our outputs from onnxruntime's, relative to their greatest value.

{ratios}

{processor}, one core {priority}, {vectors_text}, {peak_gflops:.0f} GFLOP/s in f32 (measured); {system};
{c_compiler}; {date}.
Versions: {versions_text}.

## Times

In ms; they depend on the machine.

{times}

A call from Python that computes one element takes: {overheads}.
"""


def _best(results: dict[str, Result]) -> Result | None:
    """The fastest runtime that is not ours."""
    found = [result for name, result in results.items() if name not in OURS and result.error is None]
    return min(found, key=lambda result: result.seconds, default=None)


def _over(result: Result, reference: Result | None) -> float | None:
    return None if result.error is not None or reference is None else ratio(result, reference)


def row(name: str, results: dict[str, Result], peers: Sequence[str]) -> str:
    """The line of a model in the table of ratios."""
    ours, best = results[OURS[0]], _best(results)
    c_over = _over(results[OURS[1]], ours)
    cells = [name, _text(_over(ours, best)), "" if best is None else best.peer, _text(c_over)]
    cells += [_text(_over(ours, results[peer]) if results[peer].error is None else None) for peer in peers]
    shared = [result.difference for key, result in results.items() if key in OURS and result.difference is not None]
    return "| " + " | ".join([*cells, f"{max(shared, default=math.nan):.0e}"]) + " |"


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def write_report(folder: Path, about: dict[str, Any], results: Results, peers: Sequence[str]) -> None:
    """Write the page and the data."""
    best = {name: _over(each[OURS[0]], _best(each)) for name, each in results.items()}
    known = [value for value in best.values() if value is not None]
    mean = math.exp(sum(map(math.log, known)) / len(known)) if known else math.nan
    columns = ["model", "aotc / best peer", "best peer", "C / aotc", *(f"aotc / {peer}" for peer in peers)]
    ratios = [
        "| " + " | ".join([*columns, "difference"]) + " |",
        "| --- | ---: | --- |" + " ---: |" * (len(columns) - 2),
        *(row(name, each, peers) for name, each in results.items()),
        f"| geometric mean | {mean:.3f} |" + " |" * (len(columns) - 1),
    ]
    times = [
        "| model | " + " | ".join([*OURS, *peers]) + " |",
        "| --- |" + " ---: |" * (len(peers) + len(OURS)),
        *(_times(name, each, peers) for name, each in results.items()),
    ]
    page = _PAGE.format(
        ratios="\n".join(ratios),
        times="\n".join(times),
        overheads=_overheads(results, peers),
        versions_text=", ".join(f"{name} {version}" for name, version in about["versions"].items()),
        vectors_text=f"vectors of {8 * about['vectors']['width']} bits" if about["vectors"] else "no vectors",
        priority="with real-time priority" if about["real_time_priority"] else "without real-time priority",
        **about,
    )
    (folder / "cpu.md").write_text(page)
    measured = {name: {peer: asdict(result) for peer, result in each.items()} for name, each in results.items()}
    (folder / "cpu.json").write_text(json.dumps(about | {"geometric_mean": mean, "models": measured}, indent=1) + "\n")


def _times(name: str, results: dict[str, Result], peers: Sequence[str]) -> str:
    cells = [f"{r.seconds * 1e3:.4g}" if r.error is None else "-" for r in (results[key] for key in (*OURS, *peers))]
    return "| " + " | ".join([name, *cells]) + " |"


def _overheads(results: Results, peers: Sequence[str]) -> str:
    least = {
        peer: min(seconds for each in results.values() if (seconds := each[peer].overhead_seconds) is not None)
        for peer in (*OURS, *peers)
        if any(each[peer].overhead_seconds is not None for each in results.values())
    }
    return ", ".join(f"{peer} {seconds * 1e6:.2f} us" for peer, seconds in least.items())
