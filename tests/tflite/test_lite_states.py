"""Layers that keep something from one call to the next: names, first values, reset, and where it is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from lite_cases import CASES
from lite_model import Graph, write
from lite_oracle import Micro
from xdsl.dialects.builtin import TensorType, i8
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block

import aotc
from aotc.errors import CompileError
from aotc.frontend.tflite import file
from aotc.frontend.tflite.states import States
from aotc.model.weight_store import WeightStore


@pytest.mark.parametrize("name", ["svdf-narrow_zero-int8", "lstm-batches-int8", "lstm-major-int16"])
def test_a_reset_begins_anew(name: str) -> None:
    case = CASES[name]
    model, oracle = aotc.compile(case.model), Micro(case.model)
    assert isinstance(model, aotc.CompiledModel)
    for _ in range(2):
        for inputs in case.calls[:3]:
            given = {tensor.name: value for tensor, value in zip(model.inputs, inputs, strict=True)}
            for found, expected in zip(model(given).values(), oracle(*inputs), strict=True):
                np.testing.assert_array_equal(found, expected)
        model.reset()
        oracle.reset()


def test_states_are_named_as_their_tensors() -> None:
    model = aotc.compile(CASES["lstm-one-int8"].model)
    assert isinstance(model, aotc.CompiledModel)
    assert [(each.name, each.output) for each in model.states] == [("x18", "x18_next"), ("x19", "x19_next")]


def _filter(*, variable: bool = True, memory: int = 2, rank: int = 1) -> Graph:
    """An SVDF of real numbers."""
    graph = Graph()
    graph.tensor("x", (1, 3), "float32")
    graph.constant("features", np.ones((4, 3), np.float32))
    graph.constant("times", np.ones((4, 2), np.float32))
    graph.tensor("state", (1, 4 * memory), "float32", variable=variable)
    graph.tensor("y", (1, 4), "float32")
    graph.op("SVDF", ["x", "features", "times", None, "state"], ["y"], rank=rank)
    return graph.ends(["x"], ["y"])


def test_a_state_can_be_read() -> None:
    """Before the layer it is that of the last call, behind it the next one."""
    graph = _filter()
    for name in ("before", "after"):
        graph.tensor(name, (1, 8), "float32")
    graph.constant("one", np.ones(1, np.float32))
    layer = graph.operators.pop()
    graph.op("MUL", ["state", "one"], ["before"])
    graph.operators.append(layer)
    graph.op("MUL", ["state", "one"], ["after"])
    model, before = aotc.compile(write([graph.ends(["x"], ["before", "after"])])), np.zeros((1, 8))
    for call in range(3):
        found = model({"x": np.array([[1, 2, call]], np.float32)})
        after = np.stack([before.reshape(4, 2)[:, 1], np.full(4, 3 + call)], 1).reshape(1, 8)
        np.testing.assert_array_equal(found["before"], before)
        np.testing.assert_array_equal(found["after"], after)
        before = after


def _in_a_branch() -> list[Graph]:
    main = Graph()
    main.tensor("x", (1, 3), "float32")
    main.tensor("c", (1,), "bool")
    main.tensor("y", (1, 4), "float32")
    main.op("IF", ["c", "x"], ["y"], then_subgraph_index=1, else_subgraph_index=2)
    return [main.ends(["c", "x"], ["y"]), _filter(), _filter()]


def _peephole() -> list[Graph]:
    graph = CASES["lstm-one-float32"].graphs[0]
    copy = Graph(graph.name, list(graph.tensors), list(graph.operators), graph.inputs, graph.outputs)
    copy.constant("peephole", np.ones(6, np.float32))
    node = copy.operators[0]
    inputs = [*node.inputs[:9], "peephole", *node.inputs[10:]]
    copy.operators = [type(node)(node.code, inputs, node.outputs, node.options)]
    return [copy]


_REFUSED: list[tuple[str, Callable[[], list[Graph]], str]] = [
    ("constant", lambda: [_filter(variable=False)], "invalid-model"),
    ("size", lambda: [_filter(memory=3)], "invalid-shape"),
    ("rank", lambda: [_filter(rank=3)], "invalid-attribute"),
    ("branch", _in_a_branch, "unsupported-operator"),
    ("peephole", _peephole, "unsupported-attribute"),
]


@pytest.mark.parametrize(("make", "problem"), [row[1:] for row in _REFUSED], ids=[row[0] for row in _REFUSED])
def test_what_is_refused(make: Callable[[], list[Graph]], problem: str) -> None:
    with pytest.raises(CompileError) as caught:
        aotc.compile(write(make()))
    assert {each.id for each in caught.value.problems} == {problem}


def test_states_without_a_name_are_called_state() -> None:
    block = Block(arg_types=[TensorType(i8, [2])])
    block.add_op(ReturnOp())
    states, tensor = States(block), file.Tensor("", "INT8", (2,), None, None, True, None)
    for key in ((1, ""), (2, "")):
        states.read(key, tensor)
        states.write(key, block.args[0])
    arguments, _, results = states.finish(["x"], WeightStore())
    assert [each.name for each in (*arguments, *results)] == ["state", "state_1", "state_next", "state_next_1"]
