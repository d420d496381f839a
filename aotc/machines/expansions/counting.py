"""The cost of an expansion: evaluated over registers that know what they are computed of, it is counted.

Not more than `issue` instructions begin in a cycle, and units are busy for the `cycles` of an instruction's row. What
depends on one operand alone is apart: kernels compute it once for all that it is combined with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Self

from aotc.machines.expansions.vocabulary import Processor
from aotc.machines.instructions import INSTRUCTIONS
from aotc.machines.instructions.values import Operation, Value, bits_of


class Counted(Value):
    """A register, what it is computed of, and what its last instruction costs."""

    def __init__(
        self, dtype: str, lanes: int, of: Collection[str] = (), given: Sequence[Counted] = (), *, issued: int = 0
    ) -> None:
        super().__init__(dtype)
        self._lanes = lanes
        self.of = frozenset(of).union(*(each.of for each in given))
        """The operands that it depends on."""
        self._given = given
        self.issued = issued
        self.cycles = 0.0

    @property
    def lanes(self) -> int:
        return self._lanes

    def made(self, name: Operation, dtype: str, *operands: Self) -> Self:
        if name == "reinterpret":
            return type(self)(dtype, self.lanes * bits_of(self.dtype) // bits_of(dtype), given=operands)
        return type(self)(dtype, self.lanes, given=operands, issued=1)

    def number(self, value: float, dtype: str) -> Self:
        del value
        return type(self)(dtype, self.lanes)

    def shuffle(self, lanes: Sequence[int], other: Self | None = None) -> Self:
        return type(self)(self.dtype, len(lanes), given=[self] if other is None else [self, other], issued=1)

    def all(self) -> Iterator[Counted]:
        """Itself, and all that it is computed of, once."""
        found: dict[Counted, None] = {}
        waiting: list[Counted] = [self]
        while waiting:
            if (each := waiting.pop()) not in found:
                found[each] = None
                waiting.extend(each._given)
        return iter(found)


class Counting(Processor[Counted]):
    """A processor of which as many instructions as `issue` begin in a cycle."""

    def __init__(self, names: Collection[str], issue: float) -> None:
        super().__init__(names)
        self._issue = issue

    def apply(self, name: str, *operands: Counted) -> Counted:
        row = INSTRUCTIONS[name]
        found = Counted(row.result.dtype, row.result.count, given=operands, issued=row.issued)
        found.cycles = row.cycles
        return found

    def cycles(self, values: Iterable[Counted]) -> float:
        """Of the instructions that make them."""
        made = tuple(values)
        return max(sum(each.issued for each in made) / self._issue, sum(each.cycles for each in made))
