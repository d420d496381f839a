"""Mutants in words: rows of `mutants.toml`, and generated ones that nothing can notice, of `equivalent.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from .mutant import ROOT, Mutant

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """`old`, once in `file`, becomes `new`; `why` that is wrong, and the nearest `tests`, which see it."""

    file: str
    old: str
    new: str
    why: str
    tests: tuple[str, ...]

    def problem(self) -> str | None:
        """The fault of the row itself, if anything is."""
        missing = [test for test in self.tests if not (ROOT / test.partition("::")[0]).exists()]
        if missing or not self.tests:
            return f"no test {', '.join(missing)}"
        path = ROOT / self.file
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

    def mutant(self) -> Mutant:
        """The mutant of a row that has no problem."""
        place = (ROOT / self.file).read_text().index(self.old)
        return Mutant(f"{self.file}: {self.why}", self.file, place, self.old, self.new, tests=self.tests)


def rows() -> list[Row]:
    """Those of `mutants.toml`, in order."""
    found = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    return [Row(row["file"], row["old"], row["new"], row["why"], tuple(row["tests"])) for row in found]


def equivalents() -> dict[str, str]:
    """The names of generated mutants that nothing can notice, and why."""
    return {row["name"]: row["why"] for row in tomllib.loads((HERE / "equivalent.toml").read_text())["equivalent"]}
