"""What of a processor decides how kernels are computed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute


@dataclass(frozen=True)
class Machine:
    """What of a processor decides a schedule; sizes in bytes."""

    vector_bytes: int
    """Of one vector register."""
    registers: int
    """How many vector registers there are."""
    l1: int = 32 << 10
    l2: int = 512 << 10
    l3: int = 8 << 20
    """Shared with other cores."""
    near: bool = False
    """Whether all weights of the model stay in the third cache from one inference to the next."""

    def lanes(self, dtype: Attribute) -> int:
        """How many f32 or f64 elements a register holds; 1 for every other type, which is not computed in vectors."""
        width = 4 if dtype == f32 else 8 if dtype == f64 else self.vector_bytes
        return max(self.vector_bytes // width, 1)

    def lanes_of_products(self, dtype: Attribute) -> int:
        """As `lanes`, for sums of products, which are computed in vectors of i32, too."""
        return self.lanes(f32 if dtype == i32 else dtype)
