"""This machine's processor by the operating system: enough to schedule kernels without asking LLVM, and to
tell it from another one."""

from __future__ import annotations

import platform
import sys
from functools import cache
from pathlib import Path
from typing import Final


def vector_registers() -> tuple[int, int, bool] | None:
    """Bytes of a vector register, how many there are, whether multiply-add is an instruction; None where not known.

    Linux lists a feature of x86 only where it saves the registers that belong to it. Every 64-bit Arm has NEON.
    """
    machine = platform.machine().lower()
    if sys.maxsize < 1 << 32:  # a process of 32 bits may run on a processor of 64
        return None
    if machine in ("aarch64", "arm64"):
        return 16, 32, True
    flags = feature_names() if machine in ("x86_64", "amd64") else frozenset[str]()
    if "sse2" not in flags:
        return None
    fma = bool({"fma", "fma4"} & flags)
    if "avx512f" in flags:
        return 64, 32, fma
    return (32 if "avx" in flags else 16), 16, fma


_ZEN_4_OR_BEFORE: Final = 25
"""The family, as AMD numbers them, of Zen 3 and 4; those of Zen 1 and 2 are less, that of Zen 5 is 26."""


def zen() -> int:
    """Which Zen an x86 processor is, as far as vectors tell: 3 for 1 to 3, 4, or 5 for it and later ones; 0: none."""
    lines = [line.partition(":") for line in _described()]
    first = {name.strip(): value.strip() for name, _, value in reversed(lines)}
    if first.get("vendor_id") != "AuthenticAMD" or "avx2" not in feature_names():
        return 0
    if int(first.get("cpu family", 0)) > _ZEN_4_OR_BEFORE:
        return 5
    return 4 if "avx512f" in feature_names() else 3


def caches() -> dict[str, int]:
    """The sizes of the data caches, `l1`, `l2` and `l3`, in bytes, as far as Linux says them."""
    found: dict[str, int] = {}
    for place in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level, kind, size = ((place / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if level in "123" and kind != "Instruction" and size.endswith("K"):
            found[f"l{level}"] = int(size[:-1]) << 10
    return found


def model_name() -> str | None:
    """The processor's name by its maker, as Linux says it; None where that is not known."""
    models = (line.partition(":")[2].strip() for line in _described() if line.startswith("model name"))
    return next(models, None)


@cache
def identity() -> str:
    """Marks that tell this machine's processor from another: its cores' names and features, for want of them its
    kind."""
    found = {line for line in _described() if line.startswith(("model name", "flags", "Features", "isa"))}
    return "\n".join(sorted(found)) or platform.processor() + platform.machine()


def architecture() -> str:
    """The kind of processor that this process runs on, as triples begin: `x86_64`, `aarch64`, `armv7`, `riscv64`."""
    machine = platform.machine().lower()
    if sys.maxsize < 1 << 32:  # a process of 32 bits may run on a processor of 64
        return "armv7" if machine.startswith(("arm", "aarch64")) else machine
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


def feature_names() -> frozenset[str]:
    """Features of the first core, by Linux's names, of RISC-V its letters; nothing where that cannot be read."""
    for line in _described():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(value.split())
        if name.strip() == "isa":
            letters = value.strip().partition("_")[0].removeprefix("rv64").removeprefix("rv32")
            return frozenset(letters) | frozenset(value.strip().split("_")[1:])
    return frozenset()


@cache
def _described() -> tuple[str, ...]:
    """Linux's description of all cores, line by line; nothing where that cannot be read."""
    try:
        return tuple(Path("/proc/cpuinfo").read_text().splitlines())
    except OSError:
        return ()
