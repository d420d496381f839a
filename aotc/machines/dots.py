"""Dot products of narrow integers, and tables of 256 bytes in registers: what the instructions for them cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

Unsigned: TypeAlias = Literal["one", "none", "any", "narrow"]
"""Which factors of a dot product are unsigned."""


@dataclass(frozen=True)
class StepPairs:
    """Cycles of sums of two steps, eight products of a lane, that are added in 16 bits (`step_pairing`)."""

    plain: float
    """For one register of each factor of both, without sign and with one."""
    complemented: float
    """The same of magnitudes and complements."""
    flip_cycles: float
    """More for each register of weights whose complements are of integers without sign, beside `weight_cycles`."""
    loop_cycles: float
    """Of a loop over steps of one kind, beside them: nobody knows how many there are."""
    registers: int
    """That are in use beside those of the sums."""


@dataclass(frozen=True)
class DotProduct:
    """How a core adds sums of four products of 8-bit integers, a signed one among each two, to lanes of 32 bits."""

    name: str
    """Of the instruction; "" where there is none, and factors are widened lane by lane."""
    unsigned: Unsigned
    """Which factors are unsigned where it takes least work: exactly one of the two; neither; any; or one where constant
    weights keep the products of all neighbours in 16 bits, and neither elsewhere."""
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
    move_cycles: float = 2 / 3
    """To bring the elements of a step side by side, where neighbours in memory are of other lanes."""
    sign_cycles: float = 0
    """More for a step whose factors have signs, where complements are not multiplied."""
    pairs: StepPairs | None = None
    """Where two steps may be added in 16 bits; None: that is no faster."""

    @property
    def least_cycles(self) -> float:
        """The least cost of one register of each factor."""
        return self.cycles if self.pairs is None else min(self.cycles, self.pairs.plain / 2)


VPDPBUSD: Final = DotProduct(
    "vpdpbusd", "one", cycles=0.5, widening_cycles=0, registers=0, busy_sums=14, pair_cycles=0.5
)
VPDPBSSD: Final = replace(VPDPBUSD, name="vpdpbssd", unsigned="any")
VPMADDWD: Final = DotProduct(
    "vpmaddwd", "one", cycles=4 / 3, widening_cycles=0.8, registers=3, busy_sums=4, pair_cycles=2 / 3
)
VPMADDUBSW: Final = DotProduct(
    "vpmaddubsw",
    "narrow",
    cycles=4 / 3,
    widening_cycles=0,
    registers=2,
    busy_sums=6,
    pair_cycles=2 / 3,
    complements=True,
    weight_cycles=2 / 3,
    weight_registers=1,
    sign_cycles=2 / 3,
    pairs=StepPairs(plain=1.9, complemented=7 / 3, flip_cycles=1 / 3, loop_cycles=4, registers=8),
)
"""Of magnitudes of weights, by complements where these are negative: four instructions, and two for each register of
weights, which becomes two."""
SDOT: Final = DotProduct("sdot", "none", cycles=0.5, widening_cycles=0, registers=0, busy_sums=14)
USDOT: Final = DotProduct("usdot", "any", cycles=0.5, widening_cycles=0, registers=0, busy_sums=14)
WASM_DOT: Final = DotProduct(
    "i32x4.dot_i16x8_s", "one", cycles=2, widening_cycles=1, registers=3, busy_sums=4, pair_cycles=1
)
SADDLP: Final = DotProduct("saddlp", "any", cycles=2, widening_cycles=1.5, registers=3, busy_sums=4)
"""Four instructions, and three for each register of a factor, of two a cycle; nobody measured it."""
PORTABLE: Final = DotProduct("", "any", cycles=4, widening_cycles=4, registers=4, busy_sums=4)
"""Cycles of instructions that several others stand for are of three vector instructions a cycle; nobody measured those
of WebAssembly, and of cores without any."""


def dot_product(names: frozenset[str], vector_bytes: int) -> DotProduct:
    """The best way for registers of `vector_bytes` with these instructions."""
    bits = 8 * vector_bytes
    ways = (
        (f"vpdpbssd.{bits}", VPDPBSSD),
        (f"vpdpbusd.{bits}", VPDPBUSD),
        (f"psignb.{bits}", VPMADDUBSW),
        (f"pmaddwd.{bits}", VPMADDWD),
        ("usdot", USDOT),
        ("sdot", SDOT),
        ("saddlp", SADDLP),
        (WASM_DOT.name, WASM_DOT),
    )
    return next((way for name, way in ways if name in names), PORTABLE)


@dataclass(frozen=True)
class ByteLookup:
    """How a core looks up bytes in a table."""

    name: str
    """Of the instruction; "" where there is none, and functions of bytes are computed."""
    row: int
    """Bytes of the table in one register."""
    fewest_operations: int
    """The least cost of a function, in operations of the graph, at which it is looked up instead of computed."""


COMPUTED: Final = ByteLookup("", 0, 0)
VPERMB: Final = ByteLookup("vpermb", row=64, fewest_operations=2)
VPERMW: Final = ByteLookup("vpermw", row=64, fewest_operations=2)
PSHUFB: Final = ByteLookup("pshufb", row=16, fewest_operations=3)
TBL: Final = ByteLookup("tbl", row=16, fewest_operations=3)
SWIZZLE: Final = ByteLookup("i8x16.swizzle", row=16, fewest_operations=3)
"""Dequantising, |x| and quantising take as long as rows of 16 bytes on AVX2, and five times as long as two permutations
of 128 bytes; nobody measured NEON and WebAssembly."""


def byte_lookup(names: frozenset[str], vector_bytes: int) -> ByteLookup:
    """The best way for registers of `vector_bytes` with these instructions."""
    bits = 8 * vector_bytes
    ways = (
        (f"vpermi2b.{bits}", VPERMB, 64),
        (f"vpermi2w.{bits}", VPERMW, 64),
        (f"pshufb.{bits}", PSHUFB, 32),
        (f"pshufb.{bits}", PSHUFB, 16),
        ("tbl4", TBL, 16),
        (SWIZZLE.name, SWIZZLE, 16),
    )
    return next((way for name, way, size in ways if name in names and size == vector_bytes), COMPUTED)
