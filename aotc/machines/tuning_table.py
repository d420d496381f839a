"""Tables of measured decisions: `aotc tune` writes them, `choose-algorithms` and `choose-schedule` read them.

A decision belongs to an operation as it stands before it is chosen for: operator, attributes, types, which operands are
constants. A table is for one processor and is a JSON file.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from xdsl.context import Context
from xdsl.ir import Attribute, OpResult
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from aotc.dialects.graph.interfaces import AnchorOp
from aotc.dialects.graph.schedules import ScheduleAttr
from aotc.dialects.graph.structure import ConstantOp
from aotc.errors import FileError, Problem

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
            raise FileError(Problem(f"{path} cannot be read", why=error.strerror or str(error))) from error
        except (ValueError, TypeError, KeyError) as error:
            fix = "`aotc tune` writes one"
            raise FileError(Problem(f"{path} is no table of decisions", why=str(error), fix=fix)) from error

    def text(self) -> str:
        """The file's content."""
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"

    def algorithm_of(self, ctx: Context, op: AnchorOp) -> Attribute | str | None:
        """The algorithm to compute `op` by, DIRECT for its own, None where the table does not say."""
        text = self.algorithms.get(signature(op))
        return text if text is None or text == DIRECT else _attribute(ctx, text)

    def schedule_of(self, ctx: Context, op: AnchorOp) -> ScheduleAttr | None:
        """The schedule to follow for `op`, None where the table does not say."""
        text = self.schedules.get(signature(op))
        if text is None:
            return None
        attribute = _attribute(ctx, text)
        if not isinstance(attribute, ScheduleAttr):
            raise FileError(Problem(f"{text} is no schedule"))
        return attribute


def signature(op: AnchorOp, algorithm: Attribute | None = None) -> str:
    """What decides how fast `op` is: everything but the names of its operands and the values of constants.

    `algorithm` is that of `op` where it does not say so itself."""
    attributes = dict(sorted(op.properties.items()))
    if (algorithm := op.attributes.get(AnchorOp.ALGORITHM, algorithm)) is not None:
        attributes[AnchorOp.ALGORITHM] = algorithm
    operands = (
        ("constant " if isinstance(value, OpResult) and isinstance(value.op, ConstantOp) else "") + str(value.type)
        for value in op.operands
    )
    listed = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    results = ", ".join(str(result.type) for result in op.results)
    return f"{op.name} {{{listed}}} : ({', '.join(operands)}) -> ({results})"


def _attribute(ctx: Context, text: str) -> Attribute:
    try:
        return Parser(ctx, text).parse_attribute()
    except ParseError as error:
        raise FileError(Problem(f"{text} is no attribute", why="the table is of another version")) from error
