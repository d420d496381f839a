"""Search for schedules and algorithms by measuring: each distinct operation of a model alone.

Analytic choices are where the search begins, and stay where nothing is faster by more than `LEAST_GAIN`. Before each
run the first two caches are filled with something else, as between the kernels of a network.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from aotc.compiler.checking.recordings import read_inputs
from aotc.compiler.driver import lower
from aotc.compiler.lowering import in_process, new_context
from aotc.dialects.aot.contract import ENTRY, TARGET, Argument, model_module, set_results, set_signature
from aotc.dialects.constants import constant_op, known_array
from aotc.dialects.dtypes import dtype_name
from aotc.dialects.graph.interfaces import AnchorOp, element_type_of
from aotc.dialects.graph.schedules import Schedule, ScheduleAttr, signature
from aotc.errors import AotcError, UsageError
from aotc.machines.machine import Machine
from aotc.machines.targets import lookup, machine_of
from aotc.machines.tuning_table import DIRECT, TuningTable
from aotc.measuring.profiling import ProfiledModel, load_profiled, processor
from aotc.model.locations import node_names
from aotc.model.model_file import Source
from aotc.model.weight_store import Array, WeightStore
from aotc.passes.kernel.model_weights import read_bytes
from aotc.passes.kernel.strategy import algorithms_for, choose_algorithm, choose_schedule, keeps_packed, strategy_of
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASE_NAMES, PHASES, PassRunner, phase_index, pipeline_of

LEAST_GAIN = 0.03
LEAST_SECONDS = 50e-9
"""The least gain that counts, at the resolution of the counter."""
TOLERANCE = 1e-3
"""Of the greatest result: what a candidate may differ by from the first choice."""
SECONDS = 0.02
"""For each measurement."""
STEPS = 3
"""From the compiler's schedule to neighbours of neighbours: as many as decisions that matter beside each other."""
ROUNDS = 5
"""In which the winner is compared with the first choice, in turns."""


@dataclass(frozen=True)
class Choice:
    """How one operation is computed: by its own algorithm if `algorithm` is None, as the compiler schedules it if
    `schedule` is None."""

    algorithm: Attribute | None
    schedule: Schedule | None = None

    def __str__(self) -> str:
        schedule = "" if self.schedule is None else f" {ScheduleAttr.of(self.schedule)}"
        return f"{DIRECT if self.algorithm is None else self.algorithm}{schedule}"


@dataclass(frozen=True)
class Gain:
    """The finding for one operation."""

    nodes: tuple[str, ...]
    before: float
    """Seconds as the compiler chooses."""
    after: float
    choice: str
    """The winner; empty where that is what the compiler chooses."""


def tune(
    source: Source, options: CompileOptions, table: TuningTable, report: Callable[[str], None] | None = None
) -> Iterator[Gain]:
    """Measure every distinct operation of a model that has a schedule, and note in `table` what is faster.

    Raises as `aotc.compile`, and UsageError for another machine than this one, where it has no vectors, and for a table
    that was measured on another processor.
    """
    machine = machine_of("host")
    if options.target != "host" or machine is None:
        what = "tuning is for the vectors of this machine"
        raise UsageError("not-this-machine", what, f"the target is {options.target}")
    processor_name = lookup("host").cpu
    table.require(processor_name)
    table.processor = processor_name
    options = replace(in_process(options), tuned=None)
    compilation = lower(source, replace(options, stop_after="graph"), report)
    machine = machine.with_weights(read_bytes(compilation.module))
    done: set[str] = set()
    for op in compilation.module.walk():
        if not isinstance(op, AnchorOp) or signature(op) in done or not _is_measurable(op, machine, compilation.store):
            continue
        done.add(signature(op))
        nodes = tuple(node_names(op.location))
        if report is not None:
            report(", ".join(nodes) or op.name)
        yield _Search(op, options, machine, compilation.store).run(table, nodes)


def _is_measurable(op: AnchorOp, machine: Machine, store: WeightStore) -> bool:
    """Whether there is something to choose, and random values will do for what is not constant."""
    if choose_schedule(op, machine) is None or keeps_packed(op, machine):
        return False
    computed = (value for value in op.operands if known_array(value, store) is None)
    return all(dtype_name(element_type_of(value)).startswith("float") for value in computed)


class _Search:
    """One operation, by every choice in turn."""

    def __init__(self, op: AnchorOp, options: CompileOptions, machine: Machine, store: WeightStore) -> None:
        self._op, self._options, self._machine, self._store = op, options, machine, store
        self._first = Choice(None if options.accuracy == "strict" else choose_algorithm(op, machine))
        self._other = np.zeros(2 * (machine.l1 + machine.l2) // 4, np.float32)
        """Data that fills the caches."""
        self._times: dict[Choice, float] = {}
        self._models: dict[Choice, ProfiledModel] = {}

    def run(self, table: TuningTable, nodes: tuple[str, ...]) -> Gain:
        """Find the best choice."""
        best = self._best([self._first, *self._algorithms()])
        for _ in range(STEPS):
            neighbours = [replace(best, schedule=each) for each in self._neighbours(best)]
            if (better := self._best([best, *neighbours])) == best:
                break
            best = better
        before, after = self._compare(best)
        if before - after < max(before * LEAST_GAIN, LEAST_SECONDS):
            return Gain(nodes, before, before, "")
        self._note(table, best)
        return Gain(nodes, before, after, str(best))

    def _note(self, table: TuningTable, best: Choice) -> None:
        name = signature(self._op)
        if best.algorithm != self._first.algorithm:
            table.algorithms[name] = DIRECT if best.algorithm is None else str(best.algorithm)
        if best.schedule is not None:
            if best.algorithm is not None:
                name = signature(self._op, best.algorithm)
            table.schedules[name] = str(ScheduleAttr.of(best.schedule))

    # Candidates

    def _algorithms(self) -> Iterator[Choice]:
        others = [] if self._options.accuracy == "strict" else algorithms_for(self._op, self._machine)
        return (Choice(each) for each in (None, *others) if each != self._first.algorithm)

    def _neighbours(self, choice: Choice) -> Sequence[Schedule]:
        """The schedules near that of a choice, which is the compiler's where it says none."""
        key = AnchorOp.ALGORITHM, ScheduleAttr.KEY
        if choice.algorithm is not None:
            self._op.attributes[key[0]] = choice.algorithm
        try:
            schedule = choice.schedule or choose_schedule(self._op, self._machine)
            assert schedule is not None
            self._op.attributes[key[1]] = ScheduleAttr.of(schedule)
            return list(strategy_of(self._op).candidates(self._op, schedule, self._machine))
        finally:
            for each in key:
                self._op.attributes.pop(each, None)

    # Measurements

    def _best(self, choices: Iterable[Choice]) -> Choice:
        return min(choices, key=self._time)

    def _time(self, choice: Choice) -> float:
        """Seconds; infinite where the operation cannot be computed so."""
        if choice not in self._times:
            try:
                profiled = self._build(choice)
            except AotcError:
                self._times[choice] = float("inf")
            else:
                self._models[choice] = profiled
                self._times[choice] = self._measure(profiled) if self._is_right(choice, profiled) else float("inf")
        return self._times[choice]

    def _measure(self, profiled: ProfiledModel) -> float:
        """Seconds that arithmetic takes; packing is shared with other operations of a network."""
        step = profiled.model.bind(read_inputs(None, profiled.model.inputs))
        ticks = profiled.ticks(step, SECONDS, before=lambda: np.add(self._other, 1, out=self._other))
        kernels = zip(profiled.calls, ticks, strict=True)
        return sum(taken for call, taken in kernels if call.operations) * processor().seconds_per_tick

    def _compare(self, best: Choice) -> tuple[float, float]:
        """Seconds of the first choice and of the best, in turns."""
        times = [[self._measure(self._models[choice]) for choice in (self._first, best)] for _ in range(ROUNDS)]
        before, after = (statistics.median(side) for side in zip(*times, strict=True))
        return before, after

    def _is_right(self, choice: Choice, profiled: ProfiledModel) -> bool:
        if choice.schedule is not None and any(call.scalar_fallback for call in profiled.calls):
            return False
        got = self._outputs(profiled)
        both = zip(got, self._expected, strict=True)
        return all(float(np.abs(a - b).max(initial=0)) <= TOLERANCE * float(np.abs(b).max(initial=0)) for a, b in both)

    @cached_property
    def _expected(self) -> list[Array]:
        return self._outputs(self._build(self._first))

    def _outputs(self, profiled: ProfiledModel) -> list[Array]:
        return list(profiled.model(read_inputs(None, profiled.model.inputs)).values())

    # The operation alone as a model

    def _build(self, choice: Choice) -> ProfiledModel:
        options = replace(self._options, profile=True, accuracy="strict" if choice.algorithm is None else "fast")
        ctx = new_context()
        store = WeightStore.of(ctx)
        module = self._module(choice, store)
        runner = PassRunner(ctx)
        for phase in PHASES[phase_index("graph") + 1 :]:
            runner.run(phase.name, pipeline_of(phase, options), module)
        return load_profiled(Compilation(options, ctx, module, store, PHASE_NAMES[-1]))

    def _module(self, choice: Choice, store: WeightStore) -> ModuleOp:
        arrays = [known_array(value, self._store) for value in self._op.operands]
        free = [value for value, array in zip(self._op.operands, arrays, strict=True) if array is None]
        results = [result for result in self._op.results if result not in self._op.scratch()]
        main = FuncOp("main", ([value.type for value in free], [result.type for result in results]))
        ENTRY.set(main)
        named = [_named(f"x{number}", value) for number, value in enumerate(free)]
        set_signature(main, named, [result.type for result in results])
        set_results(main, [_named(f"y{number}", each) for number, each in enumerate(results)])
        block, arguments = main.body.block, iter(main.args)
        operands: dict[SSAValue, SSAValue] = {}
        for value, array in zip(self._op.operands, arrays, strict=True):
            if array is None:
                operands[value] = next(arguments)
            else:
                constant = constant_op(array, "w", store)
                block.add_op(constant)
                operands[value] = constant.result
        op = self._op.clone(operands)
        if choice.algorithm is not None:
            op.attributes[AnchorOp.ALGORITHM] = choice.algorithm
        if choice.schedule is not None:
            op.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(choice.schedule)
        block.add_ops([op, ReturnOp(*op.results[: len(results)])])
        module = model_module([main], "k")
        TARGET.set(module, self._options.target)
        return module


def _named(name: str, value: SSAValue) -> Argument:
    return Argument(name=name, dtype=dtype_name(element_type_of(value)))
