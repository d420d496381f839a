"""Tables of 256 bytes in registers: what permutes bytes on a target, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


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
