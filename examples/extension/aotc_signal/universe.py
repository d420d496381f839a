"""Passes and operators of this package, found through entry points (see pyproject.toml)."""

from __future__ import annotations

from typing import Any

from xdsl.universe import Universe


def _dialect() -> Any:
    from aotc_signal.dialect import SIGNAL

    return SIGNAL


def _drop_idle_preemphasis() -> Any:
    from aotc_signal.drop_idle_preemphasis import DropIdlePreemphasisPass

    return DropIdlePreemphasisPass


UNIVERSE = Universe(
    all_dialects={"signal": _dialect},
    all_passes={"drop-idle-preemphasis": _drop_idle_preemphasis},
)

GRAPH_PIPELINE = "drop-idle-preemphasis"
"""Runs at the end of aotc's `graph` phase."""
