"""The graph dialect: normalised tensor operations and one fused group.

Tensors have static shapes and SSA semantics; nothing aliases, nothing is laid out. Element types are those of
`dtypes.ELEMENT_TYPES`. Each file holds one family; each operation is one class that carries
everything the compiler asks of it (see `interfaces`).
"""

from xdsl.ir import Dialect

from aotc.dialects.graph import canonicalization
from aotc.dialects.graph.packed.pack import LayoutAttr
from aotc.dialects.graph.schedules import ALGORITHM_ATTRIBUTES, SCHEDULE_ATTRIBUTES
from aotc.dialects.operations import operations_in

__all__ = ["GRAPH", "canonicalization"]  # the latter registers its patterns when it is imported


GRAPH = Dialect("graph", list(operations_in(__name__)), [*SCHEDULE_ATTRIBUTES, *ALGORITHM_ATTRIBUTES, LayoutAttr])
