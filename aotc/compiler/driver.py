"""From options to artefacts: the one place that calls the phases, the emitters and the cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from aotc.compiler.checking.budgets import check_budgets
from aotc.compiler.lowering import Source, import_source, in_process, in_process_options, read_once, run_phases
from aotc.errors import CompileError, UsageError
from aotc.frontend.objects.sources import Examples, is_model
from aotc.machines import processor
from aotc.machines.targets import is_host, lookup
from aotc.model.extensions import explained
from aotc.model.files import write_files
from aotc.model.limits import MAX_SHAPES
from aotc.model.progress import Progress
from aotc.pipeline.compilation import Compilation, uncollected
from aotc.pipeline.options import SINGULAR, CompileOptions
from aotc.pipeline.phases import PHASE_NAMES, PassTiming
from aotc.pipeline.signature import FileOptions, InProcessOptions, in_python_terms, with_options

if TYPE_CHECKING:
    from onnx import ModelProto

    from aotc.compiler.dynamic.interface import Given
    from aotc.compiler.dynamic.model import DynamicModel
    from aotc.compiler.dynamic.specializing import Specialization
    from aotc.compiler.fitting.curve import Point
    from aotc.emit.artifacts import Emission
    from aotc.executor import CompiledModel
    from aotc.model.artifacts import ArtifactSet
    from aotc.model.metadata import ModelInfo, PlanInfo


@dataclass(frozen=True)
class Written:
    """The files that `compile_to` wrote."""

    directory: Path
    files: tuple[Path, ...]
    info: ModelInfo | None
    """None when `stop_after` ended the compilation early."""
    timings: tuple[PassTiming, ...]


@uncollected()
def lower(
    source: Source, options: CompileOptions, report: Callable[[str], None] | None = None, *, divided: bool = False
) -> Compilation:
    """Import `source` and run the phases up to `options.stop_after` (default: all).

    `source` is a model file, its bytes, a ModelProto, or with `options.start_at` the textual IR of a phase with its
    weights beside it. `report` hears the name of each phase as it starts. The module is verified as it is imported and
    after the last phase; if it is to be compiled `divided`, the end of that may be left to do (`run_phases`). Raises
    AotcError or OSError.
    """
    source = read_once(source, options)
    with explained("the import"):
        compilation = import_source(source, options, report)
    if options.selftest is not None:
        from aotc.compiler.selftest import add_selftest

        same = {name: getattr(options, name) for name in (*SINGULAR, "io") if name != "stream"}
        add_selftest(compilation, source, lambda inputs: compile(source, **same)(inputs))
    run_phases(compilation, report, divided=divided)
    return compilation


@with_options(InProcessOptions)
@uncollected()
@in_python_terms()
def compile(
    source: Source | Any,
    *,
    example_inputs: Any = None,
    dynamic_shapes: Any = None,
    buckets: Sequence[int] | Mapping[str, Sequence[int]] | None = None,
    max_shapes: int = MAX_SHAPES,
    on_compile: Callable[[Specialization], None] | None = None,
    **options: Unpack[InProcessOptions],
) -> CompiledModel | DynamicModel:
    """Compile a model in this process and return it ready to run: a CompiledModel, or where dimensions of its inputs
    are open, or shapes depend on the values of small ones, a DynamicModel, which compiles for what arrives. Type
    checkers allow what both have, and the rest after `isinstance`; `build(source).load()` is always the first,
    `DynamicModel(source)` always the second.

    `source` is a path, the bytes of a model or a ModelProto, or an object that a model is made of: a module of torch,
    an ExportedProgram, an estimator of scikit-learn, boosted trees, a Keras model, a function of JAX (docs/python.md).
    `example_inputs` and `dynamic_shapes` say what the inputs of such an object are; its class labels that are text come
    back as text.

    Options are those of `aotc compile` with underscores, except those about files and memory, which belong to
    `compile_to`. A `target` is a processor that this one has all of. No C compiler is needed but for linking, with a
    `target` or with kernels of code generators from outside (`offload`). Of a DynamicModel are `buckets`, the extents
    that are compiled for, `max_shapes`, for how many shapes code is kept, and `on_compile`, which hears of each.
    Raises CompileError with one problem for each thing that is not supported, FileNotFoundError, UsageError.
    """
    chosen = in_process_options(**options)
    model = read_once(source, chosen, Examples(example_inputs, dynamic_shapes))
    compiled = _compiled(model, chosen, options, buckets, max_shapes, on_compile)
    return compiled if is_model(source) else compiled.labelled()


def _compiled(
    source: Source, chosen: CompileOptions, options: InProcessOptions, buckets: Given, max_shapes: int, on_compile: Any
) -> CompiledModel | DynamicModel:
    if not is_host(chosen.target):
        _require_here(chosen.target)
    if chosen.offload or not is_host(chosen.target):
        return built(source, replace(in_process(chosen), emit=("object",)), None)[0].load()
    try:
        model = _in_process(source, chosen).load()
    except CompileError as error:
        from aotc.frontend.onnx import OpenShapesError

        if not isinstance(error, OpenShapesError):
            if not error.waits_for:
                raise
            options["constants"] = {**chosen.constants, **dict.fromkeys(error.waits_for, "any")}
        from aotc.compiler.dynamic.model import DynamicModel

        return DynamicModel(source, buckets=buckets, max_shapes=max_shapes, on_compile=on_compile, **options)
    if buckets is not None:
        raise UsageError("fixed-shapes", "buckets of a model with fixed shapes", fix="leave them out")
    return model


def _require_here(spec: str) -> None:
    """Raise UsageError for a target of another kind of machine; which features this one has is found when loading."""
    target = lookup(spec)
    here = processor.architecture()
    if not target.triple.startswith(f"{here}-") or target.freestanding or sys.platform not in target.triple:
        what = f"the code runs where it is compiled, on {here}"
        raise UsageError("wrong-function", f"--target {spec} in `compile`", what, "use `compile_to`")


def _in_process(source: Source, options: CompileOptions) -> ArtifactSet:
    from aotc.compiler.cache import in_process_set

    return in_process_set(read_once(source, options), in_process(options), lower)


@with_options(FileOptions)
@in_python_terms()
def build(
    source: Source | Any,
    *,
    example_inputs: Any = None,
    dynamic_shapes: Any = None,
    loader: Literal["native", "jit"] = "native",
    report: Callable[[str], None] | None = None,
    **options: Unpack[FileOptions],
) -> ArtifactSet:
    """Compile a model and return its artefacts as values; nothing is written.

    `artifacts.write(folder)` is what `compile_to` does, `artifacts.load()` links and runs what ships,
    `artifacts.export_library(path)` keeps the linked library. Without `emit` there are C and, for this machine, an
    object. With `loader="jit"` the object is for this process: `load()` needs no linker and nothing can be exported as
    a library. Raises as `compile`, and BudgetError.
    """
    chosen = CompileOptions.of(**options)
    source = read_once(source, chosen, Examples(example_inputs, dynamic_shapes))
    if "emit" not in options and is_host(chosen.target):
        chosen = replace(chosen, emit=("c", "object"))
    if chosen.stop_after is not None:
        raise UsageError("wrong-function", "stop_after in `build`", "there is no code before the last phase")
    if loader == "jit":
        if not is_host(chosen.target):
            why = f"a process runs code of this machine, not of {chosen.target}"
            raise UsageError("option-conflict", "loader='jit'", why, "leave out the target")
        if chosen.offload:
            why = "kernels of code generators from outside are linked with the model"
            raise UsageError("option-conflict", "offload with loader='jit'", why, "use loader='native'")
        return _in_process(source, chosen)
    if loader != "native":
        raise UsageError("unknown-choice", f"loader={loader!r}", "there is no such choice", "use native or jit")
    return built(source, chosen, report)[0]


@uncollected()
def built(
    source: Source, options: CompileOptions, report: Callable[[str], None] | None
) -> tuple[ArtifactSet, ModelInfo, tuple[PassTiming, ...]]:
    """`build` with ready options: the artefacts, their metadata, and how long each pass took."""
    from aotc.emit.artifacts import emit
    from aotc.pipeline.portions import is_divided

    source = read_once(source, options)
    made = emission(source, options, report, divided=is_divided(options))
    with explained("what is written"):
        check_budgets(made.compilation, made.info, options)
        return emit(made), made.info, tuple(made.compilation.timings)


def emission(
    source: Source, options: CompileOptions, report: Callable[[str], None] | None = None, *, divided: bool = False
) -> Emission:
    """A model as it is compiled, with kernels in forms that fit the budget of flash, and layers row by row that fit the
    budget of RAM, or take hardly any time; of what is not within them that of the least RAM. Raises as `lower`."""
    from aotc.compiler.fitting.flash import fitted
    from aotc.compiler.fitting.ram import within_ram
    from aotc.emit.artifacts import Emission

    def lowered(options: CompileOptions) -> Emission:
        compilation = lower(source, options, report, divided=divided)
        Progress.of(compilation.ctx).phase("emit")
        return Emission(compilation)

    def planned(options: CompileOptions) -> PlanInfo:
        return _planned(source, options, report)

    return fitted(options, lambda options: within_ram(options, lowered, planned))


def _planned(source: Source, options: CompileOptions, report: Callable[[str], None] | None) -> PlanInfo:
    """The plan of a model as it is lowered at once."""
    from aotc.dialects.aot.contract import plan_of

    return plan_of(lower(source, replace(options, stop_after="plan"), report).module)


@with_options(FileOptions)
@in_python_terms()
def compile_to(
    source: Source | Any,
    directory: str | os.PathLike[str],
    *,
    example_inputs: Any = None,
    dynamic_shapes: Any = None,
    report: Callable[[str], None] | None = None,
    **options: Unpack[FileOptions],
) -> Written:
    """Compile a model and write its artefacts into `directory`; what the command `aotc compile` does.

    Writes every file of `emit` or none; `report` hears what is being done. Raises as `compile`, and OSError where a
    file cannot be written.
    """
    chosen = CompileOptions.of(**options)
    source = read_once(source, chosen, Examples(example_inputs, dynamic_shapes))
    return compile_with(source, Path(directory), chosen, report)


def to_onnx(given: Any, *, example_inputs: Any = None, dynamic_shapes: Any = None) -> ModelProto:
    """The ONNX model that `compile` makes of an object, `example_inputs` and `dynamic_shapes` as there: to keep, or for
    `InferenceSession` and `DynamicModel`. Raises as `compile` does of objects, and UsageError for a model."""
    from aotc.frontend.objects.registry import made_of

    if is_model(given):
        raise UsageError("wrong-argument", f"to_onnx of a {type(given).__name__}", "that is a model already")
    return made_of(given, Examples(example_inputs, dynamic_shapes))


@uncollected()
def measured(source: Source, options: CompileOptions) -> ModelInfo:
    """The metadata of a compilation that writes nothing: what the model costs. Raises BudgetError over a budget, else
    as `compile_to`."""
    made = emission(source, options)
    check_budgets(made.compilation, made.info, options)
    return made.info


@uncollected()
def pareto(source: Source, options: CompileOptions, report: Callable[[str], None] | None = None) -> list[Point]:
    """The programs of a model from the fastest to that of the least RAM. Raises as `lower`."""
    from aotc.compiler.fitting.curve import curve

    source = read_once(source, options)
    return curve(
        options,
        lambda options: emission(source, options, report),
        lambda options: _planned(source, options, report),
    )


@uncollected()
def compile_with(
    source: Source, directory: Path, options: CompileOptions, report: Callable[[str], None] | None = None
) -> Written:
    """`compile_to` with ready options."""
    from aotc.compiler import cache

    source = read_once(source, options)
    key = cache.key_of(source, options, "files")
    if (found := cache.cached(key)) is not None:
        artifacts, info = found
        return Written(directory, tuple(artifacts.write(directory)), info, ())
    if options.stop_after is not None and options.stop_after != PHASE_NAMES[-1]:
        from aotc.pipeline.textual_ir import ir_files

        compilation = lower(source, options, report)
        files = ir_files(compilation, f"{compilation.name}.{options.stop_after}")
        return Written(directory, tuple(write_files(directory, files)), None, tuple(compilation.timings))
    artifacts, info, timings = built(source, options, report)
    with explained("what is written"):
        written = artifacts.write(directory)
    cache.keep(key, artifacts, written, info)
    return Written(directory, tuple(written), info, timings)
