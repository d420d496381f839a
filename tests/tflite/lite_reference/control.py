"""Subgraphs that are called, and variables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lite_reference.fixed import Array
from lite_reference.nodes import Node, computes


def _given(node: Node, first: int) -> list[Array]:
    return [node[k].array for k in range(first, len(node.inputs))]


@computes("IF")
def if_(node: Node) -> Sequence[Array]:
    """One of two subgraphs."""
    name = "then_subgraph_index" if bool(node[0].array.reshape(-1)[0]) else "else_subgraph_index"
    return node.memory.run(node.option(name), _given(node, 1))


@computes("WHILE")
def while_(node: Node) -> Sequence[Array]:
    """A subgraph for as long as another is true."""
    values = _given(node, 0)
    while bool(node.memory.run(node.option("cond_subgraph_index"), values)[0].reshape(-1)[0]):
        values = node.memory.run(node.option("body_subgraph_index"), values)
    return values


@computes("CALL_ONCE")
def call_once(node: Node) -> Sequence[Array]:
    """A subgraph in the first call alone."""
    index = node.option("init_subgraph_index")
    if index not in node.memory.called:
        node.memory.called.add(index)
        node.memory.run(index, [])
    return []


@computes("VAR_HANDLE")
def var_handle(node: Node) -> Array:
    """The name of a variable."""
    return np.array(node.option("shared_name", ""))


@computes("READ_VARIABLE")
def read_variable(node: Node) -> Array:
    """A variable, at first 0."""
    return node.memory.variables.get(str(node[0].array), np.zeros(node.shape, node.out.dtype)).copy()


@computes("ASSIGN_VARIABLE")
def assign_variable(node: Node) -> Sequence[Array]:
    """A variable written."""
    node.memory.variables[str(node[0].array)] = node[1].array.copy()
    return []
