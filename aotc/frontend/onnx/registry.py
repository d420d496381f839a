"""The one table of ONNX importers.

An importer is a function of a `Node` that emits graph operations and returns the node's outputs. It handles every opset
the operator exists in, by `node.opset`. Put it in `importers/`, in the file of its family:

    @onnx_op("Relu")
    def relu(node: Node) -> SSAValue:
        return node.emit("relu", node.input(0))

A package from outside adds its own through the entry point group `aotc.onnx_importers` (a module that uses `onnx_op`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias, TypeVar

from xdsl.ir import SSAValue

from aotc.frontend.onnx.node import Bound, Node, Tensor
from aotc.model import extensions

Results: TypeAlias = "SSAValue | Tensor | Sequence[SSAValue | Tensor | None]"
Importer: TypeAlias = Callable[[Node], Results]
F = TypeVar("F", bound=Importer)


def listed(results: Results) -> list[SSAValue | None]:
    """The outputs that an importer gave, in order."""
    each = [results] if isinstance(results, SSAValue | Tensor) else results
    return [value.value if isinstance(value, Tensor) else value for value in each]


IMPORTERS: dict[tuple[str, str], Importer] = {}
"""(domain, op_type) -> importer; filled by importing the modules of `importers/`."""

EVERYWHERE: set[str] = set()
"""Operators that models have in versions of ONNX's own set in which ONNX has them not: onnxruntime does."""

_registered: list[tuple[str, str, Importer]] = []
"""All that were ever registered, in order."""


def onnx_op(*op_types: str, domain: str = "", everywhere: bool = False) -> Callable[[F], F]:
    """Register the decorated function as the importer of these operators.

    Where ONNX has the operator in newer versions only, so have models, or they have it `everywhere`.
    """

    def register(importer: F) -> F:
        for op_type in op_types:
            IMPORTERS[domain, op_type] = importer
            _registered.append((domain, op_type, importer))
        EVERYWHERE.update(op_types if everywhere else ())
        return importer

    return register


BoundedImporter: TypeAlias = "Callable[[Node, Sequence[Bound | None]], Sequence[SSAValue | None] | None]"

BOUNDED: dict[str, BoundedImporter] = {}
"""Importers of nodes that read values of data-dependent extents, by operator; asked first."""


def bounded_op(*op_types: str) -> Callable[[BoundedImporter], BoundedImporter]:
    """Register the decorated function for nodes of these operators that read such values.

    It gets the bounds of the node's inputs, and returns the outputs, or None where it has nothing to do.
    """

    def register(importer: BoundedImporter) -> BoundedImporter:
        BOUNDED.update(dict.fromkeys(op_types, importer))
        return importer

    return register


@cache
def load_importers() -> None:
    """Fill the table: every module of `importers/`, then every installed extension that loads."""
    if extensions.load_importers(f"{__package__}.importers", extensions.IMPORTERS):
        IMPORTERS.clear()
        IMPORTERS.update({(domain, op): each for domain, op, each in _registered if each.__module__ in sys.modules})


__all__ = ["IMPORTERS", "Importer", "Node", "load_importers", "onnx_op"]
