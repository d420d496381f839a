"""How a kernel is computed on vector registers: one attribute, chosen by `choose-schedule`, obeyed by `tiled_loops`.

An operation (or, where a kernel has no anchor, its function) without a schedule is computed by plain loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from aotc.machines.machine import Machine as Machine

Order: TypeAlias = Literal["rows", "columns"]


@dataclass(frozen=True)
class Schedule:
    """The decisions for one kernel."""

    lanes: int
    """Elements of a vector register."""
    tile: tuple[int, ...] = (1,)
    """Registers of the tile: (rows, columns) of a contraction, (parts, rows, registers) of normalisations along the
    lanes, (registers,) of everything else, also of convolutions that sum along the lanes (see `narrow`)."""
    unroll: int = 1
    """Steps of the innermost reduction in one iteration of its loop."""
    order: Order = "columns"
    """Which loop over tiles is outermost: over columns (a panel of the weight stays near) or over rows."""
    prefetch: bool = False
    """Ask for the next panel of the weight while computing with this one."""


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """`#graph.schedule<lanes = 16, tile = [14, 2], unroll = 4, order = columns, prefetch>`."""

    name = "graph.schedule"
    lanes: IntAttr
    tile: ArrayAttr[IntAttr]
    unroll: IntAttr
    order: StringAttr
    prefetch: IntAttr

    KEY: ClassVar[str] = "schedule"
    """The attribute's name on operations."""
    FUNCTION_KEY: ClassVar[str] = "aot.schedule"
    """The attribute's name on kernels without an anchor."""

    @staticmethod
    def of(schedule: Schedule) -> ScheduleAttr:
        """The attribute that says `schedule`."""
        return ScheduleAttr(
            IntAttr(schedule.lanes),
            ArrayAttr([IntAttr(count) for count in schedule.tile]),
            IntAttr(schedule.unroll),
            StringAttr(schedule.order),
            IntAttr(int(schedule.prefetch)),
        )

    @property
    def value(self) -> Schedule:
        """What the attribute says."""
        tile = tuple(count.data for count in self.tile)
        order = cast(Order, self.order.data)
        return Schedule(self.lanes.data, tile, self.unroll.data, order, bool(self.prefetch.data))

    def verify(self) -> None:
        if self.lanes.data < 1 or self.unroll.data < 1 or any(count.data < 1 for count in self.tile):
            raise VerifyException("lanes, tile and unroll are positive")
        if self.order.data not in ("rows", "columns"):
            raise VerifyException(f"the order is rows or columns, found {self.order.data}")

    def print_parameters(self, printer: Printer) -> None:
        tile = ", ".join(str(count.data) for count in self.tile)
        text = f"<lanes = {self.lanes.data}, tile = [{tile}], unroll = {self.unroll.data}, order = {self.order.data}"
        printer.print_string(text + (", prefetch>" if self.prefetch.data else ">"))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            lanes = _number(parser, "lanes")
            parser.parse_punctuation(",")
            parser.parse_keyword("tile")
            parser.parse_punctuation("=")
            tile = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            parser.parse_punctuation(",")
            unroll = _number(parser, "unroll")
            parser.parse_punctuation(",")
            parser.parse_keyword("order")
            parser.parse_punctuation("=")
            order = parser.parse_identifier()
            prefetch = parser.parse_optional_punctuation(",") is not None
            if prefetch:
                parser.parse_keyword("prefetch")
        tiles = ArrayAttr([IntAttr(count) for count in tile])
        return [IntAttr(lanes), tiles, IntAttr(unroll), StringAttr(order), IntAttr(int(prefetch))]


def _number(parser: AttrParser, name: str) -> int:
    parser.parse_keyword(name)
    parser.parse_punctuation("=")
    return parser.parse_integer()


def schedule_of(op: Operation, key: str = ScheduleAttr.KEY) -> Schedule | None:
    """The schedule on an operation (with `FUNCTION_KEY`: on a kernel), if it has one."""
    attribute = op.attributes.get(key)
    return attribute.value if isinstance(attribute, ScheduleAttr) else None
