"""A model on its way through the phases: what the driver hands to emitters and executor."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PassTiming

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from aotc.model.metadata import ModelInfo, Origin
    from aotc.model.weight_store import WeightStore
    from aotc.pipeline.portions import Portions


@dataclass
class Compilation:
    """A model on its way: the module as of `phase`, its weights, and how long each pass took."""

    options: CompileOptions
    ctx: Context
    module: ModuleOp
    store: WeightStore
    phase: str
    timings: list[PassTiming] = field(default_factory=list[PassTiming])
    portions: Portions | None = None
    """The parts of the module that are compiled apart, if it is more than one."""
    origin: Origin | None = None
    """Where the model comes from, for what is written."""

    @property
    def name(self) -> str:
        """The model's name as part of C identifiers."""
        from aotc.dialects.aot.contract import model_name

        return model_name(self.module)

    def info(self) -> ModelInfo:
        """The metadata of the compiled model; only after the last phase."""
        from aotc.pipeline.model_info import model_info

        return replace(model_info(self.module), origin=self.origin)


@contextmanager
def uncollected() -> Generator[None]:
    """Without garbage collection: IR is full of cycles and nearly all of it lives to the end, so walking over it again
    and again takes a quarter of the time and frees next to nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
