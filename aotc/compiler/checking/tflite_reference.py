"""TensorFlow Lite's interpreters: what results of .tflite models are compared with."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aotc.compiler.checking.interface import Interface
from aotc.compiler.checking.reference import first_values
from aotc.errors import UsageError
from aotc.frontend import tflite
from aotc.model.metadata import StateInfo

Array = np.ndarray[Any, Any]
_Run = Callable[[Sequence[Array]], list[Array]]

_ARENAS = (1 << 24, 1 << 28)
"""Bytes of memory that TFLite Micro's interpreter is given, the less first."""


@dataclass
class Interpreter:
    """A model in an interpreter."""

    kind: str
    """Which one it is."""
    run: _Run
    inputs: list[str]
    outputs: list[str]
    dtypes: list[str]
    """Of the inputs."""

    def sequence(
        self, steps: Sequence[Mapping[str, Array]], states: Sequence[StateInfo], interface: Interface | None = None
    ) -> list[dict[str, Array]]:
        """The outputs by name of calls one after the other, each of which is given the `states` that the last one
        left; those that are no inputs are variables, which the interpreter keeps."""
        states = [state for state in states if state.name in self.inputs]
        known, found = first_values(states), list[dict[str, Array]]()
        for inputs in steps:
            given = {**inputs, **known}
            for name, dtype in zip(self.inputs, self.dtypes, strict=True):
                given[name] = given[name] if interface is None else interface.given(name, given[name], dtype)
            outputs = dict(zip(self.outputs, self.run([given[name] for name in self.inputs]), strict=True))
            known = {state.name: outputs[state.output] for state in states}
            found.append(
                outputs if interface is None else {name: interface.computed(name, outputs[name]) for name in outputs}
            )
        return found


def interpreter(data: bytes) -> Interpreter:
    """The model in TFLite Micro's interpreter, or where that is not installed, or lacks an operator, in LiteRT's with
    its reference kernels. Raises UsageError where neither takes it."""
    model = tflite.load_model(data)
    inputs, outputs = tflite.names_of(model)
    dtypes = [model.graphs[0].tensors[place].dtype for place in model.graphs[0].inputs]
    whys: list[str] = []
    for kind, make in (("TFLite Micro", _micro), ("LiteRT's reference kernels", _lite)):
        try:
            return Interpreter(kind, make(data, len(outputs)), inputs, outputs, dtypes)
        except ImportError as error:
            whys.append(f"{error.name} is not installed")
        except Exception as error:  # they have no common class
            whys.append(f"{kind}: {str(error).strip().partition(chr(10))[0]}")
    fix = "pip install tflite-micro, or ai-edge-litert"
    raise UsageError("missing-tool", "no interpreter takes the model", "; ".join(whys), fix)


def _micro(data: bytes, count: int) -> _Run:
    from tflite_micro import runtime  # pyright: ignore[reportMissingTypeStubs]

    def made_in(arena: int) -> Any:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints the number of variables
            return runtime.Interpreter.from_bytes(data, arena_size=arena)

    small, large = _ARENAS
    try:
        made = made_in(small)
    except RuntimeError:
        made = made_in(large)

    def run(inputs: Sequence[Array]) -> list[Array]:
        for place, value in enumerate(inputs):
            made.set_input(value, place)
        made.invoke()
        return [made.get_output(place) for place in range(count)]

    return run


def _lite(data: bytes, count: int) -> _Run:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    made: Any = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
    made.allocate_tensors()

    def run(inputs: Sequence[Array]) -> list[Array]:
        for row, value in zip(made.get_input_details(), inputs, strict=True):
            made.set_tensor(row["index"], value)
        made.invoke()
        return [made.get_tensor(row["index"]) for row in made.get_output_details()[:count]]

    return run
