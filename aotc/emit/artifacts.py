"""From a compilation to artefacts: what each kind of `--emit` makes. A new one is a row of `_EMITTERS`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from mmap import mmap
from typing import TYPE_CHECKING

from aotc.errors import CompileError
from aotc.machines.targets import is_host, lookup
from aotc.model.artifacts import (
    BYTECODE,
    FLASH,
    HOST,
    JIT,
    LIBRARY,
    METADATA,
    NATIVE,
    NONE,
    PARAMETERS,
    Artifact,
    ArtifactSet,
    Pieces,
)
from aotc.model.artifacts import Content as Value
from aotc.model.files import Content
from aotc.model.metadata import ModelInfo, to_json
from aotc.model.progress import Progress
from aotc.pipeline.compilation import Compilation, uncollected
from aotc.pipeline.options import CODE_KINDS, NATIVE_KINDS
from aotc.pipeline.phases import PassTiming
from aotc.pipeline.portions import Portions, processes
from aotc.pipeline.workers import in_parallel

if TYPE_CHECKING:
    from aotc.emit.c.source import CSource, Printed
    from aotc.emit.llvm.object import NativeCode

Files = Mapping[str, Content]


@dataclass
class Emission:
    """One compilation with its metadata, its C and its machine code, each made once for all kinds of artefacts."""

    compilation: Compilation

    @property
    def name(self) -> str:
        """The stem of the files."""
        return self.compilation.name

    @cached_property
    def uncompiled(self) -> ModelInfo:
        """The metadata that no machine code is needed for."""
        return self.compilation.info()

    @cached_property
    def _kernels(self) -> list[bytes]:
        """The objects of kernels that are compiled apart, whose C is in the source then, too.

        Which of them this process has compiled itself is chance, so what is asked of the module is asked before. Others
        have a copy from before that, and need none of it but to print C.
        """
        portions = self.compilation.portions
        if portions is None:
            return []
        options = self.compilation.options
        source = self._source if "c" in options.emit else None
        native = bool(NATIVE_KINDS & {*options.emit})

        def own() -> None:
            assert self.uncompiled and self._source
            portions.finish(self.compilation.ctx, options, portions.first)
            if native:
                _ = self.native.object

        return _compiled(self.compilation, portions, source, own)

    @cached_property
    def _source(self) -> CSource:
        """The C of the whole model."""
        from aotc.emit.c.source import CSource

        return CSource(self.compilation.module, self.compilation.store)

    @cached_property
    def info(self) -> ModelInfo:
        """The metadata, with the footprint where LLVM is needed anyway, a budget asks for it, or a target was named; as
        the user's compiler makes it of the C where the options name one.

        For shared libraries alone, which run where stacks are large, the stack is measured only if it has a budget.
        """
        from aotc.emit.c.files import emit_c
        from aotc.pipeline.model_info import constants

        options = self.compilation.options
        arrays = constants(self.compilation.module, self.compilation.store)
        info = replace(self.uncompiled, features=self._features, constants=arrays)
        native = bool(NATIVE_KINDS & {*options.emit})
        budget = options.flash is not None or options.stack is not None
        if options.executor == "vm":  # most of it is the machine
            return info
        if options.cc is not None:
            from aotc.emit.c.measure import compiled_footprint

            sources = emit_c(self.compilation.module, self.compilation.store, info, options.split)
            return replace(info, footprint=compiled_footprint(self.compilation, info, sources))
        if not (native or budget or (not is_host(options.target) and "c" in options.emit)):
            return info
        from aotc.emit.footprint import measure_footprint

        stack = options.stack is not None or not native or bool((NATIVE_KINDS - {"shared"}) & {*options.emit})
        beside = self._kernels
        found = measure_footprint(self.native, info, estimate=not native, stack=stack, beside=beside)
        return replace(info, footprint=found)

    @property
    def _features(self) -> tuple[str, ...]:
        """Features that the processor must have for all that is linked, also for what is made outside for its own
        target."""
        from aotc.machines.requirements import needed

        native = [each.target for each in self.external if each.loader == NATIVE and each.target]
        targets = dict.fromkeys((self.compilation.options.target, *native))
        return tuple(dict.fromkeys(feature for target in targets for feature in needed(target)))

    @cached_property
    def c_files(self) -> Files:
        """The files of C."""
        from aotc.emit.c.files import emit_c

        module, store, split = self.compilation.module, self.compilation.store, self.compilation.options.split
        if self.compilation.portions is None:
            return emit_c(module, store, self.info, split)
        _ = self._kernels  # with which their C gets into the source
        return emit_c(module, store, self.info, source=self._source)

    @cached_property
    def native(self) -> NativeCode:
        """The machine code, but that of kernels which are compiled apart."""
        from aotc.emit.llvm.object import NativeCode

        portions = self.compilation.portions
        if portions is None:
            return NativeCode(self.compilation)
        return NativeCode(self.compilation, only=portions.first, weights_apart=True)

    @cached_property
    def objects(self) -> dict[str, NativeCode]:
        """The machine code of each object file: with `split`, as in C, the operators have one of their own."""
        from aotc.emit.llvm.object import NativeCode, network_of, operators_of

        if not self.compilation.options.split:
            return {f"{self.name}.o": self.native}
        operators = NativeCode(operators_of(self.compilation), pool=False)
        return {f"{self.name}.o": NativeCode(network_of(self.compilation)), f"{self.name}_operators.o": operators}

    @property
    def kernel_objects(self) -> dict[str, bytes]:
        """The object files of kernels that are compiled apart."""
        return {f"{self.name}_{number}.o": image for number, image in enumerate(self._kernels, 1)}

    @cached_property
    def beside(self) -> Files:
        """The files that go with machine code: header, report, and weights that are not embedded."""
        from aotc.emit.c.files import emit_header

        return emit_header(self.compilation.store, self.info, self._source)

    @property
    def weights_apart(self) -> list[Artifact]:
        """The weights that belong into the library, but not into the objects of its code."""
        weights = self.native.apart
        if weights is None:
            return []
        content = Pieces(lambda: weights.pieces(self.compilation.store))
        return [self.artifact("aotc", PARAMETERS, f"{self.name}.weights.bin", content, FLASH)]

    @cached_property
    def external(self) -> list[Artifact]:
        """Artefacts that code generators from outside make of their kernels."""
        from aotc.emit.external import external_artifacts

        return external_artifacts(self.compilation)

    def artifact(self, codegen: str, loader: str, name: str, content: Content, role: str = HOST) -> Artifact:
        """An artefact for the target of this compilation."""
        return Artifact(codegen, loader, name, _value(content), role, self.compilation.options.target)

    def described(self, files: Files) -> list[Artifact]:
        """Files of C, and those beside any code, as artefacts."""
        return [self._file(name, content) for name, content in files.items()]

    def _file(self, name: str, content: Content) -> Artifact:
        if name == f"{self.name}.json":
            return self.artifact("aotc", METADATA, name, content)
        if name.endswith(".bin"):
            return self.artifact("aotc", PARAMETERS, name, content, FLASH)
        if name.endswith(".c"):
            return replace(self.artifact("c", NATIVE, name, content, FLASH), flags=self.flags)
        return replace(self.artifact("c", NONE, name, content), flags=self.flags)

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """Requirements on a compiler of C: language, processor, level, contraction, libraries."""
        from aotc.machines.compilers import compiler_flags, host_flags

        options = self.compilation.options
        here = is_host(options.target)  # which takes LLVM to look up
        machine = host_flags(options.optimize) if here else compiler_flags(lookup(options.target), options.optimize)
        flags = ("-std=c99", "-ffp-contract=off", *machine, "-lm")
        return (*flags, "-pthread") if options.threads > 1 else flags


def _value(content: Content) -> Value:
    """The files of the emitters of C, as artefacts have them."""
    if isinstance(content, str):
        return content.encode()
    assert isinstance(content, bytes | mmap | Pieces), "a content can be read more than once"
    return content


def _header(emission: Emission) -> Iterable[Artifact]:
    return emission.described({name: content for name, content in emission.beside.items() if name.endswith(".h")})


def _object(emission: Emission) -> Iterable[Artifact]:
    objects = {name: code.object for name, code in emission.objects.items()} | emission.kernel_objects
    images = [emission.artifact("llvm", NATIVE, name, image, FLASH) for name, image in objects.items()]
    return [*images, *emission.described(emission.beside)]


def _static(emission: Emission) -> Iterable[Artifact]:
    from aotc.emit.llvm.link import static_library

    members = emission.objects.items()
    archive = static_library(
        {name: code.object for name, code in members}, {name: code.exports for name, code in members}
    )
    image = emission.artifact("llvm", NONE, f"lib{emission.name}.a", archive, FLASH)
    return [image, *emission.described(emission.beside)]


def _shared(emission: Emission) -> Iterable[Artifact]:
    from aotc.emit.library import linked

    entry = _vm(emission) if emission.info.executor == "vm" else ()
    library = linked(ArtifactSet((*_object(emission), *emission.weights_apart, *entry, *emission.external)))
    image = emission.artifact("llvm", LIBRARY, f"{emission.name}.so", library, FLASH)
    return [image, *emission.described(emission.beside)]


def _mlf(emission: Emission) -> Iterable[Artifact]:
    from aotc.dialects.aot.contract import places_in_blob
    from aotc.emit.model_library import model_library

    kinds = [kind for kind in emission.compilation.options.emit if kind not in ("mlf", "header")] or ["c"]
    store, module = emission.compilation.store, emission.compilation.module
    archive = model_library(_made(emission, kinds), emission.info, store.blob(places_in_blob(module)))
    return [emission.artifact("aotc", NONE, f"{emission.name}.tar", archive)]


def _vm(emission: Emission) -> Iterable[Artifact]:
    from aotc.emit.bytecode import executable_of
    from aotc.emit.c.bytecode_table import bytecode_table, packed_entry

    executable = executable_of(emission.compilation.module, emission.compilation.store)
    name = f"{emission.name}_vm.c"
    if emission.compilation.options.executor != "vm":
        table = emission.artifact("c", NONE, name, bytecode_table(executable, emission.name), FLASH)
    else:
        source = bytecode_table(executable, emission.name) + packed_entry(executable, emission.name)
        table = replace(emission.artifact("aotc", NATIVE, name, source, FLASH), flags=emission.flags)
    return [emission.artifact("aotc", BYTECODE, f"{emission.name}.vm", executable.to_bytes()), table]


_EMITTERS: dict[str, Callable[[Emission], Iterable[Artifact]]] = {
    "c": lambda emission: emission.described(emission.c_files),
    "header": _header,
    "llvm-ir": lambda emission: [emission.artifact("llvm", NONE, f"{emission.name}.ll", emission.native.text)],
    "asm": lambda emission: [emission.artifact("llvm", NONE, f"{emission.name}.s", emission.native.assembly)],
    "object": _object,
    "static": _static,
    "shared": _shared,
    "mlf": _mlf,
    "vm": _vm,
}


def emit(emission: Emission) -> ArtifactSet:
    """The artefacts of every kind in the options' `emit`. Raises CompileError, UsageError."""
    return _made(emission, emission.compilation.options.emit)


def _made(emission: Emission, kinds: Collection[str]) -> ArtifactSet:
    """The artefacts of `kinds`, whatever their order."""
    from aotc.emit.llvm.debug_info import listing

    found: dict[tuple[str, str], Artifact] = {}
    for kind, make in _EMITTERS.items():
        if kind in kinds or (kind == "vm" and emission.info.executor == "vm" and CODE_KINDS & {*kinds}):
            found |= {(artifact.codegen, artifact.name): artifact for artifact in make(emission)}
    if emission.compilation.options.debug_info:
        nodes = emission.artifact("llvm", NONE, f"{emission.name}.nodes", listing(emission.compilation.module))
        found[nodes.codegen, nodes.name] = nodes
    if CODE_KINDS & {*kinds}:
        for artifact in emission.external:
            if (artifact.codegen, artifact.name) in found:
                why = "a name is unique among those of its code generator"
                raise CompileError("duplicate-name", f"{artifact.codegen} makes two files {artifact.name}", why)
            found[artifact.codegen, artifact.name] = artifact
    return listed(found.values(), emission.info)


def listed(artifacts: Iterable[Artifact], info: ModelInfo) -> ArtifactSet:
    """The set in which the metadata, where it has some, lists all artefacts; it is written down when it is read."""
    found = tuple(artifacts)
    content = Pieces(lambda: (to_json(info, [artifact.listed() for artifact in found]),))
    return ArtifactSet.about(
        info, tuple(replace(each, content=content) if each.loader == METADATA else each for each in found)
    )


@uncollected()
def in_process(compilation: Compilation, *, keep: bool = True) -> ArtifactSet:
    """The workspace and state with which this process runs a model with a typed (`c`) entry that takes its memory from
    its caller, or with an entry in bytecode. Unless the compilation is to be kept, its weights are moved, not
    copied."""
    from aotc.dialects.aot.contract import weight_offsets
    from aotc.emit.llvm.jit import host_object

    emission, info = Emission(compilation), compilation.info()
    image = emission.artifact("llvm", JIT, f"{info.name}.o", host_object(compilation), FLASH)
    if info.executor == "vm":
        bytecode = next(iter(_vm(emission)))
        return listed([image, bytecode, emission.artifact("aotc", METADATA, f"{info.name}.json", b"")], info)
    blob = compilation.store.pages(weight_offsets(compilation.module), keep=keep)
    weights = emission.artifact("aotc", PARAMETERS, f"{info.name}.weights.bin", blob, FLASH)
    return listed([image, weights, emission.artifact("aotc", METADATA, f"{info.name}.json", b"")], info)


# --- portions of a model's kernels as objects and C, in several processes ---------------------------------------------


def _compiled(
    compilation: Compilation, portions: Portions, source: CSource | None, meanwhile: Callable[[], object]
) -> list[bytes]:
    """Compile the portions of kernels, in as many processes as the options have `jobs`, and `meanwhile` what they do
    not need; returns their objects, none where there is no machine code.

    Their C is in `source` then, if that is given. Raises CompileError.
    """
    from aotc.emit.llvm.object import NativeCode

    options = compilation.options
    native = "shared" in options.emit
    if native:
        NativeCode(compilation, pool=False).prepare()

    def work(number: int) -> tuple[bytes, Printed | None, list[PassTiming]]:
        kernels, before = portions.kernels[number], len(compilation.timings)
        portions.finish(compilation.ctx, options, kernels)
        image = NativeCode(compilation, pool=False, only=kernels).object if native else b""
        text = None if source is None else source.printed(kernels)
        timings = compilation.timings[before:]
        del compilation.timings[before:]
        return image, text, timings

    def begun(number: int) -> None:
        """Those before it are done, or at hand elsewhere."""
        sizes = [len(kernels) for kernels in portions.kernels]
        Progress.of(compilation.ctx).kernel(sum(sizes[:number]) + 1, sum(sizes))

    compilation.store.settle()  # a process with two threads is not copied
    results = in_parallel(work, len(portions.kernels), processes(options), meanwhile, begun)
    compilation.timings += _added(timing for _, _, timings in results for timing in timings)
    for _, text, _ in results:
        if source is not None and text is not None:
            source.take(text)
    return [image for image, _, _ in results] if native else []


def _added(timings: Iterable[PassTiming]) -> list[PassTiming]:
    """Those of one pass as one."""
    found: dict[tuple[str, str], PassTiming] = {}
    for each in timings:
        total = found.setdefault((each.phase, each.pass_name), PassTiming(each.phase, each.pass_name, 0.0))
        total.seconds += each.seconds
    return list(found.values())
