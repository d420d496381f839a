"""Subgraphs that are called, and variables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from lite_model import Graph

from lite_cases.case import Case


def _graph(name: str, *shapes: tuple[str, tuple[int, ...], str]) -> Graph:
    graph = Graph(name)
    for each in shapes:
        graph.tensor(*each)
    return graph


def conditionals(dtype: str) -> Case:
    """A sum or a difference."""
    given = {"scale": 0.05, "zero": 3} if dtype == "int8" else {}
    graphs = [Graph("main"), Graph("then"), Graph("else")]
    graphs[0].tensor("c", (1,), "bool")
    for graph in graphs:
        for name in "aby":
            graph.tensor(name, (2, 3), dtype, **given)
        graph.ends(["a", "b"], ["y"])
    graphs[0].op("IF", ["c", "a", "b"], ["y"], then_subgraph_index=1, else_subgraph_index=2)
    graphs[1].op("ADD", ["a", "b"], ["y"])
    graphs[2].op("MUL", ["a", "b"], ["y"])
    graphs[0].ends(["c", "a", "b"], ["y"])
    return Case(f"if-{dtype}", graphs)


def loop() -> Case:
    """Doubled while it is below 100, and counted."""
    main, condition, body = (Graph(name) for name in ("main", "condition", "body"))
    for graph in (main, condition, body):
        graph.tensor("x", (1,), "float32")
        graph.tensor("n", (1,), "int32")
        graph.ends(["x", "n"], ["x1", "n1"])
    for graph in (main, body):
        graph.tensor("x1", (1,), "float32")
        graph.tensor("n1", (1,), "int32")
    condition.constant("limit", np.array([100], np.float32))
    condition.tensor("more", (1,), "bool")
    condition.op("LESS", ["x", "limit"], ["more"])
    condition.ends(["x", "n"], ["more"])
    body.constant("one", np.array([1], np.int32))
    body.op("ADD", ["x", "x"], ["x1"])
    body.op("ADD", ["n", "one"], ["n1"])
    main.op("WHILE", ["x", "n"], ["x1", "n1"], cond_subgraph_index=1, body_subgraph_index=2)
    return Case("while-float32", [main, condition, body], ranges={"x": (0.5, 150), "n": (0, 9)})


def variables(once: bool) -> Case:
    """A running sum, which begins with 0 or with what a subgraph called once writes."""
    main = _graph("main", ("v", (1,), "resource"))
    for name in ("x", "old", "y"):
        main.tensor(name, (2, 3), "float32")
    graphs = [main]
    if once:
        first = _graph("first", ("v", (1,), "resource"))
        first.constant("begin", np.arange(6, dtype=np.float32).reshape(2, 3))
        first.op("VAR_HANDLE", [], ["v"], container="", shared_name="sum")
        first.op("ASSIGN_VARIABLE", ["v", "begin"], [])
        graphs.append(first.ends([], []))
        main.op("CALL_ONCE", [], [], init_subgraph_index=1)
    main.op("VAR_HANDLE", [], ["v"], container="", shared_name="sum")
    main.op("READ_VARIABLE", ["v"], ["old"])
    main.op("ADD", ["x", "old"], ["y"])
    main.op("ASSIGN_VARIABLE", ["v", "y"], [])
    main.ends(["x"], ["y"])
    return Case("call_once-float32" if once else "variables-float32", graphs)


def cases() -> Iterator[Case]:
    """All of this file."""
    for dtype in ("float32", "int8"):
        yield conditionals(dtype)
    yield loop()
    yield variables(False)
    yield variables(True)
