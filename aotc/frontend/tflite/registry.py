"""The one table of importers of TensorFlow Lite's operators.

An importer is a function of a `Node` that emits graph operations and returns the node's outputs. Put it in
`importers/`, in the file of its family:

    @tflite_op("RELU")
    def relu(node: Node) -> Results:
        ...
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import TypeAlias, TypeVar

from xdsl.ir import SSAValue

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.node import First, Handle, Node

Result: TypeAlias = "SSAValue | Tensor | First | Handle | None"
Results: TypeAlias = "Result | Sequence[Result]"
Importer: TypeAlias = Callable[[Node], Results]
F = TypeVar("F", bound=Importer)

IMPORTERS: dict[str, Importer] = {}
"""Operator -> importer; filled by importing the modules of `importers/`."""

MOVING: set[str] = set()
"""Operators whose elements are those of operands, whatever real numbers these stand for."""

REMEMBERING: set[str] = set()
"""Operators on variables, which have operands of that kind, and perhaps no result."""


def tflite_op(*codes: str, moves: bool = False, remembers: bool = False) -> Callable[[F], F]:
    """Register the decorated function as the importer of these operators.

    With `moves` it is never asked for real numbers in the place of integers: it moves or compares elements. With
    `remembers` it may take variables, and need not have a result.
    """

    def register(importer: F) -> F:
        IMPORTERS.update(dict.fromkeys(codes, importer))
        MOVING.update(codes if moves else ())
        REMEMBERING.update(codes if remembers else ())
        return importer

    return register


@cache
def load_importers() -> None:
    """Fill the table: every module of `importers/`."""
    importers = import_module(f"{__package__}.importers")
    for module in pkgutil.iter_modules(importers.__path__, f"{importers.__name__}."):
        import_module(module.name)
