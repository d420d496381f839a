"""The three ways to run a model: in process, as a shared library, as C through the system's compiler."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from aotc.compiler.driver import built, lower
from aotc.compiler.lowering import in_process
from aotc.errors import AotcError, UsageError
from aotc.executor import CompiledModel, compiled_in_process, load
from aotc.pipeline.options import CompileOptions

C_FLAGS = ("-std=c99", "-O2", "-march=native", "-ffp-contract=off", "-fPIC", "-shared")
"""How the C route is built, for this machine: contraction off, so that C and LLVM agree bit for bit."""


_CONVENTIONS = (
    *("interface_api", "operator_api", "runtime", "workspace", "weights", "io", "operator_arguments"),
    *("resource_handle", "packed_wrapper", "export_operators", "split", "offload"),
)
"""Options that only what is linked can follow: code in memory is called one way."""


def open_model(
    source: str | os.PathLike[str],
    route: str,
    options: CompileOptions,
    report: Callable[[str], None] | None = None,
    loader: str | None = None,
) -> CompiledModel:
    """Compile `source` by `route` ("jit", "shared", "c") and load it; a `.so` is loaded as it is.

    What is linked is what ships, in the conventions of the options; the route "jit" is in memory, or with conventions
    that takes linking ("native") an object that is linked. `loader` insists on either. Raises AotcError.
    """
    if os.fspath(source).endswith(".so"):
        return load(source)
    default = CompileOptions(executor=options.executor)
    asked = [name for name in _CONVENTIONS if getattr(options, name) != getattr(default, name)]
    if loader == "jit" and (asked or route != "jit"):
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in asked) or f"--emit {route}"
        why = "code in memory has one convention, and nothing is linked"
        raise UsageError("option-conflict", f"--loader jit with {flags}", why, "leave out either")
    if route == "jit" and not asked and loader != "native":
        return compiled_in_process(lower(source, in_process(options), report))
    kind = "object" if route == "jit" else route
    return built(source, replace(options, emit=(kind,)), report)[0].load()


def build_shared(source: Path, flags: Sequence[str] = C_FLAGS) -> Path:
    """Compile generated C into a shared library beside it with the system's `cc`. Raises AotcError."""
    library = source.with_suffix(".so")
    command = ["cc", *flags, str(source), "-o", str(library), "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise AotcError(
            "missing-tool", "there is no C compiler", "`cc` was not found", "install gcc or clang"
        ) from error
    if done.returncode != 0:
        raise AotcError("failed-tool", "the C compiler failed", done.stderr.strip()[:2000])
    return library
