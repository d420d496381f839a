"""LLVM's modules of text, and its optimisation pipelines.

LLVM keeps each type, constant and node of metadata of a module in its context for as long as that lives, and llvmlite's
own context lives as long as the process: one that compiles for many shapes would grow by a hundred kilobytes each time.
So a module has a context of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from threading import get_ident
from typing import TYPE_CHECKING, Any

from aotc.machines.targets import binding

if TYPE_CHECKING:
    from llvmlite.binding.newpassmanagers import ModulePassManager

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


def optimize(module: Any, machine: Any, level: str, rolled: bool = False) -> None:
    """Run LLVM's pipeline of `level` ("0".."3", "s") on its module, in place; `rolled` keeps loops as they are."""
    builder = _builder(machine, 2 if level == "s" else int(level), rolled or level == "s")
    with _disposed(builder.getModulePassManager()) as manager:
        manager.run(module, builder)


def tidy(module: Any, machine: Any) -> None:
    """Do what is left to do for kernels whose loops are written as they should run, in place.

    The result is as fast as that of LLVM's first level, in a third of its time: most of that goes into looking for
    loops to vectorise, version, split or delete, and into simplifying again after each. Values have moved out of loops
    in `move-invariants` already, and LLVM's code generator moves addresses.
    """
    builder = _builder(machine, 2, rolled=False)
    with _disposed(binding().create_new_module_pass_manager()) as manager:
        manager.add_always_inliner_pass()
        manager.add_ipsccp_pass()
        manager.add_simplify_cfg_pass()
        manager.add_instruction_combine_pass()
        manager.add_new_gvn_pass()
        manager.add_loop_rotate_pass()
        manager.add_simplify_cfg_pass()
        manager.add_instruction_combine_pass()
        manager.add_global_dead_code_eliminate_pass()
        manager.run(module, builder)


_TOGETHER = 64
"""Runs of passes that share a builder. Each leaves a note in it, which those that follow look at."""
_runs = count()


def _builder(machine: Any, level: int, rolled: bool) -> Any:
    """LLVM's builder of passes for the next run: llvmlite never frees what a builder notes of its runs, 1.5 KB of the
    first, so it is made anew only now and then. Each thread has its own: a note is about the thread's stack."""
    return _builder_of(machine, level, rolled, get_ident(), next(_runs) // _TOGETHER)


@lru_cache(maxsize=4)
def _builder_of(machine: Any, level: int, rolled: bool, _thread: int, _time: int) -> Any:
    options = binding().create_pipeline_tuning_options(speed_level=level)
    if rolled:
        options.loop_unrolling = options.loop_interleaving = options.slp_vectorization = False
    return binding().create_pass_builder(machine, options)


@contextmanager
def _disposed(manager: ModulePassManager) -> Generator[ModulePassManager]:
    """Give back the passes of a manager, some fifty kilobytes.

    llvmlite's class has two bases with a `_dispose`, and the one that does nothing comes first.
    """
    from llvmlite.binding.newpassmanagers import NewPassManager

    try:
        yield manager
    finally:
        NewPassManager._dispose(manager)  # pyright: ignore[reportPrivateUsage]
        manager.detach()
