"""The files of a model in C99, from the `interface` phase.

`emit_c` makes them; the target `c` of `aotc-opt` prints the source of any module in that phase, for reading and for
tests.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from aotc.emit.c.source import CSource
from aotc.machines.features import HWCAP, HWCAP2, Feature, checks, rows_of
from aotc.model.artifacts import Pieces
from aotc.model.conventions import supported_symbol
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


# --- whether the processor has what the model's target has -----------------------------------------------------------

_BASE = "arch=x86-64," + ",".join(f"no-{name}" for name in ("sse3", "avx", "bmi", "bmi2", "popcnt", "lzcnt", "movbe"))
"""The function itself is of the base, whatever the file is compiled for."""

_MACROS = {"x86_64": "__x86_64__", "aarch64": "__aarch64__", "armv7": "__arm__", "riscv64": "__riscv"}


def supported_text(info: ModelInfo) -> str:
    """The definition of `aotc_NAME_supported`; nothing where the model needs no more than its architecture's base."""
    if not info.features:
        return ""
    architecture, rows = rows_of(info.features)
    if architecture == "x86_64":
        system, lines, attribute = "__GNUC__", _x86(rows), f'__attribute__((target("{_BASE}")))\n'
        header = "cpuid.h"
    else:
        system, lines, attribute, header = "__linux__", _auxiliary(rows), "", "sys/auxv.h"
    start = f"int32_t {supported_symbol(info.name)}(void)\n{{\n"
    return (
        f"\n#if defined({system}) && defined({_MACROS[architecture]})\n#include <{header}>\n\n{attribute}{start}"
        + "".join(f"    {line}\n" for line in lines)
        + f"    return 1;\n}}\n#else\n{start}    return -1;\n}}\n#endif\n"
    )


def _x86(rows: Sequence[Feature]) -> list[str]:
    lines = ["unsigned int most, extended, r[4];", "__cpuid(0, most, r[1], r[2], r[3]);"]
    lines.append("__cpuid(0x80000000u, extended, r[1], r[2], r[3]);")
    found = checks(rows)
    for leaf, part, slots in found.leaves:
        lines.append(f"if ({'extended' if leaf >> 31 else 'most'} < {leaf:#x}u) return 0;")
        lines.append(f"__cpuid_count({leaf:#x}u, {part}, r[0], r[1], r[2], r[3]);")
        lines += [f"if ((r[{slot}] & {mask:#x}u) != {mask:#x}u) return 0;" for slot, mask in slots]
    if found.state:
        lines.append('__asm__ volatile("xgetbv" : "=a"(r[0]), "=d"(r[3]) : "c"(0));')
        lines.append(f"if ((r[0] & {found.state:#x}u) != {found.state:#x}u) return 0;")
    return lines


def _auxiliary(rows: Sequence[Feature]) -> list[str]:
    masks = {slot: sum(1 << row.bit for row in rows if row.slot == slot) for slot in (HWCAP, HWCAP2)}
    return [f"if ((getauxval({slot}) & {mask:#x}u) != {mask:#x}u) return 0;" for slot, mask in masks.items() if mask]
