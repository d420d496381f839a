"""Linking: native code, what describes it, and what is carried for other loaders, as one shared library."""

from __future__ import annotations

import struct
import subprocess
import tempfile
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import combinations, permutations
from mmap import mmap
from pathlib import Path
from typing import cast

from aotc.emit.elf import ElfFile
from aotc.emit.llvm.data_object import DataObject
from aotc.emit.llvm.link import data_object, require_linkable_here, shared_library
from aotc.emit.llvm.tvm_ffi import tvm_ffi_object
from aotc.errors import CompileError, Problem, UsageError
from aotc.machines.targets import lookup
from aotc.model.artifacts import JIT, NATIVE, PARAMETERS, Artifact, ArtifactSet, Content, MissingLoaderWarning, Pieces
from aotc.model.conventions import artifacts_symbol, json_symbol, weights_symbol
from aotc.model.files import Binary, write_files
from aotc.model.metadata import ModelInfo, to_json

SECTION = ".aotc.artifacts"
"""Where a library keeps what it carries for loaders from outside."""
_ALTERNATIVES = ("llvm", "c")
"""Code generators of the whole model: where both made it, the first one's is linked."""
_OURS = (*_ALTERNATIVES, "aotc")
_WEIGHTS = ".aotc.weights"
"""Where a library keeps weights that its code refers to by a symbol."""
_CACHE_LINE = 64
"""Bytes of which the address of weights is a multiple, as the longest vectors want."""
_LINKING = ("-l", "-L", "-Wl,")
"""The prefix of flags for the linker."""
_REGISTRY = "aotc_registry.c"
"""The runtime of what calls operators by name."""
_MACHINE = ("aotc_vm.c", "aotc_vm_builtins.c")
"""The runtime of entries in bytecode."""
_HEADERS = ("aotc_runtime.h", "aotc_packed.h", "aotc_micro.h", "aotc_vm.h", "aotc_vm_format.h")


def native_artifacts(artifacts: ArtifactSet) -> tuple[Artifact, ...]:
    """The artefacts that are linked, each function once."""
    native = artifacts.by_loader().get(NATIVE, ())
    made = {artifact.codegen for artifact in native}
    other = [codegen for codegen in _ALTERNATIVES if codegen in made][1:]
    return tuple(artifact for artifact in native if artifact.codegen not in other)


def linked(artifacts: ArtifactSet) -> Content:
    """A shared library of the set, which has its metadata and all that is for loaders from outside.

    C is compiled with the flags that its artefact has, objects are taken as they are; the system's `cc` links them with
    the libraries that the flags name. But for kernels, no name of one code generator is taken for that of another.
    Warns of what no loader of this machine loads, for the library may be for another one.
    Raises UsageError where there is no code that can be linked here, CompileError where `cc` is missing or refuses, or
    where two code generators have something of one name.
    """
    linked, info = native_artifacts(artifacts), artifacts.metadata
    if not linked:
        made = ", ".join(artifact.name for artifact in artifacts.by_loader().get(JIT, ()))
        why = f"{made} was made for one process, and its symbols are of that process" if made else "there is no code"
        fix = "build it with emit=('object',) or emit=('c',)"
        raise UsageError("not-linkable", f"{info.name} cannot be linked to a library", why, fix)
    target = lookup(linked[0].target)
    for each in dict.fromkeys(one.target for one in linked if one.target):
        require_linkable_here(info.name, lookup(each))
    made = {one: _compiled(one, artifacts) if one.name.endswith(".c") else one.read() for one in linked}
    needed = (_REGISTRY,) if info.operator_api == "packed" else ()
    needed += _MACHINE if info.executor == "vm" else ()
    runtime = [_of_runtime(name) for name in needed]
    if any(one.codegen not in _OURS for one in linked):
        _require_apart(info, made, runtime)
    objects = [image for one, image in made.items() if not one.name.endswith(".c")]
    objects += [image for one, image in made.items() if one.name.endswith(".c")]
    objects += runtime
    beside = [each.listed() for each in artifacts if each.loader == PARAMETERS and info.weights == "caller"]
    # read at each load: no more than loading needs
    described = to_json(replace(info, constants=()), beside, indent=None)
    objects.append(data_object(json_symbol(info.name), described.encode() + b"\0", target))
    if (as_module := tvm_ffi_object(info, target)) is not None:
        objects.append(as_module)
    for problem in artifacts.unloadable():
        warnings.warn(str(problem), MissingLoaderWarning, stacklevel=2)
    if carried := artifacts.carried():
        blob = ArtifactSet(carried).blob()
        framed = len(blob).to_bytes(8, "little") + blob
        objects.append(data_object(artifacts_symbol(info.name), framed, target, SECTION))
    libraries = dict.fromkeys(flag for one in linked for flag in one.flags if flag.startswith(_LINKING))
    weights = weights_object(artifacts) if _asks_for_weights(info, objects) else None
    return shared_library(objects, target, info.name, tuple(libraries), threads=info.threads > 1, weights=weights)


def _asks_for_weights(info: ModelInfo, objects: Iterable[bytes]) -> bool:
    """Whether the code refers to its weights by a symbol: those that are external, and those that are an object of
    their own."""
    return any(weights_symbol(info.name) in ElfFile(image).wanted() for image in objects)


def weights_object(artifacts: ArtifactSet) -> DataObject:
    """The blob of a set whose code refers to it by a symbol."""
    info = artifacts.metadata
    content = artifacts[f"{info.name}.weights.bin"].content
    pieces = (content,) if isinstance(content, bytes | mmap) else cast(Pieces[Binary], content)
    return DataObject(weights_symbol(info.name), pieces, sum(map(len, pieces)), _WEIGHTS, _CACHE_LINE)


def _require_apart(info: ModelInfo, made: Mapping[Artifact, bytes], runtime: Collection[bytes]) -> None:
    """Raise CompileError where a name of one code generator would be taken for that of another: one calls what the
    other has, or both have it, weakly, so that one is left. Kernels and the runtime are there for others."""
    meant = {kernel.symbol for kernel in info.kernels if kernel.codegen}
    meant |= {name for image in runtime for name in ElfFile(image).offered()}
    offered: dict[str, set[str]] = {}
    wanted: dict[str, set[str]] = {}
    for one, image in made.items():
        owner = "the model" if one.codegen in _OURS else one.codegen
        try:
            file = ElfFile(image)
            offered.setdefault(owner, set()).update(file.offered())
            wanted.setdefault(owner, set()).update(file.wanted())
        except (ValueError, IndexError, struct.error) as error:
            raise CompileError("invalid-file", f"{one.name} is no object", str(error)) from error
    taken = {name: (a, b) for a, b in permutations(offered, 2) for name in sorted(offered[a] & wanted[b] - meant)}
    twice = {name: (a, b) for a, b in combinations(offered, 2) for name in sorted(offered[a] & offered[b])}
    said = {name: f"{a} defines it, and {b} calls another of that name" for name, (a, b) in taken.items()}
    said |= {name: f"{a} and {b} both define it" for name, (a, b) in twice.items()}
    if said:
        fix = "make it static, or give it a name of its own"
        raise CompileError(
            [Problem("duplicate-name", f"{name} in {info.name}", why, fix) for name, why in said.items()]
        )


@cache
def _of_runtime(name: str) -> bytes:
    """The object of a file of the runtime: the same for all models of a process."""
    source = files("aotc.runtime").joinpath(name).read_bytes()
    return _compiled(Artifact("c", NATIVE, name, source, flags=("-std=c99", "-O2")), ())


def _compiled(source: Artifact, artifacts: Iterable[Artifact]) -> bytes:
    """The object of a file of C, beside which there are the C of `artifacts`, of one name that of its own code
    generator, and the headers of the runtime."""
    given = sorted(artifacts, key=lambda each: each.codegen == source.codegen)
    beside = {each.name: each.content for each in given if each.name.endswith((".h", ".c"))}
    beside |= {name: files("aotc.runtime").joinpath(name).read_bytes() for name in _HEADERS}
    flags = [flag for flag in source.flags if not flag.startswith(_LINKING)]
    flags += [] if source.codegen in _OURS else ["-fvisibility=hidden"]
    with tempfile.TemporaryDirectory(prefix="aotc-") as folder:
        write_files(Path(folder), {**beside, source.name: source.content})
        command = ["cc", "-c", "-fPIC", *flags, source.name, "-o", "out.o"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            fix = "install gcc or clang, or build with emit=('object',)"
            raise CompileError("missing-tool", "there is no C compiler", "`cc` was not found", fix) from error
        if done.returncode:
            raise CompileError("failed-tool", f"the C compiler refuses {source.name}", done.stderr.strip()[:2000])
        return (Path(folder) / "out.o").read_bytes()
