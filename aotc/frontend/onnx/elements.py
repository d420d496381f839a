"""Elements of small integer tensors as an unknown and a number, which tells how far apart two of them are.

A slice that begins at a data-dependent element often ends a fixed number of elements further. Numbers of parts are
computed of others here, too: the same number is the same value wherever it is computed, so that what has as many parts
is known to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.elementwise import AddOp, BinaryOp, MulOp, SubOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.dialects.graph.movement import ConcatOp, ReshapeOp, SliceOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.frontend.onnx.node import Bound, Node, Tensor

_MOST = 64
"""Elements of a tensor that are looked at: as many as a tensor has axes, and more."""


@dataclass(frozen=True)
class Element:
    """Element `place` of `unknown`, counted in C order, and `number` more; the number alone without an unknown."""

    unknown: SSAValue | None
    place: int
    number: int

    def beyond(self, other: Element) -> int | None:
        """How much more this is than the other; None where that is data-dependent."""
        same = self.unknown is other.unknown and self.place == other.place
        return self.number - other.number if same else None


def elements(node: Node, value: SSAValue) -> list[Element]:
    """The elements of an integer tensor, in C order."""
    known = node.known_value(value)
    if known is not None:
        return [Element(None, 0, int(number)) for number in known.reshape(-1)]
    size = math.prod(shape_of(value))
    op = value.owner
    if size <= _MOST:
        match op:
            case ReshapeOp():
                return elements(node, op.x)
            case CastOp() if isinstance(element_type_of(op.x), IntegerType) and _width(op.x) <= _width(value):
                return elements(node, op.x)
            case ConcatOp() if len(shape_of(value)) == 1:
                return [each for part in op.parts for each in elements(node, part)]
            case SliceOp() if len(shape_of(value)) == 1:
                (start,), (step,), (count,) = op.ints("starts"), op.ints("steps"), op.ints("shape")
                before = elements(node, op.x)
                return [before[start + step * place] for place in range(count)]
            case ReduceOp() if math.prod(shape_of(op.x)) == size:  # of one element each
                return elements(node, op.x)
            case AddOp() if (moved := _moved(node, op.lhs, op.rhs, 1) or _moved(node, op.rhs, op.lhs, 1)) is not None:
                return moved
            case SubOp() if (moved := _moved(node, op.lhs, op.rhs, -1)) is not None:
                return moved
            case WhereOp() if (chosen := _chosen(node, op)) is not None:
                return chosen
            case _:
                pass
    return [Element(value, place, 0) for place in range(size)]


def settled(x: Tensor) -> Tensor:
    """`x`, or the constant that a small tensor of integers is though not all it was taken from is known, as fixed
    extents out of the shape of what has a number of parts."""
    node = x.node
    if not isinstance(x.kind, IntegerType) or math.prod(x.shape) > _MOST or node.known_value(x.value) is not None:
        return x
    found = elements(node, x.value)
    if any(each.unknown is not None for each in found):
        return x
    return Tensor(node, node.constant(np.array([each.number for each in found], x.dtype).reshape(x.shape)))


def extents(node: Node, position: int, what: str) -> tuple[list[int], Bound | None]:
    """The extents that an input is, `what` to the user, and which of them is the bound of a data-dependent one.

    A named problem where another is computed at run time, or two are.
    """
    found: list[int] = []
    bound: Bound | None = None
    for axis, each in enumerate(elements(node, node.input(position))):
        if each.unknown is None:
            found.append(each.number)
            continue
        most = node.most(each.unknown)
        if most is None or each.number or bound is not None:
            node.fail_unknown(position, what)
        found.append(most)
        bound = node.as_many(axis, each.unknown)
    return found, bound


def _moved(node: Node, value: SSAValue, by: SSAValue, sign: int) -> list[Element] | None:
    """The elements of a tensor and `sign` times a constant; None where it is none, or larger than the tensor."""
    known, shape = node.known_value(by), shape_of(value)
    if known is None or known.size > math.prod(shape):
        return None
    numbers = np.broadcast_to(known.reshape(known.shape[known.ndim - min(known.ndim, len(shape)) :]), shape).reshape(-1)
    return [
        replace(one, number=one.number + sign * int(number))
        for one, number in zip(elements(node, value), numbers, strict=True)
    ]


def _chosen(node: Node, op: WhereOp) -> list[Element] | None:
    """The elements that a condition chooses, as exporters write a shape whose -1 stand for 1; None where it may choose
    either."""
    compared = op.condition.owner
    if not isinstance(compared, CompareOp) or compared.how.data != "eq":
        return None
    if any(shape_of(value) != shape_of(op.result) for value in (op.x, op.y, compared.lhs, compared.rhs)):
        return None
    sides = zip(elements(node, compared.lhs), elements(node, compared.rhs), strict=True)
    holds = [_are_equal(node, *both) for both in sides]
    if None in holds:
        return None
    each = zip(holds, elements(node, op.x), elements(node, op.y), strict=True)
    return [one if equal else other for equal, one, other in each]


def _are_equal(node: Node, one: Element, other: Element) -> bool | None:
    """Whether two elements are equal, of which a number of parts is none below 0; None where that is data-dependent."""
    if (distance := one.beyond(other)) is not None:
        return distance == 0
    if one.unknown is None:
        one, other = other, one
    if other.unknown is None and one.unknown is not None and node.most(one.unknown) is not None:
        return False if other.number < one.number else None
    return None


def _width(value: SSAValue) -> int:
    kind = element_type_of(value)
    return kind.width.data if isinstance(kind, IntegerType) else 0


def multiple(node: Node, count: SSAValue, by: int) -> SSAValue:
    """A number of parts times a constant."""
    return _computed(node, MulOp, count, by)


def divided(node: Node, count: SSAValue, by: int) -> SSAValue | None:
    """A number of parts that was multiplied, divided again; None where it may leave a remainder."""
    op = count.owner
    if isinstance(op, MulOp) and (factor := _number(node, op.rhs)) is not None and factor > 0 and factor % by == 0:
        return op.lhs if factor == by else multiple(node, op.lhs, factor // by)
    return None


def sums(node: Node, counts: Sequence[SSAValue | int]) -> list[SSAValue]:
    """How many parts there are up to and including each of several lists, of fixed numbers or not."""
    first = counts[0]
    found = [node.constant(first, np.int64) if isinstance(first, int) else first]
    for each in counts[1:]:
        found.append(_computed(node, AddOp, found[-1], each))
    return found


def _computed(node: Node, kind: type[BinaryOp], count: SSAValue, by: SSAValue | int) -> SSAValue:
    """A count and another number, added or multiplied: what has been computed, where that is in the same block."""
    for use in count.uses:
        op = use.operation
        if isinstance(op, kind) and op.lhs is count and op.parent is count.owner.parent:
            same = _number(node, op.rhs) == by if isinstance(by, int) else op.rhs is by
            if same:
                return op.results[0]
    return node.emit(kind, count, node.constant(by, np.int64) if isinstance(by, int) else by)


def _number(node: Node, value: SSAValue) -> int | None:
    """A constant of rank 0."""
    known = node.known_value(value)
    return int(known) if known is not None and known.ndim == 0 else None
