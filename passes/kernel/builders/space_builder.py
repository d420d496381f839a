"""A TileBuilder that knows the loops around it: indices are affine forms of loop positions until an address is needed.

Comparisons and divisions of indices are decided by the ranges of the loops; where these do not decide them, `Refine`
says how to split a loop. Every address is recorded. So a first pass, on a block that is dropped, tells how operands lie
along the loops, and along which loops no tile can lie because the code depends on their position in other ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects.builtin import MemRefType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotc.dialects.builder import INDEX, Bitwise, Comparison, Reader, Scalar, ScalarLike
from aotc.passes.kernel.builders.iteration_space import Affine, Loop, Refinement, divided, is_natural
from aotc.passes.kernel.builders.tile_builder import EXPANDED_MATH, TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable, TileIndex


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

    strides: Mapping[Loop, int]
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
        self._gathered: list[Store] | None = None
        self._positions: Mapping[Loop, Scalar] = {}
        self._follows: dict[SSAValue, frozenset[Loop]] = {}
        """The loops that a value depends on; no entry: none."""

    def place(self, positions: Mapping[Loop, Scalar]) -> None:
        """Use `positions` as those of the loops from here on."""
        self._positions = positions
        for loop, position in positions.items():
            if position.value is not None:
                self._follows[position.value] = frozenset([loop])

    def affine(self, form: Affine) -> Scalar:
        """`form` as an index."""
        return AffineIndex(self, INDEX, form=form) if form.factors else self.index(form.constant)

    def number(self, form: Affine) -> SSAValue:
        """The SSA value of `form`, for code that computes with it."""
        self.uniform |= self._loops(form)
        return self._placed(form).ssa

    def emit(self, op: Operation) -> SSAValue:
        value = super().emit(op)
        if loops := self._followed(op.operands):
            self._follows[value] = loops
        return value

    def _followed(self, values: Sequence[SSAValue]) -> frozenset[Loop]:
        return frozenset[Loop]().union(*(self._follows[value] for value in values if value in self._follows))

    def _loops(self, form: Affine) -> frozenset[Loop]:
        loops = frozenset(term for term in form.factors if isinstance(term, Loop))
        return loops | self._followed([term for term in form.factors if isinstance(term, SSAValue)])

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
        strides = {term: factor for term, factor in address.factors.items() if isinstance(term, Loop)}
        self.accesses.append(Access(strides, stored))
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
        both = self._divided(a, c)
        return super().rem(a, c) if both is None else self.affine(both[1])

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
                if how == "xor":
                    if y.constant is not None or isinstance(y, OpenCondition):
                        return y if y.constant is None else self.const(int(x.constant != y.constant), i1)
                else:
                    return y if bool(x.constant) == (how == "and") else x
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
    return Affine(0, {index.value: 1}) if index.value is not None else Affine(int(index.constant or 0))
