"""Sequences and optionals: a sequence of known length is its values, an optional the value that it has, or nothing.

There is nothing to compute for their operators: they are done with while a model is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import TypeProto
from xdsl.ir import SSAValue

from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.node import Node, Tensor
from aotc.frontend.onnx.tensors import ONNX_TYPES, type_proto


@dataclass(frozen=True)
class Items:
    """A sequence: its tensors in order."""

    values: tuple[SSAValue, ...]


Given = SSAValue | Items | None


@dataclass(frozen=True)
class _Call:
    """An operator of sequences or optionals, with what it reads."""

    node: Node
    inputs: Sequence[Given]

    def items(self) -> tuple[SSAValue, ...]:
        """The tensors of the first input."""
        first = self.inputs[0] if self.inputs else None
        if not isinstance(first, Items):
            self.node.fail("invalid-type", "its first input is not a sequence", "the operator takes one")
        return first.values

    def tensor(self, position: int) -> SSAValue:
        """An input that is a tensor."""
        found = self.inputs[position] if position < len(self.inputs) else None
        if not isinstance(found, SSAValue):
            self.node.fail("invalid-type", f"input {position} is not a tensor", "the operator takes one")
        return found

    def place(self, position: int, count: int, default: int, last: int) -> int:
        """The place among `count`, or up to `last`, that an optional input says, from the front."""
        if position >= len(self.inputs) or self.inputs[position] is None:
            return default
        place = int(self.node.constant_input(position, "the position").reshape(()))
        if not -count <= place <= last:
            self.node.fail("invalid-value", f"position {place} is out of range for {count} of the sequence")
        return place + count if place < 0 else place


def _construct(call: _Call) -> Given:
    return Items(tuple(call.tensor(position) for position in range(len(call.inputs))))


def _at(call: _Call) -> Given:
    items = call.items()
    return items[call.place(1, len(items), 0, len(items) - 1)]


def _insert(call: _Call) -> Given:
    items = call.items()
    place = call.place(2, len(items), len(items), len(items))
    return Items((*items[:place], call.tensor(1), *items[place:]))


def _erase(call: _Call) -> Given:
    items = call.items()
    if not items:
        call.node.fail("invalid-value", "the sequence is empty", "there is nothing to erase")
    place = call.place(1, len(items), len(items) - 1, len(items) - 1)
    return Items((*items[:place], *items[place + 1 :]))


def _concat(call: _Call) -> Given:
    node, items = call.node, list(call.items())
    if not items:
        node.fail("invalid-value", "the sequence is empty", "there is nothing to put together")
    rank = len(shape_of(items[0])) + (1 if node.attr("new_axis", 0) else 0)
    axis = normalize_axis(node.attr("axis"), rank)
    if node.attr("new_axis", 0):
        shapes = [[*shape_of(each)[:axis], 1, *shape_of(each)[axis:]] for each in items]
        items = [Tensor(node, each).reshape(shape).value for each, shape in zip(items, shapes, strict=True)]
    return items[0] if len(items) == 1 else node.emit("concat", items, axis=axis)


def _split(call: _Call) -> Given:
    node, x = call.node, Tensor(call.node, call.tensor(0))
    axis = normalize_axis(node.attr("axis", 0), len(x.shape))
    extent = x.shape[axis]
    sizes, drop = [1] * extent, not node.attr("keepdims", 1)
    if len(call.inputs) > 1 and call.inputs[1] is not None:
        given, drop = node.constant_input(1, "the sizes"), False
        sizes = [int(size) for size in given.reshape(-1)]
        if not given.shape:
            (size,) = sizes
            if size < 1:
                node.fail("invalid-value", f"parts of {size} elements", fix="use a positive number")
            sizes = [min(size, extent - start) for start in range(0, extent, size)]
    if sum(sizes) != extent or any(size < 0 for size in sizes):
        node.fail("invalid-value", f"sizes {sizes} do not cut axis {axis} of {extent} elements")
    starts = np.cumsum([0, *sizes]).tolist()
    parts = [cut(x, {axis: (start, 1, size)}) for start, size in zip(starts, sizes, strict=False)]
    shape = [*x.shape[:axis], *x.shape[axis + 1 :]]
    return Items(tuple((part.reshape(shape) if drop else part).value for part in parts))


def _length(call: _Call) -> Given:
    return call.node.constant(np.array(len(call.items()), np.int64))


def _identity(call: _Call) -> Given:
    return call.inputs[0] if call.inputs else None


def _element(call: _Call) -> Given:
    if (found := _identity(call)) is None:
        call.node.fail("invalid-value", "the optional is empty", "there is no element to get")
    return found


def _has_element(call: _Call) -> Given:
    return call.node.constant(np.array(_identity(call) is not None))


_OPERATORS: dict[str, Callable[[_Call], Given]] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": lambda call: Items(()),
    "SequenceAt": _at,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceLength": _length,
    "ConcatFromSequence": _concat,
    "SplitToSequence": _split,
    "Optional": _identity,
    "OptionalGetElement": _element,
    "OptionalHasElement": _has_element,
    "Identity": _identity,
}
OPERATORS = frozenset(_OPERATORS) - {"Identity"}
"""Operators that read or make sequences or optionals, whatever their inputs are."""


def apply(node: Node, inputs: Sequence[Given]) -> Given:
    """The result of an operator of sequences or optionals; raises CompileError for any other that is given a
    sequence."""
    function = _OPERATORS.get(node.op_type)
    if function is None:
        node.fail("invalid-type", "an input is a sequence", "the operator takes tensors")
    return function(_Call(node, inputs))


def type_bytes(value: Given) -> bytes:
    """The serialized ONNX type of a value; nothing for one left out."""
    if value is None:
        return b""
    if isinstance(value, Items):
        kind = TypeProto()
        element = TypeProto.FromString(type_bytes(next(iter(value.values), None)))
        element.tensor_type.ClearField("shape")
        kind.sequence_type.elem_type.CopyFrom(element)
        return kind.SerializeToString()
    return type_proto(ONNX_TYPES[element_type_of(value)], shape_of(value)).SerializeToString()
