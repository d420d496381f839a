"""Iteration spaces of loop nests, and how to split them so that comparisons and divisions of indices disappear.

A `Space` is a box of loops and, for each dimension of a result, the index as an affine form of the loop positions.
Where a comparison like `i < 5` is not decided in a whole space, or a quotient like `i / 16` is not affine in it, a
`Refinement` says how to split a loop so that it is in each of the parts: index set splitting and strip-mining (M.
Wolfe, High Performance Compilers for Parallel Computing, 1996, chapter 9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import SSAValue


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop whose position runs from 0 to below `extent`."""

    extent: int


Term: TypeAlias = "Loop | SSAValue"
"""A loop's position, or an index that is known at run time only."""


@dataclass(frozen=True, eq=False)
class Affine:
    """constant + the sum of factor * term."""

    constant: int = 0
    factors: Mapping[Term, int] = field(default_factory=dict[Term, int])

    @property
    def key(self) -> object:
        """Equal for equal forms."""
        return (self.constant, frozenset(self.factors.items()))

    @property
    def bounded(self) -> bool:
        """Whether all terms are loops, so that the form has a range."""
        return all(isinstance(term, Loop) for term in self.factors)

    def plus(self, other: Affine, times: int = 1) -> Affine:
        """self + times * other."""
        factors = dict(self.factors)
        for term, factor in other.factors.items():
            factors[term] = factors.get(term, 0) + times * factor
        nonzero = {term: factor for term, factor in factors.items() if factor}
        return Affine(self.constant + times * other.constant, nonzero)

    def times(self, factor: int) -> Affine:
        """factor * self."""
        return Affine().plus(self, factor)

    def replaced(self, loop: Loop, by: Affine) -> Affine:
        """The form with `by` for the position of `loop`."""
        if (factor := self.factors.get(loop)) is None:
            return self
        rest = {term: other for term, other in self.factors.items() if term is not loop}
        return Affine(self.constant, rest).plus(by, factor)

    def range(self) -> tuple[int, int]:
        """The least and the greatest value of a bounded form."""
        low = high = self.constant
        for term, factor in self.factors.items():
            assert isinstance(term, Loop)
            reach = factor * (term.extent - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high


@dataclass(frozen=True)
class Refinement:
    """Split `loop` at position `size`; if `periodic`, into strips of `size` positions and a shorter last one."""

    loop: Loop
    size: int
    periodic: bool = False


@dataclass(frozen=True)
class Space:
    """Loops, and the index along each dimension of a result as an affine form of their positions."""

    loops: tuple[Loop, ...]
    index: tuple[Affine, ...]

    @staticmethod
    def of(shape: tuple[int, ...]) -> Space:
        """The index space of a shape, whose extents are positive: a loop for each dimension that is longer than 1."""
        loops = [Loop(extent) if extent > 1 else None for extent in shape]
        index = tuple(Affine() if loop is None else Affine(0, {loop: 1}) for loop in loops)
        return Space(tuple(loop for loop in loops if loop is not None), index)

    def refined(self, by: Refinement) -> list[Space]:
        """The parts of the space, in order."""
        loop, size = by.loop, by.size
        assert 0 < size < loop.extent
        whole = loop.extent // size * size if by.periodic else size
        if whole < loop.extent:
            low, rest = self._part(loop, 0, whole), self._part(loop, whole, loop.extent - whole)
            if not by.periodic or whole == size:
                return [low, rest]
            return [*low.refined(Refinement(low.loops[self.loops.index(loop)], size, True)), rest]
        outer, inner = Loop(whole // size), Loop(size)
        return [self._replaced(loop, (outer, inner), Affine(0, {outer: size, inner: 1}))]

    def _part(self, loop: Loop, low: int, extent: int) -> Space:
        if extent == 1:
            return self._replaced(loop, (), Affine(low))
        part = Loop(extent)
        return self._replaced(loop, (part,), Affine(low, {part: 1}))

    def _replaced(self, loop: Loop, new: tuple[Loop, ...], position: Affine) -> Space:
        at = self.loops.index(loop)
        loops = (*self.loops[:at], *new, *self.loops[at + 1 :])
        return Space(loops, tuple(form.replaced(loop, position) for form in self.index))


def is_natural(form: Affine) -> bool | Refinement:
    """Whether a bounded form is non-negative at all positions of its loops; a refinement where that differs."""
    low, high = form.range()
    if low >= 0 or high < 0:
        return low >= 0
    loops = _widest_first(form)
    for loop, factor in loops:
        reach = factor * (loop.extent - 1)
        # With this loop at i the form is from least + factor * i to most + factor * i.
        least, most = low - min(reach, 0), high - max(reach, 0)
        rising = -(most // factor), -(least // factor)  # from here on: not surely negative, surely natural
        falling = least // -factor + 1, most // -factor + 1  # from here on: not surely natural, surely negative
        for change in rising if factor > 0 else falling:
            if 0 < change < loop.extent:
                return Refinement(loop, change)
    return Refinement(loops[0][0], loops[0][0].extent // 2)


def divided(form: Affine, by: int) -> tuple[Affine, Affine] | Refinement | None:
    """Quotient (rounded down) and remainder of a bounded form as affine forms; a refinement under which they are, or
    None."""
    quotient = Affine(form.constant // by, {term: f // by for term, f in form.factors.items() if f % by == 0})
    rest = form.plus(quotient, -by)
    low, high = rest.range()
    if low // by == high // by:
        carry = Affine(low // by)
        return quotient.plus(carry), rest.plus(carry, -by)
    for loop, factor in _widest_first(rest):
        step = abs(factor)
        if by % step:
            continue
        residue = (low if factor > 0 else -high - 1) % by // step  # how many positions into a period the loop begins
        if residue and by // step - residue < loop.extent:
            return Refinement(loop, by // step - residue)
        if by // step < loop.extent:
            return Refinement(loop, by // step, periodic=True)
    return None


def _widest_first(form: Affine) -> list[tuple[Loop, int]]:
    loops = [(term, factor) for term, factor in form.factors.items() if isinstance(term, Loop)]
    return sorted(loops, key=lambda item: -abs(item[1]))
