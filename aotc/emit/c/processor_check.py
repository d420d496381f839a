"""The function of a model in C that says whether the processor has what the model's target has."""

from __future__ import annotations

from collections.abc import Sequence

from aotc.machines.features import HWCAP, HWCAP2, Feature, checks, rows_of
from aotc.model.conventions import supported_symbol
from aotc.model.metadata import ModelInfo

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
    for leaf, subleaf, slots in found.leaves:
        lines.append(f"if ({'extended' if leaf >> 31 else 'most'} < {leaf:#x}u) return 0;")
        lines.append(f"__cpuid_count({leaf:#x}u, {subleaf}, r[0], r[1], r[2], r[3]);")
        lines += [f"if ((r[{slot}] & {mask:#x}u) != {mask:#x}u) return 0;" for slot, mask in slots]
    if found.state:
        lines.append('__asm__ volatile("xgetbv" : "=a"(r[0]), "=d"(r[3]) : "c"(0));')
        lines.append(f"if ((r[0] & {found.state:#x}u) != {found.state:#x}u) return 0;")
    return lines


def _auxiliary(rows: Sequence[Feature]) -> list[str]:
    masks = {slot: sum(1 << row.bit for row in rows if row.slot == slot) for slot in (HWCAP, HWCAP2)}
    return [f"if ((getauxval({slot}) & {mask:#x}u) != {mask:#x}u) return 0;" for slot, mask in masks.items() if mask]
