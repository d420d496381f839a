"""How much a small model may grow in the compiler, and how much is kept, unless the options say otherwise; how much
memory there is."""

from dataclasses import dataclass

MOST_COMPUTED = 256 << 20
"""Bytes that constants computed while compiling may take, beside the model's own."""

MOST_FOLDED = 1 << 16
"""Bytes of a constant that is computed while compiling of fewer elements: a range, a mask, a table of angles."""

MOST_EXPANDED = 1 << 16
"""Nodes that calls of functions may be expanded to, beside those of the model's graph."""

MAX_SHAPES = 16
"""For how many shapes of a model whose shapes are open code is kept."""

MAX_ELEMENTS = 1 << 31
"""Tensors of this many elements or more are refused: indices are 32 bits in places, and no target has the memory."""


@dataclass(frozen=True)
class Pool:
    """A memory of `size` bytes in which buffers are placed. An access takes `speed` cycles, or as many times those of
    another pool. In objects it is in the linker section of this name, where there is one."""

    name: str
    size: int
    speed: float = 1.0
    section: str = ""

    def __str__(self) -> str:
        """As behind NAME= on the command line."""
        speed = "" if self.speed == 1 else f",speed={self.speed:g}"
        return f"{self.size}{speed}{self.section and f',section={self.section}'}"
