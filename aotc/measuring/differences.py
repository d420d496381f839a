"""Where outputs that differ from a reference go wrong: at which operator of the model, after which pass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from aotc.compiler.checking.submodels import judgements, nodes_for, places, submodel_of
from aotc.compiler.driver import lower
from aotc.compiler.lowering import import_source, in_process
from aotc.dialects.aot.contract import is_kernel
from aotc.dialects.dtypes import number_kind
from aotc.errors import UsageError
from aotc.executor import compiled_in_process
from aotc.model.labels import Labels
from aotc.model.locations import node_names
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, make_passes, phase_index, pipeline_of
from aotc.pipeline.verification import verify

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]
Differs = Callable[[str, Array, Array], str]
"""Says how a value differs from its reference, given its name, itself and the reference; empty: it does not."""
Run = Callable[["ModelProto", Arrays], Arrays]
"""Computes the outputs of a model."""


def cut_to_counts(outputs: Arrays, reference: Arrays) -> dict[str, Array]:
    """`outputs`, those that have a count beside them (`NAME_count`) without what comes after it, along the axis where
    the reference has as many parts."""
    found = dict(outputs)
    for name, right in reference.items():
        counted, value = outputs.get(f"{name}_count"), outputs[name]
        if counted is None or f"{name}_count" in reference or value.ndim != right.ndim:
            continue
        for axis, extents in enumerate(zip(value.shape, right.shape, strict=True)):
            if extents[0] != extents[1] == int(counted):
                found[name] = value[(slice(None),) * axis + (slice(int(counted)),)]
    return found


def loops_outputs(source: Any, options: CompileOptions, steps: Sequence[Arrays]) -> list[dict[str, Array]]:
    """The outputs of calls one after the other by each operator's own scalar loops in process: what an operator means,
    without schedules."""
    plain = replace(in_process(options), optimize="0", tuned=None, threads=1)
    model = compiled_in_process(lower(source, plain))
    return [model(inputs) for inputs in steps]


@dataclass(frozen=True)
class WrongOperator:
    """The first node of a model, in the order of computation, that has an output which differs."""

    node: str
    op_type: str
    output: str
    how: str
    fused: bool
    """Whether it differs only where it is compiled together with other nodes."""

    def line(self) -> str:
        """One sentence for people."""
        where = ", compiled as part of the whole model" if self.fused else ""
        return (
            f"the first operator whose result differs is {self.node} ({self.op_type}){where}: {self.output} {self.how}"
        )


@dataclass(frozen=True)
class Judge:
    """Says of parts of a model whether their outputs are right, of the inputs that they were given."""

    model: ModelProto
    labels: Mapping[str, Labels]
    differs: Differs
    unjudged: set[str] = field(default_factory=set[str])
    """Values for which there is no judge."""

    def verdict(self, nodes: Sequence[NodeProto], name: str, found: Arrays, given: Arrays) -> tuple[str, Array]:
        """How a value of `found` that the last of `nodes` makes differs from all that it may be, empty if it does not;
        and the value, of a data-dependent extent what its count says.

        Integers are the same, but for one step where the real number is next to the middle between two.
        """
        submodel, read = submodel_of(self.model, nodes, [name], given)
        how, value, middle = "", found[name], None
        try:
            for judged in judgements(submodel, read, self.labels):
                value, right = cut_to_counts(found, judged)[name], judged[name]
                if not (differs := self.differs(name, value, right)):
                    return "", value
                if number_kind(value.dtype) in "iu" and value.shape == right.shape:
                    middle = self._next_to_middle(nodes, given) if middle is None else middle
                    step = np.abs(value.astype(np.float64) - right.astype(np.float64)) == 1
                    if not self.differs(name, value, np.where(middle & step, value, right)):
                        return "", value
                how = how or differs
        except UsageError:
            if not how:
                self.unjudged.add(name)
        return how, value

    def _next_to_middle(self, nodes: Sequence[NodeProto], given: Arrays) -> Array:
        """Whether elements stand for real numbers of which rounding errors may make either of two integers."""
        last = nodes[-1]
        if last.op_type != "QuantizeLinear":
            return np.array(any(node.op_type in _ROUNDING or "QLinear" in node.op_type for node in nodes))
        submodel, read = submodel_of(self.model, nodes, [last.input[0], last.input[1]], given)
        real, scale = next(judgements(submodel, read, {})).values()
        axis = next((each.i for each in last.attribute if each.name == "axis"), 1)
        if scale.size > 1 and (scale.ndim != 1 or scale.size != real.shape[axis]):
            return np.array(True)
        places = [-1 if each == axis % real.ndim else 1 for each in range(real.ndim)] if scale.size > 1 else []
        steps = real.astype(np.float64) / scale.reshape(places).astype(np.float64)
        return np.abs(np.abs(steps - np.rint(steps)) - 0.5) < _NEAR

    def outputs(self, nodes: Sequence[NodeProto], given: Arrays) -> Arrays:
        """All values that nodes compute."""
        submodel, read = submodel_of(self.model, nodes, [each for node in nodes for each in node.output if each], given)
        return next(judgements(submodel, read, self.labels))


_NEAR = 2.0**-8
"""Of a step: what is nearer to the middle between two is in it, but for errors of floats."""
_ROUNDING = frozenset(("QuantizeLinear", "DynamicQuantizeLinear", "Resize"))
"""Whose integers are rounded real numbers."""


def first_operator(
    judge: Judge, values: Sequence[str], found: Arrays, inputs: Arrays, alone: Run
) -> WrongOperator | None:
    """The first node whose result differs; None where none does.

    `found` are `values` as the compiled program has them between its kernels, in the order of computation: each is
    judged by what the kernels before it made. Of a kernel of several nodes each is compiled `alone`: what is right so
    is wrong together with the others.
    """
    known = dict(inputs)
    for name in values:
        nodes = nodes_for(judge.model, name, known)
        how, value = judge.verdict(nodes, name, found, known) if nodes else ("", found[name])
        if how:
            return _first_alone(judge, nodes, known, alone) or _blamed(judge.model, nodes[-1], name, how, True)
        known[name] = value
    return None


def _first_alone(judge: Judge, nodes: Sequence[NodeProto], given: Arrays, alone: Run) -> WrongOperator | None:
    known = {**given, **judge.outputs(nodes, given)}
    for node in nodes:
        outputs = [output for output in node.output if output]
        submodel, read = submodel_of(judge.model, [node], outputs, known)
        computed = alone(submodel, read)
        for output in outputs:
            how = judge.verdict([node], output, computed, known)[0] if output in computed else ""
            if how:
                return _blamed(judge.model, node, output, how, False)
    return None


def _blamed(model: ModelProto, node: NodeProto, output: str, how: str, fused: bool) -> WrongOperator:
    name = next(name for name, place in places(model).items() if model.graph.node[place].output[0] == node.output[0])
    return WrongOperator(name, node.op_type, output, how, fused)


def first_pass(source: Any, options: CompileOptions, differ: Callable[[Arrays], bool], inputs: Arrays) -> str:
    """The first pass after which the model, finished as plainly as may be, computes what differs; a sentence.

    `differ` says whether outputs are wrong. A binary search: what is wrong after a pass is taken to stay wrong.
    """
    hosted = in_process(options)
    steps = [(phase.name, item.name) for phase in PHASES for item in make_passes(pipeline_of(phase, hosted))]
    known: dict[int, bool | None] = {}

    def is_wrong(count: int) -> bool | None:
        if count not in known:
            try:
                known[count] = differ(_finished_after(source, hosted, count, inputs))
            except Exception:  # no pass promises anything of IR that those before it have not seen
                if count in (0, len(steps)):
                    raise
                known[count] = None
        return known[count]

    if is_wrong(0):
        return "the model as it is imported differs already, computed by its operators' own loops"
    if not is_wrong(len(steps)):
        return "code in this process does not differ: look at what follows the passes (--emit)"
    low, high = 0, len(steps)
    while candidates := [count for count in _middle_out(low, high) if is_wrong(count) is not None]:
        if is_wrong(candidates[0]):
            high = candidates[0]
        else:
            low = candidates[0]
    names = [f"{name} ({phase})" for phase, name in steps[low:high]]
    return (
        f"the first pass after which results differ is {names[0] if len(names) == 1 else 'one of ' + ', '.join(names)}"
    )


def _middle_out(low: int, high: int) -> Iterator[int]:
    """The numbers between `low` and `high`, those in the middle first."""
    return iter(sorted(range(low + 1, high), key=lambda count: abs(2 * count - low - high)))


def _finished_after(source: Any, options: CompileOptions, count: int, inputs: Arrays) -> Arrays:
    """The outputs with only the first `count` passes and what no code can do without; raises anything where that is no
    whole."""
    plain = replace(options, optimize="0")
    outlined = phase_index("outline")
    taken = 0
    compilation = import_source(source, options)

    def apply(passes: Sequence[ModulePass]) -> None:
        for item in passes:
            item.apply(compilation.ctx, compilation.module)

    for index, phase in enumerate(PHASES):
        passes = make_passes(pipeline_of(phase, options))
        if taken + len(passes) <= count:
            apply(passes)
        elif taken < count:  # the rest of this phase is left out
            apply(passes[: count - taken])
        elif index >= outlined:  # code needs kernels, buffers, loops
            apply(make_passes(pipeline_of(phase, plain)) if index == outlined else passes)
        taken += len(passes)
    verify(compilation.module)
    compilation.phase = PHASES[-1].name
    return compiled_in_process(compilation)(inputs)


AT_ONCE = 512
"""Values that are outputs of one model: an entry has an argument for each, and Python passes 1024 at most."""


def with_outputs(model: ModelProto, names: Sequence[str]) -> ModelProto:
    """The model with other outputs."""
    copy = ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    declared = {value.name: value for value in model.graph.output}
    copy.graph.output.extend(declared.get(name, ValueInfoProto(name=name)) for name in names)
    return copy


def values_between_kernels(model: ModelProto, options: CompileOptions) -> list[list[str]]:
    """Values that kernels of the compiled model make for others, in the order of computation, and the model's outputs.

    In groups: a model with one group as more outputs has all the kernels of the model alone. What is computed otherwise
    where it is an output, as in another layout, is left out.
    """
    outputs = [value.name for value in model.graph.output]
    alone = _Kernels(model, outputs, options)
    groups: list[list[str]] = []
    ranked = {name: place for place, node in enumerate(model.graph.node) for name in node.output}
    values = sorted({*alone.made.values()} - {*outputs}, key=lambda name: ranked[name])
    for start in range(0, max(len(values), 1), AT_ONCE):
        group = values[start : start + AT_ONCE]
        while group and (changed := alone.bodies - _Kernels(model, [*outputs, *group], options).bodies):
            beside = alone.beside(changed)
            group = [name for name in group if name not in beside] if beside.intersection(group) else []
        groups.append(sorted([*outputs, *group], key=lambda name: ranked.get(name, -1)))
    return groups


@dataclass(frozen=True)
class _Kernels:
    """The kernels of a model that has some outputs."""

    model: ModelProto
    outputs: Sequence[str]
    options: CompileOptions

    @cached_property
    def _module(self) -> ModuleOp:
        source = with_outputs(self.model, self.outputs).SerializeToString()
        return lower(source, replace(self.options, stop_after="outline")).module

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The values of each kernel, by its name."""
        kernels = [op for op in self._module.ops if isinstance(op, FuncOp) and is_kernel(op)]
        return {op.sym_name.data: _text(op) for op in kernels}

    @cached_property
    def bodies(self) -> Counter[str]:
        """How often each is called."""
        return Counter(self._texts[call.callee.string_value()] for call in self._calls())

    def _calls(self) -> Iterator[CallOp]:
        for op in self._module.walk():
            if isinstance(op, CallOp) and op.callee.string_value() in self._texts:
                yield op

    @cached_property
    def made(self) -> dict[Operation, str]:
        """For each call, the last of the model's values that its nodes make."""
        nodes = places(self.model)
        found: dict[Operation, str] = {}
        for call in self._calls():
            own = [nodes[name] for name in node_names(call.location) if name in nodes]
            outputs = [each for each in self.model.graph.node[max(own)].output if each] if own else []
            if outputs:
                found[call] = outputs[0]
        return found

    def beside(self, bodies: Counter[str]) -> set[str]:
        """The values that calls of kernels make or read."""
        found: set[str] = set()
        for call in self._calls():
            if self._texts[call.callee.string_value()] in bodies:
                pending: list[Operation] = [call]
                while pending:
                    op = pending.pop()
                    if op in self.made:
                        found.add(self.made[op])
                    if op is call or op not in self.made:
                        pending += [each.owner for each in op.operands if isinstance(each.owner, Operation)]
        return found


def _text(kernel: FuncOp) -> str:
    """A kernel without what depends on others: its name, those of its values, which buffers may be one."""
    numbers: dict[str, str] = {}
    text = str(kernel).replace(f"@{kernel.sym_name.data}(", "@(", 1)
    text = re.sub(r"aot\.in_place = \[(\[[^\]]*\](, )?)*\]", "", text)
    return re.sub(r"%\w+", lambda found: numbers.setdefault(found.group(), f"%{len(numbers)}"), text)
