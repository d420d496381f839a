"""From a model to IR after the last phase: imported, or read as IR, and through the phases."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import ReturnOp

from aotc.compiler.origin import origin_of
from aotc.dialects.aot.contract import (
    FORMS,
    PINS,
    POOLS,
    TARGET,
    WEIGHTS_POOL,
    Argument,
    arguments_of,
    entry,
    results_of,
    set_arguments,
    set_results,
)
from aotc.dialects.dtypes import extended
from aotc.errors import CompileError, Problem, UsageError, warn
from aotc.frontend.objects.sources import NO_EXAMPLES, Examples
from aotc.machines.targets import lookup, machine_of
from aotc.machines.tuning_table import TuningTable
from aotc.model.conventions import FIRST, LAST
from aotc.model.files import Content, write_files
from aotc.model.metadata import row_axis
from aotc.model.model_file import ModelFile, Source
from aotc.model.naming import c_identifier
from aotc.model.progress import Progress
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, PassRunner, by_function, phase_index, pipeline_of
from aotc.pipeline.portions import Portions, processes
from aotc.pipeline.signature import NOT_IN_PROCESS, InProcessOptions
from aotc.pipeline.universe import multiverse
from aotc.pipeline.verification import verify
from aotc.pipeline.workers import aside, is_alone

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from aotc.model.weight_store import WeightStore


def read_once(source: Source, options: CompileOptions, examples: Examples = NO_EXAMPLES) -> Source:
    """`source`, where it is the path of a model, as a file that is read once however many steps ask for its content;
    the model of an object, whose inputs are like the `examples`. Raises UsageError, a TypeError, where it is nothing
    that a model is given as or made of, and else as `frontend.objects.model_of`."""
    if isinstance(source, str | os.PathLike) and not examples.are_given:
        return source if isinstance(source, ModelFile) or options.start_at is not None else ModelFile(source)
    from aotc.frontend.objects.registry import model_of

    return model_of(source, examples)


def in_process_options(**options: Unpack[InProcessOptions]) -> CompileOptions:
    """Options for a model that is called where it is compiled. Raises UsageError for those without a meaning there."""
    default = CompileOptions()
    refused = {name: (getattr(default, name), *default.emit) for name in NOT_IN_PROCESS}
    if elsewhere := [name for name, value in options.items() if name in refused and value not in refused[name]]:
        what = "nothing is written, and the code is for this machine"
        raise UsageError(
            [Problem("wrong-function", f"{name} in `compile`", what, "use `compile_to`") for name in elsewhere]
        )
    return CompileOptions.of(**options)


def in_process(options: CompileOptions) -> CompileOptions:
    """`options` for code that is called where it is compiled."""
    if options.executor == "vm":
        return replace(options, operator_api="cpacked", emit=("vm",))
    io = "quantized" if options.quantizes_io else "caller"
    return replace(options, interface_api="c", operator_api="unpacked", workspace="caller", weights="caller", io=io)


def new_context() -> Context:
    """A context that knows every installed dialect."""
    ctx = Context()
    for name, load in multiverse().all_dialects.items():
        ctx.register_dialect(name, load)
    return ctx


def import_source(source: Source, options: CompileOptions, report: Callable[[str], None] | None = None) -> Compilation:
    """The model as it is after `import`, or with `options.start_at` after that phase. Raises AotcError or OSError."""
    require_suitable(options)
    if options.state and options.start_at is not None:
        raise UsageError("option-conflict", "--state with --start-at", "IR keeps the states it was made with")
    if options.stream and options.start_at is not None:
        raise UsageError("option-conflict", "--stream with --start-at", "IR has the inputs that it was made with")
    if options.pools and options.start_at is not None:
        raise UsageError("option-conflict", "--pool with --start-at", "IR has the pools that it was made with")
    if options.changes_interface and options.start_at is not None:
        what = "--io quantized or layouts of inputs and outputs with --start-at"
        raise UsageError("option-conflict", what, "IR keeps the inputs and outputs it was made with")
    if options.tuned is not None:
        TuningTable.read(options.tuned).require(lookup(options.target).cpu)
    first, last = _first_and_last(options)
    if last < first:
        what = f"--stop-after {options.stop_after} comes before --start-at {options.start_at}"
        raise UsageError("option-conflict", what)
    if report is not None:
        report("import")
    origin = origin_of(source, options)
    if options.start_at is None:
        found = _import(source, options)
    else:
        from aotc.pipeline.textual_ir import read_ir

        found = read_ir(source, options.start_at, options, new_context())
        found.store.most_computed, found.store.most_folded = options.max_constants, options.max_folded
    TARGET.set(found.module, options.target)
    if options.pools:
        POOLS.set(found.module, list(options.pools.values()))
        PINS.set(found.module, options.pins or None)
    if options.weights_pool is not None:
        WEIGHTS_POOL.set(found.module, options.weights_pool)
    if options.forms is not None:
        FORMS.set(found.module, options.forms)
    if found.origin is not None:  # IR knows of which model it is
        origin = replace(origin, model_sha256=found.origin.model_sha256)
    found.origin = origin
    return found


def require_suitable(options: CompileOptions) -> None:
    """Raise UsageError where there is no such target, or something is asked of it that it does not have."""
    if options.target != "host" or options.threads > 1:  # the host takes LLVM to describe
        target = lookup(options.target)
        if options.threads > 1 and not target.threads:
            flags = f"--threads {options.threads} with --target {options.target}"
            fix = "use --threads 1 or a Linux target"
            raise UsageError("unsupported-by-target", flags, "there are no POSIX threads", fix)
    if options.stream and machine_of(options.target) is not None:
        flags = ", ".join(f"--stream {name}={rows}" for name, rows in options.stream.items())
        why = f"layers are computed row by row on cores without vectors, and {options.target} has some"
        raise UsageError("unsupported-by-target", flags, why, "use a target without vectors, as cortex-m4f")
    if options.requantize == "fixed" and options.is_vectorized:
        why = f"kernels for {options.target} at -O{options.optimize} are in vector registers, where floats are fast"
        raise UsageError("option-conflict", "--requantize fixed", why, "use -O0 or -Os, or a target without vectors")


def run_phases(compilation: Compilation, report: Callable[[str], None] | None = None, *, divided: bool = False) -> None:
    """Take what `import_source` gave through the phases up to `stop_after` (default: all). Raises AotcError, OSError.

    `report` hears the name of each phase as it starts, and of some the kernel at hand. The module is verified as it is
    imported and after the last phase. If it is to be compiled `divided`, the compilation has its portions, and the
    passes `by_function` are left to do, unless somebody watches the passes or another package has one behind them.
    """
    options = compilation.options
    progress = Progress(report)
    progress.attach(compilation.ctx)
    first, last = _first_and_last(options)
    dumper = _Dumper(options, compilation)
    if options.start_at is None:
        verify(compilation.module)
        dumper.after_phase("import", 0)
    runner = PassRunner(compilation.ctx, verify_each=options.verify_each, after_pass=dumper.after_pass)
    compilation.timings = runner.timings
    if divided and processes(options) > 1 and is_alone():
        compilation.store.aside = aside
    for index in range(first + 1, last + 1):
        phase = PHASES[index]
        progress.phase(phase.name)
        pipeline = pipeline_of(phase, options)
        verified = index == last
        if divided and verified:
            before, rest, others = pipeline.partition(by_function(options))
            runner.run(phase.name, before.rstrip(","), compilation.module, verified=False)
            compilation.portions = portions = Portions.of(compilation.module)
            pipeline, portions.is_unfinished = rest + others, not others and not options.is_watched
            if portions.is_unfinished:
                pipeline, verified = "", False
        runner.run(phase.name, pipeline, compilation.module, verified=verified)
        compilation.phase = phase.name
        dumper.after_phase(phase.name, index)
    dumper.finish()


def _first_and_last(options: CompileOptions) -> tuple[int, int]:
    """The phase that IR is given after, and the last one to run."""
    first = 0 if options.start_at is None else phase_index(options.start_at)
    last = len(PHASES) - 1 if options.stop_after is None else phase_index(options.stop_after)
    return first, last


def _import(source: Source, options: CompileOptions) -> Compilation:
    from aotc.frontend import onnx, tflite
    from aotc.model.weight_store import WeightStore

    ctx = new_context()
    name = options.name
    if name is None and isinstance(source, str | os.PathLike):
        name = Path(source).stem
    elif name is not None and (identifier := c_identifier(name)) != name:
        what = f"--name {name} is not a C identifier"
        warn(Problem("invalid-name", what, fix=f"files and symbols have {identifier}"))
    store = WeightStore.of(ctx)
    store.most_computed, store.most_folded = options.max_constants, options.max_folded
    values: Mapping[str, Array] = {}
    if tflite.content_of(source) is not None:
        own = LAST
        _require_fixed(options)
        is_real = options.requantize in ("exact", "fixed")
        model = tflite.load_model(source)
        model = tflite.leave_quantization(model) if options.quantizes_io else model
        module = tflite.import_model(model, ctx, name=name, real=is_real)
        if options.has_bytecode and any(each.state_of is not None for each in results_of(entry(module))):
            why, fix = "the workspace of bytecode lives as long as a call", "compile to code"
            raise UsageError("option-conflict", "bytecode of a .tflite model with variables", why, fix)
    else:
        own = FIRST
        if options.requantize == "tflite":
            why, fix = "its quantised operators have no integer multipliers", "use fixed, which rounds as TFLite"
            raise UsageError("option-conflict", "--requantize tflite with an ONNX model", why, fix)
        model, values = onnx.release(onnx.load_model(source), options.state.values())
        model = onnx.freeze(model, options.constants)
        dims, shapes = dict(options.dims), dict(options.input_shapes)
        module = onnx.import_model(model, ctx, dims=dims, input_shapes=shapes, name=name, max_nodes=options.max_nodes)
    mark_states(module, options.state, values, store)
    mark_layouts(module, options, own)
    if rows := pipeline_of(PHASES[0], options):
        PassRunner(ctx, verify_each=options.verify_each).run("import", rows, module, verified=True)
    mark_streams(module, options.stream)
    main = entry(module)
    if options.quantizes_io and all(each.scale is None for each in (*arguments_of(main), *results_of(main))):
        what = "--io quantized: no input of the model is quantized at once, and no output dequantized at last"
        why = "there are no scales of its inputs and outputs for the caller"
        raise CompileError("not-quantized", what, why, "leave it out, or quantise the model")
    return Compilation(options, ctx, module, store, "import")


def _require_fixed(options: CompileOptions) -> None:
    """Raise UsageError for options about shapes and constants that a .tflite model has itself."""
    asked = {"--dim": options.dims, "--input-shape": options.input_shapes, "--constant": options.constants}
    why, fix = "its shapes and constants are those of its file", "leave it out"
    problems = [
        Problem("option-conflict", f"{flag} with a .tflite model", why, fix) for flag, value in asked.items() if value
    ]
    if problems:
        raise UsageError(problems)


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


Array = np.ndarray[Any, Any]


def mark_states(module: ModuleOp, states: Mapping[str, str], values: Mapping[str, Array], store: WeightStore) -> None:
    """Say of the entry which results, by name, are which arguments at the next call.

    `values` are what arguments are at first; zeros of those that have none. Raises UsageError with one problem for each
    two that cannot be.
    """
    if not states:
        return
    main = entry(module)
    arguments, results = arguments_of(main), results_of(main)
    inputs = {each.name: place for place, each in enumerate(arguments)}
    outputs = {each.name: place for place, each in enumerate(results)}
    end = main.body.block.last_op
    assert isinstance(end, ReturnOp)
    problems: list[Problem] = []
    shared = Counter(states.values())
    for output, source in states.items():
        flag = f"--state {output}={source}"
        if output not in outputs:
            problems.append(Problem("unknown-output", flag, f"the model has no output {output}", _there_are(results)))
        if source not in inputs:
            problems.append(Problem("unknown-input", flag, f"the model has no input {source}", _there_are(arguments)))
        if shared[source] > 1:
            others = ", ".join(name for name, other in states.items() if other == source)
            why = f"{source} would have the next values {others}"
            problems.append(Problem("mismatched-state", flag, why, "choose one"))
        if output not in outputs or source not in inputs:
            continue
        value, argument = end.operands[outputs[output]], main.args[inputs[source]]
        if value is argument:
            why = f"{output} is the input {source} itself, which never changes"
            problems.append(Problem("mismatched-state", flag, why))
        elif value.type != argument.type:
            kinds = [_kind(given, each.type) for given, each in ((output, value), (source, argument))]
            problems.append(Problem("mismatched-state", flag, " and ".join(kinds), "a state has one type and shape"))
    if problems:
        raise UsageError(problems)
    for output, source in states.items():
        results[outputs[output]].state_of = inputs[source]
        if (value := values.get(source)) is not None and np.any(value.reshape(-1).view(np.uint8)):
            arguments[inputs[source]].initial = store.add(f"state_{source}", extended(value.reshape(-1)))
    set_arguments(main, arguments)
    set_results(main, results)


def mark_streams(module: ModuleOp, streams: Mapping[str, int]) -> None:
    """Say of the entry which inputs, as callers have them, come by rows. Raises UsageError with one problem for each
    that cannot."""
    main, problems = entry(module), list[Problem]()
    arguments = arguments_of(main)
    states = [each.state_of for each in results_of(main)]
    shown = {each.name: place for place, each in enumerate(arguments) if place not in states}
    for name, rows in streams.items():
        flag = f"--stream {name}={rows}"
        if (place := shown.get(name)) is None:
            there = _there_are([arguments[place] for place in shown.values()])
            problems.append(Problem("unknown-input", flag, f"the model has no input {name}", there))
            continue
        kind = main.args[place].type
        assert isinstance(kind, TensorType)
        shape = kind.get_shape()
        count = shape[row_axis(shape)] if shape else 1
        if count == 1:
            problems.append(Problem("mismatched-stream", flag, f"{name} has a single row", "leave it out"))
        elif rows > count:
            problems.append(Problem("out-of-range", flag, f"{name} has {count} rows", f"use 1 to {count}"))
        else:
            arguments[place].rows = rows
    if problems:
        raise UsageError(problems)
    set_arguments(main, arguments)


def mark_layouts(module: ModuleOp, options: CompileOptions, own: Mapping[int, str]) -> None:
    """Say of the entry which tensors callers have in another layout than the model's, `own` by rank.

    Raises UsageError with one problem for each that there is not, or whose rank is another.
    """
    if not options.has_layouts:
        return
    main, problems = entry(module), list[Problem]()
    arguments, results = arguments_of(main), results_of(main)
    states = [each.state_of for each in results]
    kinds = main.function_type
    shown = [each for place, each in enumerate(zip(arguments, kinds.inputs, strict=True)) if place not in states]
    given = [each for each in zip(results, kinds.outputs, strict=True) if each[0].state_of is None]
    sides = (
        ("input", "unknown-input", shown, options.input_layouts),
        ("output", "unknown-output", given, options.output_layouts),
    )
    for what, kind, tensors, layouts in sides:
        for name, layout in layouts.items():
            flag, found = f"--{what}-layout {name}={layout}", [each for each in tensors if each[0].name == name]
            if not found:
                there = _there_are([each for each, _ in tensors])
                problems.append(Problem(kind, flag, f"the model has no {what} {name}", there))
                continue
            ((tensor, of_tensor),) = found
            assert isinstance(of_tensor, TensorType)
            if (rank := len(of_tensor.get_shape())) != len(layout):
                problems.append(Problem("mismatched-layout", flag, f"{name} has {rank} axes, {layout} {len(layout)}"))
            elif layout not in own.values():
                tensor.layout = layout
    if problems:
        raise UsageError(problems)
    set_arguments(main, arguments)
    set_results(main, results)


def _there_are(tensors: list[Argument]) -> str:
    return "there are " + (", ".join(each.name or "" for each in tensors) or "none")


def _kind(name: str, kind: object) -> str:
    assert isinstance(kind, TensorType)
    return f"{name} is {kind.element_type}{list(kind.get_shape())}"
