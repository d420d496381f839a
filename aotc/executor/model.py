"""A compiled model as a Python object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, NoReturn, TypeAlias

import numpy as np

from aotc.errors import EXIT_WRONG, AotcError, Problem
from aotc.executor.device import Device, cpu
from aotc.executor.native import Array, NativeModel
from aotc.executor.timing import Timing, measure
from aotc.model.metadata import ModelInfo, PlanInfo, TensorInfo

Inputs: TypeAlias = "Mapping[str, Any] | Sequence[Any]"
"""Arrays by name, or all of them in order."""


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
        self._workspace = _taken(idle, native)
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
                raise _failed(self._name, status)
            return self.outputs
        finally:
            self._release()


class CompiledModel:
    """A compiled model: code and weights, and workspaces for as many calls as there are at once.

    Threads may call one instance, and make bound calls of it, at the same time; each call has its own workspace. What
    `set_input`, `run` and `get_output` work on is one set of buffers: threads that take turns at these get each
    other's values, so each has a `clone()`.
    """

    def __init__(self, native: NativeModel) -> None:
        self._native = native
        self._idle: list[Array | None] = [native.new_workspace()]
        """Workspaces that nobody uses. Taking one off a list, or putting it back, is one step for all threads."""
        self._dtypes = {t.dtype: _dtype(t.dtype) for t in (*self.inputs, *self.outputs)}
        self._turn = Lock()
        """Held while the model's own buffers are made, read or written."""
        self._own_inputs: list[Array] | None = None
        self._own_step: Step | None = None

    @property
    def metadata(self) -> ModelInfo:
        """Everything the model says about itself."""
        return self._native.info

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """The inputs in order."""
        return self._native.info.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The outputs in order."""
        return self._native.info.outputs

    @property
    def plan(self) -> PlanInfo:
        """The memory plan of the workspace."""
        return self._native.info.plan

    def clone(self) -> CompiledModel:
        """Another instance with the same code and weights, and buffers of its own for `set_input` and `get_output`."""
        return CompiledModel(self._native)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a CompiledModel is code of this process and cannot be pickled or copied; "
            "`clone()` makes another instance, `aotc.compile_to(..., emit='shared')` a library for another process"
        )

    def __repr__(self) -> str:
        sides = (", ".join(_describe(t) for t in tensors) for tensors in (self.inputs, self.outputs))
        return f"<CompiledModel {self.metadata.name}: {' -> '.join(sides)}>"

    # Calls

    def __call__(self, *inputs: Any) -> dict[str, Array]:
        """`model({"x": array})`, or `model(x0, x1)` in order: {output name: new array}.

        Raises TypeError for a wrong dtype or number of arrays, ValueError for a wrong name or shape.
        """
        arrays = [a if _is_plain(a) else a.copy() for a in self._arrays(_as_inputs(inputs))]
        outputs = self._new(self.outputs)
        workspace = _taken(self._idle, self._native)
        try:
            status = self._native.call_on(arrays, outputs, workspace)()
        finally:
            self._idle.append(workspace)
        if status:
            raise _failed(self.metadata.name, status)
        return self._named(outputs)

    def bind(self, *inputs: Any) -> Step:
        """A call on these arrays: no checks, no allocation. Later changes to the arrays are seen by later calls.

        Contiguous, aligned arrays are read where they are; others are copied at each call.
        """
        buffers: list[Array] = []
        copies: list[tuple[Array, Array]] = []
        for array in self._arrays(_as_inputs(inputs)):
            if _is_plain(array):
                buffers.append(array)
            else:
                buffers.append(np.empty(array.shape, array.dtype))
                copies.append((buffers[-1], array))
        return self._bind(buffers, copies)

    def _bind(self, buffers: Sequence[Array], copies: Sequence[tuple[Array, Array]] = ()) -> Step:
        return Step(self._native, self._idle, buffers, self._new(self.outputs), copies)

    # The module-based runtime interface

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """A function of the module: `model["kws"](aotc.cpu())`, under the model's own name, makes an executor on a
        device; `model["get_model_metadata"]()` is the metadata. Raises KeyError for another name.

        The executor is a new instance on the same code and weights; a device that is not the CPU is a ValueError.
        """
        if name == "get_model_metadata":
            return lambda: self.metadata
        if name == self.metadata.name:
            return self._executor
        raise KeyError(f"no function {name!r}; there are {self.metadata.name!r} and 'get_model_metadata'")

    def _executor(self, device: tuple[int, int] | None = None) -> CompiledModel:
        given = cpu() if device is None else Device(*device)
        if given != cpu():
            name = self.metadata.name
            raise ValueError(f"{name} runs on {cpu()}, main memory, and cannot be put on {given}")
        return self.clone()

    def set_input(self, which: str | int, value: Any) -> None:
        """Copy `value` into the model's own buffer of an input, by name or position."""
        position = _position(self.inputs, which, "input")
        array = self._check(self.inputs[position], value)
        with self._turn:
            self._buffers()[position][...] = array

    def get_input(self, which: str | int) -> Array:
        """The model's own buffer of an input, zero before `set_input`."""
        with self._turn:
            return self._buffers()[_position(self.inputs, which, "input")]

    def run(self) -> None:
        """Run on the inputs set with `set_input`."""
        with self._turn:
            self._step()()

    def get_output(self, which: str | int, out: Array | None = None) -> Array:
        """A copy of an output of the last `run`, in `out` if given."""
        tensor = self.outputs[_position(self.outputs, which, "output")]
        if out is not None:
            self._check(tensor, out)
        with self._turn:
            result = self._step().outputs[tensor.name]
            if out is None:
                return result.copy()
            np.copyto(out, result)
            return out

    def time_evaluator(self, number: int = 10, repeat: int = 3) -> Callable[[], Timing]:
        """A function that times `repeat` runs of `number` calls on the inputs set with `set_input`, in seconds."""

        def evaluate() -> Timing:
            with self._turn:
                return measure(self._step(), number, repeat)

        return evaluate

    def _buffers(self) -> list[Array]:
        if self._own_inputs is None:
            self._own_inputs = [np.zeros(t.shape, self._dtypes[t.dtype]) for t in self.inputs]
        return self._own_inputs

    def _step(self) -> Step:
        if self._own_step is None:
            self._own_step = self._bind(self._buffers())
        return self._own_step

    # Checks

    def _arrays(self, inputs: Inputs) -> list[Array]:
        """The given arrays in order, checked."""
        tensors = self.inputs
        if isinstance(inputs, Mapping):
            if len(inputs) != len(tensors) or any(t.name not in inputs for t in tensors):
                raise ValueError(f"{_names_problem(inputs, tensors)}; the inputs are {_listing(tensors)}")
            return [self._check(t, inputs[t.name]) for t in tensors]
        if len(inputs) != len(tensors):
            raise TypeError(f"{len(inputs)} arrays for {len(tensors)} inputs; they are {_listing(tensors)}")
        return [self._check(t, value) for t, value in zip(tensors, inputs, strict=True)]

    def _check(self, tensor: TensorInfo, value: Any) -> Array:
        array: Array = value if isinstance(value, np.ndarray) else np.asarray(value)
        if array.dtype != self._dtypes[tensor.dtype]:
            raise TypeError(f"{tensor.name!r} has dtype {array.dtype}, expected {_describe(tensor)}")
        if array.shape != tensor.shape:
            raise ValueError(f"{tensor.name!r} has shape {list(array.shape)}, expected {_describe(tensor)}")
        return array

    def _new(self, tensors: Sequence[TensorInfo]) -> list[Array]:
        return [np.empty(t.shape, self._dtypes[t.dtype]) for t in tensors]

    def _named(self, arrays: Sequence[Array]) -> dict[str, Array]:
        return {t.name: array for t, array in zip(self.outputs, arrays, strict=True)}


def _taken(idle: list[Array | None], native: NativeModel) -> Array | None:
    """A workspace that nobody else has: an idle one, else a new one."""
    try:
        return idle.pop()
    except IndexError:
        return native.new_workspace()


def _as_inputs(arguments: tuple[Any, ...]) -> Inputs:
    """The single mapping, or the arrays in order."""
    return arguments[0] if len(arguments) == 1 and isinstance(arguments[0], Mapping) else arguments


def _is_plain(array: Array) -> bool:
    """Whether native code can read the array where it is."""
    return array.flags.c_contiguous and array.flags.aligned


def _names_problem(given: Mapping[str, Any], tensors: Sequence[TensorInfo]) -> str:
    unknown = [repr(name) for name in given if all(name != t.name for t in tensors)]
    missing = [repr(t.name) for t in tensors if t.name not in given]
    parts = [f"no input {', '.join(unknown)}"] if unknown else []
    return " and ".join(parts + ([f"{', '.join(missing)} missing"] if missing else []))


def _position(tensors: Sequence[TensorInfo], which: str | int, side: str) -> int:
    if isinstance(which, str):
        for position, tensor in enumerate(tensors):
            if tensor.name == which:
                return position
        raise ValueError(f"no {side} {which!r}; the {side}s are {_listing(tensors)}")
    if not 0 <= which < len(tensors):
        raise IndexError(f"no {side} {which}; there are {len(tensors)}: {_listing(tensors)}")
    return which


def _describe(tensor: TensorInfo) -> str:
    return f"{tensor.dtype}{list(tensor.shape)}"


def _listing(tensors: Sequence[TensorInfo]) -> str:
    return ", ".join(f"{t.name!r} {_describe(t)}" for t in tensors) or "none"


def _dtype(name: str) -> np.dtype[Any]:
    if name in np.sctypeDict:
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


def _failed(name: str, status: int) -> RunError:
    return RunError(Problem(f"the entry function of {name} returned {status}"))
