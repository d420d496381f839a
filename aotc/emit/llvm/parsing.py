"""LLVM's modules of text.

LLVM keeps each type, constant and node of metadata of a module in its context for as long as that lives, and llvmlite's
own context lives as long as the process: one that compiles for many shapes would grow by a hundred kilobytes each time.
So a module has a context of its own.
"""

from __future__ import annotations

import weakref
from typing import Any

from aotc.machines.targets import binding

_left: list[Any] = []
"""Contexts whose modules are gone. The garbage collector may say so just before it ends a module, so they are closed
later."""


def parsed(text: str, beside: Any = None) -> Any:
    """LLVM's module of `text`; to be linked into the module `beside`, if that is given, whose context it then shares.

    A clone of the module must not outlive it. Raises RuntimeError where the text is no LLVM IR.
    """
    llvm = binding()
    if beside is not None:
        return llvm.parse_assembly(text, beside._context)  # pyright: ignore[reportPrivateUsage] - llvmlite has no other way
    while (left := _left.pop() if _left else None) is not None:
        left.close()
    context = llvm.create_context()
    module = llvm.parse_assembly(text, context)
    weakref.finalize(module, _left.append, context).atexit = False
    return module
