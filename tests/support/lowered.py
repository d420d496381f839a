"""A model that is compiled under many conventions: what comes before the phase `interface` runs once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from aotc.compiler.driver import Source, lower
from aotc.compiler.lowering import run_phases
from aotc.pipeline.compilation import Compilation, uncollected
from aotc.pipeline.options import CompileOptions


class Lowered:
    """A model after the phase `loops`."""

    def __init__(self, source: Source, **options: Any) -> None:
        self._before = lower(source, CompileOptions.of(**options, stop_after="loops"))

    def under(self, **options: Any) -> Compilation:
        """The model after the last phase, with these options beside those it began with."""
        before = self._before
        chosen = CompileOptions.of(**options, start_at="loops")
        with uncollected():
            found = replace(before, options=chosen, module=before.module.clone(), timings=[])
            run_phases(found)
        return found
