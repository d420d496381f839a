"""The types of vectors in generated C, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Variants: TypeAlias = "list[tuple[str, str]]"
"""(preprocessor condition, expansion) in order of preference; the last one's condition is empty."""


def type_name(kind: str, bits: int, lanes: int) -> str:
    """`aotc_f32x16`; `kind` is f, u or i."""
    return f"aotc_{kind}{bits}x{lanes}"


@dataclass(frozen=True)
class Vector:
    """A vector of `lanes` elements of `bits` bits; `kind` is f (floats), u (unsigned integers) or i (signed ones)."""

    kind: str
    bits: int
    lanes: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.bits * self.lanes // 8

    @property
    def name(self) -> str:
        """The C type."""
        return type_name(self.kind, self.bits, self.lanes)

    def operation(self, name: str) -> str:
        """`aotc_fma_f32x16`."""
        return self.name.replace("_", f"_{name}_", 1)

    @property
    def signed(self) -> str:
        """The type of the same bits as signed integers."""
        return type_name("i", self.bits, self.lanes)

    @property
    def unsigned(self) -> str:
        """The type of the same bits as unsigned integers."""
        return type_name("u", self.bits, self.lanes)

    @property
    def element(self) -> str:
        """The C type of an element."""
        if self.kind == "f":
            return {32: "float", 64: "double"}[self.bits]
        return f"{'u' if self.kind == 'u' else ''}int{self.bits}_t"

    def each(self, lane: Callable[[int], str]) -> str:
        """A vector, lane by lane."""
        return f"(({self.name}){{{', '.join(lane(i) for i in range(self.lanes))}}})"
