"""Mutation tests: every row of `mutants.toml` breaks one thing, and the tests that it names must notice.

    python tests/mutants/run.py [-k TEXT] [--jobs N]

A copy of the tree gets one mutant at a time; its nearest tests run on it, first the lit ones, then those of pytest.
Prints a line for each mutant and the totals. The exit status is 1 where a mutant survives, where the tests fail without
any mutant, or where the old text of a row is not in its file exactly once.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BIN = Path(sys.executable).parent
SECONDS = 300
"""After that long without a result the tests have noticed: a mutant may loop for ever."""


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
        missing = [test for test in self.tests if not (root / test).exists()]
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
        found = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "AOTC_CACHE_DIR": ""}
        self._environment = found
        subprocess.run([sys.executable, "-m", "compileall", "-q", "aotc", "dialects", "passes"], cwd=folder, check=True)

    def passes(self, tests: Sequence[str]) -> bool:
        """Whether all tests do."""
        lit = [test for test in tests if test.startswith("tests/lit")]
        unit = [test for test in tests if not test.startswith("tests/lit")]
        if lit and not self._run(str(BIN / "lit"), "-q", "-j1", *lit):
            return False
        return not unit or self._run(str(BIN / "pytest"), "-q", "-x", "-p", "no:cacheprovider", *unit)

    def notices(self, mutant: Mutant) -> bool:
        """Whether some test fails with the mutant."""
        path = self._root / mutant.file
        text = path.read_text()
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()  # a change within a second that keeps the size would not be seen
        path.write_text(text.replace(mutant.old, mutant.new))
        try:
            return not self.passes(mutant.tests)
        finally:
            path.write_text(text)

    def _run(self, *command: str) -> bool:
        try:
            done = subprocess.run(
                command, cwd=self._root, env=self._environment, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def noticed(trees: Sequence[Tree], rows: Sequence[Mutant]) -> Iterable[bool]:
    """For each row in turn whether some test fails with it; as many at a time as there are trees."""
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def run(row: Mutant) -> bool:
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
    sound = [mutant for mutant in rows if mutant not in problems]
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        trees = [Tree(Path(folder) / str(number)) for number in range(max(options.jobs, 1))]
        tests = list(dict.fromkeys(test for mutant in sound for test in mutant.tests))
        if broken := [test for test in tests if not trees[0].passes([test])]:
            print("without any mutant fail", *broken)
            return 1
        survived = 0
        for mutant, caught in zip(sound, noticed(trees, sound), strict=True):
            survived += not caught
            print(f"{'caught' if caught else 'SURVIVED':9} {mutant}", flush=True)
    print(f"{len(rows)} mutants: {len(sound) - survived} caught, {survived} survived, {len(problems)} invalid")
    return 1 if survived or problems else 0


if __name__ == "__main__":
    sys.exit(main())
