"""A TileBuilder that knows the loops around it: indices are affine forms of loop positions until an address is needed.

A `Space` is a box of loops and, for each dimension of a result, the index as an affine form of the loop positions.
Comparisons and divisions of indices are decided by the ranges of the loops. Where a comparison like `i < 5` is not
decided in a whole space, or a quotient like `i / 16` is not affine in it, a `Refinement` says how to split a loop so
that it is in each of the parts: index set splitting and strip-mining (M. Wolfe, High Performance Compilers for Parallel
Computing, 1996, chapter 9).

Every address is recorded. So a first pass, on a block that is dropped, tells how operands lie along the loops, and
along which loops no tile can lie because the code depends on their position in other ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects.builtin import MemRefType, f32, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotc.dialects.builder import INDEX, Bitwise, Comparison, Number, Reader, Scalar, ScalarLike
from aotc.dialects.dtypes import is_float
from aotc.passes.kernel.builders.remainders import remainder
from aotc.passes.kernel.builders.tile_builder import EXPANDED_MATH, TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable, TileIndex, is_tile


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
            if whole == size:
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
    """The loops of a bounded form and their factors."""
    return sorted(cast("Mapping[Loop, int]", form.factors).items(), key=lambda item: -abs(item[1]))


class Refine(Exception):
    """The index space must be split before the code can be written for it."""

    def __init__(self, refinement: Refinement) -> None:
        super().__init__(refinement)
        self.refinement = refinement


@dataclass(frozen=True, eq=False)
class AffineIndex(Scalar):
    """An index as an affine form of loop positions."""

    form: Affine = field(default=Affine(), kw_only=True)

    @property
    def ssa(self) -> SSAValue:
        return cast(SpaceBuilder, self.b).number(self.form)

    @property
    def key(self) -> object:
        return self.form.key


@dataclass(frozen=True, eq=False)
class OpenCondition(Scalar):
    """A comparison of indices that holds in a part of the space only."""

    refinement: Refinement = field(kw_only=True)

    @property
    def ssa(self) -> SSAValue:
        raise Refine(self.refinement)

    @property
    def key(self) -> object:
        return self.refinement


Store: TypeAlias = "tuple[Scalar, SSAValue, Sequence[Scalar]]"
"""A value, the buffer that it is stored to, and the index there."""


@dataclass(frozen=True)
class Access:
    """How the address of a load or store depends on the loops: elements per step of each loop."""

    strides: Mapping[Term, int]
    stored: bool

    def stride(self, loop: Loop) -> int:
        """Elements per step of one loop; 0 where the address does not depend on it."""
        return self.strides.get(loop, 0)


class SpaceBuilder(TileBuilder):
    """A TileBuilder on affine indices, see the module. `place` sets the positions of the loops, as numbers or tile
    indices, before anything is read."""

    def __init__(self, entry: Block) -> None:
        super().__init__(entry)
        self.accesses: list[Access] = []
        self.uniform: set[Loop] = set()
        """Loops on whose position the code depends other than by affine addresses; no tile can lie along them."""
        self.computes_functions = False
        """Whether an expensive function, of a dozen instructions or more, is computed for every element."""
        self.fuses = False
        """Whether multiply-adds round once."""
        self._gathered: list[Store] | None = None
        self._positions: Mapping[Loop, Scalar] = {}
        self._follows: dict[Term, frozenset[Loop]] = {}
        """The loops that a value depends on; no entry: none. A loop's position depends on it."""

    def place(self, positions: Mapping[Loop, Scalar]) -> None:
        """Use `positions` as those of the loops from here on."""
        self._positions = positions
        for loop, position in positions.items():
            self._follows[loop] = follows = frozenset([loop])
            if position.value is not None:
                self._follows[position.value] = follows

    def affine(self, form: Affine) -> Scalar:
        """`form` as an index."""
        return AffineIndex(self, INDEX, form=form) if form.factors else self.index(form.constant)

    def number(self, form: Affine) -> SSAValue:
        """The SSA value of `form`, for code that computes with it."""
        self.uniform |= self._followed(form.factors)
        return self._placed(form).ssa

    def emit(self, op: Operation) -> SSAValue:
        value = super().emit(op)
        if loops := self._followed(op.operands):
            self._follows[value] = loops
        return value

    def _followed(self, values: Iterable[Term]) -> frozenset[Loop]:
        return frozenset[Loop]().union(*(self._follows[value] for value in values if value in self._follows))

    def _placed(self, form: Affine) -> Scalar:
        total = self.index(form.constant)
        for term, factor in form.factors.items():
            position = self._positions[term] if isinstance(term, Loop) else self.scalar(term, INDEX)
            total = self.add(total, self.mul(position, self.index(factor)))
        return total

    def math(self, name: str, a: Scalar) -> Scalar:
        self.computes_functions |= name in EXPANDED_MATH
        return super().math(name, a)

    def lookup(self, x: Scalar, table: Reader, registers: tuple[int, int] | None = None) -> Scalar:
        uniform = set(self.uniform)
        found = super().lookup(x, table, registers)
        if registers is not None:  # tiles may lie along what the number depends on
            self.uniform = uniform
        return found

    # Memory

    def load(self, buffer: SSAValue, index: Sequence[Scalar], dtype: Attribute) -> Scalar:
        if any(isinstance(i, TileIndex) for i in index):  # a table, which is the same wherever tiles lie
            return super().load(buffer, index, dtype)
        return super().load(buffer, self._address_of(buffer, index, stored=False), dtype)

    def gathered(self, write: Callable[[], None]) -> list[Store]:
        """The value that `write` would store, which is not stored."""
        self._gathered = found = list[Store]()
        write()
        self._gathered = None
        return found

    def store_words(self, parts: Sequence[Scalar], buffer: SSAValue, index: Sequence[Scalar]) -> None:
        places = self._address_of(buffer, index, stored=True)
        if any(isinstance(i, TileIndex) for i in places):
            super().store_words(parts, buffer, places)

    def store(self, value: Scalar, buffer: SSAValue, index: Sequence[Scalar]) -> None:
        if self._gathered is not None:
            self._gathered.append((value, buffer, index))
            return
        super().store(value, buffer, self._address_of(buffer, index, stored=True))

    def _address_of(self, buffer: SSAValue, index: Sequence[Scalar], *, stored: bool) -> list[Scalar]:
        forms = [_form(i) for i in index]
        address = Affine()
        for form, extent in zip(forms, cast(MemRefType[Attribute], buffer.type).get_shape(), strict=True):
            address = address.times(extent).plus(form)
        self.accesses.append(Access(address.factors, stored))
        self.uniform |= self._followed([term for term in address.factors if isinstance(term, SSAValue)])
        return [self._placed(form) for form in forms]

    # Indices

    def add(self, a: Scalar, c: Scalar) -> Scalar:
        return self.affine(_form(a).plus(_form(c))) if _affine(a, c) else super().add(a, c)

    def sub(self, a: Scalar, c: Scalar) -> Scalar:
        return self.affine(_form(a).plus(_form(c), -1)) if _affine(a, c) else super().sub(a, c)

    def mul(self, a: Scalar, c: Scalar) -> Scalar:
        for x, y in ((a, c), (c, a)):
            if isinstance(x, AffineIndex) and y.constant is not None:
                return self.affine(x.form.times(int(y.constant)))
        return super().mul(a, c)

    def div(self, a: Scalar, c: Scalar) -> Scalar:
        both = self._divided(a, c)
        return super().div(a, c) if both is None else self.affine(both[0])

    def rem(self, a: Scalar, c: Scalar) -> Scalar:
        if (both := self._divided(a, c)) is not None:
            return self.affine(both[1])
        self.computes_functions |= is_float(a.dtype)
        if not (is_tile(a) or is_tile(c)) or a.dtype != f32 or not self.fuses:
            return super().rem(a, c)
        x, y = self._operands(a, c)
        return remainder(self, Scalar(self, f32, x), Scalar(self, f32, y))

    def _divided(self, a: Scalar, c: Scalar) -> tuple[Affine, Affine] | None:
        if not isinstance(a, AffineIndex) or not a.form.bounded or not c.constant:
            return None
        found = divided(a.form, int(c.constant))
        if isinstance(found, Refinement):
            raise Refine(found)
        return found

    def max(self, a: Scalar, c: ScalarLike) -> Scalar:
        c = a.typed(c)
        return self.select(self.compare("ge", a, c), a, c) if _affine(a, c) else super().max(a, c)

    def min(self, a: Scalar, c: ScalarLike) -> Scalar:
        c = a.typed(c)
        return self.select(self.compare("le", a, c), a, c) if _affine(a, c) else super().min(a, c)

    # Conditions

    def compare(self, how: Comparison, a: Scalar, c: ScalarLike) -> Scalar:
        c = a.typed(c)
        if a.dtype != INDEX:
            return super().compare(how, a, c)
        above = _form(a).plus(_form(c), -1)
        below = above.times(-1)
        if not above.bounded:
            return super().compare(how, a, c)
        match how:
            case "ge":
                return self._natural(above)
            case "gt":
                return ~self._natural(below)
            case "le":
                return self._natural(below)
            case "lt":
                return ~self._natural(above)
            case "eq":
                return self._natural(above) & self._natural(below)
            case "ne":
                return ~(self._natural(above) & self._natural(below))

    def _natural(self, form: Affine) -> Scalar:
        found = is_natural(form)
        if isinstance(found, Refinement):
            return OpenCondition(self, i1, refinement=found)
        return self.const(int(found), i1)

    def bitwise(self, how: Bitwise, a: Scalar, c: Scalar) -> Scalar:
        if a.dtype == i1:
            for x, y in ((a, c), (c, a)):
                if x.constant is None:
                    continue
                if how != "xor":
                    return y if bool(x.constant) == (how == "and") else x
                if y.constant is not None:
                    return self.const(int(x.constant != y.constant), i1)
            for x in (a, c):
                if isinstance(x, OpenCondition):
                    return x
        return super().bitwise(how, a, c)

    def select(self, condition: Scalar, a: Scalar, c: ScalarLike) -> Scalar:
        c = a.typed(c)
        if condition.constant is not None:
            return a if condition.constant else c
        return super().select(condition, a, c)

    def when(
        self, condition: Scalar, then: Callable[[], Sequence[Scalar]], otherwise: Callable[[], Sequence[Scalar]]
    ) -> list[Scalar]:
        if condition.constant is not None:
            return list(then() if condition.constant else otherwise())
        loops = self._followed([condition.ssa])
        self.uniform |= loops
        results = super().when(condition, then, otherwise)
        for result in results:
            self._follows[result.ssa] = self._follows.get(result.ssa, frozenset()) | loops
        return results

    def reduce(
        self,
        bounds: Sequence[tuple[ScalarLike, ScalarLike]],
        init: Sequence[Scalar],
        body: Callable[[list[Scalar], list[Scalar]], Sequence[Scalar]],
    ) -> list[Scalar]:
        raise NotVectorizable("every element has a loop of its own")


def _affine(a: Scalar, c: Scalar) -> bool:
    return isinstance(a, AffineIndex) or isinstance(c, AffineIndex)


def _form(index: Scalar) -> Affine:
    """An index as an affine form; an index computed by operations is a term itself."""
    if isinstance(index, AffineIndex):
        return index.form
    return Affine(0, {index.value: 1}) if index.value is not None else Affine(int(cast(Number, index.constant)))
