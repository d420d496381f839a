"""A compiled model as a Python object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final, NoReturn, TypeVar, overload

import numpy as np

from aotc.executor.graph_executor import GraphExecutor
from aotc.executor.native import Array, NativeModel
from aotc.executor.packed_metadata import ModuleMetadata, module_metadata, packed_functions
from aotc.executor.pushes import Pushes, each_run
from aotc.executor.step import Step, Workspaces
from aotc.executor.tensors import ByName, checked, in_order, in_place, is_plain, listing, memory_of, require_apart
from aotc.executor.timing import Repeats, Timing
from aotc.executor.turns import turn
from aotc.model.arguments import checks_kinds
from aotc.model.dlpack import cpu, device_of, dtype_of
from aotc.model.metadata import ModelInfo, PlanInfo, StateInfo, TensorInfo

T = TypeVar("T")

_FUNCTIONS: Final = (
    *("run", "set_input", "set_input_zero_copy", "set_output_zero_copy", "get_input", "get_output"),
    *("get_num_inputs", "get_num_outputs", "get_input_index", "get_output_index", "get_input_name", "get_input_info"),
    *("get_model_metadata", "time_evaluator"),
)
"""The names that `model[NAME]` finds beside the model's own."""


class CompiledModel(GraphExecutor):
    """A compiled model: code and weights, and workspaces for as many calls as there are at once.

    Threads may call one instance, and make bound calls of it, at the same time; each call has its own workspace. A
    model with states has one, and calls, bound ones too, follow each other and go on where the last one ended. What
    `set_input`, `run` and `get_output` work on is one set of buffers: threads that take turns at these get each
    other's values, so each has a `clone()`.

    Whatever is given as a tensor is a numpy array, or anything with `__dlpack__` in main memory, which is used where
    it is (`aotc.to_dlpack` is the way out), or for inputs what `numpy.asarray` takes.
    """

    def __init__(self, native: NativeModel) -> None:
        self._native = native
        self._workspaces = Workspaces(native)
        self._dtypes = {t.dtype: dtype_of(t.dtype) for t in (*self.inputs, *self.outputs)}
        self._turn = turn()
        """Held while the model's own buffers are made, read or written."""
        self._lent: set[int] = set()
        """Positions of the inputs whose buffers are the caller's."""
        self._own_step: Step | None = None
        self._pushes: Pushes | None = None

    @property
    def metadata(self) -> ModelInfo:
        """Everything the model says about itself."""
        return self._native.info

    @property
    def name(self) -> str:
        """The model's name, an identifier."""
        return self._native.info.name

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
        """Another instance with the same code and weights, and buffers of its own for `set_input` and `get_output`, and
        with states of its own, which have their first values.

        Raises ValueError where the states are in the memory of a library, of which there is one.
        """
        if self.metadata.is_stateful and self.metadata.workspace != "caller":
            kept = "its states" if self.metadata.states else "rows"
            what = f"{self.metadata.name} keeps {kept} in the static memory of its library"
            raise ValueError(f"{what} and cannot be cloned; compile it with workspace='caller'")
        made = CompiledModel(self._native)
        made._labels = self._labels
        return made

    @property
    def states(self) -> tuple[StateInfo, ...]:
        """State that calls leave for the next one."""
        return self._native.info.states

    def reset(self) -> None:
        """Give the states their first values, as they are when the model is new, and forget the rows that have been
        pushed; nothing where there are none."""
        self._workspaces.reset()

    # Inputs that come by rows

    @property
    def rows_pushed(self) -> int:
        """How many rows have been pushed since the last outputs."""
        return self._workspaces.came

    def push(self, rows: Any, /, **others: Any) -> dict[str, Array] | None:
        """Hand over the next rows of the input that comes by rows, at most as many as it was compiled for: its outputs
        where these are the last ones, and then the next rows are the first of the next run; else None.

        `rows` has the shape of the input with fewer of them; the axes in front of them may be left out. All other
        inputs are given by name with the first rows, and may be with others, where they are not looked at. Raises
        TypeError and ValueError as a call, ValueError for no rows, and for more than may come at once or are to come;
        then nothing is done. One thread at a time.
        """
        if self._pushes is None:
            self._pushes = Pushes(self._native, self._workspaces)
        pushes = self._pushes
        array = pushes.checked(rows, self._dtypes[pushes.tensor.dtype])
        if not self.rows_pushed:
            given = in_order(pushes.others, (), others) if others or pushes.others else []
            arrays = [self._check(tensor, value) for tensor, value in zip(pushes.others, given, strict=True)]
            pushes.begin([np.array(each, order="C") for each in arrays], self._new(self.outputs))
        if (outputs := pushes.push(array)) is None:
            return None
        results = {t.name: each for t, each in zip(self.outputs, outputs, strict=True)}
        return self._answer(results) if self._labels else results

    def stream(self, rows: Iterable[Any], /, **others: Any) -> Iterator[dict[str, Array]]:
        """The outputs of one run after the other, of `rows` as `push` takes them. Raises as that, and ValueError where
        they end within a run."""
        return each_run(self, rows, others)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a CompiledModel is code of this process and cannot be pickled or copied; "
            "`clone()` makes another instance; what `aotc.build` returns can be pickled, and its `load()` makes the "
            "model in another process, as does `aotc.load` of a library (`aotc.compile_to(..., emit='shared')`)"
        )

    def _note(self) -> str:
        info = self.metadata
        kernels = f"{len(info.kernels)} kernel{'' if len(info.kernels) == 1 else 's'}"
        return f"{kernels}, workspace {info.workspace_bytes:,} bytes, weights {info.weights_bytes:,} bytes"

    # Calls

    def __call__(self, /, *inputs: Any, **named: Any) -> dict[str, Array]:
        """`model({"x": array})`, `model(x=array)`, or `model(x0, x1)` in order: {output name: new array}.

        Raises TypeError for a wrong dtype or number of arrays, ValueError for a wrong name or shape.
        """
        results = self.computed(self._arrays(inputs, named))
        return self._answer(results) if self._labels else results

    def computed(self, arrays: Sequence[Array]) -> dict[str, Array]:
        """The outputs for inputs in order, whose dtypes and shapes are known to be right: what a call does then."""
        arrays = [a if is_plain(a) else a.copy() for a in arrays]
        outputs = self._new(self.outputs)
        self._workspaces.run(arrays, outputs)
        return {t.name: array for t, array in zip(self.outputs, outputs, strict=True)}

    def bind(self, /, *inputs: Any, outputs: ByName | None = None, **named: Any) -> Step:
        """A call on these arrays: no checks, no allocation. Later changes to the arrays are seen by later calls.

        Contiguous, aligned inputs are read where they are; others are copied at each call. `outputs`, by name or all
        in order, are written where they are; of those that are not given there are new ones. (An input whose name is
        `outputs` goes into a mapping.) Raises as a call, and for an output that cannot be written ValueError:
        it is read-only, not contiguous, not aligned, or overlaps an input or another output.
        """
        buffers: list[Array] = []
        copies: list[tuple[Array, Array]] = []
        for array in self._arrays(inputs, named):
            if is_plain(array):
                buffers.append(array)
            else:
                buffers.append(np.empty(array.shape, array.dtype))
                copies.append((buffers[-1], array))
        results = self._new(self.outputs) if outputs is None else self._results(outputs)
        return self._bind(buffers, results, copies)

    def _bind(
        self, inputs: Sequence[Array], outputs: Sequence[Array], copies: Sequence[tuple[Array, Array]] = ()
    ) -> Step:
        require_apart(self.inputs, inputs, self.outputs, outputs)
        return Step(self._native, self._workspaces, inputs, outputs, copies)

    def _results(self, outputs: ByName) -> list[Array]:
        """The caller's arrays for the outputs, in order; new ones where there are none."""
        if isinstance(outputs, Mapping):
            given = {self._output(name): value for name, value in outputs.items()}
        elif len(outputs) == len(self.outputs):
            given = dict(enumerate(outputs))
        else:
            raise TypeError(f"{len(outputs)} arrays for {len(self.outputs)} outputs; they are {listing(self.outputs)}")
        results = self._new(self.outputs)
        for place, value in given.items():
            results[place] = self._in_place(self.outputs[place], value, written=True)
        return results

    # The module-based runtime interface, with the names of TVM's GraphExecutor

    @checks_kinds
    def __getitem__(self, name: str) -> Callable[..., Any]:
        """A function of the module: `model["kws"](aotc.cpu())`, under the model's own name, makes an executor on a
        device; `model["run"]`, `model["set_input"]` and the others are the methods; `model["get_model_metadata"]()`
        returns the metadata. Raises KeyError for another name.

        The executor is a new instance on the same code and weights; a device that is not the CPU is a ValueError.
        """
        if name == self.metadata.name:
            return self._executor
        if name in _FUNCTIONS:
            return getattr(self, name)
        raise KeyError(f"no function {name!r}; there are {self.metadata.name!r} and {', '.join(_FUNCTIONS)}")

    def _executor(self, device: Any = None) -> CompiledModel:
        self._require_cpu(device)
        return self.clone()

    def _require_cpu(self, device: Any) -> None:
        given = device_of(device)
        if given != cpu():
            name = self.metadata.name
            raise ValueError(f"{name} runs on {cpu()}, main memory, and cannot be put on {given}")

    def get_model_metadata(self) -> ModuleMetadata:
        """The metadata of the module's functions: for a packed library what its own tables say, read through its
        packed function of that name; the same of any other model."""
        return module_metadata(self._native)

    def packed_functions(self) -> dict[str, Callable[..., None]]:
        """The operators of a packed library by symbol, as `aotc.vm.VirtualMachine(executable, model)` calls them: they
        take tensors, their results last. Raises UsageError where there are none."""
        return packed_functions(self._native)

    def set_input(self, which: str | int | None = None, value: Any = None, /, **inputs: Any) -> None:
        """Copy values into the model's own buffers of inputs: one by name or position, any number by keyword.

        All are checked before the first is copied.
        """
        arrays = self._checked(self._placed(inputs, which, value))
        with self._turn:
            self._copy_in(arrays)

    def _checked(self, values: Mapping[int, Any]) -> dict[int, Array]:
        return {place: self._check(self.inputs[place], value) for place, value in values.items()}

    def _copy_in(self, arrays: Mapping[int, Array]) -> None:
        for place, array in arrays.items():
            if place in self._lent:  # the caller's is not to be written
                self._lent.discard(place)
                self._own_inputs[place] = self._own(self.inputs[place])
                self._own_step = None
            self._own_inputs[place][...] = array

    def get_input(self, which: str | int) -> Array:
        """The model's own buffer of an input, zero before `set_input`; after `set_input_zero_copy` the caller's."""
        with self._turn:
            return self._own_inputs[self._input(which)]

    def set_input_zero_copy(self, which: str | int, value: Any) -> None:
        """Let `run` read this input from the memory of `value`, until `set_input`. Later changes to it are seen.

        Raises as `set_input`, and ValueError where the memory is not contiguous, or not aligned.
        """
        place = self._input(which)
        array = self._in_place(self.inputs[place], value, written=False)
        with self._turn:
            read = [array if i == place else each for i, each in enumerate(self._own_inputs)]
            require_apart(self.inputs, read, self.outputs, self._own_outputs)
            self._own_inputs, self._own_step = read, None
            self._lent.add(place)

    def set_output_zero_copy(self, which: str | int, value: Any) -> None:
        """Let `run` write this output into the memory of `value`. Raises as `bind` does for its outputs."""
        place = self._output(which)
        array = self._in_place(self.outputs[place], value, written=True)
        with self._turn:
            written = [array if i == place else each for i, each in enumerate(self._own_outputs)]
            require_apart(self.inputs, self._own_inputs, self.outputs, written)
            self._own_outputs, self._own_step = written, None

    def run(self, /, **inputs: Any) -> None:
        """Run on the inputs set with `set_input`, or given here as there."""
        arrays = self._checked(self._placed(inputs))
        with self._turn:
            self._copy_in(arrays)
            self._step()()

    @overload
    def get_output(self, which: str | int, out: None = None) -> Array: ...
    @overload
    def get_output(self, which: str | int, out: T) -> T: ...
    def get_output(self, which: str | int, out: Any = None) -> Any:
        """A copy of an output of the last `run`, in `out` if given; zero before the first."""
        place = self._output(which)
        tensor = self.outputs[place]
        result = None if out is None else memory_of(tensor, self._dtypes[tensor.dtype], out)
        with self._turn:
            found = self._own_outputs[place]
            if result is None:
                return found.copy()
            np.copyto(result, found)
            return out

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """The shapes and the dtypes of the inputs, each by name."""
        return {t.name: t.shape for t in self.inputs}, {t.name: t.dtype for t in self.inputs}

    def _evaluator(self, function: str, device: Any, repeats: Repeats) -> Callable[..., Timing]:
        self._require_cpu(device)
        other = None if function == "run" else self[function]

        def evaluate(*arguments: Any) -> Timing:
            if other is not None:
                return repeats.time(partial(other, *arguments))
            with self._turn:
                return repeats.time(self._step())

        return evaluate

    @cached_property
    def _own_inputs(self) -> list[Array]:
        return [self._own(tensor) for tensor in self.inputs]

    @cached_property
    def _own_outputs(self) -> list[Array]:
        return [self._own(tensor) for tensor in self.outputs]

    def _step(self) -> Step:
        if self._own_step is None:
            self._own_step = self._bind(self._own_inputs, self._own_outputs)
        return self._own_step

    # Arrays

    def _arrays(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Array]:
        """The given arrays in order, checked."""
        values = in_order(self.inputs, positional, named)
        return [self._check(tensor, value) for tensor, value in zip(self.inputs, values, strict=True)]

    def _check(self, tensor: TensorInfo, value: Any) -> Array:
        return checked(tensor, self._dtypes[tensor.dtype], value)

    def _in_place(self, tensor: TensorInfo, value: Any, *, written: bool) -> Array:
        return in_place(tensor, self._dtypes[tensor.dtype], value, written=written)

    def _own(self, tensor: TensorInfo) -> Array:
        return np.zeros(tensor.shape, self._dtypes[tensor.dtype])

    def _new(self, tensors: Sequence[TensorInfo]) -> list[Array]:
        return [np.empty(t.shape, self._dtypes[t.dtype]) for t in tensors]
