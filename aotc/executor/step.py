"""One call on fixed buffers, and the workspaces that calls take turns with."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from time import perf_counter

import numpy as np

from aotc.errors import EXIT_WRONG, AotcError
from aotc.executor.native import Array, Call, NativeModel
from aotc.executor.turns import turn


class RunError(AotcError):
    """The model's entry function returned an error."""

    exit_code = EXIT_WRONG


class Workspaces:
    """The workspaces of one instance of a model: as many as there are calls at once, or where they keep states one,
    with the calls one after the other."""

    def __init__(self, native: NativeModel) -> None:
        self._native = native
        self._idle: list[Array | None] = [native.new_workspace()]
        """Workspaces that nobody uses. Taking one off a list, or putting it back, is one step for all threads."""
        self._reserved: tuple[Array | None, Lock] | None = None
        """The one that has the states, and who may use it."""
        self.came = 0
        """How many rows of the input that comes by rows have come since the last outputs."""
        if native.info.is_stateful:
            self._reserved = self._idle.pop(), turn(self.reset)
            self.reset()

    def reset(self) -> None:
        """Give the states their first values, and forget rows that have come. Raises RunError."""
        if self._reserved is not None:
            workspace, lock = self._reserved
            with lock:
                self._require(self._native.reset_on(workspace)())
                self.came = 0

    def lend(self) -> tuple[Array | None, Lock]:
        """A workspace that nobody else has, or the one for all, and the lock to hold during a call."""
        return (self._taken(), turn()) if self._reserved is None else self._reserved

    def _taken(self) -> Array | None:
        try:
            return self._idle.pop()
        except IndexError:
            return self._native.new_workspace()

    def give_back(self, workspace: Array | None) -> None:
        """Take back what was lent."""
        if self._reserved is None:
            self._idle.append(workspace)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """One call on these buffers. Raises RunError."""
        if self._reserved is not None:
            workspace, lock = self._reserved
            with lock:
                self.require_none()
                self._require(self._native.call_on(inputs, outputs, workspace)())
            return
        workspace = self._taken()
        try:
            self._require(self._native.call_on(inputs, outputs, workspace)())
        finally:
            self._idle.append(workspace)

    def push(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> bool:
        """One call on the next rows; whether the outputs are there. Raises RunError, and then none have come."""
        streamed = self._native.info.streamed
        assert self._reserved is not None and streamed is not None and streamed.rows is not None
        workspace, lock = self._reserved
        with lock:
            status = self._native.push_on(inputs, outputs, workspace)()
            if status not in (0, 1):
                self.came = 0
                raise failed(self._native.info.name, status)
            rows = inputs[self._native.info.inputs.index(streamed)].shape[streamed.rows.axis]
            self.came = 0 if status else self.came + rows
            return bool(status)

    def require_none(self) -> None:
        """Raise ValueError where rows have come: a whole run begins with the first ones."""
        if self.came:
            what = f"{self.came} rows have been pushed to {self._native.info.name} since the last outputs"
            raise ValueError(f"{what}; push the others, or reset it")

    def _require(self, status: int) -> None:
        if status:
            raise failed(self._native.info.name, status)


SHORT = 20e-6
"""Seconds. A call that takes less may keep other Python threads waiting: far less than the 5 ms for which the
interpreter keeps them waiting anyway."""


class Step:
    """A call on fixed buffers: `step()` reads the bound inputs, runs, and overwrites `step.outputs`.

    A step has a workspace of its own, but that of a model with states is the model's. Calls from several threads wait
    for each other, and each overwrites the outputs that the one before returned: threads that read them at their own
    pace have a step each.
    """

    __slots__ = (
        "_copies",
        "_in_turn",
        "_keep",
        "_lock",
        "_name",
        "_now",
        "_whole",
        "_workspace",
        "_workspaces",
        "outputs",
    )

    def __init__(
        self,
        native: NativeModel,
        workspaces: Workspaces,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        copies: Sequence[tuple[Array, Array]],
    ) -> None:
        """One of the `workspaces` is the step's while it lives."""
        self.outputs = {t.name: array for t, array in zip(native.info.outputs, outputs, strict=True)}
        """{output name: array}; the same arrays at every call."""
        self._name = native.info.name
        self._copies = copies
        self._keep = (inputs, outputs, native)
        self._workspaces = workspaces
        self._workspace, self._lock = workspaces.lend()
        self._in_turn = native.call_on(inputs, outputs, self._workspace)
        alone = not copies and not native.info.is_stateful
        self._whole = native.whole_call_on(inputs, outputs, self._workspace) if alone else None
        """The call as one step of the interpreter, which needs no lock, where there is such a call."""
        self._now: Call | None = None
        """The whole call, from when calls are known to be short."""

    def __del__(self) -> None:
        if hasattr(self, "_workspace"):
            self._workspaces.give_back(self._workspace)

    def __call__(self) -> dict[str, Array]:
        now = self._now
        if status := self._locked() if now is None else now():
            raise failed(self._name, status)
        return self.outputs

    def _locked(self) -> int:
        """A call while other Python threads run."""
        with self._lock:
            if self._now is not None:  # while this thread waited
                return self._now()
            self._workspaces.require_none()
            for destination, source in self._copies:
                np.copyto(destination, source)
            start = perf_counter()
            status = self._in_turn()
            if perf_counter() - start < SHORT:
                self._now = self._whole
            return status


def failed(name: str, status: int) -> RunError:
    """The error of a call of model `name` whose status is not 0."""
    why = "a check failed: of an argument, an index, or a slice that goes beyond an end" if status == -1 else ""
    return RunError("failed-run", f"the entry function of {name} returned {status}", why)
