"""The costs of dot products of narrow integers: their expansions, counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from aotc.machines.expansions.counting import Counted, Counting
from aotc.machines.expansions.dots import AT_ONCE, BY_LANES, PAIRS_OF_BYTES, Unsigned, Way, dot_pair, way_of_dot
from aotc.machines.instructions.values import bits_of

_ROWS, _COLUMNS = 3, 2
"""The shape of a register tile, roughly: so many registers of x are widened for so many of the weight."""


@dataclass(frozen=True)
class StepPairs:
    """Cycles of sums of two steps, eight products of a lane, that are added in 16 bits (`step_pairing`)."""

    plain: float
    """For one register of each factor of both, without sign and with one."""
    complemented: float
    """The same of magnitudes and complements."""
    flip_cycles: float
    """More for each register of weights whose complements are of integers without sign, beside `weight_cycles`."""
    loop_cycles: float = 4
    """Of a loop over steps of one kind, beside them: nobody knows how many there are."""
    registers: int = 8
    """That are in use beside those of the sums."""


@dataclass(frozen=True)
class DotProduct:
    """How a core adds sums of four products of 8-bit integers, a signed one among each two, to lanes of 32 bits."""

    unsigned: Unsigned
    """Which factors are unsigned where it takes least work."""
    cycles: float
    """For one register of each factor, once these are in registers."""
    widening_cycles: float
    """More for each register of a factor, however often it is used."""
    registers: int
    """More registers that are in use for it, beside those of the sums and of a factor's row."""
    busy_sums: int
    """Sums that keep the core busy: more, where the sum before is waited for until all has been multiplied."""
    pair_cycles: float | None = None
    """For one register of two products of 16-bit integers a lane; None: there is no instruction for these."""
    complements: bool = False
    """Whether signed factors are best multiplied with magnitudes of the others, and complemented where these are
    negative."""
    weight_cycles: float = 0
    """More for each register of the weight, which has a sign."""
    weight_registers: int = 0
    """More registers for each of these."""
    sign_cycles: float = 0
    """More for a step whose factors have signs, where complements are not multiplied."""
    pairs: StepPairs | None = None
    """Where two steps may be added in 16 bits; None: that is no faster."""

    @property
    def least_cycles(self) -> float:
        """The least cost of one register of each factor."""
        return self.cycles if self.pairs is None else min(self.cycles, self.pairs.plain / 2)


@lru_cache
def dot_product(names: frozenset[str], vector_bytes: int, issue: float) -> DotProduct:
    """The costs of the best way with these instructions, on registers of `vector_bytes`; `issue` begin in a cycle."""
    p = Counting(names, issue)

    def count(x: str, w: str, *, narrow: bool = False, complement: bool = False) -> _Count:
        operands = _registers(x, w, vector_bytes)
        return _Count(p, *way_of_dot(p, *operands, narrow=narrow, complement=complement))

    one, none, words = count("u8", "s8"), count("s8", "s8", narrow=True), count("s16", "s16")
    unsigned = none.way.unsigned if one.way is none.way else "one" if one.way is AT_ONCE else "none"
    pair_cycles = None if words.way is BY_LANES else words.cycles
    if none.way is not PAIRS_OF_BYTES or one.way is AT_ONCE:
        best = one if unsigned == "one" else none
        widening = (_ROWS * best.cycles_of("x") + _COLUMNS * best.cycles_of("w")) / (_ROWS + _COLUMNS)
        return DotProduct(unsigned, best.cycles, widening, best.way.registers, best.way.busy_sums, pair_cycles)
    best, flipped = (count(x, "s8", complement=True) for x in ("s8", "u8"))
    weight_cycles = best.cycles_of("w")
    return DotProduct(
        "narrow",
        best.cycles,
        0,
        best.way.registers,
        best.way.busy_sums,
        pair_cycles,
        complements=True,
        weight_cycles=weight_cycles,
        weight_registers=1,
        sign_cycles=none.cycles + none.cycles_of("x") - best.cycles,
        pairs=StepPairs(
            _two_steps(p, "u8", vector_bytes, complement=False),
            _two_steps(p, "s8", vector_bytes, complement=True),
            flipped.cycles_of("w") - weight_cycles,
        ),
    )


@dataclass(frozen=True)
class _Count:
    """The expansion of a dot product, counted."""

    p: Counting
    way: Way
    result: Counted

    @property
    def cycles(self) -> float:
        """For one register of each factor."""
        return self.p.cycles(each for each in self.result.all() if len(each.of) > 1)

    def cycles_of(self, factor: str) -> float:
        """For each register of one, however often it is used."""
        return self.p.cycles(each for each in self.result.all() if each.of == frozenset({factor}))


def _registers(x: str, w: str, vector_bytes: int) -> tuple[Counted, Counted, Counted]:
    """Of two factors and of sums, for operands of these types."""
    kinds = (x, "x"), (w, "w"), ("s32", "sums")
    a, b, sums = (Counted(kind, 8 * vector_bytes // bits_of(kind), {name}) for kind, name in kinds)
    return a, b, sums


def _two_steps(p: Counting, x: str, vector_bytes: int, *, complement: bool) -> float:
    (a, b, sums), (c, d, _) = (_registers(x, "s8", vector_bytes) for _ in range(2))
    return _Count(p, PAIRS_OF_BYTES, dot_pair(p, ((a, b), (c, d)), sums, complement=complement)).cycles
