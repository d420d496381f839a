"""Recurrent layers in a row, one of which multiplies its first states for the next, with states that the workspace
keeps, and on two threads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from harness import assert_same_bits, by_c_and_llvm
from onnx import numpy_helper
from test_inputs_ahead import GATES

import aotc
from aotc.compiler.checking.reference import reference_sequence, reference_session
from aotc.compiler.driver import lower
from aotc.executor import CompiledModel
from aotc.pipeline.options import CompileOptions

CALLS = 4
"""Pieces of a stream, one after the other."""


@dataclass(frozen=True)
class Stack:
    """Layers of `units`, which take first states and return the last ones; `steps` are those of a piece."""

    kind: str
    steps: int
    inputs: int
    units: tuple[int, ...]

    @property
    def states(self) -> dict[str, str]:
        """The next states and those that they are in the next call."""
        letters = "hc" if self.kind == "LSTM" else "h"
        return {f"{letter}n{i}": f"{letter}{i}" for i in range(len(self.units)) for letter in letters}

    def model(self) -> onnx.ModelProto:
        """With weights of about 1/8."""
        gates, rng, size = GATES[self.kind], np.random.default_rng(0), self.inputs
        more = ", linear_before_reset = 1" if self.kind == "GRU" else ""
        names, body, weights = list(self.states.values()), list[str](), dict[str, tuple[int, ...]]()
        shape = {name: f"float[1,1,{self.units[int(name[1:])]}]" for name in names}
        for i, count in enumerate(self.units):
            given = f"x{i}, w{i}, r{i}, b{i}, , h{i}" + f", c{i}" * (self.kind == "LSTM")
            after = f"y{i}, hn{i}" + f", cn{i}" * (self.kind == "LSTM")
            body.append(f"{after} = {self.kind} <hidden_size = {count}{more}> ({given})")
            body.append(f"x{i + 1} = Squeeze (y{i}, axes)")
            weights |= {f"w{i}": (1, gates * count, size), f"r{i}": (1, gates * count, count)}
            weights[f"b{i}"] = (1, 2 * gates * count)
            size = count
        given = ", ".join([f"float[{self.steps},1,{self.inputs}] x0", *(f"{shape[name]} {name}" for name in names)])
        results = [f"float[{self.steps},1,{size}] x{len(self.units)}"]
        results += [f"{shape[name]} {after}" for after, name in self.states.items()]
        graph = f"({given}) => ({', '.join(results)}) <int64[1] axes = {{1}}> {{ {chr(10).join(body)} }}"
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {graph}')
        for name, sizes in weights.items():
            values = (rng.standard_normal(sizes) / 8).astype(np.float32)
            model.graph.initializer.append(numpy_helper.from_array(values, name))
        return model

    def pieces(self) -> list[dict[str, np.ndarray[Any, Any]]]:
        """Inputs of the calls."""
        rng = np.random.default_rng(2)
        return [{"x0": rng.standard_normal((self.steps, 1, self.inputs)).astype(np.float32)} for _ in range(CALLS)]


STACKS = [
    Stack("LSTM", 50, 64, (64, 64)),
    Stack("GRU", 50, 64, (128, 96)),  # other sizes
    Stack("RNN", 61, 100, (128, 128, 128)),
    Stack("LSTM", 40, 24, (80, 48, 64)),  # with a part of a panel of the state's weight
]


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: f"{stack.kind}-{stack.units}")
def test_layers_with_states_are_in_a_row(stack: Stack) -> None:
    options = CompileOptions.of(target="x86-64-v4", state=stack.states, threads=2, stop_after="schedule")
    text = str(lower(stack.model(), options).module)
    assert text.count(" leading = ") == 2 * (len(stack.units) - 1), "of each layer but the last: how, and that"


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: f"{stack.kind}-{stack.units}")
def test_a_stream_goes_on_from_its_states(stack: Stack, tmp_path: Path) -> None:
    model, pieces, output = stack.model(), stack.pieces(), f"x{len(stack.units)}"
    by_c, alone = by_c_and_llvm(model, tmp_path, CompileOptions.of(state=stack.states))
    shared = aotc.compile(model, state=stack.states, threads=2)
    assert isinstance(shared, CompiledModel)
    expected = reference_sequence(reference_session(model.SerializeToString()), pieces, alone.states)
    for _ in range(2):  # from zeros again, once they are reset
        for piece, wanted in zip(pieces, expected, strict=True):
            found = {"on vectors": alone(piece), "by C": by_c(piece), "by threads": shared(piece)}
            assert_same_bits(found)
            np.testing.assert_allclose(found["on vectors"][output], wanted[output], rtol=1e-4, atol=1e-5)
        for each in (alone, by_c, shared):
            each.reset()
    assert not np.allclose(alone(pieces[1])[output], expected[1][output], atol=1e-3), "states count"
