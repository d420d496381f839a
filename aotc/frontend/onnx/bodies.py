"""The shape of a body of nodes (a graph, a branch, a function): what it uses, and in which order it can run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

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
    """The positions of `nodes` in an order where each follows those it reads, and the positions on or after a cycle.

    The order given is kept as far as it is right.
    """
    producer = {name: position for position, node in enumerate(nodes) for name in node.output if name}
    readers: list[list[int]] = [[] for _ in nodes]
    waiting = [0] * len(nodes)
    for position, node in enumerate(nodes):
        for source in sorted({producer[name] for name in used_names(node) if name in producer}):
            readers[source].append(position)
            waiting[position] += 1
    ready = [position for position, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:
        position = heappop(ready)
        order.append(position)
        for reader in readers[position]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heappush(ready, reader)
    return order, [position for position, count in enumerate(waiting) if count]


def cycle(nodes: Sequence[NodeProto], among: Sequence[int]) -> list[int]:
    """The positions of one cycle among those that `ordered` could not place, in the order data flows."""
    stuck = set(among)
    producer = {name: position for position in among for name in nodes[position].output if name}
    path: list[int] = []
    visited: dict[int, int] = {}
    position = among[0]
    while position not in visited:
        visited[position] = len(path)
        path.append(position)
        sources = (producer[name] for name in sorted(used_names(nodes[position])) if name in producer)
        position = next(source for source in sources if source in stuck)
    found = path[visited[position] :][::-1]
    first = found.index(min(found))
    return found[first:] + found[:first]


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
