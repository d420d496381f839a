"""The graph dialect: normalised tensor operations and one fused group.

Tensors have static shapes and SSA semantics; nothing aliases, nothing is laid out. Element types are f16, bf16, f32,
f64, i1 and signed i8..i64 or unsigned ui8..ui64. Each file holds one family; each operation is one class that carries
everything the compiler asks of it (see `interfaces`).
"""

from types import ModuleType

from xdsl.ir import Dialect

from aotc.dialects.graph import (
    contraction,
    conversion,
    elementwise,
    functions,
    indexing,
    logical,
    movement,
    normalization,
    reduction,
    scatter,
    structure,
    window,
)
from aotc.dialects.graph.interfaces import GraphOp

_FAMILIES = (
    structure,
    elementwise,
    functions,
    logical,
    conversion,
    reduction,
    normalization,
    contraction,
    window,
    movement,
    indexing,
    scatter,
)
"""The modules of the dialect; a class defined in one of them with a name is an operation of the dialect."""


def _operations(family: ModuleType) -> list[type[GraphOp]]:
    classes = (value for value in vars(family).values() if isinstance(value, type) and issubclass(value, GraphOp))
    return [op for op in classes if op.__module__ == family.__name__ and "name" in vars(op)]


GRAPH = Dialect(
    "graph",
    [structure.YieldOp, structure.FusedOp, *(op for family in _FAMILIES for op in _operations(family))],
    [],
)
