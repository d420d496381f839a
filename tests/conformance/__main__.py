"""`python -m tests.conformance`: the onnx package's cases, compiled in process, run and compared.

    python -m tests.conformance --summary
    python -m tests.conformance --route c --pattern 'test_conv.*'
    python -m tests.conformance --executor vm --control-flow

The last line is `N passed, N failed, N skipped`: skipped are those of `node_suite/expected_failures.toml`, each with
its reason; one of these that passes has failed. The exit code is 1 if any has failed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from node_suite.cases import KINDS, Case, load_cases
from node_suite.outcomes import Outcome, Route, outcome


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__.partition("\n")[0])
    parser.add_argument("--summary", action="store_true", help="only how many, and why the others do not pass")
    parser.add_argument("--json", action="store_true", help="the outcomes as JSON")
    parser.add_argument("--route", choices=("jit", "c"), default="jit", help="LLVM in process, or C and a C compiler")
    parser.add_argument("-O", dest="optimize", default="2", help="the level (default: 2, as users get it)")
    parser.add_argument("--target", help="as of `aotc compile`; it must run on this machine")
    parser.add_argument("--executor", choices=("aot", "vm"), default="aot", help="vm: by both, with equal bits")
    parser.add_argument("--control-flow", action="store_true", help="only models with If, Loop or Scan")
    parser.add_argument("--kind", action="append", choices=KINDS, help="groups of cases (default: node)")
    parser.add_argument("--pattern", default="", help="only cases whose names have this pattern")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args(arguments)
    cases = [case for case in load_cases(chosen.kind or KINDS[:1]) if re.search(chosen.pattern, case.name)]
    cases = [case for case in cases if case.has_control_flow or not chosen.control_flow]
    route = Route(chosen.route, chosen.optimize, chosen.target, chosen.executor)
    outcomes: list[Outcome] = []
    for each in _outcomes(cases, route, chosen.jobs):
        outcomes.append(each)
        if not (chosen.json or chosen.summary):
            print(f"{each.status:8} {each.name}  {each.reason}".rstrip())
    counts = Counter(each.status for each in outcomes)
    if chosen.json:
        print(json.dumps({"counts": counts, "outcomes": [asdict(each) for each in outcomes]}, indent=1))
        return 1 if counts["failed"] else 0
    _report(outcomes)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


def _outcomes(cases: Sequence[Case], route: Route, jobs: int) -> Iterator[Outcome]:
    """In the order of the cases; each process loads them itself, since they are not sent."""
    if jobs == 1:
        yield from map(partial(_quietly, route), cases)
        return
    kinds = tuple(dict.fromkeys(case.kind for case in cases))
    with ProcessPoolExecutor(jobs, initializer=_load, initargs=(kinds,)) as pool:
        yield from pool.map(_of_name, ((route, case.kind, case.name) for case in cases), chunksize=8)


_LOADED: dict[tuple[str, str], Case] = {}


def _load(kinds: tuple[str, ...]) -> None:
    _LOADED.update({(case.kind, case.name): case for case in load_cases(kinds)})


def _of_name(asked: tuple[Route, str, str]) -> Outcome:
    route, kind, name = asked
    return _quietly(route, _LOADED[kind, name])


def _quietly(route: Route, case: Case) -> Outcome:
    """Warnings of the compiler are of no interest here."""
    with open(os.devnull, "w") as nothing, contextlib.redirect_stderr(nothing):
        return outcome(case, route)


def _report(outcomes: Iterable[Outcome]) -> None:
    found = list(outcomes)
    for status in ("skipped", "failed"):
        reasons = Counter(each.reason for each in found if each.status == status)
        for reason, count in reasons.most_common():
            first = next(each.name for each in found if each.status == status and each.reason == reason)
            print(f"{status} {count:4}  {reason}  [{first}]")
    passed = [each for each in found if each.status == "passed"]
    print(f"with constants: {sum(bool(each.constants) for each in passed)} of those that passed were given inputs")
    print(f"departing: {sum(each.departs for each in passed)} give onnxruntime's outputs and not the recorded ones")


if __name__ == "__main__":
    sys.exit(main())
