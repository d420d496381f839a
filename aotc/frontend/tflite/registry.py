"""The one table of importers of TensorFlow Lite's operators.

An importer is a function of a `Node` that emits graph operations and returns the node's outputs. Put it in
`importers/`, in the file of its family:

    @tflite_op("RELU")
    def relu(node: Node) -> Results:
        ...

A package from outside adds custom operators, by their names, through the entry point group `aotc.tflite_importers` (a
module that uses `tflite_op`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias, TypeVar

from xdsl.ir import SSAValue

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.node import First, Handle, Node
from aotc.model import extensions

Result: TypeAlias = "SSAValue | Tensor | First | Handle | None"
Results: TypeAlias = "Result | Sequence[Result]"
Importer: TypeAlias = Callable[[Node], Results]
F = TypeVar("F", bound=Importer)

IMPORTERS: dict[str, Importer] = {}
"""Operator -> importer; filled by importing the modules of `importers/`."""

_registered: list[tuple[str, Importer]] = []
"""All that were ever registered, in order."""

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
        _registered.extend((code, importer) for code in codes)
        MOVING.update(codes if moves else ())
        REMEMBERING.update(codes if remembers else ())
        return importer

    return register


@cache
def load_importers() -> None:
    """Fill the table: every module of `importers/`, then every installed extension that loads."""
    if extensions.load_importers(f"{__package__}.importers", extensions.TFLITE_IMPORTERS):
        IMPORTERS.clear()
        IMPORTERS.update({code: each for code, each in _registered if each.__module__ in sys.modules})
