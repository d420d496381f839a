"""`make fuzz SECONDS=600`: cases of every kind until the time is over; what fails is written down, small.

    PYTHONPATH=tests python -m fuzz [--seconds S] [--count N] [--seed N] [--kind KIND] [--keep DIR]

The exit status is 1 where a case failed. A case depends on its kind and its seed alone, so that
`--kind KIND --seed SEED --count 1` repeats it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from fuzz.cases import CASES, DRAWN, keep
from fuzz.isolation import Outcome, Runner

LONGEST = 120.0
"""Seconds of work that a case may take, or of waiting without any."""


def main() -> int:
    """Run the cases and report."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Random models and damaged files.")
    parser.add_argument("--seconds", type=float, default=600, help="stop after so long (default: 600)")
    parser.add_argument("--count", type=int, help="stop after so many cases of each kind")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--kind", choices=list(CASES), action="append", help="cases of this kind only")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where models that fail are written")
    arguments = parser.parse_args()
    for ending in (signal.SIGINT, signal.SIGTERM):  # a shell starts what it leaves behind with interrupts ignored
        signal.signal(ending, signal.default_int_handler)
    os.environ["AOTC_CACHE_DIR"] = ""
    kinds = arguments.kind or list(CASES)
    runners = {kind: Runner(CASES[kind][0], LONGEST) for kind in kinds}
    spent = dict.fromkeys(kinds, 0.0)
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    start, failures = time.monotonic(), 0
    try:
        while time.monotonic() - start < arguments.seconds:
            open_ = [kind for kind in kinds if arguments.count is None or counts[kind].total() < arguments.count]
            if not open_:
                break
            kind = min(open_, key=lambda each: spent[each] / CASES[each][1])
            seed = arguments.seed + counts[kind].total()
            outcome = runners[kind].run(seed)
            spent[kind] += outcome.seconds
            counts[kind][outcome.what if outcome.ok else f"FAILED {outcome.what}"] += 1
            if not outcome.ok:
                failures += 1
                _tell(kind, seed, outcome, arguments.keep)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    finally:
        for runner in runners.values():
            runner.close()
    for kind, counted in counts.items():
        print(f"{kind}: {counted.total()} in {spent[kind]:.0f} s")
        for what, count in sorted(counted.items()):
            print(f"  {count:>8}  {what}")
    return 1 if failures else 0


def _tell(kind: str, seed: int, outcome: Outcome, folder: Path) -> None:
    print(f"FAILED {kind} seed {seed}: {outcome.what}: {outcome.message.strip()}", flush=True)
    if kind in DRAWN and outcome.what not in ("died", "hang"):
        place = folder / f"{kind}-{seed}"
        specimen = keep(kind, seed, place)
        print(f"  {', '.join(node.op_type for node in specimen.nodes)}: {place}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
