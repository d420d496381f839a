"""Sweeps over sizes beside ONNX Runtime and OpenVINO on one core; each family on vectors of a size is a section of
sweeps.md.

    python benchmarks/sweep.py FAMILY .. [--only TEXT] [--rounds 5] [--seconds 0.02] [--cpu 1] [--dry]

A family is a function that yields points, models named by what is special about them. Of each point aotc (`--accuracy
fast` and `strict`), ONNX Runtime and OpenVINO are opened in this process and take turns on the same inputs. A ratio is
the median over the rounds of the ratio within a round; times are the least ones. `--only` measures the points whose
names contain a text, and like `--dry` writes no page.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import statistics
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from layers import convolutions, integers, products, transformers
from operators import operators
from points import Point
from run import on_core

from aotc.machines.processor import caches, model_name
from aotc.machines.targets import lookup
from aotc.measuring.bench.peers import PEERS, Job
from aotc.measuring.bench.worker import durations
from aotc.pipeline.options import CompileOptions

PAGE = Path(__file__).with_name("sweeps.md")
FAMILIES: dict[str, Callable[[], Iterator[Point]]] = {
    "operators": operators,
    "products": products,
    "transformers": transformers,
    "convolutions": convolutions,
    "integers": integers,
}
"""By the beginning of the titles of their sections."""
OURS = {accuracy: CompileOptions(accuracy=accuracy) for accuracy in ("fast", "strict")}
THEIRS = ("onnxruntime", "openvino")
MOST = 0.95
"""A ratio to the best peer above this is in bold."""


@dataclass(frozen=True)
class Measured:
    """A point with the seconds a call of each round, by who computed it; who could not is left out."""

    point: Point
    rounds: Mapping[str, Sequence[float]]

    def ratio(self, one: str, other: str) -> float:
        """The time of `one` over that of `other`."""
        return statistics.median(a / b for a, b in zip(self.rounds[one], self.rounds[other], strict=True))

    @property
    def ratios(self) -> list[float]:
        """The time of the default accuracy over that of each peer."""
        return [self.ratio("fast", peer) for peer in THEIRS if peer in self.rounds]

    def row(self) -> str:
        """Its line of the table."""
        worst = max(self.ratios, default=None)
        best = "-" if worst is None else f"**{worst:.2f}**" if worst > MOST else f"{worst:.2f}"
        times = (f"{min(found) * 1e6:.1f}" if (found := self.rounds.get(who)) else "-" for who in (*OURS, *THEIRS))
        return "| " + " | ".join([self.point.name, best, f"{self.ratio(*OURS):.2f}", *times]) + " |"


def measure(point: Point, rounds: int, seconds: float, cpu: int) -> Measured:
    """Open a point by everybody, then let them take turns; an error of ours is one, a peer's leaves it out."""
    calls: dict[str, Callable[[], object]] = {}
    with tempfile.TemporaryDirectory(prefix="aotc-") as folder:
        path = Path(folder) / "point.onnx"
        onnx.save(point.model, str(path))
        for who in (*OURS, *THEIRS):
            job = Job(path, Path(folder), 1, OURS.get(who, CompileOptions()))
            try:
                calls[who] = PEERS["aotc" if who in OURS else who].open(job).bind(point.inputs)
                calls[who]()
            except Exception as error:
                if who in OURS:
                    raise
                print(f"{point.name}: {who}: {str(error).splitlines()[0][:200]}")
        found: dict[str, list[float]] = {who: [] for who in calls}
        with on_core(cpu):
            for number in range(rounds):
                for who in list(calls)[:: -1 if number % 2 else 1]:
                    found[who].append(statistics.median(durations(calls[who], seconds, 5)) * 1e-9)
    return Measured(point, found)


def title_of(family: str) -> str:
    """The title of a family's section on this machine."""
    vectors: dict[str, Any] = lookup("host").as_json()["vectors"] or {}
    return f"{family}, vectors of {8 * vectors.get('width', 0)} bits"


def section(title: str, results: Sequence[Measured]) -> str:
    """A family's part of the page: its best and worst ratios, then all."""
    known = [max(ratios) for each in results if (ratios := each.ratios)]
    above = sum(ratio > MOST for ratio in known)
    sizes = ", ".join(f"{level.upper()} {size >> 10} KiB" for level, size in sorted(caches().items()))
    versions = ", ".join(f"{name} {PEERS[name].version()}" for name in THEIRS)
    about = (
        f"{model_name() or 'unknown processor'}, {sizes}; {versions};"
        f" {datetime.date.today():%d %B %Y}. {len(results)} points, {above} above {MOST} of the best peer;"
        f" geometric mean {statistics.geometric_mean(known):.2f}."
    )
    head = f"| | fast / best peer | fast / strict | {' | '.join((*OURS, *THEIRS))} |\n| --- |{' ---: |' * 6}"
    return "\n".join([f"## {title}", "", textwrap.fill(about, 120), "", head, *(each.row() for each in results), ""])


def write(title: str, text: str) -> None:
    """Put a section in the page, in place of the one with its title."""
    head, *sections = re.split("^(?=## )", PAGE.read_text(), flags=re.MULTILINE)
    parts = {each.splitlines()[0].removeprefix("## "): each for each in sections} | {title: text}
    families = list(FAMILIES)
    titles = sorted(parts, key=lambda each: (families.index(each.partition(",")[0]), each))
    ordered = [parts[name].rstrip() + "\n" for name in titles]
    PAGE.write_text("\n".join([head.rstrip() + "\n", *ordered]))


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="+", choices=list(FAMILIES), metavar="FAMILY")
    parser.add_argument("--only", default="", metavar="TEXT", help="points with this in their names")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.02, help="of each in each round, at least")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the core")
    parser.add_argument("--dry", action="store_true", help="write no page")
    arguments = parser.parse_args()
    os.environ["AOTC_CACHE_DIR"] = ""
    np.seterr(all="ignore")
    for family in arguments.families:
        results: list[Measured] = []
        for point in FAMILIES[family]():
            if arguments.only in point.name:
                results.append(measure(point, arguments.rounds, arguments.seconds, arguments.cpu))
                print(results[-1].row(), flush=True)
        if results and not (arguments.only or arguments.dry):
            write(title_of(family), section(title_of(family), results))


if __name__ == "__main__":
    main()
