"""The function around an expression, as the expression sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.ir import SSAValue

from aotc.emit.c.analyses.ranges import Ranges
from aotc.emit.c.contents.unit import Unit
from aotc.emit.c.syntax.c_types import CType
from aotc.emit.c.syntax.expr import Expr


class Scope(ABC):
    """The function that expressions are built in: its values by name, and what they ask its file for."""

    unit: Unit
    ranges: Ranges

    @property
    def index(self) -> CType:
        """The C type of an index."""
        return self.unit.index

    @abstractmethod
    def operand(self, value: SSAValue) -> Expr:
        """The expression of an operand, inlined or a name."""

    @abstractmethod
    def atom(self, value: SSAValue) -> Expr:
        """The expression of an operand that is mentioned more than once: a name or a literal."""

    @abstractmethod
    def temporary(self, e: Expr) -> Expr:
        """A name for a part of the expression being built."""

    @abstractmethod
    def note_read(self, base: SSAValue) -> None:
        """The expression being built loads from the memory behind `base`."""

    def helper(self, name: str) -> str:
        """Have the file define a helper; returns its name."""
        self.include("stdint.h")
        return self.unit.helper(name)

    def include(self, header: str) -> None:
        """Have the file include a standard header."""
        self.unit.include(header)
