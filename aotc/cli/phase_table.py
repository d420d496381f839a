"""The phases as `aotc phases` prints them: every row with its condition, or what runs with some options."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from textwrap import wrap
from typing import Any

from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, Phase, When, pipeline_of

_WIDTH = 118


def every_row() -> str:
    """All passes of each phase with the conditions under which they run, and what these mean."""
    lines: list[str] = []
    for phase in PHASES:
        lines.append(_head(phase))
        for when, rows in groupby(phase.rows, lambda row: row.when):
            passes = ", ".join(row.text() for row in rows)
            lines += wrap(f"{_condition(when)}: {passes}", _WIDTH, initial_indent="  ", subsequent_indent="      ")
    lines += ["", *(f"{name}: {sentence}" for name, sentence in _conditions().items())]
    return "\n".join(lines)


def what_runs(asked: CompileOptions) -> str:
    """The pipeline of each phase in a compilation with some options, each on one line."""
    return "\n".join(f"{_head(phase)}\n  {pipeline_of(phase, asked)}".rstrip() for phase in PHASES)


def as_json(asked: CompileOptions | None) -> dict[str, Any]:
    """Both as an object; without options every row."""
    if asked is not None:
        return {"phases": [_described(phase) | {"pipeline": pipeline_of(phase, asked)} for phase in PHASES]}
    rows = {
        phase.name: [{"pass": row.text(), "when": [each.name for each in row.when]} for row in phase.rows]
        for phase in PHASES
    }
    return {"phases": [_described(phase) | {"passes": rows[phase.name]} for phase in PHASES], "when": _conditions()}


def _head(phase: Phase) -> str:
    return f"{phase.name:10} {phase.sentence}"


def _described(phase: Phase) -> dict[str, Any]:
    return {"name": phase.name, "sentence": phase.sentence}


def _condition(when: Sequence[When]) -> str:
    return ", ".join(each.name for each in when) or "always"


def _conditions() -> dict[str, str]:
    """Conditions whose names do not say all, and what they mean."""
    found = dict.fromkeys(when for phase in PHASES for row in phase.rows for when in row.when)
    return {when.name: when.sentence for when in found if when.sentence}
