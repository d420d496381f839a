"""From options to artefacts: the one place that runs the phases and calls the emitters."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from aotc.errors import Problem, UsageError
from aotc.machines.targets import lookup
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.files import Content, write_files
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASE_NAMES, PHASES, PassRunner, PassTiming, phase_index, pipeline_of
from aotc.pipeline.verification import verify

if TYPE_CHECKING:
    import onnx
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from aotc.executor import CompiledModel
    from aotc.model.metadata import ModelInfo

_NOT_IN_PROCESS = (
    *("emit", "target", "split", "weights_section", "workspace_section", "selftest", "selftest_outputs"),
    *("ram", "flash", "stack", "stop_after"),
)
"""Options without a meaning for a model that is called where it is compiled."""

Source: TypeAlias = "str | os.PathLike[str] | bytes | onnx.ModelProto"


@dataclass(frozen=True)
class Artifacts:
    """What `compile_to` wrote."""

    directory: Path
    files: tuple[Path, ...]
    info: ModelInfo | None
    """None when `stop_after` ended the compilation early."""
    timings: tuple[PassTiming, ...]


@contextmanager
def _uncollected() -> Generator[None]:
    """Without garbage collection: IR is full of cycles and nearly all of it lives to the end, so walking over it again
    and again takes a quarter of the time and frees next to nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def new_context() -> Context:
    """A context that knows every installed dialect."""
    from xdsl.context import Context

    from aotc.pipeline.universe import multiverse

    ctx = Context()
    for name, load in multiverse().all_dialects.items():
        ctx.register_dialect(name, load)
    return ctx


@_uncollected()
def lower(source: Source, options: CompileOptions, report: Callable[[str], None] | None = None) -> Compilation:
    """Import `source` and run the phases up to `options.stop_after` (default: all).

    `source` is a model file, its bytes, a ModelProto, or with `options.start_at` the textual IR of a phase with its
    weights beside it. `report` hears the name of each phase as it starts. The module is verified as it is imported and
    after the last phase. Raises AotcError or OSError.
    """
    if options.target != "host" or options.threads > 1:  # the host takes LLVM to describe
        target = lookup(options.target)
        if options.threads > 1 and not target.threads:
            flags = f"--threads {options.threads} with --target {options.target}"
            raise UsageError(Problem(flags, why="there are no POSIX threads", fix="use --threads 1 or a Linux target"))
    first = 0 if options.start_at is None else phase_index(options.start_at)
    last = len(PHASES) - 1 if options.stop_after is None else phase_index(options.stop_after)
    if last < first:
        raise UsageError(Problem(f"--stop-after {options.stop_after} comes before --start-at {options.start_at}"))
    if report is not None:
        report("import")
    compilation = _import(source, options) if options.start_at is None else _resume(source, options.start_at, options)
    dumper = _Dumper(options, compilation)
    if options.selftest is not None:
        if options.start_at is not None:
            raise UsageError(Problem("--selftest with --start-at", why="IR keeps the self-test it was made with"))
        from aotc.compiler.selftest import attach_selftest

        attach_selftest(compilation, source)
    if options.start_at is None:
        verify(compilation.module)
        dumper.after_phase("import", 0)
    runner = PassRunner(compilation.ctx, verify_each=options.verify_each, after_pass=dumper.after_pass)
    compilation.timings = runner.timings
    for index in range(first + 1, last + 1):
        phase = PHASES[index]
        if report is not None:
            report(phase.name)
        runner.run(phase.name, pipeline_of(phase, options), compilation.module, verified=index == last)
        compilation.phase = phase.name
        dumper.after_phase(phase.name, index)
    dumper.finish()
    return compilation


@_uncollected()
def compile(source: Source, **options: Any) -> CompiledModel:
    """Compile a model in this process and return it ready to run.

    `source` is a path, the bytes of a model or a ModelProto; options are those of `aotc compile` with underscores
    (`dims={"batch": 4}`, `input_shapes={"x": (1, 3, 224, 224)}`, `optimize=3`, ...), except those about files, memory
    and other machines, which belong to `compile_to`. No C compiler is needed.
    Raises CompileError with one problem for each thing that is not supported, FileNotFoundError, UsageError.
    """
    chosen = CompileOptions.of(**options)
    default = CompileOptions()
    if elsewhere := [name for name in _NOT_IN_PROCESS if getattr(chosen, name) != getattr(default, name)]:
        what = "nothing is written, and the code is for this machine"
        raise UsageError([Problem(f"{name} in `compile`", why=what, fix="use `compile_to`") for name in elsewhere])
    from aotc.compiler.reuse import host_code

    return host_code(source, in_process(chosen), lower).load()


def in_process(options: CompileOptions) -> CompileOptions:
    """`options` for code that is called where it is compiled."""
    return replace(
        options, interface_api="c", operator_api="unpacked", workspace="caller", weights="caller", io="caller"
    )


def compile_to(
    source: Source, directory: str | os.PathLike[str], *, report: Callable[[str], None] | None = None, **options: Any
) -> Artifacts:
    """Compile a model and write its artefacts into `directory`; what the command `aotc compile` does.

    Writes every file of `emit` or none. Raises as `compile`, and OSError where a file cannot be written.
    """
    return compile_with(source, Path(directory), CompileOptions.of(**options), report)


@_uncollected()
def compile_with(
    source: Source, directory: Path, options: CompileOptions, report: Callable[[str], None] | None = None
) -> Artifacts:
    """`compile_to` with ready options."""
    from aotc.compiler.reuse import KeptFiles

    kept = KeptFiles(source, options)
    if (found := kept.find()) is not None:
        files, info = found
        return Artifacts(directory, tuple(write_files(directory, files)), info, ())
    compilation = lower(source, options, report)
    if options.stop_after is not None and options.stop_after != PHASE_NAMES[-1]:
        from aotc.pipeline.textual_ir import ir_files

        files = ir_files(compilation, f"{compilation.name}.{options.stop_after}")
        return Artifacts(directory, tuple(write_files(directory, files)), None, tuple(compilation.timings))
    from aotc.checking.budgets import check_budgets
    from aotc.emit.artifacts import Emission, emit

    if report is not None:
        report("emit")
    emission = Emission(compilation)
    check_budgets(compilation, emission.info)
    written = write_files(directory, emit(emission))
    kept.keep(written, emission.info)
    return Artifacts(directory, tuple(written), emission.info, tuple(compilation.timings))


def _import(source: Source, options: CompileOptions) -> Compilation:
    from aotc.frontend.onnx import import_model, load_model
    from aotc.model.weights import WeightStore

    ctx = new_context()
    model = load_model(source)
    name = options.name
    if name is None and isinstance(source, str | os.PathLike):
        name = Path(source).stem
    module = import_model(model, ctx, dims=dict(options.dims), input_shapes=dict(options.input_shapes), name=name)
    return Compilation(options, ctx, module, WeightStore.of(ctx), "import")


def _resume(source: Source, start_at: str, options: CompileOptions) -> Compilation:
    from aotc.pipeline.textual_ir import read_ir

    return read_ir(source, start_at, options, new_context())


class _Dumper:
    """`--dump-phases` and `--print-ir-after-all`."""

    def __init__(self, options: CompileOptions, compilation: Compilation) -> None:
        self._compilation = compilation
        self._directory = None if options.dump_phases is None else Path(options.dump_phases)
        self._print = options.print_ir_after_all
        self._texts: dict[str, Content] = {}
        compilation.store.keeps_all = self._directory is not None

    def after_pass(self, phase: str, pass_name: str, module: ModuleOp) -> None:
        if self._print:
            from aotc.pipeline.textual_ir import ir_text

            print(f"// -----// IR after {pass_name} ({phase}) //----- //\n{ir_text(module)}", file=sys.stderr)

    def after_phase(self, phase: str, index: int) -> None:
        if self._directory is not None:
            from aotc.pipeline.textual_ir import ir_text

            self._texts[f"{index:02}-{phase}.mlir"] = ir_text(self._compilation.module)

    def finish(self) -> None:
        if self._directory is not None:
            write_files(self._directory, {**self._texts, "weights.npz": self._compilation.store.to_bytes()})


__all__ = ["Artifacts", "Compilation", "compile", "compile_to", "compile_with", "in_process", "lower"]
