"""Errors of executables, and of running one."""

from __future__ import annotations

from aotc.errors import AotcError


class VMError(AotcError, ValueError):
    """An executable that is none, or a call in one that cannot be made; names function, instruction and operand."""


class OperandError(Exception):
    """Raised by a packed function about one of its operands; the machine says where that was."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position
        """Of the operand, from 0."""


class UnusedInputWarning(UserWarning):
    """A function has an input that none of its instructions reads."""
