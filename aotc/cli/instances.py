"""`aotc plan FILE.csv`: offsets for buffers with sizes and lifetimes, in the format of MiniMalloc.

A file begins with the names of its columns, among them id, lower, upper and size, in any order: a buffer of `size`
bytes is in use from the time `lower` to before `upper`. Other columns are not read. (M. Moffitt, MiniMalloc: A
Lightweight Memory Allocator for Hardware-Accelerated Machine Learning, ASPLOS 2023.)
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from pathlib import Path

from aotc.cli.commands import answer
from aotc.errors import BudgetError, UsageError
from aotc.model.files import write_files
from aotc.passes.memory.planner.placement import Buffer, Placement, place, search
from aotc.pipeline.entries import parse_size

_COLUMNS = ("id", "lower", "upper", "size")
_STATES = 1 << 16
"""How many states of the skyline are looked at for a capacity."""


def solve_command(arguments: argparse.Namespace) -> int:
    """`aotc plan FILE.csv`. Raises UsageError, BudgetError."""
    path = Path(arguments.model)
    buffers = read_instance(path)
    capacity = None
    if arguments.capacity is not None:
        capacity = parse_size(arguments.capacity, f"--capacity {arguments.capacity}")
    found = place(buffers, alignment=1)
    if capacity is None:
        found = search(buffers, found)
    elif found.peak > capacity:
        found = search(buffers, found, _STATES, enough=capacity)
    if capacity is not None and found.peak > capacity:
        what = f"{path.name} needs {found.peak:,} bytes, --capacity allows {capacity:,}"
        known = "no offsets need less" if found.optimal else f"none need less than {found.lower_bound:,}"
        raise BudgetError("ram-exceeded", what, known)
    files: list[str] = []
    if arguments.output is not None:
        target = Path(arguments.output)
        files = [*map(str, write_files(target.parent, {target.name: _with_offsets(buffers, found)}))]
    rows = [
        {"id": each.name, "lower": each.first, "upper": each.last + 1, "size": each.size, "offset": offset}
        for each, offset in zip(buffers, found.offsets, strict=True)
    ]
    totals = {"peak_bytes": found.peak, "lower_bound_bytes": found.lower_bound, "optimal": found.optimal}
    verdict = "optimal" if found.optimal else f"lower bound {found.lower_bound:,}"
    last = f"arena {found.peak:,} bytes ({verdict}), for {len(buffers)} buffers"
    shown = [] if files else _with_offsets(buffers, found).splitlines()
    return answer(arguments, totals | {"buffers": rows, "files": files}, [*shown, last])


def read_instance(path: Path) -> list[Buffer]:
    """The buffers of a file. Raises UsageError, which says in which line it is wrong."""

    def wrong(line: int, why: str) -> UsageError:
        return UsageError("invalid-file", f"{path}, line {line}", why)

    try:
        rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""), strict=True)
    except UnicodeDecodeError as error:
        raise UsageError("invalid-file", f"{path} is no text", str(error)) from error
    found: list[Buffer] = []
    names: dict[str, int] = {}
    try:
        head = [name.strip() for name in next(rows, [])]
        if missing := [name for name in _COLUMNS if head.count(name) != 1]:
            raise wrong(1, f"it needs one column {missing[0]}, and has {', '.join(head) or 'none'}")
        for row in rows:
            line = rows.line_num
            if not row:
                continue
            if len(row) != len(head):
                raise wrong(line, f"{len(row)} values for {len(head)} columns")
            given = dict(zip(head, row, strict=True))
            for name in _COLUMNS[1:]:
                if not (given[name].isascii() and given[name].strip().isdecimal()):
                    raise wrong(line, f"{name} is {given[name]!r}, no number of 0 or more")
            lower, upper, size = (int(given[name]) for name in _COLUMNS[1:])
            if lower >= upper:
                raise wrong(line, f"the buffer is in use from {lower} to before {upper}")
            if (name := given["id"].strip()) in names:
                raise wrong(line, f"the id {name} is that of line {names[name]}")
            names[name] = line
            found.append(Buffer(name, size, lower, upper - 1))
    except csv.Error as error:
        raise wrong(rows.line_num, str(error)) from error
    if not found:
        raise wrong(rows.line_num, "it has no buffers")
    return found


def _with_offsets(buffers: Sequence[Buffer], found: Placement) -> str:
    """The file with offsets, as MiniMalloc writes it."""
    target = io.StringIO(newline="")
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow((*_COLUMNS, "offset"))
    for each, offset in zip(buffers, found.offsets, strict=True):
        writer.writerow((each.name, each.first, each.last + 1, each.size, offset))
    return target.getvalue()
