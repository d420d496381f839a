"""Decisions of a tuning table, looked up for operations."""

from __future__ import annotations

from typing import Any

from xdsl.context import Context
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from aotc.dialects.graph.interfaces import AnchorOp
from aotc.dialects.graph.schedules import ScheduleAttr, signature
from aotc.errors import FileError
from aotc.machines.tuning_table import DIRECT, TuningTable


def measured_algorithm(table: TuningTable, ctx: Context, op: AnchorOp) -> Attribute | str | None:
    """The algorithm for `op` in the table: DIRECT for its definition, None where the table has no entry."""
    text = table.algorithms.get(signature(op))
    return text if text is None or text == DIRECT else _attribute(ctx, text)


def measured_schedule(table: TuningTable, ctx: Context, op: AnchorOp) -> ScheduleAttr[Any] | None:
    """The schedule for `op` in the table; None where the table has no entry."""
    text = table.schedules.get(signature(op))
    if text is None:
        return None
    attribute = _attribute(ctx, text)
    if not isinstance(attribute, ScheduleAttr):
        raise FileError("invalid-file", f"{text} is not a schedule")
    return attribute


def _attribute(ctx: Context, text: str) -> Attribute:
    try:
        return Parser(ctx, text).parse_attribute()
    except ParseError as error:
        raise FileError("invalid-file", f"{text} is not an attribute", "the table is of another version") from error
