"""A node of a test's model with the values of its tensors, as functions of the reference are given it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from lite_model import Graph, Operator, Tensor

from lite_reference.fixed import INT32, Array, rounded


@dataclass(frozen=True)
class Value:
    """A tensor and its elements."""

    tensor: Tensor
    array: Array

    @property
    def dtype(self) -> str:
        """The name of the element type."""
        return self.tensor.dtype

    @property
    def scales(self) -> Array:
        """The scales, of one channel each or one for all, as float32."""
        return np.atleast_1d(np.asarray(self.tensor.scale, np.float32))

    @property
    def scale(self) -> np.float32:
        """The first scale."""
        return self.scales[0]

    @property
    def zero(self) -> int:
        """The first zero point."""
        return int(np.atleast_1d(np.asarray(self.tensor.zero))[0])

    @property
    def is_quantized(self) -> bool:
        """Whether it has a scale."""
        return self.tensor.scale is not None

    @property
    def centered(self) -> Array:
        """The elements as int64 less the zero point."""
        return self.array.astype(np.int64) - self.zero


class Node:
    """A node: values of its inputs, tensors of its outputs, options, and what lives from call to call."""

    def __init__(self, operator: Operator, graph: Graph, values: Mapping[str, Array], memory: Memory) -> None:
        tensors = {tensor.name: tensor for tensor in graph.tensors}
        self.operator, self.memory = operator, memory
        self.inputs = [name and Value(tensors[name], values[name]) for name in operator.inputs]
        self.outputs = [Value(tensors[name], np.empty(0)) for name in operator.outputs]
        self.intermediates = [Value(tensors[name], np.empty(0)) for name in operator.intermediates]

    def __getitem__(self, index: int) -> Value:
        """An input that there is."""
        value = self.inputs[index]
        assert isinstance(value, Value), f"{self.operator.code} has no input {index}"
        return value

    def get(self, index: int) -> Value | None:
        """An input, if it is there."""
        value = self.inputs[index] if index < len(self.inputs) else None
        return value if isinstance(value, Value) else None

    @property
    def out(self) -> Value:
        """The first output."""
        return self.outputs[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first output, which TFLite Micro takes from the file."""
        return self.out.tensor.shape

    def option(self, name: str, default: Any = 0) -> Any:
        """An option of the node."""
        return self.operator.options.get(name, default)


Outputs = Array | Sequence[Array]
REFERENCES: dict[str, Callable[[Node], Outputs]] = {}
"""Names of operators -> what they compute."""


def computes(*codes: str) -> Callable[[Callable[[Node], Outputs]], Callable[[Node], Outputs]]:
    """Register the reference of operators."""

    def register(function: Callable[[Node], Outputs]) -> Callable[[Node], Outputs]:
        assert not set(codes) & REFERENCES.keys()
        REFERENCES.update(dict.fromkeys(codes, function))
        return function

    return register


class Memory:
    """Variables of a model by name, states of its nodes by place, and its subgraphs."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self.graphs = graphs
        self.variables: dict[str, Array] = {}
        self.states: dict[tuple[str, str], Array] = {}
        self.called: set[int] = set()

    def run(self, index: int, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of a subgraph."""
        graph = self.graphs[index]
        values = {each.name: each.data for each in graph.tensors if each.data is not None}
        values |= {each.name: np.zeros(each.shape, each.dtype) for each in graph.tensors if each.variable}
        values |= dict(zip(graph.inputs, inputs, strict=True))
        for operator in graph.operators:
            found = REFERENCES[operator.code](Node(operator, graph, values, self))
            outputs = [found] if isinstance(found, np.ndarray) else found
            for name, array in zip(operator.outputs, outputs, strict=True):
                tensor = next(each for each in graph.tensors if each.name == name)
                assert array.dtype.name == tensor.dtype or tensor.dtype == "resource", (operator.code, array.dtype)
                values[name] = array.reshape(tensor.shape)
        return [values[name] for name in graph.outputs]


# --- fused activations -----------------------------------------------------------------------------------------------

_REAL = {"NONE": (-np.inf, np.inf), "RELU": (0, np.inf), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1)}


def quantized_range(activation: str, to: Value) -> tuple[int, int]:
    """The least and the greatest value of a quantised output: its type's, and those of the activation, rounded."""
    limits = np.iinfo(to.dtype)
    low, high = _REAL[activation]
    least, most = limits.min, limits.max
    if np.isfinite(low):
        least = max(least, to.zero + int(rounded(np.float32(low) / to.scale)))
    if np.isfinite(high):
        most = min(most, to.zero + int(rounded(np.float32(high) / to.scale)))
    return least, most


def activated(node: Node, x: Array) -> Array:
    """Numbers of the output, its zero point included, within the range of the fused activation and of the type."""
    return np.clip(x, *quantized_range(node.option("fused_activation_function", "NONE"), node.out)).astype(
        node.out.dtype
    )


def real_activated(node: Node, x: Array) -> Array:
    """Floats within the range of the fused activation."""
    low, high = _REAL[node.option("fused_activation_function", "NONE")]
    return np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high))


def integer_range(activation: str) -> tuple[int, int]:
    """The range of a fused activation of plain int32."""
    low, high = _REAL[activation]
    return int(max(low, INT32.min)), int(min(high, INT32.max))
