"""The bodies of nodes: their names, their regions, and what control flow needs of the import of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from onnx import GraphProto, NodeProto
from xdsl.builder import Builder
from xdsl.ir import Attribute, Block, BlockArgument, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from aotc.dialects.constants import constant_op, folded, known_array
from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.compound.control_flow import LoopOp
from aotc.dialects.graph.interfaces import GraphOp, element_type_of, shape_of
from aotc.dialects.graph.structure import ConstantOp, YieldOp
from aotc.errors import CompileError, Problem
from aotc.frontend.emitter import OPERATIONS, erase_unused, location, name_value
from aotc.frontend.onnx.bodies import free_names
from aotc.frontend.onnx.node import Bound, waiting
from aotc.frontend.onnx.parts.sequences import Given, Items
from aotc.frontend.onnx.scopes import POISON, Poison, Scope, Value
from aotc.model.weight_store import Array, WeightStore


class Bodies(ABC):
    """The import of a model as control flow sees it."""

    def __init__(self, store: WeightStore, max_nodes: int) -> None:
        self.store = store
        self.max_nodes = max_nodes
        self.problems: list[Problem] = []
        self.imported = 0
        """Nodes that have been imported."""
        self.bounds: dict[SSAValue, Bound] = {}
        """Values of data-dependent extents."""
        self.given: dict[SSAValue, str] = {}
        """The inputs of the model that are tensors, by their values."""
        self.block = Block()
        self.builder = Builder(InsertPoint.at_end(self.block))

    @abstractmethod
    def body(self, nodes: Sequence[NodeProto], outputs: Sequence[str], scope: Scope) -> None:
        """Import the nodes that the outputs depend on, where the import is."""

    @abstractmethod
    def lookup(self, name: str, scope: Scope) -> Value:
        """The value that `name` stands for."""

    def constant(self, array: Array, name: str) -> SSAValue:
        """A constant where the import is."""
        return self.builder.insert(constant_op(array, name, self.store)).result

    def folded(self, op: GraphOp, name: str) -> SSAValue:
        """The first result of an operation, which is inserted where the import is if it is not a constant."""
        if (values := folded(op, self.store)) is not None:
            op.erase()
            return self.constant(values[0], name)
        return self.insert(op, name)[0]

    def insert(self, op: GraphOp, name: str) -> Sequence[SSAValue]:
        """The results of an operation, which is inserted where the import is."""
        op.location = location(name)
        return self.builder.insert(op).results

    def within(self, block: Block, action: Callable[[], None]) -> None:
        """Have `action` import into `block`."""
        outer, self.block, self.builder = (self.block, self.builder), block, Builder(InsertPoint.at_end(block))
        try:
            action()
        finally:
            self.block, self.builder = outer


def captured(value: Value, scope: Scope) -> Value:
    """A value of the body around a region, in the region: a constant again, another one as an argument."""
    if scope.captures is None or value is None or isinstance(value, Poison):
        return value
    if isinstance(value, Items):
        return Items(tuple(_captured(each, scope, scope.captures) for each in value.values))
    return _captured(value, scope, scope.captures)


def _captured(value: SSAValue, scope: Scope, captures: dict[SSAValue, SSAValue]) -> SSAValue:
    is_constant = isinstance(value, OpResult) and isinstance(value.op, ConstantOp)
    inside = scope.copies if is_constant else captures
    if value not in inside:
        if isinstance(value, OpResult) and isinstance(value.op, ConstantOp):
            scope.block.add_op(copy := value.op.clone())
            inside[value] = copy.result
        else:
            inside[value] = scope.block.insert_arg(value.type, len(scope.block.args))
        inside[value].name_hint = value.name_hint
    return inside[value]


@dataclass(frozen=True)
class RegionBody:
    """The block of a region to be, with what it captures."""

    block: Block
    scope: Scope

    @property
    def captures(self) -> dict[SSAValue, SSAValue]:
        """The arguments that stand for values of the bodies around it, in order."""
        assert self.scope.captures is not None
        return self.scope.captures

    def drop_unused(self) -> None:
        """Erase what nothing reads."""
        erase_unused(self.block)
        for value, argument in list(self.captures.items()):
            if argument.first_use is None:
                del self.captures[value]
                assert isinstance(argument, BlockArgument)
                self.block.erase_arg(argument)

    def capture(self, values: Sequence[SSAValue]) -> None:
        """Make the arguments those that stand for `values`."""
        for value in values:
            argument = self.block.insert_arg(value.type, len(self.block.args))
            argument.name_hint = value.name_hint
            if (old := self.captures.get(value)) is not None:
                assert isinstance(old, BlockArgument)
                old.replace_all_uses_with(argument)
                self.block.erase_arg(old)
            self.captures[value] = argument


@dataclass(frozen=True)
class ControlNode(ABC):
    """One node with bodies, which is imported."""

    bodies: Bodies
    node: NodeProto
    name: str
    inputs: Sequence[Given]
    scope: Scope
    opset: int

    @abstractmethod
    def values(self) -> Sequence[Value]:
        """The values of the node's outputs; raises CompileError."""

    # Regions

    def _region(
        self,
        body: GraphProto,
        kinds: Sequence[Attribute],
        names: Sequence[str] = (),
        *,
        true: str = "",
        around: Scope | None = None,
    ) -> RegionBody | None:
        """The body as the block of a region with arguments of these types and names, and its outputs yielded; `true`
        is the name of a value that holds. None where it cannot be imported."""
        block = Block(arg_types=kinds)
        around = self.scope if around is None else around
        inner = self._scope(body, "", around)
        inner.block, inner.captures = block, {}
        for name, argument in zip(names, block.args, strict=True):
            if name:
                inner.values[name] = argument
                name_value(argument, name)
        outputs = [value.name for value in body.output]
        results: list[Value] = []

        def fill() -> None:
            if true:
                inner.values[true] = self._true()
            self.bodies.body(body.node, outputs, inner)
            results.extend(self.bodies.lookup(output, inner) for output in outputs)

        self.bodies.within(block, fill)
        found = [value for value in results if isinstance(value, SSAValue)]
        if len(found) < len(outputs):
            if None in results:
                self._fail("missing-output", "an output of its body is left out")
            if any(isinstance(value, Items) for value in results):
                why = "only tensors come out of what is decided at run time"
                self._fail("sequence-at-run-time", "an output of its body is a sequence", why)
            return None
        bounded = [output for output, value in zip(outputs, found, strict=True) if value in self.bodies.bounds]
        if bounded:
            what = f"the output {bounded[0]!r} of its body has a data-dependent extent"
            fix = "fix what the condition or the trip count depends on with --constant NAME=VALUE"
            self._fail("data-dependent-extent", what, "what reads it could not tell how many", fix)
        block.add_op(YieldOp(found))
        region = RegionBody(block, inner)
        region.drop_unused()
        return region

    def _scope(self, body: GraphProto, suffix: str, around: Scope | None = None) -> Scope:
        """The names that a body sees."""
        outer = self.scope if around is None else around
        branch = f"{self.name}/{suffix}"
        inner = Scope(outer.sets, outer.block, outer.prefix, branch, outer.only_name, outer)
        inner.tensors.update({tensor.name: tensor for tensor in body.initializer})
        return inner

    # Values

    def _known(self, value: Value) -> Any:
        """The only element of a constant; None where it is computed at run time, or left out."""
        array = known_array(value, self.bodies.store) if isinstance(value, SSAValue) else None
        return None if array is None or array.size != 1 else array.item()

    def _tensor(self, value: Given, what: str) -> SSAValue | None:
        """An input that is no sequence."""
        if isinstance(value, Items):
            why = "only tensors go on from one iteration to the next at run time"
            self._fail("sequence-at-run-time", f"{what} is a sequence", why)
        return value

    def _is_known(self, body: GraphProto, values: Sequence[Value]) -> bool:
        """Whether the body computes from constants only."""
        outside = [self.bodies.lookup(name, self.scope) for name in sorted(free_names(body))]
        return all(
            isinstance(value, SSAValue) and known_array(value, self.bodies.store) is not None
            for value in (*values, *outside)
        )

    def _emit(self, operation: str, *operands: SSAValue | Sequence[SSAValue], **attributes: object) -> SSAValue:
        """The first result of an operation of the graph dialect, where the import is; of constants a constant."""
        return self.bodies.folded(OPERATIONS[operation].get(*operands, **attributes), self.name)

    def _constant(self, array: Array) -> SSAValue:
        return self.bodies.constant(array, self.name)

    def _number(self, value: int) -> SSAValue:
        return self._constant(np.array(value, np.int64))

    def _true(self) -> SSAValue:
        return self._constant(np.array(True))

    def _poisoned(self) -> Sequence[Value]:
        return [POISON] * len(self.node.output)

    def _attribute(self, name: str) -> GraphProto:
        found = next((attribute.g for attribute in self.node.attribute if attribute.name == name), None)
        if found is None:
            fix = "the model is invalid: export it again"
            self._fail("missing-attribute", f"the attribute {name} is missing", fix=fix)
        return found

    def _refuse_sequences(self, body: GraphProto, fix: str = "") -> None:
        for value in (*body.input, *body.output):
            if (kind := value.type.WhichOneof("value")) not in (None, "tensor_type"):
                why = "only tensors go on from one iteration to the next at run time"
                what = f"{value.name!r} of its body is not a tensor but of {kind}"
                self._fail("sequence-at-run-time", what, why, fix)

    def _fail(self, kind: str, what: str, why: str = "", fix: str = "") -> NoReturn:
        raise CompileError(kind, what, why, fix, self.name, self.node.op_type)

    def _fail_waiting(self, kind: str, what: str, why: str, *values: SSAValue | None) -> NoReturn:
        """As `_fail`, where `values` would have to be known."""
        problem = Problem(kind, what, why, node=self.name, op_type=self.node.op_type)
        raise CompileError(waiting(problem, values, self.bodies.given))

    def _inserted(self, loop: LoopOp) -> Sequence[SSAValue]:
        """The results of a loop; what it stacks in no iterations is a constant without elements."""
        values = list(self.bodies.insert(loop, self.name))
        for position, value in enumerate(values):
            if 0 in shape_of(value):
                values[position] = self.bodies.constant(
                    np.empty(shape_of(value), numpy_dtype(element_type_of(value))), self.name
                )
        return values

    def _check_carried(
        self, body: GraphProto, first: int, states: Sequence[SSAValue], values: Sequence[SSAValue]
    ) -> None:
        for output, state, value in zip(body.output[first:], states, values, strict=False):
            if state.type != value.type:
                what = f"the carried value {output.name!r} begins as {state.type} and goes on as {value.type}"
                why = "a carried value has one type, and shapes must be known when compiling"
                self._fail("unstable-type", what, why)
