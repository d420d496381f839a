"""`aotc plan`: who lives where in the arena, and when, in as many columns as the terminal has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aotc.model.metadata import FoldedChannels, PlanInfo

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


def plan_lines(
    plan: PlanInfo, sizes: Mapping[str, int], width: int | None, folded: Sequence[FoldedChannels] = ()
) -> list[str]:
    """The buffers in the order of the plan, by what means they take so little, channels that are `folded` among them,
    then totals; lines of `width` characters, or as long as they are."""
    rows = [
        (
            buffer.name if width is None else shortened(buffer.name, 20),
            *((buffer.pool,) if plan.pools else ()),
            f"{buffer.offset:,}",
            f"{buffer.size:,}",
            "kept" if buffer.kept else f"{buffer.first}-{buffer.last}",
        )
        for buffer in plan.buffers
    ]
    head = ("buffer", *(("pool",) if plan.pools else ()), "offset", "bytes", "tasks")
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines: list[str] = []
    for row, names in zip((head, *rows), (("nodes",), *(buffer.nodes for buffer in plan.buffers)), strict=True):
        first, *numbers = (
            cell.ljust(size) if column < len(head) - 3 else cell.rjust(size)
            for column, (cell, size) in enumerate(zip(row, widths, strict=True))
        )
        start = "  ".join((first, *numbers))
        room = None if width is None else max(width - len(start) - 2, 8)
        lines.append(f"{start}  {', '.join(names) if room is None else listed(names, room)}".rstrip())
    means = (*_means(plan), *(f"not computed: {each.channels} of {each.of} channels of {each.node}" for each in folded))
    lines += means if width is None else [shortened(line, width) for line in means]
    for name, size, bound, there in (
        *((f"pool {each.name}", each.peak_bytes, each.lower_bound_bytes, each.size) for each in plan.pools),
        *(() if plan.pools else (("arena", plan.peak_bytes, plan.lower_bound_bytes, None),)),
    ):
        verdict = "optimal" if size == bound else f"lower bound {bound:,}"
        of = "" if there is None else f" of {there:,}"
        lines.append(f"{name} {size:,}{of} bytes ({verdict}, alignment {plan.alignment})")
    lines.append(", ".join(f"{name.removesuffix('_bytes')} {size:,} bytes" for name, size in sizes.items()))
    return lines


def _means(plan: PlanInfo) -> Iterator[str]:
    """By what means buffers take less memory than one each for all values."""
    for roll in plan.rolls:
        size = sum(ring.rows * ring.row_bytes for ring in roll.rings)
        layers = "1 layer" if len(roll.layers) == 1 else f"{len(roll.layers)} layers"
        yield f"row by row: {layers} in task {roll.task}, rings of {size:,} bytes"
        for ring in roll.rings:
            rows = f"{ring.rows} of {ring.of} rows of {ring.row_bytes:,} bytes"
            yield f"  {rows} of {ring.node}, in the buffer {ring.buffer}"
    buffers = (*plan.buffers, *plan.outputs)
    for number, task in enumerate(plan.tasks):
        for place in task.in_place:
            name = buffers[plan.values[task.writes[place].value].buffer].name
            yield f"in place: task {number}, in the buffer {name}"
        for trail in task.trails:
            over, under = (plan.buffers[plan.values[n].buffer] for n in (trail.read, task.writes[trail.write].value))
            apart = under.offset >= over.offset + over.size or over.offset >= under.offset + under.size
            if under.pool == over.pool and not apart:
                yield f"overlapping: task {number} writes {under.name} where it has read {over.name}"
    for each in plan.outputs:
        if each.name != each.output:
            yield f"in the memory of {each.output}: {each.name}, {each.size:,} bytes, tasks {each.first}-{each.last}"
    if (total := sum(each.size for each in plan.buffers)) > plan.peak_bytes:
        yield f"shared memory: {len(plan.buffers)} buffers of {total:,} bytes in {plan.peak_bytes:,}"
    if plan.reordered:
        yield "order: not that of the model, which takes more memory"
