"""The definition of a mutant."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutant:
    """One change of one file: `old`, at character `place`, becomes `new`.

    `name` is unique, and the same as long as the function is. `function` is the outermost one, as `Class.method`, empty
    where the change is in none. `tests` must notice it; where there are none, the nearest are looked for.
    """

    name: str
    file: str
    place: int
    old: str
    new: str
    function: str = ""
    tests: tuple[str, ...] = ()

    def applied(self, text: str) -> str:
        """The text of the file with the change."""
        assert text.startswith(self.old, self.place), f"{self.name}: another text"
        return text[: self.place] + self.new + text[self.place + len(self.old) :]

    def difference(self) -> str:
        """Lines of the change, as `diff` shows them."""
        text = (ROOT / self.file).read_text()
        before, after = text.splitlines(keepends=True), self.applied(text).splitlines(keepends=True)
        return "".join(difflib.unified_diff(before, after, self.file, self.file, n=1))
