"""The order of things: named phases, each a sentence and a pipeline of passes.

Nothing else knows which pass follows which. A phase's pipeline is text in the syntax of `aotc-opt -p`, so that what
runs can be printed, copied and run by hand. A package from outside adds passes at the end of a phase through the entry
point group `aotc.pipelines`: the entry's name is the phase, its value a pipeline.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, PassFailedException

from aotc.errors import CompileError, Problem, UsageError
from aotc.options import CompileOptions
from aotc.universe import multiverse


@dataclass(frozen=True)
class Phase:
    """A stage of compilation; the IR after it is described in docs/architecture.md."""

    name: str
    sentence: str
    pipeline: Callable[[CompileOptions], str]


def _fixed(pipeline: str) -> Callable[[CompileOptions], str]:
    return lambda options: pipeline


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
    exported = _flag(options.export_operators or options.split)
    return (
        f"select-calling-convention{{{selection}}},mangle-symbols{{export-operators={exported}}},"
        "place-weights,buffers-to-pointers,lower-calls,add-selftest,"
        f"wrap-entry{{packed-wrapper={_flag(options.packed_wrapper)}}},canonicalize,cse"
    )


def _flag(value: bool) -> str:
    return "true" if value else "false"


PHASES: tuple[Phase, ...] = (
    Phase("import", "the model as tensors, with static shapes and ONNX gone", _fixed("")),
    Phase(
        "graph",
        "what is computed: shapes inferred, constants and batch normalisation folded, transposes removed",
        _fixed(
            "annotate-quantization,infer-shapes,fold-constants,canonicalize,fold-batch-norm,shrink-constants,"
            "eliminate-transposes,absorb-transposes,fold-constants,canonicalize,cse,dce"
        ),
    ),
    Phase(
        "fuse",
        "what is one kernel: groups of operations",
        _fixed("fuse-epilogues,fuse-prologues,fuse-elementwise,dce"),
    ),
    Phase("outline", "one function for each distinct kernel", _fixed("outline-kernels,cse")),
    Phase("bufferize", "who owns which buffer: kernels write to destinations", _fixed("bufferize")),
    Phase(
        "plan",
        "order and offsets: one workspace of known size",
        lambda options: f"plan-memory{{io={options.io}}}",
    ),
    Phase(
        "loops",
        "how it is computed: kernels as loops over memory",
        _fixed("convert-graph-to-loops,serialize-parallel-loops,canonicalize,cse,licm"),
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
    from importlib.metadata import entry_points

    found: dict[str, list[str]] = {}
    for point in sorted(entry_points(group="aotc.pipelines"), key=lambda point: point.value):
        phase_index(point.name)
        found.setdefault(point.name, []).append(str(point.load()))
    return found


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
        self._passes = multiverse().all_passes
        self._verify_each = verify_each
        self._after_pass = after_pass
        self.timings: list[PassTiming] = []

    def passes(self, pipeline: str) -> Sequence[ModulePass]:
        """The passes of a pipeline in the syntax of `aotc-opt -p`. Raises UsageError for one that it cannot be."""
        try:
            specs = list(parse_pipeline(pipeline)) if pipeline else []
        except ArgSpecParseError as error:
            why = str(error).strip().splitlines()[-1].strip()
            raise UsageError(Problem(f"the pipeline {pipeline} cannot be read", why=why)) from None
        return [self._pass(spec) for spec in specs]

    def _pass(self, spec: ArgSpec) -> ModulePass:
        if spec.name not in self._passes:
            near = difflib.get_close_matches(spec.name, self._passes, n=3)
            fix = f"did you mean {' or '.join(near)}?" if near else "`aotc-opt --help` lists them"
            raise UsageError(Problem(f"no pass {spec.name}", fix=fix))
        try:
            return self._passes[spec.name]().from_pass_spec(spec)
        except ValueError as error:
            raise UsageError(Problem(f"the pass {spec.name} cannot be made", why=str(error))) from error

    def run(self, phase: str, pipeline: str, module: ModuleOp) -> None:
        """Run `pipeline` on `module`, verify at its end (after each pass if asked). Raises CompileError."""
        for item in self.passes(pipeline):
            start = time.perf_counter()
            try:
                item.apply(self._ctx, module)
            except PassFailedException as error:
                raise CompileError(Problem(f"the pass {item.name} cannot go on", why=str(error))) from error
            self.timings.append(PassTiming(phase, item.name, time.perf_counter() - start))
            if self._verify_each:
                module.verify()
            if self._after_pass is not None:
                self._after_pass(phase, item.name, module)
        if not self._verify_each:
            start = time.perf_counter()
            module.verify()
            self.timings.append(PassTiming(phase, "verify", time.perf_counter() - start))
