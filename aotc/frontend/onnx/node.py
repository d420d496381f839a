"""Nodes of ONNX as importers see them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

from xdsl.ir import Attribute, SSAValue

from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.dialects.graph.interfaces import GraphOp, shape_of
from aotc.dialects.graph.shapes import normalize_axis
from aotc.dialects.graph.structure import ConstantOp, CopyOp
from aotc.errors import CompileError, Problem
from aotc.frontend.emitter import OPERATIONS, Emitter, Operand, Operands, Operation, Tensor, joined
from aotc.frontend.onnx.tensors import DTYPES, UNSUPPORTED, type_name
from aotc.model.weight_store import Array

__all__ = ["OPERATIONS", "Bound", "Node", "Operand", "Operands", "Operation", "Tensor", "joined", "unfolded", "waiting"]


@dataclass(frozen=True)
class Bound:
    """The extent of a value along `axis` is data-dependent: only the first `count` are valid."""

    axis: int
    count: SSAValue
    """An i64 of rank 0."""
    asked: bool = False
    """The model computes the count to say how many there shall be; it is not how many there are of what data has."""


@dataclass(eq=False, kw_only=True)
class Node(Emitter):
    """One ONNX node during import: its inputs as SSA values, its attributes as Python values, and `emit`."""

    SHAPE_ADVICE: ClassVar[str] = "check the model's shapes (onnx.shape_inference) or the given --input-shape"

    domain: str
    opset: int
    """The version of the node's operator set that the model imports."""
    inputs: list[SSAValue | None]
    """None stands for an optional input left out."""
    attributes: dict[str, Any]
    bounds: dict[SSAValue, Bound]
    """Facts known of the values of the model whose extents are data-dependent."""
    names: Mapping[SSAValue, str]
    """Those of the model's inputs."""

    def in_version(self, opset: int, inputs: Sequence[SSAValue | None] | None = None) -> Node:
        """This node as one of ONNX's own operators in a version of these, perhaps with other inputs."""
        return replace(self, domain="", opset=opset, inputs=list(self.inputs if inputs is None else inputs))

    def optional(self, position: int) -> SSAValue | None:
        """An optional input, None where it is left out."""
        return self.inputs[position] if position < len(self.inputs) else None

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute as int, float, str, list or ndarray (a tensor); `default` where it is absent."""
        return self.attributes.get(name, default)

    def axis(self, default: int | None = None) -> int:
        """The attribute `axis`, one of input 0, counted from the front."""
        return normalize_axis(self.attr("axis", default), len(self.shape(0)))

    def require_choice(self, name: str, value: object, choices: Iterable[object]) -> None:
        """Fail where an attribute's value is none of `choices`."""
        if value not in (known := list(choices)):
            fix = f"choose from {', '.join(map(str, known))}"
            self.fail("unsupported-attribute", f"{name} = {value} is not supported", fix=fix)

    def type_attr(self, name: str) -> Attribute:
        """The element type whose ONNX code an attribute is; fails where the compiler has none."""
        code = self.attr(name)
        if code not in DTYPES:
            self.fail("unsupported-type", f"{name} = {type_name(code)} is not supported", UNSUPPORTED.get(code, ""))
        return ELEMENT_TYPES[DTYPES[code]]

    def constant_input(self, position: int, what: str) -> Array:
        """The value of an input that must be constant (a shape, axes, pads...); a named problem where it is not."""
        self.input(position)
        value = self.known(position)
        if value is None:
            self.fail_unknown(position, what)
        return value

    def fail_unknown(self, position: int, what: str) -> NoReturn:
        """Stop where an input, `what` to the user, would have to be known when compiling."""
        if (op := unfolded(self.input(position))) is not None:
            why = f"{op} is computed when the model runs, though of constants only"
            fix = "make it a constant of the model"
            self.fail("unknown-value", f"{what} (input {position}) is not known when compiling", why, fix)
        what = f"{what} (input {position}) is computed at run time"
        problem = Problem(
            "unknown-value", what, "shapes must be known when compiling", node=self.name, op_type=self.op_type
        )
        raise CompileError(waiting(problem, [self.input(position)], self.names))

    def fail_bounded(self, problem: Problem, bounds: Sequence[Bound]) -> NoReturn:
        """Stop with a problem that there is none of where the counts of `bounds` are known. Those that are asked for
        may be compiled for."""
        asked = all(bound.asked for bound in bounds)
        found = waiting(problem, [bound.count for bound in bounds], self.names)
        raise CompileError(found if asked and found.inputs else problem)

    def bounded(self, value: SSAValue, bound: Bound) -> SSAValue:
        """`value` of which only so many parts mean anything as `bound` says: cut to these where the count is known,
        else noted, so that only operators that treat each part by itself read it."""
        known = known_array(bound.count, self.store)
        if known is not None:
            return self.cut_to_count(value, bound.axis, bound.count)
        if shape_of(value)[bound.axis] == 0:  # there can be none
            return value
        if self.known_value(value) is not None:  # what is computed of it must not lose its bound by folding
            value = self._insert(CopyOp.get(value))
        self.bounds[value] = bound
        return value

    def most(self, count: SSAValue) -> int | None:
        """The greatest value of a count of parts; None for any other value."""
        for value, bound in self.bounds.items():
            if bound.count is count:
                return shape_of(value)[bound.axis]
        return None

    def as_many(self, axis: int, count: SSAValue) -> Bound:
        """The bound of what has so many parts along an axis as other values with this count have."""
        return Bound(axis, count, any(bound.asked for bound in self.bounds.values() if bound.count is count))

    def cut_to_count(self, value: SSAValue, axis: int, count: SSAValue) -> SSAValue:
        """`value` without the parts along `axis` from `count` on, where that is known; else as it is."""
        known = known_array(count, self.store)
        shape = [*shape_of(value)]
        if known is None or shape[axis] == int(known):
            return value
        shape[axis] = int(known)
        return self.emit("slice", value, starts=[0] * len(shape), steps=[1] * len(shape), shape=shape)


MOST_VALUES = 64
"""Elements of an input that may be compiled for as values, where a shape that nothing bounds follows from them."""


def waiting(problem: Problem, values: Sequence[SSAValue | None], given: Mapping[SSAValue, str]) -> Problem:
    """`problem`, which is mended where `values` are known, with the inputs of the model that these follow from; `given`
    are the names of the inputs."""
    found = _followed(values, given)
    if not found:
        return replace(problem, fix="fix the inputs that it depends on with --constant NAME=VALUE")
    names = ", ".join(given[each] for each in found)
    why = f"{problem.why}, and it follows from {'the input' if len(found) == 1 else 'inputs'} {names}"
    if any(math.prod(shape_of(each)) > MOST_VALUES for each in found):
        return replace(problem, why=why, fix="compute it before the model")
    options = " ".join(f"--constant {given[each]}=VALUE" for each in found)
    return replace(problem, why=why, fix=f"fix that with {options}", inputs=tuple(given[each] for each in found))


def _followed(values: Sequence[SSAValue | None], given: Mapping[SSAValue, str]) -> list[SSAValue]:
    """The inputs of the model that `values` are computed of, in order; none where they are computed of others, too."""
    behind = _behind([value for value in values if value is not None])
    if any(value not in given and not isinstance(value.owner, GraphOp) for value in behind):
        return []
    return [each for each in given if each in behind]


def unfolded(value: SSAValue) -> str | None:
    """For a value that depends on no input of the model: the operation that is not computed when compiling."""
    owners = [each.owner for each in _behind([value])]
    if not all(isinstance(op, GraphOp) for op in owners):
        return None
    return next(
        (op.name for op in reversed(owners) if isinstance(op, GraphOp) and not isinstance(op, ConstantOp)), None
    )


def _behind(values: Sequence[SSAValue]) -> list[SSAValue]:
    """Values, and all that they are computed of by operations of the graph."""
    todo, met, found = [*values], {*values}, list[SSAValue]()
    while todo:
        found.append(todo.pop())
        op = found[-1].owner
        new = [operand for operand in op.operands if operand not in met] if isinstance(op, GraphOp) else []
        met.update(new)
        todo += new
    return found
