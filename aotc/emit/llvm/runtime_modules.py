"""Modules that are linked into the code of a model: the function that says whether the processor has what the model's
target has, and the pool of threads (`aotc_threads` of the C runtime)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from aotc.emit.llvm.modules import optimize, parsed
from aotc.machines.features import HWCAP, HWCAP2, Feature, checks, rows_of
from aotc.machines.targets import Target
from aotc.model.conventions import THREADS_RUN, supported_symbol


def supported_module(name: str, features: Sequence[str], target: Target, machine: Any, beside: Any) -> Any:
    """LLVM's module of `aotc_NAME_supported` for a target that has `features`, in code of the architecture's base, to
    be linked into the module `beside`."""
    architecture, rows = rows_of(features)
    x86 = architecture == "x86_64"
    base = ' "target-cpu"="x86-64" "target-features"=""' if x86 else ""
    lines = [
        f'target datalayout = "{machine.target_data}"',
        f'target triple = "{target.triple}"',
        f"define i32 @{supported_symbol(name)}() nounwind{base} {{",
        *(_x86(rows) if x86 else _auxiliary(rows, f"i{target.pointer_width}")),
        "  ret i32 1",
        "no:\n  ret i32 0\n}",
    ]
    if x86:
        lines.append(files("aotc.emit.llvm").joinpath("cpuid.ll").read_text(encoding="utf-8"))
    else:
        lines.append(f"declare i{target.pointer_width} @getauxval(i{target.pointer_width})")
    module = parsed("\n".join(lines), beside)
    module.verify()
    return module


def _x86(rows: Sequence[Feature]) -> list[str]:
    lines = ["  %r = alloca [4 x i32], align 4"]
    for name, leaf in (("most", 0), ("extended", 1 << 31)):
        lines += [f"  call void @aotc.cpuid(ptr %r, i32 {leaf}, i32 0)", f"  %{name} = load volatile i32, ptr %r"]
    found = checks(rows)
    for number, (leaf, subleaf, slots) in enumerate(found.leaves):
        most = "extended" if leaf >> 31 else "most"
        lines += _go_on(f"l{number}", f"icmp uge i32 %{most}, {leaf}")
        lines.append(f"  call void @aotc.cpuid(ptr %r, i32 {leaf}, i32 {subleaf})")
        for slot, mask in slots:
            value = f"%r{number}.{slot}"
            lines.append(f"  {value}.at = getelementptr [4 x i32], ptr %r, i32 0, i32 {slot}")
            lines.append(f"  {value} = load volatile i32, ptr {value}.at")
            lines += _all_of(f"w{number}.{slot}", "i32", value, mask)
    if found.state:
        lines += ["  call void @aotc.xgetbv(ptr %r)", "  %state = load volatile i32, ptr %r"]
        lines += _all_of("saved", "i32", "%state", found.state)
    return lines


def _auxiliary(rows: Sequence[Feature], slot_type: str) -> list[str]:
    lines: list[str] = []
    for slot in (HWCAP, HWCAP2):
        if mask := sum(1 << row.bit for row in rows if row.slot == slot):
            lines.append(f"  %bits{slot} = call {slot_type} @getauxval({slot_type} {slot})")
            lines += _all_of(f"a{slot}", slot_type, f"%bits{slot}", mask)
    return lines


def _all_of(name: str, kind: str, value: str, mask: int) -> list[str]:
    return [f"  %{name}.set = and {kind} {value}, {mask}", *_go_on(name, f"icmp eq {kind} %{name}.set, {mask}")]


def _go_on(name: str, condition: str) -> list[str]:
    return [f"  %{name}.yes = {condition}", f"  br i1 %{name}.yes, label %{name}.next, label %no", f"{name}.next:"]


# --- threads ---------------------------------------------------------------------------------------------------------

SYMBOLS = (THREADS_RUN,)
"""Functions that compiled models call."""

_PAUSES = {
    "x86_64": ("llvm.x86.sse2.pause", ""),
    "aarch64": ("llvm.aarch64.hint", "i32 1"),
    "arm": ("llvm.arm.hint", "i32 1"),
}
"""By architecture: the intrinsic for a loop that waits, and its argument."""


def pool_module(target: Target, machine: Any, beside: Any = None) -> Any:
    """LLVM's module of the pool for `target`, optimised, to be linked into `beside`. Its symbols are hidden; of several
    copies one is linked."""
    text = files("aotc.runtime").joinpath("aotc_threads.ll").read_text(encoding="utf-8")
    architecture = target.triple.split("-")[0]
    name, argument = _PAUSES.get("arm" if architecture.startswith(("arm", "thumb")) else architecture, ("", ""))
    text = text.replace("iPTR", f"i{target.pointer_width}")
    if name:
        text = text.replace("PAUSE\n", f"call void @{name}({argument})\n")
        text += f"\ndeclare void @{name}({argument.split(' ')[0]})\n"
    else:
        text = text.replace("  PAUSE\n", "")
    header = f'target datalayout = "{machine.target_data}"\ntarget triple = "{target.triple}"\n'
    module = parsed(header + text, beside)
    module.verify()
    optimize(module, machine, "1")
    return module
