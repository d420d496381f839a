"""Models by C and by LLVM in little time, for tests whose point is not the optimiser of a C compiler."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memory import kept_for_a_file
from vector_headers import headers_read

from aotc.compiler.checking.c_calls import checked_plan
from aotc.compiler.driver import built, in_process, lower
from aotc.emit.c.files import emit_c
from aotc.executor import CompiledModel, compiled_in_process, load
from aotc.machines.compilers import compiler_flags
from aotc.machines.targets import is_host, lookup
from aotc.measuring.routes import C_FLAGS, build_shared, open_model
from aotc.model.artifacts import Artifact, ArtifactSet
from aotc.model.files import write_files
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import CompileOptions

_LEVEL = "-Og"
"""Of GCC's levels the one that takes the least time, -O0 included where a function has thousands of statements."""


def quick_flags(flags: Sequence[str] = C_FLAGS) -> tuple[str, ...]:
    """Those of `build_shared`, or others for position-independent code; of the levels the last one counts."""
    quick = (*flags, _LEVEL)
    return (*quick, *headers_read("cc", *quick))


def quickly(artifacts: ArtifactSet) -> ArtifactSet:
    """The artefacts, of which C is compiled quickly."""

    def quick(each: Artifact) -> Artifact:
        return replace(each, flags=quick_flags(("-fPIC", *each.flags))) if each.name.endswith(".c") else each

    return ArtifactSet(tuple(map(quick, artifacts)))


def write_c(compilation: Compilation, folder: Path) -> Path:
    """C in `folder` as `compile_to` writes it, but for the figures of its report, for which LLVM compiles it, too; the
    file of code. Its memory plan is proved."""
    info = compilation.info()
    source, *_ = write_files(folder, emit_c(compilation.module, compilation.store, info))
    _, faults = checked_plan(info, source.read_text(encoding="utf-8"))
    assert faults == [], faults
    return source


def c_quickly(compilation: Compilation, folder: Path) -> CompiledModel:
    """A compilation that runs on this machine, whose weights are embedded, by C in `folder`."""
    options = compilation.options
    processor = () if is_host(options.target) else compiler_flags(lookup(options.target), options.optimize)
    flags = [flag for flag in C_FLAGS if not (processor and flag.startswith("-march"))]
    return load(build_shared(write_c(compilation, folder), quick_flags((*flags, *processor))))


def open_quickly(source: str | os.PathLike[str], route: str, options: CompileOptions) -> CompiledModel:
    """As `open_model`. A model by no convention that is asked for is lowered for C, and not compiled by LLVM, too; one
    for this machine is lowered once for code of this process and for C."""
    how = options.optimize, options.requantize, options.check_indices, options.target
    if options == _options(*how) and (route == "c" or (route == "jit" and is_host(options.target))):
        compilation = _lowered(Path(source).read_bytes(), *how)
        if route == "jit":
            return compiled_in_process(compilation)
        with TemporaryDirectory(prefix="aotc-quick.") as folder:
            return c_quickly(compilation, Path(folder))
    if route == "c":
        return quickly(built(source, replace(options, emit=("c",)), None)[0]).load()
    return open_model(source, route, options)


def _options(optimize: str, requantize: str, check_indices: bool, target: str) -> CompileOptions:
    return CompileOptions(optimize=optimize, requantize=requantize, check_indices=check_indices, target=target)


@kept_for_a_file(4)
def _lowered(model: bytes, *how: Any) -> Compilation:
    return lower(model, replace(in_process(_options(*how)), weights="embedded"))
