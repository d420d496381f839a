"""`aotc link-plan`: the memory that models which never run at the same time have together, as a header of C."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aotc.cli.commands import answer
from aotc.cli.planning import read_metadata
from aotc.errors import Problem, UsageError
from aotc.model.files import write_files
from aotc.model.metadata import ModelInfo


@dataclass(frozen=True)
class Arena:
    """Memory of several models: of a pool, or "", bytes and alignment that are enough for each of these models."""

    pool: str
    size: int
    alignment: int
    models: tuple[str, ...]

    def macro(self, name: str, what: str) -> str:
        """The name of a macro of `name`, a model or what models have together."""
        return f"AOTC_{name.upper()}_{f'POOL_{self.pool.upper()}' if self.pool else 'WORKSPACE'}_{what}"


def link_command(arguments: argparse.Namespace) -> int:
    """`aotc link-plan`. Raises UsageError."""
    name = arguments.name
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise UsageError("invalid-name", f"--name {name}", "it is part of names in C: letters, digits and underscores")
    infos = [read_metadata(Path(each)) for each in arguments.plans]
    arenas = shared_arenas(infos, name)
    apart = sum(info.workspace_bytes for info in infos)
    text = header(arenas, infos, name)
    files: list[str] = []
    if arguments.output is not None:
        target = Path(arguments.output)
        files = [*map(str, write_files(target.parent, {target.name: text}))]
    rows = [
        {"pool": each.pool, "size": each.size, "alignment": each.alignment, "models": list(each.models)}
        for each in arenas
    ]
    together = sum(each.size for each in arenas)
    lines = [
        f"{each.pool or 'arena'} {each.size:,} bytes, alignment {each.alignment}, of {', '.join(each.models)}"
        for each in arenas
    ]
    lines.append(f"together {together:,} bytes, apart {apart:,}")
    totals = {"bytes": together, "apart_bytes": apart, "arenas": rows, "files": files}
    return answer(arguments, totals, lines if files else [*lines, "", *text.splitlines()])


def shared_arenas(infos: Sequence[ModelInfo], name: str) -> list[Arena]:
    """The memory that models have together, in the order in which they name pools. Raises UsageError for those that
    cannot share theirs, and where two, or what they have together, have one `name`."""
    problems: list[Problem] = []
    names = [info.name.upper() for info in infos]
    for info in infos:
        if info.workspace != "caller":
            why, fix = "its workspace is an array of its own", "compile it with --workspace caller"
            problems.append(Problem("unshared-workspace", info.name, why, fix))
        elif info.is_stateful:
            why = "its workspace keeps states, or rows of an input, from one call to the next"
            problems.append(Problem("unshared-workspace", info.name, why, "give it a workspace of its own"))
        if [*names, name.upper()].count(info.name.upper()) > 1:
            why, fix = "two would have macros of this name", "compile one under another --name"
            problems.append(Problem("duplicate-name", info.name, why, fix))
    if problems:
        raise UsageError(list(dict.fromkeys(problems)))
    pools: Mapping[str, list[ModelInfo]] = {}
    for info in infos:
        for pool in info.plan.arenas:
            pools.setdefault(pool, []).append(info)
    return [
        Arena(
            pool,
            max(info.plan.arenas[pool] for info in those),
            max(info.workspace_alignment for info in those),
            tuple(info.name for info in those),
        )
        for pool, those in pools.items()
    ]


def header(arenas: Sequence[Arena], infos: Sequence[ModelInfo], name: str) -> str:
    """Macros of `name` with size and alignment of each arena, and checks that they are enough for the models as they
    are compiled now."""
    guard = f"AOTC_{name.upper()}_H_"
    lines = [
        f"/* Memory of models that never run at the same time: {', '.join(info.name for info in infos)}. */",
        *(f"#ifndef {guard}", f"#define {guard}", ""),
        *(f'#include "{info.name}.h"' for info in infos),
        "",
        "/* SIZE and ALIGNMENT are in bytes: of what each of these models is given as this workspace, or pool. */",
    ]
    for arena in arenas:
        lines += [f"#define {arena.macro(name, what)} {value}" for what, value in _macros(arena)]
    for arena in arenas:
        for model in arena.models:
            alignment = f"AOTC_{model.upper()}_WORKSPACE_ALIGNMENT"
            lines += [
                "",
                f"#if {arena.macro(model, 'SIZE')} > {arena.macro(name, 'SIZE')} \\",
                f"    || {arena.macro(name, 'ALIGNMENT')} % {alignment} != 0",
                f'#error "{model} has been compiled again: aotc link-plan writes this file"',
                "#endif",
            ]
    return "\n".join([*lines, "", f"#endif /* {guard} */", ""])


def _macros(arena: Arena) -> Sequence[tuple[str, int]]:
    return ("SIZE", arena.size), ("ALIGNMENT", arena.alignment)
