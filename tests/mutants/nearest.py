"""The tests nearest to a mutant: those that call its function, those of its file's name and the shortest first.

All files of lit are looked at; of pytest, where those do not notice, files that have the name (`test_NAME.py`) or
import the module, else those of the folders of `FOLDERS`, and those of the folders of `BESIDE`. What a test calls is
measured once, and kept in `build/mutants`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock

from .mutant import ROOT, Mutant
from .tree import Measured, Test, Tree

KEPT = ROOT / "build" / "mutants" / "calls.json"
SECONDS, LEAST = 60.0, 12
"""How long the tests of one mutant may take; so many of the nearest run whatever they take."""
MEASURING = 120.0
"""How long a file of pytest is measured: of a longer one its first tests are known."""
FOLDERS = {
    "aotc/frontend/onnx/importers": ("tests/unit/frontend", "tests/conformance"),
    "aotc/machines/expansions": ("tests/unit/kernel/integers",),
    "aotc/runtime": ("tests/unit/runtime",),
    "passes/kernel": ("tests/unit/kernel",),
    "passes/loops": ("tests/unit/kernel",),
    "passes/lower": ("tests/unit/emit/llvm",),
    "passes/integers": ("tests/unit/kernel/integers",),
}
"""Where tests are of whatever is in a folder."""
BESIDE = {"passes/kernel/nests": "tests/unit/kernel/nests"}
"""Where tests of one table are of all that is in a folder, which no file names."""


class Nearest:
    """Functions that each test calls, as far as it was asked for."""

    def __init__(self, lit: Sequence[str]) -> None:
        self._lit = list(lit)
        self._units = sorted(path for path in (ROOT / "tests").rglob("test_*.py") if "embedded" not in path.parts)
        self._past: dict[str, dict[str, Measured]] = {}
        self._digests: dict[str, str] = {}
        self._old: set[str] = set()
        self._lock = Lock()
        self.failing: set[str] = set()
        self._read()

    def tests(self, mutant: Mutant, tree: Tree) -> Iterator[list[Test]]:
        """Several at a time, the nearest first: of lit, which is quick, then of each file of pytest."""
        if mutant.tests:
            yield self._named(mutant, tree)
        elif mutant.file.endswith(".c"):
            yield self._of_c(tree, mutant)
        else:
            yield self._near(tree, mutant, self._lit)
            for file in sorted(self._candidates(mutant), key=lambda each: each not in self._past):
                yield self._near(tree, mutant, [file])

    def _near(self, tree: Tree, mutant: Mutant, files: list[str]) -> list[Test]:
        with self._lock:
            self._measure(tree, files)
            found = self._calling(f"{mutant.file} {mutant.function}", files)
            if not found and (
                old := [file for file in files if file in self._old and self._reaches(file, mutant.file)]
            ):
                for file in old:
                    del self._past[file]
                self._measure(tree, old)
                found = self._calling(f"{mutant.file} {mutant.function}", files)
        stem = Path(mutant.file).stem
        found.sort(key=lambda test: (not _is_named(test, stem), test.seconds, test.name))
        return _within(found, SECONDS)

    def _calling(self, function: str, files: Iterable[str]) -> list[Test]:
        return [
            Test(name, measured.seconds)
            for file in files
            for name, measured in self._past[file].items()
            if function in measured.functions and measured.outcome == "ok"
        ]

    def _reaches(self, test: str, file: str) -> bool:
        """Whether a test calls some function of a file: then a function that is new in it may be called, too."""
        prefix = f"{file} "
        return any(name.startswith(prefix) for each in self._past[test].values() for name in each.functions)

    def _named(self, mutant: Mutant, tree: Tree) -> list[Test]:
        """The tests of a row, which it names."""
        lit = [path for path in self._lit if any(_is_of(path, each) for each in mutant.tests)]
        with self._lock:
            self._measure(tree, [*lit, *(each for each in mutant.tests if not each.startswith("tests/lit"))])
        seconds = {name: each.seconds for of in self._past.values() for name, each in of.items()}
        of = {each: [name for name in seconds if _is_of(name, each)] for each in mutant.tests}
        return sorted(
            (Test(each, sum(map(seconds.__getitem__, of[each]))) for each in of), key=lambda test: test.seconds
        )

    def _of_c(self, tree: Tree, mutant: Mutant) -> list[Test]:
        """Those of the C runtime, which no trace of Python sees: by files that name the source, or take all of them."""
        folder = [str(path.relative_to(ROOT)) for path in self._units if FOLDERS["aotc/runtime"][0] in str(path)]
        with self._lock:
            self._measure(tree, folder)
        name = Path(mutant.file).name
        near = [file for file in folder if name in (text := (ROOT / file).read_text()) or "*SOURCES" in text]
        found = [
            Test(test, each.seconds) for file in near for test, each in self._past[file].items() if each.outcome == "ok"
        ]
        return sorted(found, key=lambda test: (test.seconds, test.name))

    def _candidates(self, mutant: Mutant) -> list[str]:
        """Files of pytest."""
        stem = Path(mutant.file).stem
        module, package = _module(mutant.file), _module(str(Path(mutant.file).parent))
        imports = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{stem}\b")
        found = [path for path in self._units if path.stem == f"test_{stem}" or imports.search(path.read_text())]
        if not found:
            near = [folder for of, folders in FOLDERS.items() if mutant.file.startswith(of) for folder in folders]
            found = [path for folder in near for path in self._units if (ROOT / folder) in path.parents]
        beside = [folder for of, folder in BESIDE.items() if mutant.file.startswith(of)]
        found += [path for folder in beside for path in self._units if (ROOT / folder) in path.parents]
        return list(dict.fromkeys(str(path.relative_to(ROOT)) for path in found))

    def _measure(self, tree: Tree, files: Iterable[str]) -> None:
        """Measure these files, or tests of files, as far as it is not known."""
        missing = [file for file in files if file not in self._past]
        lit = [file for file in missing if file.startswith("tests/lit")]
        for group in ([lit] if lit else []) + [[file] for file in missing if file not in lit]:
            print(f"measured  {group[0] if len(group) == 1 else f'{len(group)} files of lit'}", flush=True)
            found = tree.measured(group, MEASURING)
            for file in group:
                self._past[file] = {name: each for name, each in found.items() if _is_of(name, file)}
                self._digests[file] = _digest(file)
            self._write()
        self._old.difference_update(missing)
        for file in missing:
            self.failing |= {name for name, each in self._past[file].items() if each.outcome == "failed"}

    def _read(self) -> None:
        """Measurements of files that have not changed, nor what they call changed its name."""
        if not KEPT.exists():
            return
        known: dict[str, bool] = {}
        for file, (digest, tests) in json.loads(KEPT.read_text()).items():
            if digest == _digest(file):
                measured = {name: Measured(each[0], each[1], tuple(each[2])) for name, each in tests.items()}
                names = {function for each in measured.values() for function in each.functions}
                if all(_exists(name.partition(" ")[0], known) for name in names):
                    self._past[file], self._digests[file] = measured, digest
                    self._old.add(file)

    def _write(self) -> None:
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        kept = {
            file: (self._digests[file], {name: (m.seconds, m.outcome, m.functions) for name, m in of.items()})
            for file, of in self._past.items()
        }
        KEPT.write_text(json.dumps(kept))


def _exists(file: str, known: dict[str, bool]) -> bool:
    if file not in known:
        known[file] = (ROOT / file).exists()
    return known[file]


def _digest(file: str) -> str:
    """Of the text of a file of tests; none where it is gone."""
    path = ROOT / file.partition("::")[0]
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _is_of(test: str, several: str) -> bool:
    """Whether a test is one of those of a folder or file, or of a function with parameters."""
    return test == several or test.startswith((f"{several}/", f"{several}::", f"{several}["))


def _module(file: str) -> str:
    """`aotc.passes.NAME` of passes/NAME.py."""
    name = file.removesuffix(".py").replace("/", ".")
    return name if name.startswith("aotc.") else f"aotc.{name}"


def _is_named(test: Test, stem: str) -> bool:
    """Whether a test's file, or its folder, begins with the name of a file of the sources."""
    return any(part.removeprefix("test_").replace("-", "_").startswith(stem) for part in Path(test.file).parts)


def _within(tests: list[Test], seconds: float) -> list[Test]:
    """The first that take so long together."""
    found: list[Test] = []
    for test in tests:
        seconds -= test.seconds
        if len(found) >= LEAST and seconds < 0:
            break
        found.append(test)
    return found
