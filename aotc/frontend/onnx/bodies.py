"""The shape of a body of nodes (a graph, a branch, a function): what it uses, and in which order it can run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

from onnx import AttributeProto, GraphProto, NodeProto


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs among a node's attributes: branches and loop bodies."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """The nodes and those of their subgraphs."""
    for node in nodes:
        yield node
        for graph in subgraphs(node):
            yield from all_nodes(graph.node)


def used_names(node: NodeProto) -> set[str]:
    """The values a node reads: its inputs, and what its subgraphs take from around it."""
    names = set(node.input)
    for graph in subgraphs(node):
        names |= free_names(graph)
    names.discard("")
    return names


def free_names(graph: GraphProto) -> set[str]:
    """The values a subgraph takes from around it."""
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    used = {value.name for value in graph.output}
    for node in graph.node:
        own.update(node.output)
        used |= used_names(node)
    return used - own


def ordered(nodes: Sequence[NodeProto]) -> tuple[list[int], list[int]]:
    """The positions of `nodes` in an order where each follows those it reads, and those of a cycle, if there is one, in
    the order data flows.

    The order given is kept as far as it is right.
    """
    producer = {name: position for position, node in enumerate(nodes) for name in node.output if name}
    sorter = TopologicalSorter(
        {
            position: sorted({producer[name] for name in used_names(node) if name in producer})
            for position, node in enumerate(nodes)
        }
    )
    cycle: list[int] = []
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = error.args[1][1:]
        first = cycle.index(min(cycle))
        cycle = cycle[first:] + cycle[:first]
    ready: list[int] = []
    order: list[int] = []
    while sorter.is_active():
        for position in sorter.get_ready():
            heappush(ready, position)
        order.append(heappop(ready))
        sorter.done(order[-1])
    return order, cycle


def needed(nodes: Sequence[NodeProto], order: Iterable[int], outputs: Iterable[str]) -> tuple[list[int], set[str]]:
    """The positions of `order` without the nodes that no output depends on, and every name that is read."""
    wanted = set(outputs)
    read: list[int] = []
    for position in reversed(list(order)):
        node = nodes[position]
        if not wanted.isdisjoint(node.output):
            read.append(position)
            wanted |= used_names(node)
    return read[::-1], wanted


def node_name(node: NodeProto, position: int) -> str:
    """The name of a node; one without is called by its operator and its position in its body."""
    return node.name or f"{node.op_type}_{position}"


def readers(nodes: Sequence[NodeProto]) -> dict[str, str]:
    """The first node that reads each value, for messages."""
    found: dict[str, str] = {}
    for position, node in enumerate(nodes):
        for name in used_names(node):
            found.setdefault(name, f"{node_name(node, position)} ({node.op_type})")
    return found
