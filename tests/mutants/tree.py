"""A copy of the tree with a process in it that runs tests on mutants (`warm.py`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .mutant import ROOT, Mutant

_IGNORED = (".git", ".venv*", "__pycache__", ".*_cache", "Output", "build", "*.egg-info")


@dataclass(frozen=True)
class Test:
    """A lit file, or a test of pytest by its id, and how many seconds it takes without a mutant."""

    name: str
    seconds: float

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


@dataclass(frozen=True)
class Measured:
    """The functions that a test calls, as `FILE FUNCTION`, its seconds, and whether it passes."""

    seconds: float
    outcome: str
    functions: tuple[str, ...]


class Tree:
    """A copy of the sources and tests, whose files can be changed."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(*_IGNORED))
        self._folder = folder
        self._log = folder.with_suffix(".calls")
        paths = [str(folder), str(folder / "tests" / "support")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONPYCACHEPREFIX": str(folder / "build")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._process = subprocess.Popen(
            [sys.executable, str(folder / "tests" / "mutants" / "warm.py"), str(self._log)],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        ready = self._read()
        self.at_import = frozenset(ready["at_import"])
        self.lit = tuple(ready["lit"])

    def notices(self, mutant: Mutant, tests: Sequence[Test]) -> str | None:
        """Which file of tests fails with the mutant; None where none does.

        A test that takes much longer than without has noticed, too: a mutant may loop for ever. What is computed while
        modules are imported is not changed by new code of a function: then tests start interpreters.
        """
        text = (self._folder / mutant.file).read_text()
        files: dict[str, list[Test]] = {}
        for test in tests:
            files.setdefault(test.file, []).append(test)
        asked = [[[each.name for each in of], sum(each.seconds for each in of) * 10 + 20] for of in files.values()]
        request = {"file": mutant.file, "old": text, "new": mutant.applied(text), "tests": asked}
        found = self._ask(request)
        if found["result"] == "survived" and not found["fresh"] and self._is_early(mutant):
            found = self._ask(request | {"fresh": True})
        return found.get("by", found["result"]).partition("::")[0] if found["result"] != "survived" else None

    def _is_early(self, mutant: Mutant) -> bool:
        return f"{mutant.file} {mutant.function}" in self.at_import

    def measured(self, tests: Sequence[str], seconds: float) -> dict[str, Measured]:
        """The functions that these files of tests call without any mutant, test by test; each kind by itself.

        A file of lit, and all files of pytest together, may take so many seconds.
        """
        self._ask({"tests": [[list(tests), seconds]], "measure": True, "output": f"{self._log}.output"})
        found: dict[str, Measured] = {}
        name, functions = "", set[str]()
        for line in self._log.read_text().splitlines():
            if line.startswith("= "):
                name, functions = line[2:], set()
            elif line.startswith("! ") and name:
                taken, outcome = line[2:].split()
                found[name] = Measured(float(taken), outcome, tuple(sorted(functions)))
                name = ""
            else:
                functions.add(line)
        return found

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process of a tree ended"
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
