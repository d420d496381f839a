"""From a compilation to files: what each kind of `--emit` writes. A new kind is a function and a row of `_EMITTERS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from aotc.machines.targets import is_host
from aotc.model.metadata import ModelInfo, to_json
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.files import Content
from aotc.pipeline.options import NATIVE_KINDS

if TYPE_CHECKING:
    from aotc.emit.llvm.object import NativeCode

Files = dict[str, Content]


@dataclass
class Emission:
    """One compilation with its metadata, its C and its machine code, each made once for all kinds of files."""

    compilation: Compilation

    @property
    def name(self) -> str:
        """The stem of the files."""
        return self.compilation.name

    @cached_property
    def info(self) -> ModelInfo:
        """The metadata, with the footprint where LLVM is needed anyway, a budget asks for it, or a target was named; as
        the user's compiler makes it of the C where the options name one.

        For shared libraries alone, which run where stacks are large, the stack is measured only if it has a budget.
        """
        from aotc.emit.c.files import emit_c
        from aotc.machines.features import needed

        options = self.compilation.options
        info = replace(self.compilation.info(), features=needed(options.target))
        native = bool(NATIVE_KINDS & {*options.emit})
        budget = options.flash is not None or options.stack is not None
        if options.cc is not None:
            from aotc.emit.c.measure import compiled_footprint

            sources = emit_c(self.compilation.module, self.compilation.store, info, options.split)
            return replace(info, footprint=compiled_footprint(self.compilation, info, sources))
        if not (native or budget or (not is_host(options.target) and "c" in options.emit)):
            return info
        from aotc.emit.footprint import measure_footprint

        stack = options.stack is not None or not native or bool((NATIVE_KINDS - {"shared"}) & {*options.emit})
        return replace(info, footprint=measure_footprint(self.native, info, estimate=not native, stack=stack))

    def new_c_files(self) -> Files:
        """The files of C; contents that are iterators can be read once."""
        from aotc.emit.c.files import emit_c

        return emit_c(self.compilation.module, self.compilation.store, self.info, self.compilation.options.split)

    @cached_property
    def c_files(self) -> Files:
        """The files of C, made once."""
        return self.new_c_files()

    @cached_property
    def native(self) -> NativeCode:
        """The machine code."""
        from aotc.emit.llvm.object import NativeCode

        return NativeCode(self.compilation)

    @cached_property
    def beside(self) -> Files:
        """The files that go with machine code: header, report, and weights that are not embedded."""
        from aotc.emit.c.files import emit_header

        return emit_header(self.compilation.module, self.compilation.store, self.info)


def _c(emission: Emission) -> Files:
    return emission.c_files


def _header(emission: Emission) -> Files:
    return {name: content for name, content in emission.beside.items() if name.endswith(".h")}


def _llvm_ir(emission: Emission) -> Files:
    return {f"{emission.name}.ll": emission.native.text}


def _asm(emission: Emission) -> Files:
    return {f"{emission.name}.s": emission.native.assembly}


def _object(emission: Emission) -> Files:
    return {f"{emission.name}.o": emission.native.object, **emission.beside}


def _static(emission: Emission) -> Files:
    from aotc.emit.llvm.link import static_library

    member = f"{emission.name}.o"
    archive = static_library({member: emission.native.object}, {member: emission.native.exports})
    return {f"lib{emission.name}.a": archive, **emission.beside}


def _shared(emission: Emission) -> Files:
    from aotc.emit.llvm.link import shared_library, string_object
    from aotc.emit.llvm.tvm_ffi import tvm_ffi_object
    from aotc.model.conventions import json_symbol

    target = emission.native.target
    metadata = string_object(json_symbol(emission.name), to_json(emission.info), target)
    threads = emission.info.threads > 1
    objects = [emission.native.object, metadata]
    if emission.info.interface_api == "packed" and target.pointer_width == 64:
        objects.append(tvm_ffi_object(emission.info, target))
    library = shared_library(objects, target, emission.name, threads=threads)
    return {f"{emission.name}.so": library, **emission.beside}


def _mlf(emission: Emission) -> Files:
    from aotc.emit.model_library import model_library

    target = emission.compilation.options.target
    return {f"{emission.name}.tar": model_library(emission.info, target, emission.new_c_files())}


_EMITTERS: dict[str, Callable[[Emission], Files]] = {
    "c": _c,
    "header": _header,
    "llvm-ir": _llvm_ir,
    "asm": _asm,
    "object": _object,
    "static": _static,
    "shared": _shared,
    "mlf": _mlf,
}


def emit(emission: Emission) -> Files:
    """The files of every kind in the options' `emit`, by name. Raises CompileError, UsageError."""
    files: Files = {}
    for kind in emission.compilation.options.emit:
        files |= _EMITTERS[kind](emission)
    return files
