"""Random models of nested If, Loop and Scan: states that change places, are handed on, overwritten, stacked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from aotc.dialects.arrays import Array

SHAPE = (3, 4)


def _tensors(names: Sequence[str]) -> list[ValueInfoProto]:
    return [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in names]


def _scalar(name: str, kind: int) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, [])


class _Bodies:
    """Draws bodies of nodes on tensors of one shape."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._count = 0

    def name(self) -> str:
        """A new name."""
        self._count += 1
        return f"v{self._count}"

    def pick(self, names: Sequence[str]) -> str:
        """One of `names`."""
        return names[int(self._rng.integers(len(names)))]

    def chance(self) -> bool:
        """True half of the time."""
        return bool(self._rng.integers(2))

    def body(self, values: list[str], depth: int, count: int, iterations: Sequence[str]) -> list[NodeProto]:
        """Nodes that read `values`, to which their results are added; `iterations` are numbers of loops around."""
        nodes: list[NodeProto] = []
        for _ in range(count):
            kind = int(self._rng.integers(10 if depth else 6))
            if kind < 6:
                self._plain(kind, nodes, values)
            elif kind < 8:
                self._if(nodes, values, depth - 1, iterations)
            elif kind == 8:
                self._loop(nodes, values, depth - 1, iterations)
            else:
                self._scan(nodes, values, depth - 1, iterations)
        return nodes

    def add(self, nodes: list[NodeProto], op_type: str, inputs: Sequence[str], **attributes: object) -> str:
        """A node with one result, whose name it is."""
        result = self.name()
        nodes.append(helper.make_node(op_type, inputs, [result], **attributes))
        return result

    def _plain(self, kind: int, nodes: list[NodeProto], values: list[str]) -> None:
        a, b = self.pick(values), self.pick(values)
        match kind:
            case 0:
                result = self.add(nodes, "Tanh", [self.add(nodes, "Add", [a, b])])
            case 1:
                result = self.add(nodes, "Sin", [self.add(nodes, "MatMul", [a, "weight"])])
            case 2:
                result = self.add(nodes, self.pick(("Neg", "Identity", "Cos")), [a])
            case 3:  # a part of a concatenation
                parts = self.name(), self.name()
                nodes.append(helper.make_node("Split", [self.add(nodes, "Concat", [a, b], axis=0)], parts, axis=0))
                result = self.pick(parts)
            case 4:  # views
                flat = self.add(nodes, "Reshape", [a, "flat"])
                values.append(self.add(nodes, "Reshape", [flat, "shape"]))
                result = self.add(nodes, "Reshape", [self.add(nodes, "Sigmoid", [flat]), "shape"])
            case _:
                turned = self.add(nodes, "Transpose", [a], perm=[1, 0])
                square = self.add(nodes, "MatMul", [b, turned])
                result = self.add(nodes, "Softsign", [self.add(nodes, "MatMul", [square, a])])
        values.append(result)

    def _outputs(self, nodes: list[NodeProto], values: Sequence[str], count: int) -> list[str]:
        """Names for `count` of the values, which a body gives."""
        return [self.add(nodes, "Identity", [self.pick(values)]) for _ in range(count)]

    def _if(self, nodes: list[NodeProto], values: list[str], depth: int, iterations: Sequence[str]) -> None:
        condition = self.pick(("c", "d"))
        if iterations and self.chance():
            rest = self.add(nodes, "Mod", [self.pick(iterations), "two"])
            condition = self.add(nodes, "Equal", [rest, "zero"])
        count = int(self._rng.integers(1, 4))
        branches: list[GraphProto] = []
        for _ in range(2):
            seen = list(values)
            inner = self.body(seen, depth, int(self._rng.integers(4)), iterations)
            outputs = self._outputs(inner, seen, count)
            branches.append(helper.make_graph(inner, self.name(), [], _tensors(outputs)))
        results = [self.name() for _ in range(count)]
        nodes.append(helper.make_node("If", [condition], results, then_branch=branches[0], else_branch=branches[1]))
        values += results

    def _loop(self, nodes: list[NodeProto], values: list[str], depth: int, iterations: Sequence[str]) -> None:
        number, goes_on = self.name(), self.name()
        carried = [self.name() for _ in range(int(self._rng.integers(1, 4)))]
        stacks = self.chance()
        seen = [*values, *carried, *carried]
        inner = self.body(seen, depth, int(self._rng.integers(1, 6)), [*iterations, number])
        near = [*seen[-10:], *carried, *carried]
        outputs = self._outputs(inner, near, len(carried) + stacks)
        if stacks or self.chance():
            condition = self.add(inner, "Identity", [goes_on])
        else:
            greatest = self.add(inner, "ReduceMax", [self.pick(near)], keepdims=0)
            condition = self.add(inner, "Less", [greatest, "limit"])
        inputs = [_scalar(number, TensorProto.INT64), _scalar(goes_on, TensorProto.BOOL), *_tensors(carried)]
        given = [_scalar(condition, TensorProto.BOOL), *_tensors(outputs)]
        results = [self.name() for _ in outputs]
        count = "forty" if stacks else self.pick(("n", "m", "forty"))
        begins = [self.pick(values) for _ in carried]
        body = helper.make_graph(inner, self.name(), inputs, given)
        nodes.append(helper.make_node("Loop", [count, self.pick(("", "yes")), *begins], results, body=body))
        if stacks:
            results.append(self.add(nodes, "ReduceMean", [results.pop()], axes=[0], keepdims=0))
        values += results

    def _scan(self, nodes: list[NodeProto], values: list[str], depth: int, iterations: Sequence[str]) -> None:
        arguments = [self.name(), self.name()]
        seen = [*values, *arguments, *arguments]
        inner = self.body(seen, depth, int(self._rng.integers(1, 5)), iterations)
        outputs = self._outputs(inner, [*seen[-5:], *arguments], 2)
        body = helper.make_graph(inner, self.name(), _tensors(arguments), _tensors(outputs))
        joined = self.add(nodes, "Concat", [self.pick(values) for _ in range(3)], axis=0)
        slices = self.add(nodes, "Reshape", [joined, "slices"])
        results = [self.name(), self.name()]
        directions = {f"scan_{which}_directions": [int(self.chance())] for which in ("input", "output")}
        given = [self.pick(values), slices]
        nodes.append(helper.make_node("Scan", given, results, body=body, num_scan_inputs=1, **directions))
        values += [results[0], self.add(nodes, "ReduceMax", [results[1]], axes=[0], keepdims=0)]


def random_model(seed: int) -> tuple[ModelProto, list[dict[str, Array]]]:
    """A model, and what it is given."""
    rng = np.random.default_rng(seed)
    draw = _Bodies(rng)
    values = ["x", "y"]
    nodes = draw.body(values, int(rng.integers(1, 4)), int(rng.integers(3, 8)), [])
    outputs = [draw.add(nodes, "Identity", [value]) for value in values[-3:]]
    constants = {
        "weight": (rng.standard_normal((4, 4)) / 2).astype(np.float32),
        "flat": np.array([4, 3]),
        "shape": np.array(SHAPE),
        "slices": np.array([3, *SHAPE]),
        "two": np.array(2),
        "zero": np.array(0),
        "forty": np.array(40),
        "limit": np.array(0.8, np.float32),
        "yes": np.array(True),
    }
    numbers = [_scalar(name, TensorProto.BOOL) for name in "cd"] + [_scalar(name, TensorProto.INT64) for name in "nm"]
    graph = helper.make_graph(
        nodes,
        "random",
        [*_tensors("xy"), *numbers],
        _tensors(outputs),
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    feeds: list[dict[str, Array]] = [
        {
            **{name: rng.standard_normal(SHAPE).astype(np.float32) for name in "xy"},
            **{name: np.array(bool(rng.integers(2))) for name in "cd"},
            **{name: np.array(int(rng.integers(most))) for name, most in (("n", 3), ("m", 6))},
        }
        for _ in range(4)
    ]
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), feeds
