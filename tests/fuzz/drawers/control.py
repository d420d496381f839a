"""Drawing control flow, sequences and optionals: nodes with graphs of their own, and values that are no tensors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from fuzz.drafts import FAST, MOVES, Draft, Drawer, Value
from fuzz.drawers import selection
from fuzz.oracle import Refused, onnx_type

PLAIN = ("Relu", "Neg", "Abs", "Tanh", "Sigmoid", "Identity")
TWO = ("Add", "Mul", "Max", "Sub")


def _info(name: str, like: Value, shape: tuple[int, ...] | None = None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, onnx_type(like.array), like.shape if shape is None else shape)


def _scalar(name: str, kind: int) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, [])


class _Body:
    """A graph inside of a node, of nodes on tensors of one shape."""

    def __init__(self, d: Draft, name: str, known: list[str]) -> None:
        d.inner += 1
        self._d, self._name = d, f"{name}_{len(d.nodes)}_{d.inner}"
        self.known, self.nodes = list(known), list[NodeProto]()

    def name(self, what: str) -> str:
        """A name of its own."""
        return f"{self._name}_{what}{len(self.nodes)}"

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """One more node; its result's name."""
        result = self.name("v")
        self.nodes.append(helper.make_node(op_type, inputs, [result], name=result, **attributes))
        return result

    def grow(self, count: int, like: Value | None = None) -> str:
        """Some nodes that read what is known, from the end more often; the last result. With `like`, of whose form all
        that is known is, there is control flow among them at times."""
        for _ in range(count):
            last, other = self.known[-1], self._d.pick(self.known)
            if like is not None and self._d.chance(0.2):
                self.known.append(self._branches(like) if self._d.chance(0.5) else self._rounds(like))
                continue
            one = self._d.chance(0.5)
            self.known.append(
                self.node(self._d.pick(PLAIN), last) if one else self.node(self._d.pick(TWO), last, other)
            )
        return self.node("Identity", self.known[-1])

    def _inner(self, what: str) -> _Body:
        """A graph inside of this one that reads what is known here."""
        return _Body(self._d, what, self.known)

    def _truth(self) -> str:
        """A condition that is known, or is not: whether nothing of something is negative after its absolute value."""
        if self._d.chance(0.3):
            return self.node("Constant", value=numpy_helper.from_array(np.array(self._d.chance(0.5))))
        least = self.node("ReduceMin", self.node("Abs", self.known[0]), keepdims=0)
        limit = self.node("Constant", value=numpy_helper.from_array(np.array(self._d.pick((-1, 1e9)), np.float32)))
        return self.node("Greater", least, limit)

    def _branches(self, like: Value) -> str:
        """An If of two small graphs."""
        condition, branches = self._truth(), dict[str, Any]()
        for name in ("then_branch", "else_branch"):
            body = self._inner(name[:4])
            result = body.grow(self._d.number(0, 2))
            branches[name] = body.graph([], [_info(result, like)])
        return self.node("If", condition, **branches)

    def _rounds(self, like: Value) -> str:
        """A Loop of a few rounds on one value."""
        body = self._inner("loop")
        place, goes_on, carried = (body.name(name) for name in ("i", "on", "c"))
        body.known.append(carried)
        result = body.grow(self._d.number(1, 2))
        still = body.node("Identity", goes_on)
        given = [_scalar(place, TensorProto.INT64), _scalar(goes_on, TensorProto.BOOL), _info(carried, like)]
        graph = body.graph(given, [_scalar(still, TensorProto.BOOL), _info(result, like)])
        count = self.node("Constant", value=numpy_helper.from_array(np.array(self._d.number(0, 3), np.int64)))
        return self.node("Loop", count, "", self._d.pick(self.known), body=graph)

    def graph(self, inputs: list[ValueInfoProto], outputs: list[ValueInfoProto]) -> GraphProto:
        """All of it."""
        return helper.make_graph(self.nodes, self._name, inputs, outputs)


def _nests(d: Draft, x: Value) -> Value | None:
    """`x` where there may be control flow inside of control flow: versions before 13 reduce and compare otherwise."""
    return x if d.opset >= 13 and x.array.size and d.chance(0.5) else None


def _if(d: Draft) -> None:
    """Branches that read values of the graph around them."""
    x = d.take(("float32",), ranks=(0, 3))
    y = d.fresh("float32", x.shape)
    condition = d.known(np.array(d.chance(0.5)), d.chance(0.4))
    branches: dict[str, Any] = {}
    for name in ("then_branch", "else_branch"):
        body = _Body(d, name, [y.name, x.name])
        result = body.grow(d.number(1, 4), _nests(d, x))
        branches[name] = body.graph([], [_info(result, x)])
    d.add("If", [condition], captured=[x, y], how=FAST, **branches)


def _loop(d: Draft) -> None:
    """Some rounds on carried values, one of which is put together as well; at times a condition ends it sooner."""
    x, y = (d.take(("float32",), ranks=(0, 3)) for _ in range(2))
    y = y if y.shape == x.shape else d.fresh("float32", x.shape)
    body = _Body(d, "round", [])
    place, goes_on, first, second = (body.name(name) for name in ("i", "on", "a", "b"))
    swapped = d.chance(0.4)
    body.known += [second, first] if swapped else [first, second]
    after = body.grow(d.number(1, 3), _nests(d, x))
    other = body.node("Identity", first) if swapped else body.node(d.pick(PLAIN), second)
    stacks, ends = d.chance(0.6), d.chance(0.5)
    if not ends:
        still = body.node("Identity", goes_on)
    else:
        summed = body.node("ReduceMax", after, keepdims=0)
        limit = d.known(np.array(3.0, np.float32))
        still = body.node("Less", summed, limit.name)
    results = [_scalar(still, TensorProto.BOOL), _info(after, x), _info(other, x)]
    captured: list[Value] = []
    if stacks:
        results.append(_info(body.node("Identity", after), x))
    if ends:
        captured.append(limit)
        if x.error or y.error:
            raise Refused("a condition on a value that is not exact")
    given = [_scalar(place, TensorProto.INT64), _scalar(goes_on, TensorProto.BOOL), _info(first, x), _info(second, x)]
    count = d.known(np.array(d.number(1, 4), np.int64), stacks or d.chance(0.5))  # what is stacked has a bound
    condition = d.known(np.array(True)) if d.chance(0.7) else None
    graph = body.graph(given, results)
    made = d.add("Loop", [count, condition, x, y], 3 if stacks else 2, captured=captured, how=FAST, body=graph)
    if stacks and ends:
        selection.uncertain(d, made[2])


def _scan(d: Draft) -> None:
    """A state that sees one slice after the other, from either end."""
    if d.opset < 9:
        raise Refused("another form")
    x = d.take(("float32",), ranks=(1, 4))
    axis = d.number(0, x.rank - 1)
    shape = tuple(n for place, n in enumerate(x.shape) if place != axis)
    state = d.fresh("float32", shape)
    body = _Body(d, "step", [])
    given = [body.name("state"), body.name("slice")]
    body.known += given if d.chance(0.5) else given[::-1]
    after = body.grow(d.number(1, 3), _nests(d, state))
    outputs = [_info(after, x, shape), _info(body.node(d.pick(PLAIN), after), x, shape)]
    graph = body.graph([_info(name, x, shape) for name in given], outputs)
    some: dict[str, Any] = {"scan_input_axes": [axis]}
    if d.chance(0.5):
        some["scan_input_directions"] = [d.number(0, 1)]
    if d.chance(0.5):
        some |= {"scan_output_directions": [d.number(0, 1)], "scan_output_axes": [d.number(0, len(shape))]}
    d.add("Scan", [state, x], 2, how=FAST, body=graph, num_scan_inputs=1, **some)


class _Chain:
    """Nodes on sequences, to be computed together; the name of the latest result is `last`."""

    def __init__(self, d: Draft) -> None:
        self._d, self._nodes, self._read = d, list[NodeProto](), list[Value]()
        self.last = ""

    def node(self, op_type: str, *inputs: Value | str | None, **attributes: Any) -> str:
        """One more node."""
        self._read += [each for each in inputs if isinstance(each, Value)]
        names = [each.name if isinstance(each, Value) else each or "" for each in inputs]
        place = f"{len(self._d.nodes)}_{len(self._nodes)}"
        self.last = f"s{place}"
        self._nodes.append(helper.make_node(op_type, names, [self.last], name=f"{op_type}_{place}", **attributes))
        return self.last

    def end(self, *outputs: str) -> None:
        """These tensors come out of it."""
        read = {value.name: value for value in self._read}
        self._d.put(self._nodes, outputs, list(read.values()), MOVES)


def _sequence(op_type: str, d: Draft) -> None:
    """A sequence that is made, changed and read by position; `op_type` is among the operators."""
    if d.opset < 11 or (op_type == "SequenceMap" and d.opset < 17):
        raise Refused("a later operator")
    x = d.take(("float32", "float32", "int64", "int8"), ranks=(1, 4))
    chain, count = _Chain(d), d.number(2, 4)
    axis = d.number(0, x.rank - 1)
    even = x.shape
    if op_type == "SplitToSequence" or d.chance(0.3):
        if x.shape[axis] % count:
            count = x.shape[axis]
        size = d.known(np.array(x.shape[axis] // count))
        even = tuple(n if place != axis else x.shape[axis] // count for place, n in enumerate(x.shape))
        items = chain.node("SplitToSequence", x, size, axis=axis)
    elif op_type == "SequenceEmpty":
        items, count = chain.node("SequenceEmpty", dtype=onnx_type(x.array)), 0
        for _ in range(2):
            items, count = chain.node("SequenceInsert", items, x), count + 1
    else:
        items = chain.node("SequenceConstruct", *(x if d.chance(0.5) else d.fresh(x.dtype, even) for _ in range(count)))
    wanted = [op_type, *(d.pick(("SequenceInsert", "SequenceErase")) for _ in range(d.number(0, 2)))]
    for each in wanted:
        place = d.known(np.array(d.number(-count, count - 1))) if d.chance(0.7) else None
        if each == "SequenceInsert":
            items, count = chain.node(each, items, d.fresh(x.dtype, even), *([place] if place else [])), count + 1
        elif each == "SequenceErase" and count > 1:
            items, count = chain.node(each, items, *([place] if place else [])), count - 1
        elif each == "SequenceMap":
            inside = _Body(d, "each", [])
            inside.known.append(inside.name("item"))
            name = inside.known[0]
            inside.nodes.append(helper.make_node("Neg", [name], [inside.name("v")], name=inside.name("v")))
            graph = inside.graph([_info(name, x, even)], [_info(inside.nodes[-1].output[0], x, even)])
            items = chain.node(each, items, body=graph)
    if op_type == "SequenceLength":
        chain.end(chain.node("SequenceLength", items))
    elif op_type == "ConcatFromSequence" or d.chance(0.3):
        chain.end(chain.node("ConcatFromSequence", items, axis=axis, new_axis=d.number(0, 1)))
    else:
        chain.end(chain.node("SequenceAt", items, d.known(np.array(d.number(-count, count - 1)))))


def _optional(op_type: str, d: Draft) -> None:
    """The value if there is one, and whether there is."""
    if d.opset < 15:
        raise Refused("a later operator")
    x = d.take(("float32", "int64"), ranks=(0, 3))
    chain = _Chain(d)
    maybe = chain.node("Optional", x)
    chain.end(chain.node("OptionalHasElement" if op_type == "OptionalHasElement" else "OptionalGetElement", maybe))


SEQUENCES = (
    *("SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength"),
    *("SplitToSequence", "ConcatFromSequence", "SequenceMap"),
)
DRAWERS: dict[str, Drawer] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
    **{name: partial(_sequence, name) for name in SEQUENCES},
    **{name: partial(_optional, name) for name in ("Optional", "OptionalGetElement", "OptionalHasElement")},
}
"""Operator -> what draws it."""
