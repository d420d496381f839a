"""How the loops of a recurrence are written: scalar loops, which define it.

A recurrence goes through the rows of a batch, one or several at a time. In each step it needs products of a row's
state with a matrix, and functions of all hidden units. `Rows` gives a recurrence these; a kernel strategy has a faster
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.graph.recurrent.shared import BYTE, REGISTERS, SHARED, STORED, WORDS

Unit: TypeAlias = "Callable[[Scalar, Scalar], None]"
"""Emits what is computed for a hidden unit, given the indices of its row and of the unit."""


@dataclass(frozen=True)
class Factors:
    """The factor for each row."""

    left: Reader
    """[row, k]."""
    weight: Reader
    """The matrix, of the `shape` [columns, k], or [panels, k, width] where it is packed by `column_panels`."""
    shape: Sequence[int]
    depth: int
    """The number of k."""
    group: int = 1
    """So many neighbouring k of a packed matrix lie side by side: [panels, ceil(k / group), width * group]."""
    narrow: bool = False
    """Of groups of 8-bit integers, see `DotOp`."""
    shared: bool = False
    """Whether the matrix is packed into panels of eight registers in seven, i32 (`shared.py`)."""

    @property
    def width(self) -> int:
        """The columns of a panel of a packed matrix."""
        return REGISTERS * self.lanes if self.shared else self.shape[2] // self.group

    @property
    def lanes(self) -> int:
        """Those of a register of a panel of eight in seven."""
        return self.shape[2] // STORED


@dataclass(frozen=True)
class Inputs:
    """The weight for the inputs of several steps."""

    left: Reader
    """[number of the step, row, k]."""
    weight: Reader
    """The matrix, packed: [panels, k, width], without a part of a panel at the end."""
    shape: Sequence[int]
    columns: int
    start: Reader | None
    """The addend of a column [column]; 0 where absent."""
    write: Writer
    """Of the sums: [number of the step, row, column]."""
    first: int
    end: int
    """The steps, from the number `first` up to `end`."""


class Rows:
    """The loops of a recurrence over its batch: one row after the other, one element at a time."""

    def __init__(self, b: Builder, columns: int = 1, unroll: int = 1) -> None:
        """`columns` of a product are summed up at once, each in index order, in loops of `unroll` steps."""
        self.b = b
        self.columns = columns
        self.unroll = unroll

    def for_each(self, batch: int, single: bool, body: Callable[[Row], None]) -> None:
        """`body` for the rows of a batch, perhaps several at once unless `single` says that each takes steps of its
        own."""
        self.b.parallel_for([batch], lambda index: body(Row(self, index[0])))


class Row:
    """One row of the batch, or several neighbouring ones, in which all is done alike."""

    def __init__(self, rows: Rows, first: Scalar) -> None:
        self.b = rows.b
        self._columns = rows.columns
        self._unroll = rows.unroll
        self.first = first
        """The index of the (first) row."""

    def for_units(self, units: int, body: Unit) -> None:
        """`body` for all hidden units, one after the other or several at once."""
        self.b.sequential_range(0, units, 1, lambda unit: body(self.first, unit))

    def extremes(self, units: int, dtype: Attribute, read: Reader) -> tuple[Scalar, Scalar]:
        """The least and the greatest of 0 and what `read` [row, unit] gives for all units."""
        b, zero = self.b, self.b.const(0, dtype)

        def extend(at: list[Scalar], ends: list[Scalar]) -> list[Scalar]:
            x = read([self.first, at[0]])
            return [b.min(ends[0], x), b.max(ends[1], x)]

        low, high = b.reduce([(0, units)], [zero, zero], extend)
        return low, high

    def multiply(
        self,
        step: Scalar,
        factors: Sequence[Factors],
        columns: int,
        dtype: Attribute,
        write: Writer,
        start: Reader | None = None,
    ) -> None:
        """The sum of `start` [column] (0 where absent) and of all products, given to `write` [row, column] for each of
        `columns`.

        It is done once in each `step`, in any order of the columns.
        """
        b = self.b

        def several(first: Scalar, count: int) -> None:
            places = [first + place for place in range(count)]
            sums = [b.const(0, dtype) if start is None else start([place]) for place in places]
            for each in factors:
                sums = self.add(each, places, sums, dtype)
            for place, total in zip(places, sums, strict=True):
                write([self.first, place], total)

        whole = columns - columns % self._columns
        b.sequential_range(0, whole, self._columns, lambda first: several(first, self._columns))
        if whole < columns:
            several(b.index(whole), columns - whole)

    def emit(
        self,
        steps: int,
        columns: int,
        inputs: Inputs | None,
        following: Inputs | None,
        dtype: Attribute,
        step: Callable[[Scalar], None],
    ) -> None:
        """`step` for the numbers of all steps in order; before each one at the latest, the products of its inputs;
        after the last one at the latest, those of `following`, which of a step can be multiplied once it is made.

        The products with the state that they may be multiplied beside have `columns`.
        """
        b = self.b

        def one(number: Scalar, given: Inputs) -> None:
            read, left = given.start, given.left
            factors = Factors(lambda index: left([number, *index]), given.weight, given.shape, given.shape[1])
            self.multiply(
                number,
                [factors],
                given.columns,
                dtype,
                lambda index, total: given.write([number, *index], total),
                None if read is None else lambda index: b.cast(read(index), dtype),
            )

        if inputs is None:
            b.sequential_range(0, steps, 1, step)
        else:
            b.sequential_range(0, inputs.first, 1, step)

            def both(number: Scalar) -> None:
                one(number, inputs)
                step(number)

            b.sequential_range(inputs.first, steps, 1, both)
        if following is not None:
            b.sequential_range(following.first, following.end, 1, lambda number: one(number, following))

    def add(
        self, factors: Factors, columns: Sequence[Scalar], sums: Sequence[Scalar], dtype: Attribute
    ) -> list[Scalar]:
        """The sums, as `dtype`, with the products of each of some columns."""
        b, depth, group = self.b, factors.depth, factors.group

        def at(column: Scalar, k: Scalar) -> Scalar:
            if len(factors.shape) == 2:
                return b.cast(factors.weight([column, k]), dtype)
            width = b.index(factors.width)
            within = b.rem(column, width)
            if factors.shared:
                return _shared_element(b, factors, column / width, k, within)
            if group == 1:
                return b.cast(factors.weight([column / width, k, within]), dtype)
            place = within * group + b.rem(k, b.index(group))
            return b.cast(factors.weight([column / width, k / group, place]), dtype)

        def several(k: Scalar, sums: list[Scalar], steps: int = self._unroll) -> list[Scalar]:
            for step in range(steps):
                x = b.cast(factors.left([self.first, k + step]), dtype)
                sums = [b.fma(x, at(column, k + step), sum) for column, sum in zip(columns, sums, strict=True)]
            return sums

        whole = depth - depth % self._unroll
        now = b.loop(0, whole, self._unroll, list(sums), several)
        return several(b.index(whole), now, depth - whole) if whole < depth else now


def _shared_element(b: Builder, factors: Factors, panel: Scalar, k: Scalar, within: Scalar) -> Scalar:
    """An element of a panel of eight registers in seven."""
    lanes = factors.lanes

    def stored(place: Scalar) -> Scalar:
        return factors.weight([panel, k, place])

    def first() -> list[Scalar]:
        def words() -> list[Scalar]:
            lane = within - WORDS * lanes
            return [b.cast(fourth(b, *(stored(lane + register * lanes) for register in range(WORDS))), f32)]

        return b.when(b.compare("lt", within, WORDS * lanes), lambda: [b.cast(stored(within), f32)], words)

    def other() -> list[Scalar]:
        return [b.from_bits(stored(within - lanes))]

    return b.when(b.compare("lt", within, SHARED * lanes), first, other)[0]


def fourth(b: Builder, first: Scalar, second: Scalar, third: Scalar) -> Scalar:
    """The fourth of the registers, or of their elements, that three of integers hold."""
    byte = b.const(BYTE, i32)
    return b.shift_left(b.shift_left(b.shift_left(first, byte) + second, byte) + third, byte)
