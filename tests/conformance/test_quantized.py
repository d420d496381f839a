"""Quantised operators on random shapes, zero points, scales, pads and groups, against onnxruntime's integer kernels.

Many small graphs are one model, so that many cases are a handful of compilations; AOTC_CASES says how many of each
kind. They take turns on optimisation levels: without vectors requantisation is in fixed point. Weights are at most
64, of which no pair of products saturates on processors whose instructions would.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper, save

import aotc
from aotc.measuring.routes import open_model
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]
Generator = np.random.Generator

CASES = int(os.environ.get("AOTC_CASES", "100"))
"""Of each kind."""
LEVELS = (0, 3)
TOGETHER = 50
"""Cases of one model."""
_TYPES = {np.dtype(np.int8): TensorProto.INT8, np.dtype(np.uint8): TensorProto.UINT8}
_MICROSOFT = "com.microsoft"


@dataclass
class Graph:
    """Several cases in one graph."""

    r: Generator
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

        inputs = [value(name, _TYPES[array.dtype], array.shape) for name, array in self.inputs.items()]
        graph: GraphProto = helper.make_graph(
            self.nodes,
            "quantized",
            inputs,
            [helper.make_empty_tensor_value_info(name) for name in self.outputs],
            [numpy_helper.from_array(array, name) for name, array in self.initializers.items()],
        )
        sets = [helper.make_opsetid("", 17), helper.make_opsetid(_MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=8)


def _pick(g: Graph, *choices: Any) -> Any:
    return choices[int(g.r.integers(len(choices)))]


def _window(g: Graph, rank: int) -> tuple[list[int], dict[str, Any]]:
    kernel = [int(each) for each in g.r.integers(1, 4, rank)]
    pads = [int(g.r.integers(size)) for size in (*kernel, *kernel)]
    strides, dilations = ([int(each) for each in g.r.integers(1, 3, rank)] for _ in range(2))
    return kernel, {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads}


def _sums(g: Graph, dtype: Any) -> np.float32:
    """A scale of results that leaves most of them unclamped."""
    return np.float32(g.r.uniform(0.02, 0.2))


def conv(g: Graph) -> None:
    dtype, rank, group = _pick(g, np.int8, np.uint8), _pick(g, 1, 2, 2), _pick(g, 1, 1, 2, 3)
    kernel, attributes = _window(g, rank)
    each, outputs = int(g.r.integers(1, 4)), group * int(g.r.integers(1, 3))
    x, scale = g.input(dtype, 1, group * each, *(int(n) for n in g.r.integers(6, 9, rank))), g.scale()
    w, ws, wz, scales = g.weight(0, outputs, each, *kernel)
    operands = [g.real(x, *g.parameters(dtype, scale)), g.real(w, ws, wz, axis=0)]
    if g.r.integers(2):
        of_bias = np.broadcast_to(scale * scales, (outputs,)) if scales.size > 1 else scale * scales
        bias = g.constant(g.r.integers(-2000, 2000, outputs).astype(np.int32))
        operands.append(g.node("DequantizeLinear", bias, g.constant(np.asarray(of_bias, np.float32)), axis=0))
    g.integers(g.node("Conv", *operands, group=group, **attributes), dtype, _sums(g, dtype))


def qlinear_conv(g: Graph) -> None:
    dtype, rank, group = _pick(g, np.int8, np.uint8), _pick(g, 1, 2, 2), _pick(g, 1, 1, 2)
    kernel, attributes = _window(g, rank)
    each, outputs = int(g.r.integers(1, 4)), group * int(g.r.integers(1, 3))
    x, scale = g.input(dtype, 1, group * each, *(int(n) for n in g.r.integers(6, 9, rank))), g.scale()
    w, ws, wz, _ = g.weight(0, outputs, each, *kernel)
    given = [x, *g.parameters(dtype, scale), w, ws, wz, *g.parameters(dtype, _sums(g, dtype))]
    if g.r.integers(2):
        given.append(g.constant(g.r.integers(-2000, 2000, outputs).astype(np.int32)))
    g.outputs.append(g.node("QLinearConv", *given, group=group, **attributes))


def gemm(g: Graph) -> None:
    dtype, (m, k, n) = _pick(g, np.int8, np.uint8), (int(each) for each in g.r.integers(1, 20, 3))
    transposed, scale = int(g.r.integers(2)), g.scale()
    x = g.input(dtype, m, k)
    w, ws, wz, scales = g.weight(0 if transposed else 1, *((n, k) if transposed else (k, n)))
    operands = [g.real(x, *g.parameters(dtype, scale)), g.real(w, ws, wz, axis=0 if transposed else 1)]
    if g.r.integers(2):
        bias = g.constant(g.r.integers(-2000, 2000, n).astype(np.int32))
        scale_of_bias = g.constant(np.asarray(scale * scales, np.float32))
        operands.append(g.node("DequantizeLinear", bias, scale_of_bias, axis=0))
    g.integers(g.node("Gemm", *operands, transB=transposed), dtype, _sums(g, dtype))


def matmul(g: Graph) -> None:
    dtype, (m, k, n) = _pick(g, np.int8, np.uint8), (int(each) for each in g.r.integers(1, 20, 3))
    batch = (2,) * int(g.r.integers(2))
    left = g.real(g.input(dtype, *batch, m, k), *g.parameters(dtype, g.scale()))
    if dtype is np.uint8 and g.r.integers(2):
        right = g.real(g.input(dtype, *batch, k, n), *g.parameters(dtype, g.scale(0.001, 0.01)))
    else:
        w, ws, wz, _ = g.weight(1, k, n)
        right = g.real(w, ws, wz, axis=1)
    g.integers(g.node("MatMul", left, right), dtype, _sums(g, dtype))


def matmul_integer(g: Graph) -> None:
    m, k, n = (int(each) for each in g.r.integers(1, 20, 3))
    point = g.constant(np.array(g.r.integers(256), np.uint8))
    w = g.constant(g.r.integers(-64, 65, (k, n)).astype(np.int8))
    zero = g.constant(np.zeros((), np.int8))
    product = g.node("MatMulInteger", g.input(np.uint8, m, k), w, point, zero)
    g.outputs.append(product)


def global_pool(g: Graph) -> None:
    dtype, scale = _pick(g, np.int8, np.uint8), g.scale()
    x = g.input(dtype, 1, int(g.r.integers(1, 5)), *(int(n) for n in g.r.integers(1, 9, 2)))
    given = [*g.parameters(dtype, scale), *g.parameters(dtype, np.float32(scale * g.r.choice([1, 0.5, 0.37])))]
    g.outputs.append(g.node("QLinearGlobalAveragePool", x, *given, domain=_MICROSOFT, channels_last=0))


def movement(g: Graph) -> None:
    dtype = _pick(g, np.int8, np.uint8)
    x = g.input(dtype, 1, 2, 6, 6)
    scale, point = g.parameters(dtype, g.scale())
    value = g.real(x, scale, point)
    value = g.node("Transpose", value, perm=[0, 1, 3, 2])
    value = g.node("MaxPool", value, kernel_shape=[2, 2], strides=[int(g.r.integers(1, 3))] * 2, pads=[1, 0, 0, 1])
    again = g.node("QuantizeLinear", value, scale, point)
    joined = g.node("Concat", g.real(again, scale, point), g.real(again, scale, point), axis=1)
    g.outputs.append(g.node("QuantizeLinear", joined, scale, point))


EXACT: dict[str, Callable[[Graph], None]] = {
    each.__name__: each for each in (conv, qlinear_conv, gemm, matmul, matmul_integer, global_pool, movement)
}
"""What onnxruntime computes with integers: every bit is equal."""


def conv_transpose(g: Graph) -> None:
    dtype, rank, group = _pick(g, np.int8, np.uint8), _pick(g, 1, 2), _pick(g, 1, 1, 2)
    kernel, attributes = _window(g, rank)
    attributes["pads"] = [0] * (2 * rank)
    x = g.input(dtype, 1, 2 * group, *(int(n) for n in g.r.integers(3, 6, rank)))
    w, ws, wz, _ = g.weight(1, 2 * group, int(g.r.integers(1, 3)), *kernel)
    if group > 1 and g.initializers[ws].size > 1:
        ws, wz = g.constant(np.float32([0.01]).reshape(())), g.constant(np.zeros((), np.int8))
    operands = [g.real(x, *g.parameters(dtype, g.scale())), g.real(w, ws, wz, axis=1)]
    g.integers(g.node("ConvTranspose", *operands, group=group, **attributes), dtype, _sums(g, dtype))


def function(g: Graph) -> None:
    dtype = _pick(g, np.int8, np.uint8)
    value = g.real(g.input(dtype, 8, 32), *g.parameters(dtype, g.scale(0.01, 0.05)))
    op_type = _pick(g, "Sigmoid", "Tanh", "Relu", "LeakyRelu", "HardSwish", "Exp", "Softplus", "Elu")
    g.integers(g.node(op_type, value), dtype, g.scale(0.005, 0.05))


def arithmetic(g: Graph) -> None:
    dtype = _pick(g, np.int8, np.uint8)
    sides = [g.real(g.input(dtype, 4, 32), *g.parameters(dtype, g.scale(0.01, 0.05))) for _ in range(2)]
    g.integers(g.node(_pick(g, "Add", "Sub", "Mul"), *sides), dtype, g.scale(0.02, 0.1))


def pool(g: Graph) -> None:
    dtype, scale = _pick(g, np.int8, np.uint8), g.scale()
    value = g.real(g.input(dtype, 1, 3, 9, 9), *g.parameters(dtype, scale))
    side = int(g.r.integers(1, 6))
    counted = int(g.r.integers(2))
    pads = [int(g.r.integers(side))] * 4 if counted else [0] * 4
    given = {"kernel_shape": [side, side], "count_include_pad": counted, "pads": pads}
    g.integers(g.node("AveragePool", value, strides=[2, 2], **given), dtype, np.float32(scale * _pick(g, 1, 0.7)))


def softmax(g: Graph) -> None:
    dtype = _pick(g, np.int8, np.uint8)
    value = g.real(g.input(dtype, 2, int(g.r.integers(2, 20))), *g.parameters(dtype, g.scale(0.01, 0.05)))
    g.integers(g.node("Softmax", value, axis=-1), dtype, np.float32(1 / 256))


CLOSE: dict[str, Callable[[Graph], None]] = {
    each.__name__: each for each in (conv_transpose, function, arithmetic, pool, softmax)
}
"""What it computes with floats, in an order or by tables of its own: where a result is about half it may be another."""


def _session(model: ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.qdqisint8allowed", "1")  # else i8 is computed in floats on x86
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _compared(make: Callable[[Graph], None], seed: int) -> list[tuple[Array, Array]]:
    """The outputs of some cases: ours, and those of onnxruntime."""
    g = Graph(np.random.default_rng(seed))
    for _ in range(TOGETHER):
        make(g)
    model = g.model()
    wanted = _session(model).run(g.outputs, g.inputs)
    computed = aotc.compile(model, optimize=LEVELS[seed % len(LEVELS)])(g.inputs)
    return [(computed[name], value) for name, value in zip(g.outputs, wanted, strict=True)]


@pytest.mark.parametrize("kind", EXACT)
def test_integers_are_those_of_onnxruntime(kind: str) -> None:
    for seed in range(CASES // TOGETHER):
        for number, (computed, wanted) in enumerate(_compared(EXACT[kind], seed)):
            assert computed.dtype == wanted.dtype and computed.shape == wanted.shape
            assert (computed == wanted).all(), f"case {number} of seed {seed}"


@pytest.mark.parametrize("kind", CLOSE)
def test_integers_are_next_to_those_of_onnxruntime(kind: str) -> None:
    count = other = 0
    for seed in range(CASES // TOGETHER):
        for computed, wanted in _compared(CLOSE[kind], seed):
            distance = np.abs(computed.astype(np.int64) - wanted)
            assert distance.max() <= 1
            count, other = count + distance.size, other + int((distance > 0).sum())
    assert other <= count / 50


@pytest.mark.parametrize("optimize", [str(level) for level in LEVELS])
def test_c_and_llvm_give_the_same_integers(optimize: str, tmp_path: Path) -> None:
    g = Graph(np.random.default_rng(0))
    for make in (*EXACT.values(), *CLOSE.values()):
        for _ in range(4):
            make(g)
    path = tmp_path / "cases.onnx"
    save(g.model(), path)
    options = CompileOptions(optimize=optimize)
    by_c, by_llvm = (open_model(str(path), route, options)(g.inputs) for route in ("c", "jit"))
    assert all(by_c[name].tobytes() == by_llvm[name].tobytes() for name in g.outputs)
