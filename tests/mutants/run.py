"""Mutation tests: every row of `mutants.toml` breaks one thing, and the tests that it names must notice.

    python tests/mutants/run.py [-k TEXT] [--jobs N]

A copy of the tree gets one mutant at a time; its nearest tests run on it, the shortest first. Prints a line for each
mutant and the totals of each folder. The exit status is 1 where a mutant survives, where the tests fail without any
mutant, or where the old text of a row is not in its file exactly once.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BIN = Path(sys.executable).parent
SECONDS = 300
"""That a test may take without any mutant."""
MEMORY = 4 << 30
"""Bytes of addresses that a test may use: what a mutant repeats for ever must not take all of the machine's memory."""
RESULTS = {True: "caught", False: "SURVIVED", None: "invalid"}


@dataclass(frozen=True)
class Mutant:
    """One row: `old`, once in `file`, becomes `new`; `why` that is wrong, and the nearest `tests`, which see it."""

    file: str
    old: str
    new: str
    why: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {self.why}"

    def problem(self, root: Path = ROOT) -> str | None:
        """What is wrong with the row itself, if anything is."""
        missing = [test for test in self.tests if not (root / test.partition("::")[0]).exists()]
        if missing or not self.tests:
            return f"no test {', '.join(missing)}"
        path = root / self.file
        if not path.exists():
            return "no such file"
        text = path.read_text()
        if text.count(self.old) != 1:
            return f"the old text is there {text.count(self.old)} times"
        try:
            compile(text.replace(self.old, self.new), self.file, "exec")
        except SyntaxError as error:
            return f"the new text is no Python: {error}"
        return None


def mutants() -> list[Mutant]:
    """All rows, in order."""
    rows = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    return [Mutant(row["file"], row["old"], row["new"], row["why"], tuple(row["tests"])) for row in rows]


class Tree:
    """A copy of the sources and tests, compiled, whose files can be changed."""

    def __init__(self, folder: Path) -> None:
        ignored = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", "Output", "build", "*.egg-info")
        shutil.copytree(ROOT, folder, symlinks=True, ignore=ignored)
        self._root = folder
        self._durations: dict[str, float | None] = {}
        found = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "AOTC_CACHE_DIR": ""}
        self._environment = found
        subprocess.run([sys.executable, "-m", "compileall", "-q", "aotc", "dialects", "passes"], cwd=folder, check=True)

    def notices(self, mutant: Mutant) -> bool | None:
        """Whether some test fails with the mutant, the shortest first; None where one fails without it.

        A test that takes much longer than without has noticed, too: a mutant may loop for ever.
        """
        seconds = {test: found for test in mutant.tests if (found := self._duration(test)) is not None}
        if len(seconds) < len(mutant.tests):
            return None
        path = self._root / mutant.file
        text = path.read_text()
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()  # a change within a second that keeps the size would not be seen
        path.write_text(text.replace(mutant.old, mutant.new))
        try:
            tests = sorted(seconds, key=lambda test: seconds[test])
            return not all(self._passes(test, 10 * seconds[test] + 20) for test in tests)
        finally:
            path.write_text(text)

    def _duration(self, test: str) -> float | None:
        """How many seconds a test takes without any mutant; None where it fails."""
        if test not in self._durations:
            start = time.monotonic()
            self._durations[test] = time.monotonic() - start if self._passes(test, SECONDS) else None
        return self._durations[test]

    def _passes(self, test: str, seconds: float) -> bool:
        """Whether a test does within so many seconds; nothing that it started goes on after that."""
        if test.startswith("tests/lit"):
            command = [BIN / "lit", "-q", "-j1", test]
        else:
            command = [BIN / "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
        ended, output = subprocess.DEVNULL, subprocess.DEVNULL
        process = subprocess.Popen(
            command,
            cwd=self._root,
            env=self._environment,
            stdin=ended,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def noticed(trees: Sequence[Tree], rows: Sequence[Mutant]) -> Iterable[bool | None]:
    """`Tree.notices` of each row in turn; as many at a time as there are trees."""
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def run(row: Mutant) -> bool | None:
        tree = free.get()
        try:
            return tree.notices(row)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        yield from pool.map(run, rows)


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-k", default="", metavar="TEXT", help="only mutants whose file or reason has TEXT in it")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many at a time")
    options = parser.parse_args()
    rows = [mutant for mutant in mutants() if options.k in str(mutant)]
    problems = {mutant: problem for mutant in rows if (problem := mutant.problem())}
    for mutant, problem in problems.items():
        print(f"invalid   {mutant}: {problem}")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    totals: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        trees = [Tree(Path(folder) / str(number)) for number in range(max(options.jobs, 1))]
        sound = [mutant for mutant in rows if mutant not in problems]
        for mutant, found in zip(sound, noticed(trees, sound), strict=True):
            result = RESULTS[found]
            totals.setdefault(str(Path(mutant.file).parent), Counter())[result] += 1
            print(f"{result:9} {mutant}{': a test fails without it' if found is None else ''}", flush=True)
    for area, counts in sorted(totals.items()):
        print(f"{area:30} {', '.join(f'{count} {result}' for result, count in counts.items())}")
    counts = sum(totals.values(), Counter(invalid=len(problems)))
    print(f"{len(rows)} mutants: {', '.join(f'{counts[result]} {result}' for result in RESULTS.values())}")
    return 0 if counts["caught"] == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
