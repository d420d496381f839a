"""Values of a model between the kernels of its compiled program: outputs by which no kernel becomes another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from aotc.compiler.checking.parts import places
from aotc.compiler.driver import lower
from aotc.dialects.aot.contract import is_kernel
from aotc.model.locations import node_names
from aotc.pipeline.options import CompileOptions

if TYPE_CHECKING:
    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp

AT_ONCE = 512
"""Values that are outputs of one model: an entry has an argument for each, and Python passes 1024 at most."""


def with_outputs(model: ModelProto, names: Sequence[str]) -> ModelProto:
    """The model with other outputs."""
    from onnx import ModelProto, ValueInfoProto

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
