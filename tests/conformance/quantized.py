"""Random graphs of quantised operators, and what onnxruntime and compiled models make of them.

Many small graphs are one model, so that many cases are a handful of compilations; AOTC_CASES says how many of each
kind. They take turns on optimisation levels: without vectors arithmetic is in fixed point. Weights are at most 64, of
which no pair of products saturates on processors whose instructions would.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnxruntime
from onnx import GraphProto, ModelProto, helper, numpy_helper

import aotc

Array = np.ndarray[Any, Any]
Generator = np.random.Generator

CASES = int(os.environ.get("AOTC_CASES", "100"))
"""Of each kind."""
LEVELS = (0, 3)
TOGETHER = 50
"""Cases of one model."""
MICROSOFT = "com.microsoft"


@dataclass
class Graph:
    """Several cases in one graph."""

    r: Generator
    opset: int = 17
    nodes: list[Any] = field(default_factory=list[Any])
    initializers: dict[str, Array] = field(default_factory=dict[str, Array])
    inputs: dict[str, Array] = field(default_factory=dict[str, Array])
    outputs: list[str] = field(default_factory=list[str])

    def name(self) -> str:
        return f"v{len(self.nodes) + len(self.initializers) + len(self.inputs)}"

    def constant(self, array: Array) -> str:
        name = self.name()
        self.initializers[name] = array
        return name

    def node(self, op_type: str, *inputs: str, domain: str = "", **attributes: object) -> str:
        name = self.name()
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], domain=domain, **attributes))
        return name

    def input(self, dtype: Any, *shape: int) -> str:
        info = np.iinfo(dtype)
        name = self.name()
        self.inputs[name] = self.r.integers(info.min, info.max + 1, shape).astype(dtype)
        return name

    def scale(self, low: float = 0.01, high: float = 0.1) -> np.float32:
        """Random, or a power of two: of those products lie in the middle between two integers."""
        if self.r.integers(4) == 0:
            return np.float32(2.0 ** math.floor(math.log2(high)))
        return np.float32(self.r.uniform(low, high))

    def parameters(self, dtype: Any, scale: np.float32) -> tuple[str, str]:
        info = np.iinfo(dtype)
        point = self.r.choice([0, info.min, info.max, int(self.r.integers(info.min, info.max + 1))])
        return self.constant(np.array(scale)), self.constant(np.array(point, dtype))

    def real(self, value: str, scale: str, point: str, **attributes: object) -> str:
        return self.node("DequantizeLinear", value, scale, point, **attributes)

    def integers(self, value: str, dtype: Any, scale: np.float32) -> None:
        """Quantise, and make that an output."""
        self.outputs.append(self.node("QuantizeLinear", value, *self.parameters(dtype, scale)))

    def weight(self, axis: int, *shape: int) -> tuple[str, str, str, Array]:
        """A weight, its scale (of the tensor, or of each index of `axis`), its zero point, 0, and the scale again."""
        count = shape[axis] if self.r.integers(2) else 1
        scales = self.r.uniform(0.001, 0.02, count).astype(np.float32)
        scales = scales if count > 1 else scales.reshape(())
        values = self.constant(self.r.integers(-64, 65, shape).astype(np.int8))
        return values, self.constant(scales), self.constant(np.zeros(scales.shape, np.int8)), scales

    def model(self) -> ModelProto:
        def value(name: str, kind: int, shape: Any) -> Any:
            return helper.make_tensor_value_info(name, kind, shape)

        inputs = [
            value(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in self.inputs.items()
        ]
        graph: GraphProto = helper.make_graph(
            self.nodes,
            "quantized",
            inputs,
            [helper.make_empty_tensor_value_info(name) for name in self.outputs],
            [numpy_helper.from_array(array, name) for name, array in self.initializers.items()],
        )
        sets = [helper.make_opsetid("", self.opset), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=10)


def pick(g: Graph, *choices: Any) -> Any:
    """One of them."""
    return choices[int(g.r.integers(len(choices)))]


def window(g: Graph, rank: int) -> tuple[list[int], dict[str, Any]]:
    """A kernel, and the attributes of a convolution or pool by it."""
    kernel = [int(each) for each in g.r.integers(1, 4, rank)]
    pads = [int(g.r.integers(size)) for size in (*kernel, *kernel)]
    strides, dilations = ([int(each) for each in g.r.integers(1, 3, rank)] for _ in range(2))
    return kernel, {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads}


def scale_of_sums(g: Graph, dtype: Any) -> np.float32:
    """A scale of results that leaves most of them unclamped."""
    return np.float32(g.r.uniform(0.02, 0.2))


def session(model: ModelProto, *, optimize: bool = True) -> onnxruntime.InferenceSession:
    """One that computes with integers where it can, or without `optimize` node by node, as ONNX says."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.add_session_config_entry("session.qdqisint8allowed", "1")  # else i8 is computed in floats on x86
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def compared(make: Callable[[Graph], None], seed: int, opset: int = 17) -> list[tuple[Array, Array]]:
    """The outputs of some cases: ours, and those of onnxruntime.

    From opset 21 on, that of 16 bits, node by node: it would compute products with constant int8 by blocks of them.
    """
    g = Graph(np.random.default_rng(seed), opset)
    for _ in range(TOGETHER):
        make(g)
    model = g.model()
    wanted = session(model, optimize=opset < 21).run(g.outputs, g.inputs)
    computed = aotc.compile(model, optimize=LEVELS[seed % len(LEVELS)])(g.inputs)
    return [(computed[name], value) for name, value in zip(g.outputs, wanted, strict=True)]


def assert_equal(make: Callable[[Graph], None], opset: int = 17) -> None:
    """Every element of every case is that of onnxruntime."""
    for seed in range(CASES // TOGETHER):
        for number, (computed, wanted) in enumerate(compared(make, seed, opset)):
            assert computed.dtype == wanted.dtype and computed.shape == wanted.shape
            assert (computed == wanted).all(), f"case {number} of seed {seed}"


def assert_close(make: Callable[[Graph], None], opset: int = 17) -> None:
    """Every element is that of onnxruntime or next to it, and few are not equal."""
    count = other = 0
    for seed in range(CASES // TOGETHER):
        for computed, wanted in compared(make, seed, opset):
            distance = np.abs(computed.astype(np.int64) - wanted)
            assert distance.max() <= 1
            count, other = count + distance.size, other + int((distance > 0).sum())
    assert other <= count / 50
