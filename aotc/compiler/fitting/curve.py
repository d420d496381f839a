"""The programs of a model from the fastest to that of the least RAM: each needs less than the one before, and costs
more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aotc.compiler.fitting.instructions import instructions_of_calls
from aotc.machines.targets import machine_of
from aotc.model.metadata import ModelInfo, PlanInfo
from aotc.pipeline.options import ANY_RAM, CompileOptions

if TYPE_CHECKING:
    from aotc.emit.artifacts import Emission


@dataclass(frozen=True)
class Point:
    """A program: the bytes of RAM for which `--ram` gives it, arena, inputs and outputs; of flash, where that is
    known; its instructions, by an estimate, on cores without vectors; and by what means it needs no more RAM."""

    ram_bytes: int
    flash_bytes: int | None
    instructions: int | None
    means: tuple[str, ...]


def curve(
    options: CompileOptions,
    compiled: Callable[[CompileOptions], Emission],
    planned: Callable[[CompileOptions], PlanInfo],
) -> list[Point]:
    """The points of a model, the fastest first. `compiled` gives a program for `options.ram`, and `planned` the plan of
    what is chosen for it at once."""
    emission = compiled(replace(options, ram=ANY_RAM))
    found = [_point(emission, emission.info.ram_bytes)]
    while replace(options, ram=1).rolls:
        budget = found[-1].ram_bytes - 1
        emission = compiled(replace(options, ram=budget))
        needed = emission.info.ram_bytes
        if needed > budget:
            break
        if planned(replace(options, ram=needed)) != emission.info.plan:  # another may be chosen for what it needs
            other = compiled(replace(options, ram=needed))
            if other.info.ram_bytes <= needed:
                emission = other
            else:
                needed = budget
        found.append(_point(emission, needed))
    costs = [point.instructions for point in found]
    return [
        point
        for number, point in enumerate(found)
        if not any(cost is not None and cost <= (point.instructions or 0) for cost in costs[number + 1 :])
    ]


def _point(emission: Emission, ram: int) -> Point:
    info, options = emission.info, emission.compilation.options
    count = None
    if machine_of(options.target) is None:
        count = round(sum(instructions_of_calls(emission.compilation.module, options.target).values()))
    return Point(ram, None if info.footprint is None else info.footprint.flash_bytes, count, _means(info))


def _means(info: ModelInfo) -> tuple[str, ...]:
    plan = info.plan
    rolled = [len(roll.layers) for roll in plan.rolls]
    counts = {
        f"{' + '.join(map(str, rolled))} layer{'s' * (rolled != [1])} row by row": sum(rolled),
        f"{(places := sum(len(task.in_place) for task in plan.tasks))} in place": places,
        f"{(trails := sum(len(task.trails) for task in plan.tasks))} behind what they read": trails,
        f"{(lent := sum(each.name != each.output for each in plan.outputs))} in outputs": lent,
        "another order": plan.reordered,
        f"{(fixed := sum(each.channels for each in info.folded_channels))} channels not computed": fixed,
    }
    return tuple(text for text, count in counts.items() if count)
