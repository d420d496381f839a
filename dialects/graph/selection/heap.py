"""Binary heaps in buffers (Williams, algorithm 232, Communications of the ACM 7:6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64, i32, i64

from aotc.dialects.builder import INDEX, Builder, Scalar

Node = list[Scalar]
_LOW = 2**32 - 1


def in_order(b: Builder, value: Scalar) -> Scalar:
    """A signed integer that orders as a float does, of the bits of f64 or f32; zeros are equal, NaN is anything."""
    value = value if value.dtype == f64 else b.cast(value, f32)
    kind = i64 if value.dtype == f64 else i32
    bits = b.bitcast(value + 0.0, kind)
    magnitude = 2 ** (kind.width.data - 1) - 1
    return bits ^ (b.shift_right(bits, b.const(kind.width.data - 1, kind)) & magnitude)


def packed(b: Builder, key: Scalar, number: Scalar) -> Scalar:
    """An i64 that orders as a key, i32, does; of equal keys the one with the lower number, below 2^31, is greater."""
    return b.shift_left(b.cast(key, i64), b.const(32, i64)) | (b.cast(number, i64) ^ _LOW)


def number_of(b: Builder, node: Scalar) -> Scalar:
    """The number in what `packed` gives."""
    return b.cast((node & _LOW) ^ _LOW, INDEX)


@dataclass(frozen=True)
class Heap:
    """A binary tree, its places counted level by level from the root, in which no node goes before its parent."""

    b: Builder
    node: Callable[[Scalar], Node]
    """Reads the node at a place."""
    put: Callable[[Scalar, Sequence[Scalar]], None]
    """Writes a node to a place."""
    before: Callable[[Sequence[Scalar], Sequence[Scalar]], Scalar]
    """Whether a node goes before another."""

    def sink(self, hole: Scalar, what: Sequence[Scalar], size: Scalar) -> None:
        """Sift down in a heap of `size` nodes, at least 1: put a node into a place that is free, or below, and what
        goes before it up."""
        b = self.b

        def child(hole: Scalar) -> list[Scalar]:
            """The place of the child that goes before the other, and whether it has to move up."""
            left = b.min(hole * 2 + 1, size - 1)
            right = b.min(left + 1, size - 1)
            nodes = self.node(left), self.node(right)
            is_right = self.before(nodes[1], nodes[0])
            first = [b.select(is_right, one, other) for one, other in zip(nodes[1], nodes[0], strict=True)]
            moves = b.compare("lt", hole * 2 + 1, size) & self.before(first, what)
            return [b.select(is_right, right, left), moves]

        def move(state: list[Scalar]) -> list[Scalar]:
            hole, place, _ = state
            self.put(hole, self.node(place))
            return [place, *child(place)]

        place, *_ = b.loop_while([hole, *child(hole)], lambda state: state[2], move)
        self.put(place, what)

    def order(self, size: Scalar) -> None:
        """Make a heap of `size` nodes in any order."""
        b = self.b
        parents = b.cast(b.shift_right(b.cast(size, i64), b.const(1, i64)), INDEX)

        def at(step: Scalar) -> None:
            place = parents - 1 - step
            self.sink(place, self.node(place), size)

        b.sequential_range(0, parents, 1, at)
