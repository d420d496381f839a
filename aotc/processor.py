"""What the operating system says about this machine's processor: enough to schedule kernels without asking LLVM."""

from __future__ import annotations

import platform
import sys
from pathlib import Path


def vector_registers() -> tuple[int, int, bool] | None:
    """Bytes of a vector register, how many there are, whether multiply-add is an instruction; None where not known.

    Linux lists a feature of x86 only where it saves the registers that belong to it. Every 64-bit Arm has NEON.
    """
    machine = platform.machine().lower()
    if sys.maxsize < 1 << 32:  # a process of 32 bits may run on a processor of 64
        return None
    if machine in ("aarch64", "arm64"):
        return 16, 32, True
    flags = _x86_flags() if machine in ("x86_64", "amd64") else frozenset[str]()
    if "sse2" not in flags:
        return None
    fma = bool({"fma", "fma4"} & flags)
    if "avx512f" in flags:
        return 64, 32, fma
    return (32 if "avx" in flags else 16), 16, fma


def caches() -> dict[str, int]:
    """The sizes of the first two data caches, `l1` and `l2`, in bytes, as far as Linux says them."""
    found: dict[str, int] = {}
    for cache in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level, kind, size = ((cache / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if level in "12" and kind != "Instruction" and size.endswith("K"):
            found[f"l{level}"] = int(size[:-1]) << 10
    return found


def _x86_flags() -> frozenset[str]:
    """What the first core can do, in Linux's words; nothing where that cannot be read."""
    try:
        with Path("/proc/cpuinfo").open() as lines:
            return next((frozenset(line.split()) for line in lines if line.startswith("flags")), frozenset())
    except OSError:
        return frozenset()
