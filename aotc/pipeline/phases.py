"""The order of things: named phases, each a sentence and a table of passes.

Nothing else knows which pass follows which. What runs in a phase is text in the syntax of `aotc-opt -p`, so that it can
be printed, copied and run by hand; `aotc phases` prints it, and the table. A package from outside adds passes at the
end of a phase through the entry point group `aotc.pipelines`: the entry's name is the phase, its value a pipeline.
"""

import difflib
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import EntryPoint
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, PassFailedException

from aotc.errors import CompileError, InternalError, UsageError
from aotc.machines.targets import core_of, machine_of
from aotc.model import extensions
from aotc.model.extensions import explained
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.universe import multiverse
from aotc.pipeline.verification import verify, verify_selected


@dataclass(frozen=True)
class When:
    """A condition on what a user asks for: its name in tables, what that means, and whether it holds."""

    name: str
    sentence: str
    holds: Callable[[CompileOptions], bool]


class Row:
    """A pass, the conditions under which it runs, all of them, and its options.

    An option `"{threads}"` has the value of `threads` of CompileOptions; where that is None, it is left out.
    """

    def __init__(self, name: str, *when: When, **options: str | int) -> None:
        self.name = name
        self.when = when
        self.options = {option.replace("_", "-"): value for option, value in options.items()}

    def runs(self, asked: CompileOptions) -> bool:
        """Whether the pass is part of a compilation with these options."""
        return all(each.holds(asked) for each in self.when)

    def text(self, asked: CompileOptions | None = None) -> str:
        """The pass in the syntax of `aotc-opt -p`; where nothing is asked for, with names of options in capitals."""
        values = {name: _value(value, asked) for name, value in self.options.items()}
        given = " ".join(f"{name}={_text(value)}" for name, value in values.items() if value is not None)
        return f"{self.name}{{{given}}}" if given else self.name


def _value(value: str | int, asked: CompileOptions | None) -> object:
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    name = value.strip("{}")
    return name.upper() if asked is None else getattr(asked, name)


def _text(value: object) -> str:
    if isinstance(value, int):
        return str(value).lower()
    text = ",".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)
    return text if text.isidentifier() else f'"{text}"'


@dataclass(frozen=True)
class Phase:
    """A stage of compilation; the IR after it is described in docs/ir.md."""

    name: str
    sentence: str
    rows: tuple[Row, ...] = ()


def pipeline(rows: tuple[Row, ...], asked: CompileOptions) -> str:
    """The rows that run with these options, in the syntax of `aotc-opt -p`."""
    return ",".join(row.text(asked) for row in rows if row.runs(asked))


VECTORS = When("on vectors", "the target has vector registers, at -O1 to -O3", lambda asked: asked.is_vectorized)
SCALARS = When(
    "without vectors", "the target has no vector registers, or at -O0 and -Os", lambda asked: not asked.is_vectorized
)
CORE = When(
    "on a core without vectors",
    "the target has no vector registers, at -O1 to -O3 and -Os",
    lambda asked: asked.optimize != "0" and machine_of(asked.target) is None,
)
SCHEDULED = When(
    "with schedules", f"{VECTORS.name}, or {CORE.name}", lambda asked: VECTORS.holds(asked) or CORE.holds(asked)
)
EXACT = When("unless --requantize fixed", "", lambda asked: asked.requantize != "fixed")
FIXED = When("--requantize fixed", "", lambda asked: asked.requantize == "fixed")
FLOATS = When(
    "requantised in floats",
    f"{VECTORS.name}, and {CORE.name} with quads, unless {FIXED.name}",
    lambda asked: VECTORS.holds(asked) or (CORE.holds(asked) and EXACT.holds(asked) and core_of(asked.target).quads),
)
INTEGERS = When("requantised in integers", f"not {FLOATS.name}", lambda asked: not FLOATS.holds(asked))
FAST = When("--accuracy fast", "", lambda asked: asked.accuracy == "fast")
SPLIT = When(
    "without multiply-adds",
    "the target has no fused multiply-adds of floats",
    lambda asked: not core_of(asked.target).fma,
)
ALONE = When("one thread", "--threads 1", lambda asked: asked.threads == 1)
THREADS = When("threads", "--threads 2 or more", lambda asked: asked.threads > 1)
SHARED = When(
    "with shared kernels",
    "-Os, where --flash chooses forms of kernels, and -O1 on a core without vectors",
    lambda asked: asked.is_small or asked.forms is not None or (asked.optimize == "1" and CORE.holds(asked)),
)
OFFLOAD = When("--offload", "with code generators from outside", lambda asked: bool(asked.offload))
BYTECODE = When("bytecode", "--emit vm or --executor vm", lambda asked: asked.has_bytecode)
MACHINE = When("--executor vm", "", lambda asked: asked.executor == "vm")
QUANTIZED = When("--io quantized", "", lambda asked: asked.quantizes_io)
LAYOUTS = When("--input-layout, --output-layout", "", lambda asked: asked.has_layouts)
PROFILE = When("profile", "for a profile (`aotc bench --profile`)", lambda asked: asked.profile)

ROLLS = When(
    "with rows",
    f"{CORE.name}, {ALONE.name}, for a budget of RAM, or without others at -O2 and -O3",
    lambda asked: asked.rolls,
)
STREAM = When("--stream", "an input comes by rows", lambda asked: bool(asked.stream))
ROLLED = When("with rows, --stream", "either", lambda asked: ROLLS.holds(asked) or STREAM.holds(asked))

_BY_FUNCTION = (
    Row("move-invariants", VECTORS),
    Row("expand-math", VECTORS),
    Row("split-fma", VECTORS, SPLIT),
    Row("simplify-functions"),
    Row("unroll-tiles"),
    Row("select-instructions"),
)
"""Passes with a method `function`, which takes one function and needs no other one for it."""

PHASES: tuple[Phase, ...] = (
    Phase(
        "import",
        "the model as tensors, with static shapes and ONNX gone",
        (Row("quantize-interface", QUANTIZED), Row("transpose-interface", LAYOUTS)),
    ),
    Phase(
        "graph",
        "what is computed: shapes inferred, constants and batch normalisation folded, transposes removed",
        (
            Row("annotate-quantization"),
            Row("infer-shapes"),
            Row("fold-constants", quantized=False),
            Row("canonicalize"),
            Row("simplify-control-flow"),
            Row("fold-batch-norm"),
            Row("shrink-constants"),
            Row("eliminate-transposes"),
            Row("absorb-transposes"),
            Row("fold-constants", quantized=False),
            Row("canonicalize"),
            Row("cse"),
            Row("raise-functions"),
            Row("raise-normalization"),
            Row("raise-quantization", VECTORS, most_bits=8),
            Row("tabulate-quantized", VECTORS, vectors=True),
            Row("fix-arithmetic", VECTORS, tables=False),
            Row("raise-quantization", SCALARS, EXACT, means=True, averages=True),
            Row("raise-quantization", SCALARS, FIXED, means=True),
            Row("tabulate-quantized", SCALARS),
            Row("fix-arithmetic", SCALARS),
            Row("fix-softmax", SCALARS),
            Row("fold-channels", EXACT),
            Row("fix-requantization", INTEGERS, EXACT),
            Row("fix-requantization", INTEGERS, FIXED, doubling=True),
            Row("fold-channels", FIXED),
            Row("prove-small-sums", SCALARS),
            Row("fold-constants"),
            Row("fold-tables", most="{max_folded}"),
            Row("canonicalize"),
            Row("cse"),
            Row("dce"),
            Row("note-floats", FLOATS),
            Row("note-floats", INTEGERS, requantization=True),
        ),
    ),
    Phase(
        "offload",
        "who computes it: what code generators from outside claim",
        (
            Row("offload-operations", OFFLOAD, codegens="{offload}"),
            Row("eliminate-transposes", OFFLOAD),
            Row("fold-constants", OFFLOAD),
            Row("canonicalize", OFFLOAD),
            Row("cse", OFFLOAD),
            Row("dce", OFFLOAD),
        ),
    ),
    Phase(
        "integers",
        "what is multiplied: integers that the machine multiplies best, for the same results",
        (
            Row("divide-transposed", VECTORS),
            Row("center-weights", SCHEDULED),
            Row("multiply-in-floats", VECTORS),
            Row("flatten-positions", VECTORS),
            Row("fold-constants", VECTORS),
            Row("bound-sums", VECTORS),
            Row("pair-steps", VECTORS, table="{tuned}"),
            Row("flip-signs", SCHEDULED),
        ),
    ),
    Phase(
        "schedule",
        "how it is computed on this machine: schedules, layouts, packed weights",
        (
            Row("flush-subnormals", VECTORS, FAST),
            Row("choose-algorithms", VECTORS, accuracy="{accuracy}", table="{tuned}"),
            Row("choose-schedule", VECTORS, table="{tuned}"),
            Row("choose-schedule", CORE, size="{is_small}"),
            Row("branch-trees", CORE),
            Row("count-votes", CORE),
            Row("round-weights", VECTORS, FAST),
            Row("project-inputs", SCHEDULED),
            Row("dce", VECTORS),
            Row("widen-operands", VECTORS),
            Row("assign-layouts", SCHEDULED),
            Row("fold-constants", SCHEDULED),
            Row("prove-narrow-pairs", VECTORS),
            Row("prove-fractions", VECTORS),
            Row("canonicalize", SCHEDULED),
            Row("cse", SCHEDULED),
            Row("choose-schedule", VECTORS, table="{tuned}"),
            Row("dce", SCHEDULED),
        ),
    ),
    Phase(
        "fuse",
        "what is one kernel: groups of operations",
        (
            Row("divide-scratch", VECTORS, THREADS, threads="{threads}"),
            Row("tile-and-fuse", VECTORS, threads="{threads}"),
            Row("fuse-epilogues"),
            Row("fuse-prologues"),
            Row("fuse-elementwise"),
            Row("dce"),
            Row("note-places", ROLLED),
            Row("stream-rows", STREAM),
            Row("choose-rolls", ROLLS, ram="{most_ram}", slower="{most_slower}"),
            Row("roll-rows", ROLLED),
        ),
    ),
    Phase(
        "outline",
        "one function for each distinct kernel",
        (
            Row("outline-kernels"),
            Row("cse"),
            Row("choose-schedule", VECTORS),
            Row("count-operations", PROFILE),
        ),
    ),
    Phase("bufferize", "who owns which buffer: kernels write to destinations", (Row("bufferize"),)),
    Phase(
        "plan",
        "order and offsets: one workspace of known size",
        (Row("plan-memory", io="{io_place}", alignment="{vector_bytes}", threads="{threads}"),),
    ),
    Phase(
        "loops",
        "how it is computed: kernels as loops over memory",
        (
            Row("convert-graph-to-loops", check_indices="{check_indices}"),
            Row("serialize-parallel-loops", ALONE),
            Row("split-parallel-loops", THREADS, threads="{threads}"),
            Row("simplify-functions", SCALARS),
            Row("recompute-indices", CORE),
            Row("move-invariants", SCALARS),
            Row("expand-math", SCALARS),
            Row("split-fma", CORE, SPLIT),
        ),
    ),
    Phase(
        "interface",
        "how it is called: conventions, pointers, status codes",
        (
            Row(
                "select-calling-convention",
                interface_api="{interface_api}",
                operator_api="{operator_api}",
                runtime="{runtime}",
                workspace="{workspace}",
                weights="{weights}",
                operator_arguments="{operator_arguments}",
                resource_handle="{resource_handle}",
            ),
            Row("mangle-symbols", export_operators="{exports_operators}"),
            Row("convert-entry-to-vm", BYTECODE, keep=True),
            Row("allocate-registers", BYTECODE),
            Row("place-weights", alignment="{vector_bytes}", apart="{weights_apart}"),
            Row("buffers-to-pointers"),
            Row("push-rows", STREAM),
            Row("lower-calls"),
            Row("run-on-threads", THREADS),
            Row("add-reset"),
            Row("add-selftest"),
            Row("simplify-functions", SHARED),
            Row("merge-kernels", SHARED),
            Row("wrap-entry", packed_wrapper="{packed_wrapper}"),
            Row("leave-entry", MACHINE),
            *_BY_FUNCTION,
            Row("profile-kernels", PROFILE),
        ),
    ),
)
"""Every phase in order. LLVM ends run `convert-to-llvm` after the last; C is printed from it."""


def by_function(options: CompileOptions) -> str:
    """The end of the last phase's pipeline, which is done to one function after the other."""
    return pipeline(_BY_FUNCTION, options)


PHASE_NAMES = tuple(phase.name for phase in PHASES)


def pipeline_of(phase: Phase, options: CompileOptions) -> str:
    """The passes of a phase: its own pipeline, then those of installed packages in order of their packages' names."""
    return ",".join(one for one in (pipeline(phase.rows, options), *_extensions().get(phase.name, ())) if one)


@cache
def _extensions() -> dict[str, list[str]]:
    """The pipelines of installed packages by phase; finding them reads files, so once a process."""
    found: dict[str, list[str]] = {}
    for point, text in extensions.load_all(extensions.PIPELINES, _check):
        found.setdefault(point.name, []).append(text)
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
        raise UsageError("unknown-phase", f"no phase {name}", fix="choose from " + ", ".join(PHASE_NAMES))
    return PHASE_NAMES.index(name)


def has_phase(options: CompileOptions, name: str) -> bool:
    """Whether a compilation that is not ended early comes to a phase: IR that it starts with is not behind that."""
    return options.start_at is None or phase_index(options.start_at) < phase_index(name)


@dataclass
class PassTiming:
    """Seconds one pass took."""

    phase: str
    pass_name: str
    seconds: float


def to_llvm(
    module: ModuleOp,
    target: str,
    *,
    optimize_size: bool,
    weights_section: str | None,
    workspace_section: str | None,
    only: Collection[Operation] | None = None,
) -> ModuleOp:
    """The result of `convert-to-llvm` for a module after the last phase, or of `only` some operations at its top, for
    an object of their own. The module stays as it is. Raises CompileError."""
    conversion: Any = multiverse().all_passes["convert-to-llvm"]()
    sections = {"weights_section": weights_section, "workspace_section": workspace_section}
    return conversion(optimize_size=optimize_size, **sections).convert(module, target, only)


def finish(ctx: Context, options: CompileOptions, selected: Sequence[Operation]) -> None:
    """Do what is `by_function` to some operations at the top of a module and verify them. Raises CompileError."""
    phase = PHASES[-1].name
    items: tuple[Any, ...] = make_passes(by_function(options))
    for item in items:
        with _blaming(item.name, phase):
            for one in selected:
                if isinstance(one, FuncOp) and one.body.blocks:
                    item.function(ctx, one)
    with _blaming("verify", phase):
        verify_selected(selected)


@lru_cache(maxsize=512)
def make_passes(pipeline: str) -> tuple[ModulePass, ...]:
    """The passes of a pipeline in the syntax of `aotc-opt -p`; they keep no state, and making them again is a tenth of
    what a small model takes. Raises UsageError for one that it cannot be."""
    try:
        specs = list(parse_pipeline(pipeline)) if pipeline else []
    except ArgSpecParseError as error:
        why = str(error).strip().splitlines()[-1].strip()
        raise UsageError("invalid-option", f"the pipeline {pipeline} cannot be read", why) from None
    return tuple(_make_pass(spec) for spec in specs)


def _make_pass(spec: ArgSpec) -> ModulePass:
    passes = multiverse().all_passes
    if spec.name not in passes:
        near = difflib.get_close_matches(spec.name, passes, n=3)
        fix = f"did you mean {' or '.join(near)}?" if near else "`aotc-opt --help` lists them"
        raise UsageError("unknown-pass", f"no pass {spec.name}", fix=fix)
    try:
        return passes[spec.name]().from_pass_spec(spec)
    except ValueError as error:
        raise UsageError("invalid-option", f"the pass {spec.name} cannot be made", str(error)) from error


@contextmanager
def _blaming(pass_name: str, phase: str) -> Generator[None]:
    """Make errors of the model, and those in code of other packages, a CompileError that says whose they are, and all
    others an InternalError."""
    try:
        with explained(f"the pass {pass_name}", phase):
            try:
                yield
            except PassFailedException as error:
                raise CompileError("failed-pass", f"the pass {pass_name} cannot go on", str(error)) from error
    except InternalError as error:
        cause = error.__cause__
        if not isinstance(cause, Exception) or (problem := extensions.problem_of(cause)) is None:
            raise
        raise CompileError(problem) from cause


class PassRunner:
    """Runs pipelines by text and tells observers about it."""

    def __init__(
        self, ctx: Context, *, verify_each: bool = False, after_pass: Callable[[str, str, ModuleOp], None] | None = None
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
