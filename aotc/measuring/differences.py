"""Where outputs that differ from a reference go wrong: at which operator of the model, after which pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from aotc.compiler.driver import lower
from aotc.compiler.lowering import import_source, in_process
from aotc.executor import compiled_in_process
from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, make_passes, phase_index, pipeline_of
from aotc.pipeline.verification import verify

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto
    from xdsl.passes import ModulePass

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]
Differs = Callable[[str, Array, Array], str]
"""Says how a value differs from its reference, given its name, itself and the reference; empty: it does not."""
Run = Callable[["ModelProto", Arrays], Arrays]
"""Computes the outputs of a model."""

AT_ONCE = 512
"""Values that are outputs of one model, if all of them are looked at: an entry has an argument for each, and Python
passes 1024 at most."""


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
    """Whether it differs only where it is not an output of the model, so that it is fused with what follows."""

    def line(self) -> str:
        """One sentence for people."""
        where = ", compiled as part of the whole model" if self.fused else ""
        return (
            f"the first operator whose result differs is {self.node} ({self.op_type}){where}: {self.output} {self.how}"
        )


def first_operator(
    model: ModelProto, inputs: Arrays, expected: Run, actual: Run, differs: Differs
) -> WrongOperator | None:
    """The first node whose result differs; None where none does.

    With every value an output of the model, each is compared, `AT_ONCE` of them at a time; where a node was given
    something else than the reference was, be it by as little as is allowed, or other values were outputs, it is
    computed once more, alone, of what the reference was given. What is computed
    rightly so, and an output wrongly when it is fused, is found by cutting the model before that, after ever fewer
    nodes (a binary search).
    """
    steps = [
        (node.name or f"{node.op_type}_{position}", node, [output for output in node.output if output])
        for position, node in enumerate(model.graph.node)  # which ONNX has in an order of computation
    ]
    values = [output for _, _, outputs in steps for output in outputs]
    references = expected(_with_outputs(model, values), inputs)

    def wrong(found: Arrays, step: int, fused: bool) -> WrongOperator | None:
        name, node, outputs = steps[step]
        found = cut_to_counts(found, {output: references[output] for output in outputs if output in found})
        for output in outputs:
            if output in found and (how := differs(output, found[output], references[output])):
                return WrongOperator(name, node.op_type, output, how, fused)
        return None

    portions = [values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE)]
    everything: dict[str, Array] = {}
    for portion in portions:
        everything |= actual(_with_outputs(model, portion), inputs)
    first = set(portions[0]) if portions else set[str]()
    given = {**inputs, **references}
    for step, (_, node, outputs) in enumerate(steps):
        found = wrong(everything, step, False)
        others = not first.issuperset(outputs)
        others = others or any(_is_other(everything.get(name), references.get(name)) for name in node.input)
        if found is not None and others and not any(attribute.HasField("g") for attribute in node.attribute):
            found = wrong(actual(*_alone(model, node, outputs, given)), step, False)
        if found is not None:
            return found

    def cut(step: int) -> WrongOperator | None:
        return wrong(actual(_with_outputs(model, steps[step][2]), inputs), step, True)

    kept = {value.name for value in model.graph.output}
    ends = [step for step, (_, _, outputs) in enumerate(steps) if not kept.isdisjoint(outputs)]
    low, high, known = 0, 0, None
    for high in ends:
        if (known := cut(high)) is not None:
            break
    else:
        return None
    while low < high:
        middle = (low + high) // 2
        if (found := cut(middle)) is not None:
            high, known = middle, found
        else:
            low = middle + 1
    return known


def _is_other(value: Array | None, reference: Array | None) -> bool:
    return value is not None and reference is not None and not np.array_equal(value, reference)


def _alone(model: ModelProto, node: NodeProto, outputs: Sequence[str], given: Arrays) -> tuple[ModelProto, Arrays]:
    """A model of one node, whose inputs are those of `given` that it reads, and these."""
    from onnx.helper import make_tensor_value_info, np_dtype_to_tensor_dtype

    copy = _with_outputs(model, outputs)
    del copy.graph.node[:], copy.graph.input[:], copy.graph.value_info[:]
    copy.graph.node.append(node)
    constants = {tensor.name for tensor in copy.graph.initializer}
    read = {name: given[name] for name in dict.fromkeys(node.input) if name in given and name not in constants}
    kinds = {name: np_dtype_to_tensor_dtype(array.dtype) for name, array in read.items()}
    copy.graph.input.extend(make_tensor_value_info(name, kinds[name], array.shape) for name, array in read.items())
    return copy, read


def _with_outputs(model: ModelProto, names: Sequence[str]) -> ModelProto:
    from onnx import ModelProto, ValueInfoProto

    copy = ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    declared = {value.name: value for value in model.graph.output}
    copy.graph.output.extend(declared.get(name, ValueInfoProto(name=name)) for name in names)
    return copy


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
