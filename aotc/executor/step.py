"""One call on fixed buffers, and the workspaces that calls take turns with."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from aotc.errors import EXIT_WRONG, AotcError, Problem
from aotc.executor.native import Array, NativeModel


class RunError(AotcError):
    """The model's entry function returned an error."""

    exit_code = EXIT_WRONG


class Step:
    """A call on fixed buffers: `step()` reads the bound inputs, runs, and overwrites `step.outputs`.

    A step has a workspace of its own. Calls from several threads wait for each other, and each overwrites the outputs
    that the one before returned: threads that read them at their own pace have a step each.
    """

    __slots__ = ("_acquire", "_call", "_copies", "_idle", "_keep", "_name", "_release", "_workspace", "outputs")

    def __init__(
        self,
        native: NativeModel,
        idle: list[Array | None],
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        copies: Sequence[tuple[Array, Array]],
    ) -> None:
        """`idle` are workspaces that nobody uses: one of them is the step's while it lives."""
        self.outputs = {t.name: array for t, array in zip(native.info.outputs, outputs, strict=True)}
        """{output name: array}; the same arrays at every call."""
        self._name = native.info.name
        self._copies = copies
        self._keep = (inputs, outputs, native)
        self._idle = idle
        self._workspace = taken(idle, native)
        self._call = native.call_on(inputs, outputs, self._workspace)
        lock = Lock()
        self._acquire, self._release = lock.acquire, lock.release  # `with lock` takes twice as long

    def __del__(self) -> None:
        if hasattr(self, "_workspace"):
            self._idle.append(self._workspace)

    def __call__(self) -> dict[str, Array]:
        self._acquire()
        try:
            if self._copies:
                for destination, source in self._copies:
                    np.copyto(destination, source)
            if status := self._call():
                raise failed(self._name, status)
            return self.outputs
        finally:
            self._release()


def taken(idle: list[Array | None], native: NativeModel) -> Array | None:
    """A workspace that nobody else has: an idle one, else a new one."""
    try:
        return idle.pop()
    except IndexError:
        return native.new_workspace()


def failed(name: str, status: int) -> RunError:
    """What a call of model `name` raises for a status that is not 0."""
    return RunError(Problem(f"the entry function of {name} returned {status}"))
