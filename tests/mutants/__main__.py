"""Break the sources in one place after the other, and see whether the nearest tests notice.

    PYTHONPATH=tests python -m mutants [--count N] [--seed N] [--all] [--both-ways] [-k TEXT] [--jobs N]

Mutants are generated (`generate.py`, `generate_c.py`), or rows of `mutants.toml`. Prints a line for each of a sample,
the change of each that survives, and the totals of folders. The exit status is 1 where one survives, or where a test
fails without any.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from . import generate, generate_c
from .mutant import Mutant
from .nearest import Nearest
from .rows import equivalents, rows
from .tree import Test, Tree

CAUGHT, SURVIVED, UNREACHED = "caught", "survived", "unreached"


def mutants(both_ways: bool = False) -> list[Mutant]:
    """All, but those that nothing can notice. Guards are negated, or `both_ways` are taken."""
    known = equivalents()
    made = [*generate.generated(both_ways=both_ways), *generate_c.generated(both_ways=both_ways)]
    return [*(row.mutant() for row in rows()), *(mutant for mutant in made if mutant.name not in known)]


def chosen(found: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """So many of them, those of a file together. Which it is, each decides by its name: others may come and go."""
    by_chance = sorted(found, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())
    return sorted(by_chance[:count], key=lambda mutant: (mutant.file, mutant.place))


class Run:
    """Some mutants on some trees."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._trees: SimpleQueue[Tree] = SimpleQueue()
        self._all = [Tree(folder / str(number)) for number in range(jobs)]
        for tree in self._all:
            self._trees.put(tree)
        self._nearest = Nearest(self._all[0].lit)
        self._jobs = jobs

    @property
    def failing(self) -> list[str]:
        """Tests that fail without any mutant, as far as they were looked at."""
        return sorted(self._nearest.failing)

    def results(self, found: Sequence[Mutant]) -> Iterable[tuple[str, str]]:
        """Of each mutant its result, and the tests that say so."""
        with ThreadPoolExecutor(self._jobs) as pool:
            yield from pool.map(self._result, found)

    def _result(self, mutant: Mutant) -> tuple[str, str]:
        tree = self._trees.get()
        looked: list[Test] = []
        try:
            for tests in self._nearest.tests(mutant, tree):
                if tests and (by := tree.notices(mutant, tests)) is not None:
                    return CAUGHT, by
                looked += tests
        finally:
            self._trees.put(tree)
        files = list(dict.fromkeys(test.file for test in looked))
        return (SURVIVED, f"{len(looked)} tests of {', '.join(files)}") if looked else (UNREACHED, "no test calls it")

    def close(self) -> None:
        """End the processes."""
        for tree in self._all:
            tree.close()


def main() -> int:
    """See the module."""
    options = _options()
    broken = {row: problem for row in rows() if (problem := row.problem())}
    for row, problem in broken.items():
        print(f"invalid   {row.file}: {row.why}: {problem}")
    if broken:
        return 1
    everything = mutants(options.both_ways)
    matching = [mutant for mutant in everything if options.k in mutant.name]
    sample = chosen(matching, len(matching) if options.all else options.count, options.seed)
    print(f"{len(sample)} of {len(matching)} mutants, SEED={options.seed}", flush=True)
    if options.list:
        print(*(mutant.name for mutant in sample), sep="\n")
        return 0
    totals: dict[str, Counter[str]] = {}
    survivors: list[tuple[Mutant, str]] = []
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        run = Run(Path(folder), max(options.jobs, 1))
        for mutant, (result, by) in zip(sample, run.results(sample), strict=True):
            totals.setdefault(str(Path(mutant.file).parent), Counter())[result] += 1
            print(f"{result:9} {mutant.name}  [{by}]" if result == CAUGHT else f"{result:9} {mutant.name}", flush=True)
            if result != CAUGHT:
                survivors.append((mutant, by))
        failing = run.failing
        run.close()
    _report(totals, survivors, failing)
    counts = sum(totals.values(), Counter())
    said = ", ".join(f"{counts[result]} {result}" for result in (CAUGHT, SURVIVED, UNREACHED))
    print(f"{len(sample)} of {len(everything)} mutants in {time.monotonic() - start:.0f} s: {said}")
    return 0 if counts[CAUGHT] == len(sample) and not failing else 1


def _report(totals: dict[str, Counter[str]], survivors: list[tuple[Mutant, str]], failing: list[str]) -> None:
    for mutant, by in survivors:
        print(f"\n{mutant.name}\n  {by}\n{mutant.difference()}", end="")
    print()
    for area, counts in sorted(totals.items()):
        print(f"{area:40} {', '.join(f'{count} {result}' for result, count in sorted(counts.items()))}")
    for test in failing:
        print(f"fails without any mutant: {test}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-k", default="", metavar="TEXT", help="only mutants whose name has TEXT in it")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="how many")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), metavar="N", help="which")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--both-ways", action="store_true", help="guards always hold, and never: two for one negated")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many at a time")
    parser.add_argument("--list", action="store_true", help="their names, nothing else")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
