"""Forms of kernels whose code fits into bytes, at the fewest instructions: a greedy search, without IR."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SMALL, SHARED, FAST = range(3)
"""The forms of a kernel: small and shared, fast and shared, fast and its own."""


@dataclass(frozen=True)
class Form:
    """Some calls of a model in one form: the functions that they need, how many calls of the entry, and the
    instructions of a run, about."""

    functions: frozenset[str]
    calls: int
    instructions: float


@dataclass(frozen=True)
class Program:
    """A model whose kernels are all of one form: the bytes of each function, of a call of one, and of all."""

    functions: Mapping[str, int]
    call: float
    total: int


Unit = Sequence[Form]
"""Calls that have one form together: what they are in each of the forms."""
_Move = tuple[tuple[int, ...], int]
"""Units, by number, and the form that they get."""
_FREE: Final = 1e-6
"""Bytes for which a move is made that takes none."""


def choose(units: Sequence[Unit], programs: Sequence[Program], limit: float) -> tuple[int, ...] | None:
    """The form of each unit, such that the model takes at most `limit` bytes; None where that was not found.

    All are small at first. Then the move is made again and again that saves the most instructions for a byte, of a unit
    or of all that share a function in some form (Dantzig, Operations Research 5:2; a function counts once, however
    many call it).
    """
    state, moves = _State(units, programs), _moves(units)
    while state.bytes > limit:
        more, move = min(((state.change(*move)[0], move) for move in moves), default=(0.0, ((), FAST)))
        if more >= 0:
            return None
        state.make(*move)
    while True:
        best, chosen = 0.0, None
        for move in moves:
            more, slower = state.change(*move)
            fits = more <= 0 or state.bytes + more <= limit
            if fits and slower < 0 and -slower / max(more, _FREE) > best:
                best, chosen = -slower / max(more, _FREE), move
        if chosen is None:
            return tuple(state.forms)
        state.make(*chosen)


def instructions(units: Sequence[Unit], forms: Iterable[int]) -> float:
    """Those of a run with these forms, about."""
    return sum(unit[form].instructions for unit, form in zip(units, forms, strict=True))


def bytes_of(units: Sequence[Unit], programs: Sequence[Program], forms: Sequence[int]) -> float:
    """Bytes of the model with these forms, about."""
    return _State(units, programs, forms).bytes


class _State:
    """A form of each unit, and what they take."""

    def __init__(self, units: Sequence[Unit], programs: Sequence[Program], forms: Sequence[int] | None = None) -> None:
        self._units, self._programs = units, programs
        self.forms = [SMALL] * len(units) if forms is None else list(forms)
        self._used: Counter[tuple[int, str]] = Counter()
        rest = programs[FAST]
        calls = sum(unit[FAST].calls for unit in units)
        needed = {function for unit in units for function in unit[FAST].functions}
        self.bytes = rest.total - calls * rest.call - sum(rest.functions.get(each, 0) for each in needed)
        for unit, form in zip(units, self.forms, strict=True):
            for function in unit[form].functions:
                if not self._used[form, function]:
                    self.bytes += programs[form].functions.get(function, 0)
                self._used[form, function] += 1
            self.bytes += unit[form].calls * programs[form].call

    def change(self, numbers: Sequence[int], to: int) -> tuple[float, float]:
        """The bytes and instructions that it would take more."""
        less: Counter[tuple[int, str]] = Counter()
        more: set[tuple[int, str]] = set()
        size = slower = 0.0
        for number in numbers:
            old, new = self._units[number][self.forms[number]], self._units[number][to]
            if self.forms[number] != to:
                less.update((self.forms[number], function) for function in old.functions)
                more.update((to, function) for function in new.functions)
                size += new.calls * self._programs[to].call - old.calls * self._programs[self.forms[number]].call
                slower += new.instructions - old.instructions
        size += sum(self._size(key) for key in more if not self._used[key])
        return size - sum(self._size(key) for key, count in less.items() if self._used[key] == count), slower

    def make(self, numbers: Sequence[int], to: int) -> None:
        """Give units a form."""
        self.bytes += self.change(numbers, to)[0]
        for number in numbers:
            for form, sign in ((self.forms[number], -1), (to, 1)):
                for function in self._units[number][form].functions:
                    self._used[form, function] += sign
            self.forms[number] = to

    def _size(self, key: tuple[int, str]) -> int:
        return self._programs[key[0]].functions.get(key[1], 0)


def _moves(units: Sequence[Unit]) -> list[_Move]:
    """All changes that are tried: of a unit, and of those that share a function in a form."""
    moves: dict[_Move, None] = {}
    for form in (SMALL, SHARED, FAST):
        sharing: defaultdict[str, list[int]] = defaultdict(list)
        for number, unit in enumerate(units):
            for function in sorted(unit[form].functions):
                sharing[function].append(number)
        together = [(number,) for number in range(len(units))] + [tuple(each) for each in sharing.values()]
        moves |= dict.fromkeys((numbers, to) for numbers in together for to in (SMALL, SHARED, FAST))
    return list(moves)
