"""Helpers of tests of conventions: compile a model under a choice of conventions, link it, run it, list symbols."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aotc
from aotc.machines.requirements import needed
from aotc.model.conventions import Conventions

HERE = Path(__file__).parent
MODELS = HERE.parent / "models" / "data"
RUNTIME = Path(str(files("aotc.runtime")))
WARNINGS = (
    *("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Wvla", "-Wstrict-prototypes"),
    *("-Wmissing-prototypes", "-Werror"),
)
COMPILERS = [compiler for compiler in ("gcc", "clang") if shutil.which(compiler) is not None]


def compile_model(
    source: Path, folder: Path, choice: Conventions, emit: str | Sequence[str], name: str, **options: Any
) -> Path | None:
    """The files of `source` under `choice`; the assembly file that holds external weights, if there are any.

    Kernels are scalar loops unless `optimize` says otherwise: conventions are about how they are called.
    """
    options.setdefault("optimize", "0")
    aotc.compile_to(
        source,
        folder,
        name=name,
        emit=emit,
        **options_of(choice),
        **options,
    )
    return external_weights(folder, choice, name)


def options_of(choice: Conventions) -> dict[str, str]:
    """A choice as options of a compilation."""
    names = ("interface_api", "operator_api", "runtime", "workspace", "weights", "operator_arguments")
    return {name: getattr(choice, name) for name in names}


def external_weights(folder: Path, choice: Conventions, name: str) -> Path | None:
    """The assembly file in `folder` that holds the weights of a model, where they are external under `choice`."""
    if choice.weights != "external":
        return None
    assembly = folder / f"{name}_weights.S"
    assembly.write_text(
        f".section .rodata\n.balign 8\n.global aotc_{name}_weights\n"
        f'aotc_{name}_weights:\n.incbin "{name}.weights.bin"\n'
        '.section .note.GNU-stack,"",%progbits\n'
    )
    return assembly


def compile_c(source: Path, folder: Path, *flags: str, compiler: str = "gcc") -> Path:
    """The object file of `source` in `folder`, named after source and compiler."""
    unit = folder / f"{source.stem}_{compiler}.o"
    includes = [f"-I{folder}", f"-I{RUNTIME}"]
    command = [compiler, "-std=c99", "-Werror", *flags, *includes, "-c", str(source), "-o", str(unit)]
    subprocess.run(command, check=True)
    return unit


def link(folder: Path, sources: Sequence[Path | str], *flags: str, compiler: str = "gcc") -> Path:
    """`folder`/program from C, assembly and object files, with the headers of `folder` and of the runtime."""
    program = folder / "program"
    includes = [f"-I{folder}", f"-I{RUNTIME}", f"-Wa,-I{folder}"]
    command = [compiler, "-std=c99", *flags, *includes, *map(str, sources), "-lm", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def runtime(*parts: str) -> list[Path]:
    """Sources of the C runtime: `runtime("registry")` is aotc_registry.c."""
    return [RUNTIME / f"aotc_{part}.c" for part in parts]


@functools.cache
def compiled_runtime(*flags: str) -> list[Path]:
    """Objects of what models with packed interfaces are linked with: the same for all of them."""
    place = TemporaryDirectory(prefix="aotc-runtime.")
    atexit.register(place.cleanup)
    return [compile_c(source, Path(place.name), *flags) for source in runtime("runtime", "memory", "registry")]


def identity(choice: Conventions) -> str:
    """A name for a choice in test ids."""
    return "-".join((choice.interface_api, choice.operator_api, choice.workspace, choice.weights))


def exported(file: Path) -> set[str]:
    """The defined symbols that `nm -g` shows."""
    listing = subprocess.run(["nm", "-g", "--defined-only", file], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in listing.splitlines() if line.strip()}


def support(name: str) -> set[str]:
    """The symbol that tells whether a processor has what code for this machine uses, if that is more than the base."""
    return {f"aotc_{name}_supported"} if needed("host") else set()
