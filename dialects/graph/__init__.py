"""The graph dialect: normalised tensor operations and one fused group.

Tensors have static shapes and SSA semantics; nothing aliases, nothing is laid out. Element types are those of
`dtypes.ELEMENT_TYPES`. Each file holds one family; each operation is one class that carries
everything the compiler asks of it (see `interfaces`).
"""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

from xdsl.ir import Dialect, Operation

from aotc.dialects.graph import canonicalization
from aotc.dialects.graph.interfaces import GraphOp
from aotc.dialects.graph.packed.pack import LayoutAttr
from aotc.dialects.graph.schedules import ALGORITHM_ATTRIBUTES, SCHEDULE_ATTRIBUTES
from aotc.dialects.graph.structure import FusedOp, YieldOp

__all__ = ["GRAPH", "canonicalization"]  # the latter registers its patterns when it is imported


def _operations() -> Iterator[type[Operation]]:
    """The classes with a name of their own that are defined in the modules of the folder."""
    for module in walk_packages(__path__, f"{__name__}."):
        for op in vars(import_module(module.name)).values():
            if isinstance(op, type) and issubclass(op, GraphOp) and op.__module__ == module.name and "name" in vars(op):
                yield op


GRAPH = Dialect("graph", [YieldOp, FusedOp, *_operations()], [*SCHEDULE_ATTRIBUTES, *ALGORITHM_ATTRIBUTES, LayoutAttr])
