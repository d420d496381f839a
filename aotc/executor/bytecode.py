"""Models whose entry is bytecode, run in this process by the machine in Python on compiled operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

from aotc.executor.native import Array, Call, NativeModel
from aotc.executor.packed_metadata import packed_functions
from aotc.executor.step import RunError
from aotc.executor.turns import turn
from aotc.vm import Executable, VirtualMachine, VMError

MAIN = "main"
"""The function of bytecode that is the entry."""


@dataclass(frozen=True)
class BytecodeModel(NativeModel):
    """Operators in memory, and the executable whose function MAIN calls them.

    There is one machine: calls from several threads wait for each other.
    """

    executable: Executable = field(kw_only=True)
    _lock: Lock = field(init=False, repr=False, default_factory=turn)
    _main: Callable[..., object] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        machine = VirtualMachine(self.executable, packed_functions(self))
        object.__setattr__(self, "_main", machine[MAIN])

    def new_workspace(self) -> None:
        """None: it is the machine's."""

    def call_on(self, inputs: Sequence[Array], outputs: Sequence[Array], workspace: Array | None) -> Call:
        """A call on these buffers. It raises RunError with what the machine says, and returns no status but 0."""
        return partial(self._call, (*inputs, *outputs))

    def whole_call_on(self, inputs: Sequence[Array], outputs: Sequence[Array], workspace: Array | None) -> None:
        """None: the machine is in Python."""

    def _call(self, tensors: Sequence[Array]) -> int:
        with self._lock:
            try:
                self._main(*tensors)
            except VMError as error:
                raise RunError(error.problems) from error
        return 0
