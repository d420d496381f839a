"""The order of things: named phases, each a sentence and a pipeline of passes.

Nothing else knows which pass follows which. A phase's pipeline is text in the syntax of `aotc-opt -p`, so that what
runs can be printed, copied and run by hand. A package from outside adds passes at the end of a phase through the entry
point group `aotc.pipelines`: the entry's name is the phase, its value a pipeline.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import EntryPoint
from typing import Protocol, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, PassFailedException

from aotc.errors import CompileError, InternalError, Problem, UsageError
from aotc.machines.targets import core_of, machine_of
from aotc.model import extensions
from aotc.model.faults import explained
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.universe import multiverse
from aotc.pipeline.verification import verify, verify_parts


@dataclass(frozen=True)
class Phase:
    """A stage of compilation; the IR after it is described in docs/ir.md."""

    name: str
    sentence: str
    pipeline: Callable[[CompileOptions], str]


def _fixed(pipeline: str) -> Callable[[CompileOptions], str]:
    return lambda options: pipeline


def _graph(options: CompileOptions) -> str:
    raising, notes = "{most-bits=8}", ""
    fixed = f'tabulate-quantized{{target="{options.target}"}},fix-arithmetic{{tables=false}},'
    doubles = options.requantize == "fixed"
    if not is_vectorized(options):
        core = core_of(options.target)
        long_multiply = _flag(core.long_multiply)
        requantization = f",fix-requantization{{long-multiply={long_multiply} doubling={_flag(doubles)}}}"
        in_floats = core.quads and options.optimize != "0" and not doubles  # four at a time
        fixed = f"tabulate-quantized,fix-arithmetic,fix-softmax{'' if in_floats else requantization},"
        raising, notes = f"{{means=true averages={_flag(not doubles)}}}", "" if in_floats else "{requantization=true}"
    elif doubles:
        why = f"kernels for {options.target} at -O{options.optimize} are in vector registers, where floats are fast"
        raise UsageError(Problem("--requantize fixed", why=why, fix="use -O0 or -Os, or a target without vectors"))
    return (
        "annotate-quantization,infer-shapes,fold-constants{quantized=false},canonicalize,simplify-control-flow,"
        "fold-batch-norm,shrink-constants,eliminate-transposes,absorb-transposes,fold-constants{quantized=false},"
        f"canonicalize,cse,raise-functions,raise-normalization,raise-quantization{raising},{fixed}fold-constants,"
        f"canonicalize,cse,dce,note-floats{notes}"
    )


def _is_scheduled_without_vectors(options: CompileOptions) -> bool:
    return options.optimize != "0" and machine_of(options.target) is None


def _schedule(options: CompileOptions) -> str:
    offload = ""
    if options.offload:
        offload = (
            f'offload-operations{{codegens="{",".join(options.offload)}" target="{options.target}"}},'
            "eliminate-transposes,fold-constants,canonicalize,cse,dce"
        )
    return ",".join(part for part in (offload, _scheduled(options)) if part)


def _scheduled(options: CompileOptions) -> str:
    if _is_scheduled_without_vectors(options):
        is_small = options.optimize == "s"
        target = f'{{target="{options.target}"}}'
        choose = f'choose-schedule{{target="{options.target}"{" size=true" if is_small else ""}}}'
        bytes_ = f"center-weights{target},flip-signs{target}," if core_of(options.target).quads else ""
        trees = f"branch-trees,count-votes{target}"
        return f"{bytes_}{choose},{trees},project-inputs,assign-layouts,fold-constants,canonicalize,cse,dce"
    if not is_vectorized(options):
        return ""
    table = "" if options.tuned is None else f' table="{options.tuned}"'
    choose = f'choose-schedule{{target="{options.target}"{table}}}'
    algorithms = f'choose-algorithms{{target="{options.target}" accuracy={options.accuracy}{table}}}'
    target = f'{{target="{options.target}"}}'
    pair = f'pair-steps{{target="{options.target}"{table}}}'
    flatten = f"flatten-positions{target},fold-constants,bound-sums{target}"
    bytes_ = f"divide-transposed{target},center-weights{target},multiply-in-floats{target},{flatten},{pair}"
    flush = "flush-subnormals," if options.accuracy == "fast" else ""
    rounds = f"round-weights{target}," if options.accuracy == "fast" else ""
    return (
        f"{flush}{bytes_},flip-signs{target},{algorithms},{choose},{rounds}project-inputs,dce,widen-operands,"
        f"assign-layouts{target},fold-constants,prove-narrow-pairs,prove-fractions,canonicalize,cse,{choose},dce"
    )


def _fuse(options: CompileOptions) -> str:
    stages = ""
    if is_vectorized(options):
        machine = f'target="{options.target}"'
        threads = f" threads={options.threads}" if options.threads > 1 else ""
        stages = f"divide-scratch{{{machine}{threads}}}," if threads else ""
        stages += f"tile-and-fuse{{{machine}{threads}}},"
    return f"{stages}fuse-epilogues,fuse-prologues,fuse-elementwise,dce"


def _outline(options: CompileOptions) -> str:
    schedules = f',choose-schedule{{target="{options.target}"}}' if is_vectorized(options) else ""
    counts = ",count-operations" if options.profile else ""
    return f"outline-kernels,cse{schedules}{counts}"


def is_vectorized(options: CompileOptions) -> bool:
    """Whether kernels are written for vector registers: if the target has some, and code is to be fast."""
    return options.optimize in ("1", "2", "3") and machine_of(options.target) is not None


def _alignment(options: CompileOptions, least: int) -> int:
    """Bytes to align buffers to: no vector in them crosses a cache line."""
    machine = machine_of(options.target) if is_vectorized(options) else None
    return least if machine is None else max(least, machine.vector_bytes)


def _plan(options: CompileOptions) -> str:
    threads = f" threads={options.threads}" if options.threads > 1 else ""
    return f"plan-memory{{io={options.io} alignment={_alignment(options, 16)}{threads}}}"


def _loops(options: CompileOptions) -> str:
    parallel = "serialize-parallel-loops"
    if options.threads > 1:
        parallel = f'split-parallel-loops{{threads={options.threads} target="{options.target}"}}'
    checks = "{check-indices=true}" if options.check_indices else ""
    clean = "" if is_vectorized(options) else f",simplify-functions,{_clean(options)}"
    return f"convert-graph-to-loops{checks},{parallel}{clean}"


def _clean(options: CompileOptions) -> str:
    """What is left to do to loops as they are written, in one function after the other."""
    scheduled = is_vectorized(options) or _is_scheduled_without_vectors(options)
    split = ",split-fma" if scheduled and not core_of(options.target).fma else ""
    recompute = f'recompute-indices{{target="{options.target}"}},' if _is_scheduled_without_vectors(options) else ""
    return f"{recompute}move-invariants,expand-math{split}"


def by_function(options: CompileOptions) -> str:
    """The end of the last phase's pipeline: passes with a method `function`, which takes one function and needs no
    other one for it."""
    clean = f"{_clean(options)}," if is_vectorized(options) else ""
    return f'{clean}simplify-functions,unroll-tiles,select-instructions{{target="{options.target}"}}'


def _interface(options: CompileOptions) -> str:
    selection = " ".join(
        f"{option}={value}"
        for option, value in {
            "interface-api": options.interface_api,
            "operator-api": options.operator_api,
            "runtime": options.runtime,
            "workspace": options.workspace,
            "weights": options.weights,
            "operator-arguments": options.operator_arguments,
            "resource-handle": _flag(options.resource_handle),
        }.items()
    )
    profile = ",profile-kernels" if options.profile else ""
    merge = "simplify-functions,merge-kernels," if options.optimize == "s" else ""
    bytecode = ",convert-entry-to-vm{keep=true},allocate-registers" if options.has_bytecode else ""
    leave = "leave-entry," if options.executor == "vm" else ""
    exported = _flag(options.export_operators or options.split or bool(bytecode))
    threads = "run-on-threads," if options.threads > 1 else ""
    apart = " apart=true" if options.weights_apart else ""
    return (
        f"select-calling-convention{{{selection}}},mangle-symbols{{export-operators={exported}}}"
        f"{bytecode},place-weights{{alignment={_alignment(options, 8)}{apart}}},buffers-to-pointers,lower-calls,"
        f"{threads}add-reset,add-selftest,{merge}wrap-entry{{packed-wrapper={_flag(options.packed_wrapper)}}},{leave}"
        f"{by_function(options)}{profile}"
    )


def _flag(value: bool) -> str:
    return "true" if value else "false"


PHASES: tuple[Phase, ...] = (
    Phase("import", "the model as tensors, with static shapes and ONNX gone", _fixed("")),
    Phase(
        "graph",
        "what is computed: shapes inferred, constants and batch normalisation folded, transposes removed",
        _graph,
    ),
    Phase("schedule", "how it is computed on this machine: schedules, layouts, packed weights", _schedule),
    Phase(
        "fuse",
        "what is one kernel: groups of operations",
        _fuse,
    ),
    Phase("outline", "one function for each distinct kernel", _outline),
    Phase("bufferize", "who owns which buffer: kernels write to destinations", _fixed("bufferize")),
    Phase(
        "plan",
        "order and offsets: one workspace of known size",
        _plan,
    ),
    Phase(
        "loops",
        "how it is computed: kernels as loops over memory",
        _loops,
    ),
    Phase("interface", "how it is called: conventions, pointers, status codes", _interface),
)
"""Every phase in order. LLVM ends run `convert-to-llvm` after the last; C is printed from it."""

PHASE_NAMES = tuple(phase.name for phase in PHASES)


def pipeline_of(phase: Phase, options: CompileOptions) -> str:
    """What runs in a phase: its own pipeline, then those of installed packages in order of their packages' names."""
    return ",".join(part for part in (phase.pipeline(options), *_extensions().get(phase.name, ())) if part)


@cache
def _extensions() -> dict[str, list[str]]:
    """The pipelines of installed packages by phase; finding them reads files, so once a process."""
    found: dict[str, list[str]] = {}
    for point, pipeline in extensions.load_all(extensions.PIPELINES, _check):
        found.setdefault(point.name, []).append(pipeline)
    return found


def _check(point: EntryPoint, loaded: object) -> str | None:
    """Whether it is a pipeline of passes that load, for a phase that there is."""
    phase_index(point.name)
    if not isinstance(loaded, str):
        return f"a {type(loaded).__name__} is not a pipeline"
    make_passes(loaded)
    return None


def phase_index(name: str) -> int:
    """Position of a phase; UsageError for an unknown one."""
    if name not in PHASE_NAMES:
        raise UsageError(Problem(f"no phase {name}", fix="choose from " + ", ".join(PHASE_NAMES)))
    return PHASE_NAMES.index(name)


@dataclass
class PassTiming:
    """Seconds one pass took."""

    phase: str
    pass_name: str
    seconds: float


class _ToLLVM(Protocol):
    """What `convert-to-llvm` has beside `apply`."""

    def convert(self, module: ModuleOp, only: Collection[Operation] | None = None) -> ModuleOp: ...


def to_llvm(
    module: ModuleOp,
    target: str,
    *,
    optimize_size: bool,
    weights_section: str | None,
    workspace_section: str | None,
    only: Collection[Operation] | None = None,
) -> ModuleOp:
    """What `convert-to-llvm` makes of a module after the last phase, or of `only` some operations at its top, for an
    object of their own. The module stays as it is. Raises CompileError."""
    conversion = cast(Callable[..., _ToLLVM], multiverse().all_passes["convert-to-llvm"]())
    sections = {"weights_section": weights_section, "workspace_section": workspace_section}
    return conversion(target=target, optimize_size=optimize_size, **sections).convert(module, only)


class _ByFunction(Protocol):
    def function(self, ctx: Context, function: FuncOp) -> None: ...


def finish(ctx: Context, options: CompileOptions, parts: Sequence[Operation]) -> None:
    """Do what is `by_function` to some operations at the top of a module and verify them. Raises CompileError."""
    phase = PHASES[-1].name
    for item in make_passes(by_function(options)):
        with _blaming(item.name, phase):
            for part in parts:
                if isinstance(part, FuncOp) and part.body.blocks:
                    cast(_ByFunction, item).function(ctx, part)
    with _blaming("verify", phase):
        verify_parts(parts)


@lru_cache(maxsize=512)
def make_passes(pipeline: str) -> tuple[ModulePass, ...]:
    """The passes of a pipeline in the syntax of `aotc-opt -p`; they keep no state, and making them again is a tenth of
    what a small model takes. Raises UsageError for one that it cannot be."""
    try:
        specs = list(parse_pipeline(pipeline)) if pipeline else []
    except ArgSpecParseError as error:
        why = str(error).strip().splitlines()[-1].strip()
        raise UsageError(Problem(f"the pipeline {pipeline} cannot be read", why=why)) from None
    return tuple(_make_pass(spec) for spec in specs)


def _make_pass(spec: ArgSpec) -> ModulePass:
    passes = multiverse().all_passes
    if spec.name not in passes:
        near = difflib.get_close_matches(spec.name, passes, n=3)
        fix = f"did you mean {' or '.join(near)}?" if near else "`aotc-opt --help` lists them"
        raise UsageError(Problem(f"no pass {spec.name}", fix=fix))
    try:
        return passes[spec.name]().from_pass_spec(spec)
    except ValueError as error:
        raise UsageError(Problem(f"the pass {spec.name} cannot be made", why=str(error))) from error


@contextmanager
def _blaming(pass_name: str, phase: str) -> Generator[None]:
    """Make errors of the model, and those in code of other packages, a CompileError that says whose they are, and all
    others an InternalError."""
    try:
        with explained(f"the pass {pass_name}", phase):
            try:
                yield
            except PassFailedException as error:
                raise CompileError(Problem(f"the pass {pass_name} cannot go on", why=str(error))) from error
    except InternalError as error:
        cause = error.__cause__
        if not isinstance(cause, Exception) or (problem := extensions.problem_of(cause)) is None:
            raise
        raise CompileError(problem) from cause


class PassRunner:
    """Runs pipelines by text and tells observers about it."""

    def __init__(
        self,
        ctx: Context,
        *,
        verify_each: bool = False,
        after_pass: Callable[[str, str, ModuleOp], None] | None = None,
    ) -> None:
        self._ctx = ctx
        self._verify_each = verify_each
        self._after_pass = after_pass
        self.timings: list[PassTiming] = []

    def run(self, phase: str, pipeline: str, module: ModuleOp, *, verified: bool = True) -> None:
        """Run `pipeline` on `module`, verify at its end unless told not to (after each pass if `verify_each`).

        Raises CompileError.
        """
        for item in make_passes(pipeline):
            start = time.perf_counter()
            with _blaming(item.name, phase):
                item.apply(self._ctx, module)
            self.timings.append(PassTiming(phase, item.name, time.perf_counter() - start))
            if self._verify_each:
                with _blaming(item.name, phase):
                    verify(module)
            if self._after_pass is not None:
                self._after_pass(phase, item.name, module)
        if verified and not self._verify_each:
            start = time.perf_counter()
            with _blaming("verify", phase):
                verify(module)
            self.timings.append(PassTiming(phase, "verify", time.perf_counter() - start))
