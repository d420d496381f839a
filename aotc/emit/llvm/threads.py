"""The pool of threads (`aotc_threads` of the C runtime) for code that LLVM makes."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from aotc.emit.llvm.modules import optimize, parsed
from aotc.machines.targets import Target
from aotc.model.conventions import THREADS_RUN

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
