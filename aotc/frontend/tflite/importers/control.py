"""Subgraphs that are called, and variables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Region, SSAValue

from aotc.dialects.graph.compound.control_flow import IfOp, LoopOp, yield_of
from aotc.frontend.emitter import erase_unused
from aotc.frontend.tflite.node import Handle, Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.frontend.trips import counted_trips

Poisoned = Sequence[SSAValue | None]


@tflite_op("IF", moves=True)
def if_(node: Node) -> Poisoned:
    """One of two subgraphs: in place where the condition is known."""
    condition, given = node.input(0), [node.input(position) for position in range(1, len(node.inputs))]
    indices = [node.option(f"{side}SubgraphIndex", -1) for side in ("Then", "Else")]
    known = node.known_value(condition)
    if known is not None and known.size == 1:
        return node.calls.called(node, indices[0 if known.item() else 1], given) or _poison(node)
    then, otherwise = (_branch(node, index, given) for index in indices)
    if then is None or otherwise is None:
        return _poison(node)
    return node.insert(IfOp.of(condition, given, then, otherwise))


def _branch(node: Node, index: int, given: Sequence[SSAValue]) -> Region | None:
    kinds = [value.type for value in given]
    return node.calls.region(kinds, lambda arguments: node.calls.called(node, index, arguments))


def _poison(node: Node) -> Poisoned:
    return [None] * len(node.results)


@tflite_op("WHILE", moves=True)
def while_(node: Node) -> Poisoned:
    """A subgraph for as long as another one holds; a number of times, where that is known when compiling."""
    states = [node.input(position) for position in range(len(node.inputs))]
    condition, body = (node.option(f"{name}SubgraphIndex", -1) for name in ("Cond", "Body"))
    begins = node.calls.called(node, condition, states)
    if begins is None:
        return _poison(node)
    node.require(len(begins) == 1, "invalid-model", f"its condition has {len(begins)} outputs")

    def iteration(arguments: list[SSAValue]) -> list[SSAValue] | None:
        following = node.calls.called(node, body, arguments[1:])
        goes_on = None if following is None else node.calls.called(node, condition, following)
        return None if following is None or goes_on is None else [*goes_on, *following]

    region = node.calls.region([TensorType(i64, []), *(value.type for value in states)], iteration)
    if region is None:
        return _poison(node)
    known, trips = node.known_value(begins[0]), None
    if known is not None and known.size == 1:
        trips = counted_trips(region.block, states, None, node.store) if known.item() else 0
    if trips is None:
        return node.insert(LoopOp.of(region, condition=begins[0], carried=states))
    end = yield_of(region.block)
    end.operands = end.operands[1:]
    erase_unused(region.block)
    return node.insert(LoopOp.of(region, count=trips, carried=states))


# --- variables --------------------------------------------------------------------------------------------------------


@tflite_op("VAR_HANDLE", moves=True, remembers=True)
def var_handle(node: Node) -> Handle:
    return Handle(
        "/".join(filter(None, (node.text_option(name) for name in ("Container", "SharedName")))) or "variable"
    )


def _variable(node: Node) -> str:
    """The name of the variable that the first input stands for."""
    handle = node.declared(0).handle
    if handle is None:
        node.fail("unsupported-type", "input 0 is no variable of this subgraph", "only VAR_HANDLE gives one")
    if node.calls.decides:
        what, why = "it uses a variable in a subgraph that may not run", "each call reads and writes all of them"
        node.fail("unsupported-operator", what, why, "hand its value to the subgraph, and the next one back")
    return handle.name


@tflite_op("READ_VARIABLE", moves=True, remembers=True)
def read_variable(node: Node) -> SSAValue:
    """The value last written: before the first call zeros, or what stands for them."""
    tensor, what = node.results[0], "it reads a variable in a subgraph that gives them their first values"
    node.require(not node.calls.begins, "unsupported-operator", what)
    point = 0 if tensor.dtype != "int8" or tensor.quantization is None else node.quantization(tensor)[1]
    initial = node.filled(tensor.shape, point, tensor.dtype) if point else None
    return node.calls.states.read(_variable(node), tensor, initial)


@tflite_op("ASSIGN_VARIABLE", moves=True, remembers=True)
def assign_variable(node: Node) -> Poisoned:
    name = _variable(node)
    if not node.calls.begins:
        node.calls.states.write(name, node.input(1))
        return []
    known = node.array(1, "the first value of a variable")
    fresh = node.calls.states.begin(name, np.ascontiguousarray(known).reshape(known.shape))
    what = f"the variable {name!r} is given its first value after it was read or written"
    node.require(fresh, "unsupported-operator", what)
    return []


@tflite_op("CALL_ONCE", moves=True, remembers=True)
def call_once(node: Node) -> Poisoned:
    """First values of variables."""
    node.calls.beginning(node, node.option("InitSubgraphIndex", -1))
    return []
