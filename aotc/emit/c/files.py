"""The files of a model in C99, from the `interface` phase.

`emit_c` makes them; the target `c` of `aotc-opt` prints the source of any module in that phase, for reading and for
tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from aotc.dialects.aot.contract import weight_offsets
from aotc.emit.c.contents.preamble import head
from aotc.emit.c.contents.unit import THREADS, Part
from aotc.emit.c.header import header_text
from aotc.emit.c.processor_check import supported_text
from aotc.emit.c.source import CSource
from aotc.model.artifacts import Pieces
from aotc.model.files import Content
from aotc.model.metadata import ModelInfo, to_json
from aotc.model.weight_store import WeightStore


def emit_c(
    module: ModuleOp, store: WeightStore, info: ModelInfo, split: bool = False, source: CSource | None = None
) -> dict[str, Content]:
    """The files of a model in the `interface` phase: NAME.c and all of `emit_header`.

    `info` is what `model_info(module)` says. With `split` the operators, which must be exported, are in
    NAME_operators.c; without it a `source` may have some functions already. Raises CompileError with one problem for
    each operation that has no C.
    """
    header = f"{info.name}.h"
    result: dict[str, Content] = {}
    if split:
        operators = CSource(module, store, Part.OPERATORS).text(header)
        result[f"{info.name}_operators.c"] = Pieces(lambda: chain([head(info)], operators))
    if source is None:
        source = CSource(module, store, Part.NETWORK if split else Part.ALL)
    text = source.text(header)
    result[f"{info.name}.c"] = Pieces(lambda: chain([head(info)], text, [supported_text(info)]))
    return result | emit_header(store, info, CSource(module, store) if split else source)


def emit_header(store: WeightStore, info: ModelInfo, source: CSource) -> dict[str, Content]:
    """The files beside the code of a model, be it C or an object: NAME.h, NAME.json, weights that are not embedded.

    `source` is the C of the whole model, printed or not.
    """
    result: dict[str, Content] = {
        f"{info.name}.h": header_text(info, source.exported(), source.descriptors(), source.local_headers),
        f"{info.name}.json": to_json(info),
    }
    needed = source.local_headers
    if THREADS[1] in source.inner_headers:
        needed = [*needed, *THREADS]
    result |= {name: files("aotc.runtime").joinpath(name).read_text() for name in needed}
    if info.weights != "embedded":
        result[f"{info.name}.weights.bin"] = store.blob(weight_offsets(source.module))
    return result


@dataclass(frozen=True)
class CTarget(Target):
    """`aotc-opt -t c`: C source of a module in the `interface` phase."""

    name: ClassVar[str] = "c"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.writelines(CSource(module, WeightStore.of(ctx)).text())
