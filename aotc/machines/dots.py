"""Dot products of narrow integers: the instructions that a target has for them, and what they cost.

Which there are is found by compiling such sums for the target, so the answer holds for every processor and feature
string.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from llvmlite.binding import TargetMachine


Unsigned: TypeAlias = Literal["one", "none", "any", "narrow"]
"""Which factors of a dot product are unsigned."""


@dataclass(frozen=True)
class StepPairs:
    """What sums of two steps, eight products of a lane, cost that are added in 16 bits (`step_pairing`): cycles."""

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


VPDPBUSD: Final = DotProduct(
    "vpdpbusd", "one", cycles=0.5, widening_cycles=0, registers=0, busy_sums=14, pair_cycles=0.5
)
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
PORTABLE: Final = DotProduct("", "any", cycles=4, widening_cycles=4, registers=4, busy_sums=4)
"""Cycles of instructions that several others stand for are of three vector instructions a cycle; nobody measured those
of WebAssembly, and of cores without any."""

_SIGNS: Final = {"us": ("zext", "sext"), "ss": ("sext", "sext"), "uu": ("zext", "zext")}
_FOUND: Final = {
    "vpdpbusd": r"vpdpbusd\t.*%(x|y|z)mm",
    "pmaddwd": r"v?pmaddwd\t.*%(x|y|z)mm",
    "pmaddubsw": r"pshufb\t.*%(x)mm",  # of the same extension, SSSE3
    "sdot": r"\tsdot\tv",
    "udot": r"\tudot\tv",
    "usdot": r"\tusdot\tv",
    "i32x4.dot_i16x8_s": r"i32x4\.add",  # what all WebAssembly with vectors has
    "i8x16.swizzle": r"i32x4\.add",
    "vpermb": r"\tvpermb\t.*%(z)mm",
    "tbl": r"\ttbl\tv\d+\.16b",
}
_BITS: Final = {"x": 128, "y": 256, "z": 512}


def dot_instructions(llvm: Any, triple: str, machine: TargetMachine) -> frozenset[str]:
    """The instructions of `_FOUND` that LLVM uses for a target; those of x86 with the bits of their registers behind
    the name, as "vpdpbusd.512".
    """
    text = "".join(
        [
            *(_turned(lanes) for lanes in (16, 64)),
            "define <4 x i32> @sum(<4 x i32> %x, <4 x i32> %y) {\n  %s = add <4 x i32> %x, %y\n  ret <4 x i32> %s\n}\n",
            *(_probe(f"{signs}{lanes}", lanes, *how) for signs, how in _SIGNS.items() for lanes in (16, 32, 64)),
            *(f"declare i32 @llvm.vector.reduce.add.v{lanes}i32(<{lanes} x i32>)\n" for lanes in (16, 32, 64)),
        ]
    )
    module = llvm.parse_assembly(text)
    module.triple = triple
    assembly = machine.emit_assembly(module)
    names: set[str] = set()
    for name, pattern in _FOUND.items():
        for match in re.finditer(pattern, assembly):
            names.add(f"{name}.{_BITS[match[1]]}" if match.groups() else name)
    widest = max((bits for bits in _BITS.values() if f"pmaddwd.{bits}" in names), default=0)
    names |= {f"pmaddwd.{bits}" for bits in _BITS.values() if bits <= widest}
    names |= {f"pmaddubsw.{bits}" for bits in (256, 512) if bits <= widest}
    names |= {f"psignb.{bits}" for bits in (128, 256) if f"pmaddubsw.{bits}" in names}  # of the same extensions
    return frozenset(names)


def dot_product(names: frozenset[str], vector_bytes: int) -> DotProduct:
    """The best way for registers of `vector_bytes` with the instructions that `dot_instructions` found."""
    bits = 8 * vector_bytes
    ways = (
        (f"vpdpbusd.{bits}", VPDPBUSD),
        (f"psignb.{bits}", VPMADDUBSW),
        (f"pmaddwd.{bits}", VPMADDWD),
        ("usdot", USDOT),
        ("sdot", SDOT),
        (WASM_DOT.name, WASM_DOT),
    )
    return next((way for name, way in ways if name in names), PORTABLE)


def _turned(lanes: int) -> str:
    kind, places = f"<{lanes} x i8>", ", ".join(f"i32 {7 * lane % lanes}" for lane in range(lanes))
    return (
        f"define {kind} @turned{lanes}({kind} %x) {{\n"
        f"  %r = shufflevector {kind} %x, {kind} poison, <{lanes} x i32> <{places}>\n  ret {kind} %r\n}}\n"
    )


def _probe(name: str, lanes: int, first: str, second: str) -> str:
    narrow, wide = f"<{lanes} x i8>", f"<{lanes} x i32>"
    return (
        f"define i32 @{name}({narrow} %a, {narrow} %b) {{\n"
        f"  %x = {first} {narrow} %a to {wide}\n  %y = {second} {narrow} %b to {wide}\n  %p = mul {wide} %x, %y\n"
        f"  %s = call i32 @llvm.vector.reduce.add.v{lanes}i32({wide} %p)\n  ret i32 %s\n}}\n"
    )
