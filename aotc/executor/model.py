"""A compiled model as a Python object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from aotc.errors import EXIT_WRONG, AotcError, Problem
from aotc.executor.device import Device, cpu
from aotc.executor.native import Array, Call, NativeModel
from aotc.executor.timing import Timing, measure
from aotc.model.metadata import ModelInfo, PlanInfo, TensorInfo

Inputs: TypeAlias = "Mapping[str, Any] | Sequence[Any]"
"""Arrays by name, or all of them in order."""


class RunError(AotcError):
    """The model's entry function returned an error."""

    exit_code = EXIT_WRONG


class Step:
    """A call on fixed buffers: `step()` reads the bound inputs, runs, and overwrites `step.outputs`."""

    __slots__ = ("_call", "_copies", "_keep", "_name", "outputs")

    def __init__(
        self, name: str, call: Call, outputs: dict[str, Array], copies: Sequence[tuple[Array, Array]], keep: object
    ) -> None:
        self.outputs = outputs
        """{output name: array}; the same arrays at every call."""
        self._name = name
        self._call = call
        self._copies = copies
        self._keep = keep

    def __call__(self) -> dict[str, Array]:
        for destination, source in self._copies:
            np.copyto(destination, source)
        if status := self._call():
            raise _failed(self._name, status)
        return self.outputs


class CompiledModel:
    """One instance of a compiled model: shared code and weights, and a workspace of its own.

    An instance serves one thread at a time; `clone()` makes another one for another thread.
    """

    def __init__(self, native: NativeModel) -> None:
        self._native = native
        self._workspace = native.new_workspace()
        self._dtypes = {t.dtype: _dtype(t.dtype) for t in (*self.inputs, *self.outputs)}
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
        """Another instance with the same code and weights and its own workspace, for another thread."""
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
        if status := self._native.call_on(arrays, outputs, self._workspace)():
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
        outputs = self._new(self.outputs)
        call = self._native.call_on(buffers, outputs, self._workspace)
        keep = (buffers, self._workspace, self._native)
        return Step(self.metadata.name, call, self._named(outputs), copies, keep)

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
        self._buffers()[position][...] = self._check(self.inputs[position], value)

    def get_input(self, which: str | int) -> Array:
        """The model's own buffer of an input, zero before `set_input`."""
        return self._buffers()[_position(self.inputs, which, "input")]

    def run(self) -> None:
        """Run on the inputs set with `set_input`."""
        self._step()()

    def get_output(self, which: str | int, out: Array | None = None) -> Array:
        """A copy of an output of the last `run`, in `out` if given."""
        tensor = self.outputs[_position(self.outputs, which, "output")]
        result = self._step().outputs[tensor.name]
        if out is None:
            return result.copy()
        self._check(tensor, out)
        np.copyto(out, result)
        return out

    def time_evaluator(self, number: int = 10, repeat: int = 3) -> Callable[[], Timing]:
        """A function that times `repeat` runs of `number` calls on the inputs set with `set_input`, in seconds."""
        return lambda: measure(self._step(), number, repeat)

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
