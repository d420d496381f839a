"""Machine code in this process, through LLVM's ORC."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from aotc.emit.llvm.object import NativeCode
from aotc.emit.llvm.runtime_modules import SYMBOLS, pool_module
from aotc.errors import CompileError
from aotc.machines.requirements import runnable
from aotc.machines.targets import binding, lookup

if TYPE_CHECKING:
    from aotc.pipeline.compilation import Compilation


class JitLibrary:
    """Code that is callable as long as this object lives."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker

    def address(self, symbol: str) -> int:
        """The address of an exported symbol; KeyError for any other."""
        return self._tracker[symbol]


def load_model_objects(images: Sequence[bytes], exports: Iterable[str], threads: int, pooled: bool) -> JitLibrary:
    """The objects of a model as code of this process, with the addresses of the symbols in `exports`.

    Where it is `pooled`, it shares the one pool of threads with all others; else its own pool is in it, and what has
    threads is never unloaded, since these never end.
    """
    library = load_objects(images, exports, pool_in_process() if pooled else None)
    if threads > 1 and not pooled:
        _alive.append(library)
    return library


def host_object(compilation: Compilation) -> bytes:
    """The object file of a compilation for this machine: for its own target where that runs here, else for `host`."""
    return NativeCode(compilation, runnable(compilation.options.target), pool=False).object


def load_objects(
    images: Sequence[bytes], exports: Iterable[str], imports: Mapping[str, int] | None = None
) -> JitLibrary:
    """Load object files for the host and resolve them.

    Symbols come from `imports` (name -> address, which the caller keeps valid), then from the process: the C library
    and libm. Raises CompileError where one is missing.
    """
    builder = binding().JITLibraryBuilder()
    for image in images:
        builder.add_object_img(image)
    builder.add_current_process()
    for name, address in (imports or {}).items():
        builder.import_symbol(name, address)
    for name in exports:
        builder.export_symbol(name)
    # An LLJIT keeps the symbols of a library that is gone, so each library has its own, which goes with it. The linker
    # is JITLink: the older one loses relocations to far symbols.
    linker = binding().create_lljit_compiler(_linking_machine(), use_jit_link=True)
    try:
        tracker = builder.link(linker, "aotc")
    except RuntimeError as error:
        raise CompileError("not-loadable", "the compiled model cannot be loaded", str(error)) from error
    return JitLibrary(tracker)


def load_object(image: bytes, exports: Iterable[str]) -> JitLibrary:
    """Load one object file as `load_objects`."""
    return load_objects([image], exports)


@lru_cache(maxsize=1)
def pool_in_process() -> dict[str, int]:
    """The addresses of the one pool of threads in this process; these never end, so its code stays."""
    target = lookup("host")
    machine = target.machine(2)
    module = pool_module(target, machine)
    for symbol in SYMBOLS:
        function = module.get_function(symbol)
        function.linkage, function.visibility = "external", "default"
    library = load_object(machine.emit_object(module), SYMBOLS)
    _alive.append(library)
    return {symbol: library.address(symbol) for symbol in SYMBOLS}


_alive: list[JitLibrary] = []


@lru_cache(maxsize=1)
def _linking_machine() -> Any:
    """The target for which objects for this process are linked, with libm in the process."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)
    return lookup("host").machine(jit=True)
