"""How much a small model may grow in the compiler, and how much is kept, unless the options say otherwise."""

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
