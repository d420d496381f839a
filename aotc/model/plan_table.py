"""`aotc plan`: who lives where in the arena, and when, in as many columns as the terminal has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aotc.model.metadata import PlanInfo

LONGEST_NAME = 28
"""Characters of a node's name that are shown where there is not room for all of it."""


def shortened(name: str, width: int) -> str:
    """`name` in at most `width` characters, the middle left out: both ends of an ONNX name tell something."""
    if len(name) <= width:
        return name
    room = max(width - 1, 1)
    return name[: room - room // 2] + "…" + (name[-(room // 2) :] if room // 2 else "")


def listed(names: Sequence[str], width: int) -> str:
    """Names in one line of at most `width` characters: whole, shortened, or the first of them and how many more."""
    text = ", ".join(names)
    if len(text) <= width:
        return text
    for count in range(len(names), 0, -1):
        more = f" +{len(names) - count}" if count < len(names) else ""
        room = (width - len(more) - 2 * (count - 1)) // count
        if room >= min(LONGEST_NAME, max(map(len, names[:count]))) or count == 1:
            return ", ".join(shortened(name, max(room, 3)) for name in names[:count]) + more
    return ""


def plan_lines(plan: PlanInfo, sizes: Mapping[str, int], width: int | None) -> list[str]:
    """The buffers in the order of the plan, then totals; lines of `width` characters, or as long as they are."""
    rows = [
        (
            buffer.name if width is None else shortened(buffer.name, 20),
            f"{buffer.offset:,}",
            f"{buffer.size:,}",
            "kept" if buffer.kept else f"{buffer.first}-{buffer.last}",
        )
        for buffer in plan.buffers
    ]
    head = ("buffer", "offset", "bytes", "steps")
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(4)]
    lines: list[str] = []
    for row, names in zip((head, *rows), (("nodes",), *(buffer.nodes for buffer in plan.buffers)), strict=True):
        first, *numbers = (
            cell.ljust(size) if column == 0 else cell.rjust(size)
            for column, (cell, size) in enumerate(zip(row, widths, strict=True))
        )
        start = "  ".join((first, *numbers))
        room = None if width is None else max(width - len(start) - 2, 8)
        lines.append(f"{start}  {', '.join(names) if room is None else listed(names, room)}".rstrip())
    verdict = "optimal" if plan.optimal else f"lower bound {plan.lower_bound_bytes:,}"
    lines.append(f"arena {plan.peak_bytes:,} bytes ({verdict}, alignment {plan.alignment})")
    lines.append(", ".join(f"{name.removesuffix('_bytes')} {size:,} bytes" for name, size in sizes.items()))
    return lines
