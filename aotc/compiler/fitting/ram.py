"""`--ram` as a goal: layers that are computed row by row are chosen by an estimate of the arena, offsets come later.

Where these need more than was estimated, layers are chosen again for so much less. The fastest program, whose layers
are computed as a whole, and the one for as little as there can be are among those to choose from, too: they may need
less than was estimated. Where the model does not fit then, this is the least RAM that was found, and what that costs is
told by the fastest program. Without a budget this is taken where layers row by row, whose offsets are known then, need
no less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aotc.compiler.fitting.instructions import instructions_of_calls
from aotc.errors import BudgetError, UsageError
from aotc.model.metadata import PlanInfo, RamGoal
from aotc.pipeline.options import ANY_RAM, CompileOptions
from aotc.pipeline.phases import has_phase

if TYPE_CHECKING:
    from aotc.emit.artifacts import Emission

_ROUNDS: Final = 4
"""How often layers are chosen, at most."""


def within_ram(
    options: CompileOptions,
    lowered: Callable[[CompileOptions], Emission],
    planned: Callable[[CompileOptions], PlanInfo],
) -> Emission:
    """The model compiled as `lowered` does it, such that it fits `options.ram`; where that was not found, of the least
    RAM, with what it costs as `ram_goal`. `planned` gives the plan of what `lowered` would."""
    best, allowed = lowered(options), options.ram
    if not (options.rolls and has_phase(options, "fuse")):
        return best
    info, fastest = best.uncompiled, replace(options, chosen_ram=ANY_RAM)
    room = allowed - (info.ram_bytes - info.workspace_bytes) if isinstance(allowed, int) else info.workspace_bytes
    if info.plan.rolls and _peak(fastest, planned) <= room:
        return lowered(fastest)
    if not isinstance(allowed, int):
        return best
    best = _chosen_again(best, allowed, options, lowered)
    if best.uncompiled.ram_bytes > allowed:
        least = lowered(replace(options, ram="min"))
        if least.uncompiled.ram_bytes < best.uncompiled.ram_bytes:
            best = least
    if best.uncompiled.ram_bytes > allowed and not math.isinf(_peak(fastest, planned)):
        plain = lowered(fastest)
        if plain.uncompiled.ram_bytes <= best.uncompiled.ram_bytes:
            return plain
        ratio = _instructions(best) / max(_instructions(plain), 1.0)
        goal = RamGoal(allowed, plain.uncompiled.ram_bytes, round(ratio, 3))
        best.uncompiled = replace(best.uncompiled, ram_goal=goal)
    return best


def _peak(options: CompileOptions, planned: Callable[[CompileOptions], PlanInfo]) -> float:
    """The arena of a program; infinite where pools are too small for it, or it has not the buffers that are to be in
    them."""
    try:
        return planned(options).peak_bytes
    except (BudgetError, UsageError):
        return math.inf


def _chosen_again(
    best: Emission, allowed: int, options: CompileOptions, lowered: Callable[[CompileOptions], Emission]
) -> Emission:
    """The first program that fits, of those for which layers are chosen again; else that of the least RAM."""
    chosen_for, found = allowed, best
    for _ in range(_ROUNDS - 1):
        if best.uncompiled.ram_bytes <= allowed:
            break
        chosen_for = max(chosen_for - (found.uncompiled.ram_bytes - allowed), 1)
        before, found = found, lowered(replace(options, chosen_ram=chosen_for))
        if found.uncompiled.ram_bytes < best.uncompiled.ram_bytes:
            best = found
        if found.uncompiled.plan == before.uncompiled.plan:
            break
    return best


def _instructions(emission: Emission) -> float:
    compilation = emission.compilation
    return sum(instructions_of_calls(compilation.module, compilation.options.target).values())
