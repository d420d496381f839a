"""A model with open shapes as a Python object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

import numpy as np

from aotc.compiler.dynamic.dispatch import Dispatcher
from aotc.compiler.dynamic.interface import Array, Given, Interface
from aotc.compiler.dynamic.specializing import Recipe, Specialization
from aotc.compiler.lowering import in_process_options
from aotc.errors import UsageError
from aotc.executor import CompiledModel
from aotc.executor.graph_executor import GraphExecutor
from aotc.executor.step import Step
from aotc.executor.tensors import ByName, as_array, in_order
from aotc.executor.timing import Repeats, Timing
from aotc.executor.turns import turn
from aotc.model.arguments import checks_kinds
from aotc.model.dlpack import cpu, device_of
from aotc.model.extents import OpenTensor
from aotc.model.limits import MAX_SHAPES
from aotc.pipeline.signature import InProcessOptions, in_python_terms, with_options
from aotc.vm import Executable

if TYPE_CHECKING:
    from aotc.model.model_file import Source


class DynamicModel(GraphExecutor):
    """A model with open shapes: code for each shape that arrives, made by the first call of it and kept.

    It is called as a CompiledModel: `model({"x": array})`, `model(x=array)`, `model(x0, x1)`. Outputs of
    data-dependent extents are exact. Threads may call one instance at the same time; what `set_input`, `run` and
    `get_output` work on is one set of arrays, so that threads that take turns at these have a `clone()` each.
    """

    @with_options(InProcessOptions)
    def __init__(
        self,
        source: Source,
        *,
        buckets: Given = None,
        max_shapes: int = MAX_SHAPES,
        on_compile: Callable[[Specialization], None] | None = None,
        **options: Unpack[InProcessOptions],
    ) -> None:
        """`source` and the options are those of `aotc.compile`, which makes one where shapes are open; this makes one
        of any model.

        `buckets` are the extents that are compiled for, of the one open dimension or by the names of dimensions: others
        are rounded up, inputs padded with zeros, outputs cut back. That is right where the model has a mask of what is
        padded, or computes each place for itself. `max_shapes` is for how many shapes code is kept; that of the least
        recently used goes first. `on_compile` is called after each first call of a shape, with what it took.

        Raises CompileError, OSError, UsageError.
        """
        from aotc.frontend.onnx import open_interface

        with in_python_terms():
            chosen = in_process_options(**options)
            if chosen.changes_interface:
                what = "--io quantized or layouts of inputs and outputs with open shapes"
                why = "arrays that arrive decide shapes as the model has them"
                raise UsageError("option-conflict", what, why, "fix the shapes")
            recipe = Recipe(source, chosen)
            interface = Interface(*open_interface(recipe.model(), chosen.dims, chosen.input_shapes))
            self._dispatcher = Dispatcher(recipe, interface, buckets, max_shapes, on_compile)
        self._turn = turn()
        """Held while the instance's own arrays are read or written."""
        self._own_inputs: dict[str, Array] = {}
        self._own_outputs: dict[str, Array] = {}

    @property
    def name(self) -> str:
        """The model's name, an identifier."""
        return self._dispatcher.name

    @property
    def inputs(self) -> tuple[OpenTensor, ...]:
        """The inputs in order; extents that are open have names."""
        return self._dispatcher.interface.inputs

    @property
    def outputs(self) -> tuple[OpenTensor, ...]:
        """The outputs in order; their extents are expressions of the open dimensions, or not known."""
        return self._dispatcher.interface.outputs

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the open dimensions; one that the model has no name for is called by its place, `x[1]`."""
        return self._dispatcher.interface.dims

    @property
    def shapes(self) -> list[dict[str, tuple[int, ...]]]:
        """The shapes of inputs that there is code for, by name, the least recently used first."""
        return [dict(zip(self._dispatcher.names, shapes, strict=True)) for shapes in self._dispatcher.cached]

    @property
    def weights_bytes(self) -> int:
        """Bytes of the weights that there are in memory: what is equal for several shapes is there once."""
        return self._dispatcher.weights_bytes

    @property
    def executable(self) -> Executable:
        """The entry as bytecode: it computes shapes, allocates outputs, and calls kernels with the open dimensions.
        `aotc.vm.VirtualMachine(model.executable, model)` runs it; so does the first call of a shape."""
        return self._dispatcher.executable

    def packed_functions(self) -> dict[str, Callable[..., Any]]:
        """Functions that the bytecode of `executable` calls, by name."""
        return self._dispatcher.functions()

    def clone(self) -> DynamicModel:
        """Another instance with the same code and weights, and arrays of its own for `set_input` and `get_output`."""
        made = object.__new__(DynamicModel)
        made._dispatcher, made._turn, made._own_inputs, made._own_outputs = self._dispatcher, turn(), {}, {}
        made._labels = self._labels
        return made

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a DynamicModel is code of this process and cannot be pickled or copied; `clone()` makes another instance, "
            "and another process makes its own of the model file: what was compiled is in the cache on disk"
        )

    def _note(self) -> str:
        return f"code for {len(self.shapes)} shapes, weights {self.weights_bytes:,} bytes"

    # Calls

    def __call__(self, /, *inputs: Any, **named: Any) -> dict[str, Array]:
        """`model({"x": array})`, `model(x=array)`, or `model(x0, x1)` in order: {output name: new array}.

        Raises TypeError for a wrong dtype or number of arrays, ValueError for a wrong name or shape, for a dimension
        that differs between inputs, and for one above its last bucket; the first call of a shape as compiling does.
        """
        dispatcher = self._dispatcher
        given = inputs[0] if len(inputs) == 1 and not named else None
        if isinstance(given, dict) and [*given] == dispatcher.names:  # the usual call, in the usual order
            results = dispatcher.call([*given.values()])
        else:
            results = dispatcher.call(in_order(dispatcher.interface.inputs, inputs, named))
        return self._answer(results) if self._labels else results

    def bind(self, /, *inputs: Any, outputs: ByName | None = None, **named: Any) -> Step:
        """A call on these arrays, as `CompiledModel.bind`: of the code for their shapes.

        Raises as a call, and ValueError where a bucket is larger than the inputs, or outputs are as long as the data
        say.
        """
        model, arrays = self._dispatcher.bound(in_order(self.inputs, inputs, named))
        return model.bind(*arrays, outputs=outputs)

    @checks_kinds
    def at(self, extents: Mapping[str, int]) -> CompiledModel:
        """The code for calls with these open dimensions, `{"seq": 128}`, with its metadata and memory plan; it is kept
        as that of a call.

        Raises UsageError for a dimension that is missing or not open, ValueError for one above its last bucket, and as
        compiling does.
        """
        return self._dispatcher.at(extents)

    @checks_kinds
    def warm(self, *extents: Mapping[str, int]) -> None:
        """Compile ahead for each of some extents of the open dimensions: `model.warm({"seq": 64}, {"seq": 128})`.

        Raises as `at`.
        """
        for each in extents:
            self._dispatcher.at(each)

    # The module-based runtime interface, with the names of TVM's GraphExecutor

    def set_input(self, which: str | int | None = None, value: Any = None, /, **inputs: Any) -> None:
        """Set inputs of `run` to copies of arrays: one by name or position, any number by keyword."""
        given = self._placed(inputs, which, value)
        arrays = {self.inputs[place].name: np.array(as_array(each)) for place, each in given.items()}
        with self._turn:
            self._own_inputs |= arrays

    def get_input(self, which: str | int) -> Array:
        """The array that an input was set to. Raises ValueError before that: its shape is open."""
        name = self.inputs[self._input(which)].name
        with self._turn:
            if name not in self._own_inputs:
                raise ValueError(f"the input {name!r} has not been set, and its shape is open")
            return self._own_inputs[name]

    def run(self, /, **inputs: Any) -> None:
        """Run on the inputs set with `set_input`, or given here as there. Raises as a call."""
        self.set_input(**inputs)
        with self._turn:
            self._own_outputs = self(self._own_inputs)

    def get_output(self, which: str | int) -> Array:
        """A copy of an output of the last `run`. Raises ValueError before the first: its shape is open."""
        with self._turn:
            if not self._own_outputs:
                raise ValueError("no run yet, and the shapes of outputs are open")
            names = list(self._own_outputs)
            name = names[which] if isinstance(which, int) and 0 <= which < len(names) else which
            if not isinstance(name, str) or name not in self._own_outputs:
                raise ValueError(f"no output {which!r}; the outputs are {', '.join(map(repr, names))}")
            return self._own_outputs[name].copy()

    def _evaluator(self, function: str, device: Any, repeats: Repeats) -> Callable[[], Timing]:
        if function != "run" or device_of(device) != cpu():
            raise ValueError(f"{self.name} with open shapes times 'run' on {cpu()}, not {function!r} on {device}")
        return partial(repeats.time, self.run)
