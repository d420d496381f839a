"""Tables of measured decisions: `aotc tune` writes them, `choose-algorithms` and `choose-schedule` read them.

A decision belongs to an operation as it stands before it is chosen for (`dialects/graph/schedules.py`). A table is for
one processor and is a JSON file.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from aotc.errors import FileError, UsageError

DIRECT = "direct"
"""The algorithm of an operation that is computed by its own."""


@dataclass
class TuningTable:
    """Decisions as text of attributes, by signature."""

    processor: str = ""
    """For which they were measured."""
    algorithms: dict[str, str] = field(default_factory=dict[str, str])
    """`#graph.winograd<..>`, or DIRECT."""
    schedules: dict[str, str] = field(default_factory=dict[str, str])
    """`#graph.schedule<..>`; the algorithm that was chosen is part of the signature here."""

    @staticmethod
    def read(path: str | Path) -> TuningTable:
        """The table in a file. Raises FileError where it is none."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            return TuningTable(content["processor"], dict(content["algorithms"]), dict(content["schedules"]))
        except OSError as error:
            raise FileError("unusable-file", f"{path} cannot be read", error.strerror or str(error)) from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            fix = "`aotc tune` writes one"
            raise FileError("invalid-file", f"{path} is not a table of decisions", str(error), fix) from error

    def require(self, processor: str) -> None:
        """Raise UsageError where the table was measured on another processor, by LLVM's name."""
        if self.processor not in ("", processor):
            what = f"the table of decisions is for the processor {self.processor}"
            fix = "run `aotc tune` there, or name another"
            raise UsageError("not-this-machine", what, f"this is for {processor}", fix)

    def text(self) -> str:
        """The file's content."""
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"
