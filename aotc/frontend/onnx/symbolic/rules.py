"""The table of rules, and what a rule sees of its node.

ONNX itself infers extents that are those of inputs, or numbers. A rule says more of an operator: it gives a `Fact` for
each output, its shape, and of small tensors of integers their elements, as far as either is known. Elements are an
array of objects, ints and expressions, so that numpy's functions compute with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from aotc.model.extents import Size
from aotc.model.weight_store import Array

Shape: TypeAlias = "tuple[Size | None, ...]"
"""None is an extent that is not known."""

MOST_ELEMENTS: Final = 256
"""Of a tensor whose elements are followed: shapes, pads and axes are short."""


@dataclass(frozen=True)
class Fact:
    """Facts known of a tensor."""

    shape: Shape | None = None
    """None where not even the rank is known."""
    elements: Array | None = None
    """Of dtype object, ints and expressions, none unknown; None where they are not followed."""
    kind: int = 0
    """The ONNX data type; 0 where it is not known."""


UNKNOWN: Final = Fact()


@dataclass(frozen=True)
class SymbolicNode:
    """One node as rules see it."""

    op_type: str
    opset: int
    inputs: Sequence[Fact | None]
    """None stands for an optional input left out."""
    attributes: dict[str, Any]
    outputs: int
    inferred: Fact
    """The facts of the first output that ONNX infers."""

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute; `default` where it is absent."""
        return self.attributes.get(name, default)

    def has(self, position: int) -> bool:
        """Whether there is such an input."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def shape(self, position: int) -> Shape:
        """The shape of an input. Raises NotKnown where not even the rank is known."""
        fact = self.inputs[position] if position < len(self.inputs) else None
        if fact is None or fact.shape is None:
            raise NotKnown
        return fact.shape

    def elements(self, position: int) -> Array:
        """The elements of an input. Raises NotKnown."""
        fact = self.inputs[position] if position < len(self.inputs) else None
        if fact is None or fact.elements is None:
            raise NotKnown
        return fact.elements

    def numbers(self, position: int) -> list[int]:
        """The elements of an input where all are numbers. Raises NotKnown."""
        found = self.elements(position).reshape(-1).tolist()
        if not all(isinstance(each, int) for each in found):
            raise NotKnown
        return found

    def given(self, name: str, position: int, since: int) -> list[int] | None:
        """Integers that are an attribute before an operator set, and an input from it on. Raises NotKnown."""
        if self.opset < since:
            return self.attr(name)
        return self.numbers(position) if self.has(position) else None


class NotKnown(Exception):
    """Nothing can be said of a node's outputs but what ONNX infers."""


Rule: TypeAlias = "Callable[[SymbolicNode], Fact | Sequence[Fact]]"

RULES: Final[dict[str, Rule]] = {}
"""Operators of ONNX's own set."""


def rule(*op_types: str) -> Callable[[Rule], Rule]:
    """Make the decorated function the rule of these operators. It raises NotKnown where it knows nothing, and may raise
    whatever malformed inputs lead to: that an importer says."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(op_types, function))
        return function

    return register


def array_of(values: Sequence[Size] | Size) -> Array:
    """Elements from numbers and expressions."""
    if not isinstance(values, Sequence):
        found = np.empty((), object)
        found[()] = values
        return found
    found = np.empty(len(values), object)
    found[:] = list(values)
    return found


def known(elements: Array) -> Fact:
    """Facts known of a tensor with these elements."""
    return Fact(tuple(elements.shape), elements if elements.size <= MOST_ELEMENTS else None)


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape of what is computed element by element of tensors of these shapes."""
    rank = max(map(len, shapes))
    padded = [(*(1,) * (rank - len(shape)), *shape) for shape in shapes]
    return tuple(_together(extents) for extents in zip(*padded, strict=True))


def _together(extents: Sequence[Size | None]) -> Size | None:
    """An extent other than 1 is that of the result; an open one may be 1 as well."""
    left = list(dict.fromkeys(each for each in extents if each != 1))
    if not left:
        return 1
    if numbers := [each for each in left if isinstance(each, int)]:
        return numbers[0]
    return left[0] if len(left) == 1 else None
