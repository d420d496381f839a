"""Subgraphs and variables: what is known when compiling, what is kept between calls, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from lite_model import Graph, write
from lite_oracle import Micro
from xdsl.context import Context

import aotc
from aotc.cli.main import run
from aotc.errors import CompileError
from aotc.frontend.tflite import import_model, load_model

SHAPE = (2, 3)


def _floats(graph: Graph, *names: str) -> Graph:
    for name in names:
        graph.tensor(name, SHAPE, "float32")
    return graph


def _handle(graph: Graph, name: str, shared: str = "sum") -> None:
    graph.tensor(name, (1,), "resource")
    graph.op("VAR_HANDLE", [], [name], container="", shared_name=shared)


def _compare(graphs: list[Graph], calls: int = 4) -> aotc.CompiledModel:
    """Several calls in a row, of one input, by us and by TFLite Micro."""
    data, generator = write(graphs), np.random.default_rng(3)
    model, oracle = aotc.compile(data), Micro(data)
    assert isinstance(model, aotc.CompiledModel)
    for _ in range(calls):
        value = generator.integers(-20, 20, SHAPE).astype(model.inputs[0].dtype)
        for found, expected in zip(model({"x": value}).values(), oracle(value), strict=True):
            np.testing.assert_array_equal(found, expected)
    return model


def _delayed() -> Graph:
    """Each call gives what was given two calls before."""
    graph = _floats(Graph(), "x", "a", "b", "y")
    _handle(graph, "first", "one")
    _handle(graph, "second", "two")
    graph.op("READ_VARIABLE", ["second"], ["b"])
    graph.op("READ_VARIABLE", ["first"], ["a"])
    graph.op("ASSIGN_VARIABLE", ["second", "a"], [])
    graph.op("ASSIGN_VARIABLE", ["first", "x"], [])
    graph.op("ADD", ["b", "b"], ["y"])
    return graph.ends(["x"], ["y"])


def test_values_move_from_one_variable_to_another() -> None:
    model = _compare([_delayed()])
    assert [(each.name, each.output) for each in model.states] == [("two", "two_next"), ("one", "one_next")]


def test_a_variable_of_integers_begins_with_what_stands_for_zero() -> None:
    graph = Graph()
    for name in ("x", "old", "y"):
        graph.tensor(name, SHAPE, "int8", scale=0.5, zero=7)
    _handle(graph, "v")
    graph.op("READ_VARIABLE", ["v"], ["old"])
    graph.op("ADD", ["x", "old"], ["y"])
    graph.op("ASSIGN_VARIABLE", ["v", "y"], [])
    _compare([graph.ends(["x"], ["y"])])


def _begun(*, before: bool = True, writes: bool = False, shape: tuple[int, ...] = SHAPE) -> list[Graph]:
    """A sum with a variable that a subgraph gives its first value."""
    first, main = Graph("first"), _floats(Graph(), "x", "old", "y")
    _handle(first, "v")
    first.constant("begin", np.arange(np.prod(shape), dtype=np.float32).reshape(shape))
    first.op("ASSIGN_VARIABLE", ["v", "begin"], [])
    if before:
        main.op("CALL_ONCE", [], [], init_subgraph_index=1)
    _handle(main, "v")
    main.op("READ_VARIABLE", ["v"], ["old"])
    main.op("ADD", ["x", "old"], ["y"])
    if writes:
        main.op("ASSIGN_VARIABLE", ["v", "y"], [])
    if not before:
        main.op("CALL_ONCE", [], [], init_subgraph_index=1)
    return [main.ends(["x"], ["y"]), first.ends([], [])]


def test_a_variable_that_is_never_written_is_a_constant() -> None:
    assert not _compare(_begun()).states


def test_what_is_written_before_it_is_read_is_not_kept() -> None:
    graph = _floats(Graph(), "x", "old", "y")
    _handle(graph, "v")
    graph.op("ASSIGN_VARIABLE", ["v", "x"], [])
    graph.op("READ_VARIABLE", ["v"], ["old"])
    graph.op("ADD", ["x", "old"], ["y"])
    assert not _compare([graph.ends(["x"], ["y"])]).states


def test_bytecode_keeps_no_variables() -> None:
    with pytest.raises(aotc.UsageError, match="option-conflict"):
        aotc.compile(write(_begun(writes=True)), executor="vm")
    assert aotc.compile(write(_begun()), executor="vm")  # here they are constants


@pytest.mark.parametrize("writes", [True, False])
def test_the_interpreter_keeps_variables_when_it_is_compared(tmp_path: Path, writes: bool) -> None:
    path = tmp_path / "sum.tflite"
    path.write_bytes(write(_begun(writes=writes)))
    assert run(["verify", str(path), "--steps", "3"]) == 0


# --- subgraphs --------------------------------------------------------------------------------------------------------


def _branches(known: bool | None, *, inside: Callable[[Graph], None] | None = None) -> list[Graph]:
    """x + x or x * x: the latter where the first element is 0, where no condition is known."""
    main, then, otherwise = (
        _floats(Graph(), "x", "y"),
        _floats(Graph("then"), "x", "y"),
        _floats(Graph("else"), "x", "y"),
    )
    if known is None:
        main.tensor("first", (1, 1), "float32")
        main.constant("from", np.array([0, 0], np.int32))
        main.constant("of", np.array([1, 1], np.int32))
        main.tensor("c", (1, 1), "bool")
        main.op("SLICE", ["x", "from", "of"], ["first"])
        main.op("CAST", ["first"], ["c"], in_data_type="float32", out_data_type="bool")
    else:
        main.constant("c", np.array([known]))
    main.op("IF", ["c", "x"], ["y"], then_subgraph_index=1, else_subgraph_index=2)
    if inside is not None:
        inside(then)
    then.op("ADD", ["x", "x"], ["y"])
    otherwise.op("MUL", ["x", "x"], ["y"])
    return [graph.ends(["x"], ["y"]) for graph in (main, then, otherwise)]


def _text(graphs: list[Graph]) -> str:
    return str(import_model(load_model(write(graphs)), Context()))


@pytest.mark.parametrize("known", [True, False])
def test_a_known_condition_leaves_one_subgraph(known: bool) -> None:
    graphs = _branches(known)
    data = write(graphs)
    assert "graph.if" not in _text(graphs)
    x = np.arange(6, dtype=np.float32).reshape(SHAPE)
    np.testing.assert_array_equal(aotc.compile(data)({"x": x})["y"], x + x if known else x * x)


def test_one_of_two_subgraphs_runs() -> None:
    _compare(_branches(None), calls=40)


def _loop(count: int | None) -> list[Graph]:
    """x doubled `count` times, or as often as an input says."""
    main, condition, body = (_floats(Graph(name), "x", "x1") for name in ("main", "condition", "body"))
    for graph in (main, condition, body):
        if graph is main and count is not None:
            graph.constant("n", np.array([count], np.int32))
        else:
            graph.tensor("n", (1,), "int32")
        graph.tensor("n1", (1,), "int32")
        graph.ends(["x", "n"], ["x1", "n1"])
    condition.tensor("more", (1,), "bool")
    condition.op("CAST", ["n"], ["more"], in_data_type="int32", out_data_type="bool")
    condition.ends(["x", "n"], ["more"])
    body.constant("less", np.array([-1], np.int32))
    body.op("ADD", ["x", "x"], ["x1"])
    body.op("ADD", ["n", "less"], ["n1"])
    main.op("WHILE", ["x", "n"], ["x1", "n1"], cond_subgraph_index=1, body_subgraph_index=2)
    main.ends(["x"] if count is not None else ["x", "n"], ["x1"])
    return [main, condition, body]


@pytest.mark.parametrize("count", [0, 3])
def test_iterations_that_are_known_are_counted(count: int) -> None:
    graphs = _loop(count)
    assert f"trips = {count}" in _text(graphs)
    x = np.arange(6, dtype=np.float32).reshape(SHAPE)
    np.testing.assert_array_equal(aotc.compile(write(graphs))({"x": x})["x1"], x * 2**count)


def test_iterations_that_are_not_known_have_a_condition() -> None:
    assert "trips" not in _text(_loop(None))
    x = np.arange(6, dtype=np.float32).reshape(SHAPE)
    found = aotc.compile(write(_loop(None)))({"x": x, "n": np.array([4], np.int32)})
    np.testing.assert_array_equal(found["x1"], x * 16)


# --- what is refused --------------------------------------------------------------------------------------------------


def _reading(graph: Graph) -> None:
    _floats(graph, "old")
    _handle(graph, "v")
    graph.op("READ_VARIABLE", ["v"], ["old"])


def _calling(index: int) -> list[Graph]:
    graphs = _branches(None)
    graphs[0].operators[-1].options = {"then_subgraph_index": index, "else_subgraph_index": 2}
    return graphs


def _recursive() -> list[Graph]:
    graphs = _branches(None)
    graphs[1].operators.clear()
    graphs[1].constant("c", np.array([True]))
    graphs[1].op("IF", ["c", "x"], ["y"], then_subgraph_index=1, else_subgraph_index=2)
    return graphs


def _other_inputs() -> list[Graph]:
    graphs = _branches(None)
    return [*graphs[:2], graphs[2].ends(["x", "x"], ["y"])]


def _two_conditions() -> list[Graph]:
    graphs = _loop(None)
    graphs[1].ends(["x", "n"], ["more", "more"])
    return graphs


def _without_a_handle() -> list[Graph]:
    graph = _floats(Graph(), "x", "y")
    graph.op("READ_VARIABLE", ["x"], ["y"])
    return [graph.ends(["x"], ["y"])]


def _variable_out() -> list[Graph]:
    graph = _delayed()
    return [graph.ends(["x"], ["first"])]


def _variable_written() -> list[Graph]:
    graph = _delayed()
    graph.op("ASSIGN_VARIABLE", ["first", "second"], [])
    return [graph]


def _two_types() -> list[Graph]:
    return _begun(writes=True, shape=(1, 6))


_REFUSED: list[tuple[str, Callable[[], list[Graph]], str]] = [
    ("beyond", lambda: _calling(3), "invalid-model"),
    ("main", lambda: _calling(0), "invalid-model"),
    ("recursion", _recursive, "invalid-model"),
    ("inputs", _other_inputs, "invalid-model"),
    ("conditions", _two_conditions, "invalid-model"),
    ("branch", lambda: _branches(None, inside=_reading), "unsupported-operator"),
    ("late", lambda: _begun(before=False), "unsupported-operator"),
    ("types", _two_types, "contradicted-type"),
    ("output", _variable_out, "unsupported-type"),
    ("value", _variable_written, "unsupported-type"),
    ("handle", _without_a_handle, "unsupported-type"),
]


@pytest.mark.parametrize(("make", "problem"), [row[1:] for row in _REFUSED], ids=[row[0] for row in _REFUSED])
def test_what_is_refused(make: Callable[[], list[Graph]], problem: str) -> None:
    with pytest.raises(CompileError) as caught:
        aotc.compile(write(make()))
    assert {each.id for each in caught.value.problems} == {problem}
