"""The three ways to run a model: in process, as a shared library, as C through the system's compiler."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from aotc.errors import AotcError, Problem
from aotc.pipeline.options import CompileOptions

if TYPE_CHECKING:
    from aotc.executor import CompiledModel

C_FLAGS = ("-std=c99", "-O2", "-march=native", "-ffp-contract=off", "-fPIC", "-shared")
"""How the C route is built, for this machine: contraction off, so that C and LLVM agree bit for bit."""


def open_model(
    source: str | os.PathLike[str], route: str, options: CompileOptions, report: Callable[[str], None] | None = None
) -> CompiledModel:
    """Compile `source` by `route` ("jit", "shared", "c") and load it; a `.so` is loaded as it is. Raises AotcError."""
    from aotc.compiler.driver import compile_with, in_process, lower
    from aotc.executor import compiled_in_process, load

    if os.fspath(source).endswith(".so"):
        return load(source)
    hosted = in_process(options)
    if route == "jit":
        return compiled_in_process(lower(source, hosted, report))
    hosted = replace(hosted, weights="embedded")
    with tempfile.TemporaryDirectory(prefix="aotc-") as folder:
        directory = Path(folder)
        if route == "shared":
            artifacts = compile_with(source, directory, replace(hosted, emit=("shared",)), report)
            return load(next(path for path in artifacts.files if path.suffix == ".so"))
        artifacts = compile_with(source, directory, replace(hosted, emit=("c",)), report)
        if report is not None:
            report("cc")
        return load(build_shared(next(path for path in artifacts.files if path.suffix == ".c")))


def build_shared(source: Path, flags: Sequence[str] = C_FLAGS) -> Path:
    """Compile generated C into a shared library beside it with the system's `cc`. Raises AotcError."""
    library = source.with_suffix(".so")
    command = ["cc", *flags, str(source), "-o", str(library), "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise AotcError(
            Problem("there is no C compiler", why="`cc` was not found", fix="install gcc or clang")
        ) from error
    if done.returncode != 0:
        raise AotcError(Problem("the C compiler failed", why=done.stderr.strip()[:2000]))
    return library
