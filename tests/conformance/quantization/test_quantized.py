"""Quantised operators on random shapes, zero points, scales, pads and groups, against onnxruntime's integer kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from harness import by_c_and_llvm
from onnx import save
from quantized import CASES, LEVELS, MICROSOFT, Graph, assert_close, assert_equal, pick, scale_of_sums, session, window
from quick_c import open_quickly

import aotc
from aotc.errors import UsageError
from aotc.machines.targets import lookup
from aotc.pipeline.options import CompileOptions

BEST = "x86-64-v3" if "+avx2" in lookup("host").features else "x86-64"


def conv(g: Graph) -> None:
    dtype, rank, group = pick(g, np.int8, np.uint8), pick(g, 1, 2, 2), pick(g, 1, 1, 2, 3)
    kernel, attributes = window(g, rank)
    each, outputs = int(g.r.integers(1, 4)), group * int(g.r.integers(1, 3))
    x, scale = g.input(dtype, 1, group * each, *(int(n) for n in g.r.integers(6, 9, rank))), g.scale()
    w, ws, wz, scales = g.weight(0, outputs, each, *kernel)
    operands = [g.real(x, *g.parameters(dtype, scale)), g.real(w, ws, wz, axis=0)]
    if g.r.integers(2):
        of_bias = np.broadcast_to(scale * scales, (outputs,)) if scales.size > 1 else scale * scales
        bias = g.constant(g.r.integers(-2000, 2000, outputs).astype(np.int32))
        operands.append(g.node("DequantizeLinear", bias, g.constant(np.asarray(of_bias, np.float32)), axis=0))
    g.integers(g.node("Conv", *operands, group=group, **attributes), dtype, scale_of_sums(g, dtype))


def qlinear_conv(g: Graph) -> None:
    dtype, rank, group = pick(g, np.int8, np.uint8), pick(g, 1, 2, 2), pick(g, 1, 1, 2)
    kernel, attributes = window(g, rank)
    each, outputs = int(g.r.integers(1, 4)), group * int(g.r.integers(1, 3))
    x, scale = g.input(dtype, 1, group * each, *(int(n) for n in g.r.integers(6, 9, rank))), g.scale()
    w, ws, wz, _ = g.weight(0, outputs, each, *kernel)
    given = [x, *g.parameters(dtype, scale), w, ws, wz, *g.parameters(dtype, scale_of_sums(g, dtype))]
    if g.r.integers(2):
        given.append(g.constant(g.r.integers(-2000, 2000, outputs).astype(np.int32)))
    g.outputs.append(g.node("QLinearConv", *given, group=group, **attributes))


def tiles(g: Graph) -> None:
    """3 x 3 taps, any pads, an image of which tiles of 4 do not cover all, a scale of the weight or of each channel."""
    dtype, (channels, outputs) = pick(g, np.int8, np.uint8), (int(n) for n in g.r.integers(16, 70, 2))
    pads, extents = ([int(n) for n in g.r.integers(low, high, count)] for low, high, count in ((0, 3, 4), (4, 20, 2)))
    x, scale = g.input(dtype, int(g.r.integers(1, 3)), channels, *extents), g.scale()
    w, ws, wz, _ = g.weight(0, outputs, channels, 3, 3)
    given = [x, *g.parameters(dtype, scale), w, ws, wz, *g.parameters(dtype, np.float32(4 * scale_of_sums(g, dtype)))]
    if g.r.integers(2):
        given.append(g.constant(g.r.integers(-2000, 2000, outputs).astype(np.int32)))
    g.outputs.append(g.node("QLinearConv", *given, pads=pads))


def gemm(g: Graph) -> None:
    dtype, (m, k, n) = pick(g, np.int8, np.uint8), (int(each) for each in g.r.integers(1, 20, 3))
    transposed, scale = int(g.r.integers(2)), g.scale()
    x = g.input(dtype, m, k)
    w, ws, wz, scales = g.weight(0 if transposed else 1, *((n, k) if transposed else (k, n)))
    operands = [g.real(x, *g.parameters(dtype, scale)), g.real(w, ws, wz, axis=0 if transposed else 1)]
    if g.r.integers(2):
        bias = g.constant(g.r.integers(-2000, 2000, n).astype(np.int32))
        scale_of_bias = g.constant(np.asarray(scale * scales, np.float32))
        operands.append(g.node("DequantizeLinear", bias, scale_of_bias, axis=0))
    g.integers(g.node("Gemm", *operands, transB=transposed), dtype, scale_of_sums(g, dtype))


def matmul(g: Graph) -> None:
    dtype, (m, k, n) = pick(g, np.int8, np.uint8), (int(each) for each in g.r.integers(1, 20, 3))
    batch = (2,) * int(g.r.integers(2))
    left = g.real(g.input(dtype, *batch, m, k), *g.parameters(dtype, g.scale()))
    if dtype is np.uint8 and g.r.integers(2):
        right = g.real(g.input(dtype, *batch, k, n), *g.parameters(dtype, g.scale(0.001, 0.01)))
    else:
        w, ws, wz, _ = g.weight(1, k, n)
        right = g.real(w, ws, wz, axis=1)
    g.integers(g.node("MatMul", left, right), dtype, scale_of_sums(g, dtype))


def matmul_integer(g: Graph) -> None:
    m, k, n = (int(each) for each in g.r.integers(1, 20, 3))
    point = g.constant(np.array(g.r.integers(256), np.uint8))
    w = g.constant(g.r.integers(-64, 65, (k, n)).astype(np.int8))
    zero = g.constant(np.zeros((), np.int8))
    product = g.node("MatMulInteger", g.input(np.uint8, m, k), w, point, zero)
    g.outputs.append(product)


def global_pool(g: Graph) -> None:
    dtype, scale = pick(g, np.int8, np.uint8), g.scale()
    x = g.input(dtype, 1, int(g.r.integers(1, 5)), *(int(n) for n in g.r.integers(1, 9, 2)))
    given = [*g.parameters(dtype, scale), *g.parameters(dtype, np.float32(scale * g.r.choice([1, 0.5, 0.37])))]
    g.outputs.append(g.node("QLinearGlobalAveragePool", x, *given, domain=MICROSOFT, channels_last=0))


def movement(g: Graph) -> None:
    dtype = pick(g, np.int8, np.uint8)
    x = g.input(dtype, 1, 2, 6, 6)
    scale, point = g.parameters(dtype, g.scale())
    value = g.real(x, scale, point)
    value = g.node("Transpose", value, perm=[0, 1, 3, 2])
    value = g.node("MaxPool", value, kernel_shape=[2, 2], strides=[int(g.r.integers(1, 3))] * 2, pads=[1, 0, 0, 1])
    again = g.node("QuantizeLinear", value, scale, point)
    joined = g.node("Concat", g.real(again, scale, point), g.real(again, scale, point), axis=1)
    g.outputs.append(g.node("QuantizeLinear", joined, scale, point))


def qlinear_matmul(g: Graph) -> None:
    dtype, (m, k, n) = pick(g, np.int8, np.uint8), (int(each) for each in g.r.integers(1, 20, 3))
    left = [g.input(dtype, m, k), *g.parameters(dtype, g.scale())]
    right = [g.constant(g.r.integers(-64, 65, (k, n)).astype(np.int8)), *g.parameters(np.int8, np.float32(0.01))]
    g.initializers[right[2]] = np.zeros((), np.int8)
    g.outputs.append(g.node("QLinearMatMul", *left, *right, *g.parameters(dtype, scale_of_sums(g, dtype))))


def qgemm(g: Graph) -> None:
    dtype, (m, k, n) = pick(g, np.int8, np.uint8), (int(each) for each in g.r.integers(1, 20, 3))
    transposed = int(g.r.integers(2))
    x = [g.input(dtype, m, k), *g.parameters(dtype, g.scale())]
    w, ws, wz, _ = g.weight(0 if transposed else 1, *((n, k) if transposed else (k, n)))
    bias = g.constant(g.r.integers(-2000, 2000, n).astype(np.int32)) if g.r.integers(2) else ""
    given = [*x, w, ws, wz, bias, *g.parameters(dtype, scale_of_sums(g, dtype))]
    alpha = pick(g, 1.0, 0.5)
    g.outputs.append(g.node("QGemm", *given, domain=MICROSOFT, transB=transposed, alpha=alpha))


def qlinear_concat(g: Graph) -> None:
    dtype, axis = pick(g, np.int8, np.uint8), int(g.r.integers(1, 3))
    scale, point = g.parameters(dtype, g.scale())
    parts: list[str] = []
    for _ in range(int(g.r.integers(2, 4))):
        parts += [g.input(dtype, 1, 3, 4), scale, point]
    g.outputs.append(g.node("QLinearConcat", scale, point, *parts, domain=MICROSOFT, axis=axis))


EXACT: dict[str, Callable[[Graph], None]] = {
    each.__name__: each
    for each in (
        conv,
        qlinear_conv,
        gemm,
        matmul,
        matmul_integer,
        qlinear_matmul,
        qgemm,
        qlinear_concat,
        global_pool,
        movement,
    )
}
"""Operators that onnxruntime computes with integers: every bit is equal."""


def conv_transpose(g: Graph) -> None:
    dtype, rank, group = pick(g, np.int8, np.uint8), pick(g, 1, 2), pick(g, 1, 1, 2)
    kernel, attributes = window(g, rank)
    x = g.input(dtype, 1, 2 * group, *(int(n) for n in g.r.integers(3, 6, rank)))
    w, ws, wz, _ = g.weight(1, 2 * group, int(g.r.integers(1, 3)), *kernel)
    if group > 1 and g.initializers[ws].size > 1:
        ws, wz = g.constant(np.float32([0.01]).reshape(())), g.constant(np.zeros((), np.int8))
    operands = [g.real(x, *g.parameters(dtype, g.scale())), g.real(w, ws, wz, axis=1)]
    g.integers(g.node("ConvTranspose", *operands, group=group, **attributes), dtype, scale_of_sums(g, dtype))


def function(g: Graph) -> None:
    dtype = pick(g, np.int8, np.uint8)
    value = g.real(g.input(dtype, 8, 32), *g.parameters(dtype, g.scale(0.01, 0.05)))
    op_type = pick(g, "Sigmoid", "Tanh", "Relu", "LeakyRelu", "HardSwish", "Exp", "Softplus", "Elu")
    g.integers(g.node(op_type, value), dtype, g.scale(0.005, 0.05))


def arithmetic(g: Graph) -> None:
    dtype = pick(g, np.int8, np.uint8)
    sides = [g.real(g.input(dtype, 4, 32), *g.parameters(dtype, g.scale(0.01, 0.05))) for _ in range(2)]
    g.integers(g.node(pick(g, "Add", "Sub", "Mul"), *sides), dtype, g.scale(0.02, 0.1))


def pool(g: Graph) -> None:
    dtype, scale = pick(g, np.int8, np.uint8), g.scale()
    value = g.real(g.input(dtype, 1, 3, 9, 9), *g.parameters(dtype, scale))
    side = int(g.r.integers(1, 6))
    counted = int(g.r.integers(2))
    pads = [int(g.r.integers(side))] * 4 if counted else [0] * 4
    given = {"kernel_shape": [side, side], "count_include_pad": counted, "pads": pads}
    g.integers(g.node("AveragePool", value, strides=[2, 2], **given), dtype, np.float32(scale * pick(g, 1, 0.7)))


def softmax(g: Graph) -> None:
    dtype = pick(g, np.int8, np.uint8)
    value = g.real(g.input(dtype, 2, int(g.r.integers(2, 20))), *g.parameters(dtype, g.scale(0.01, 0.05)))
    g.integers(g.node("Softmax", value, axis=-1), dtype, np.float32(1 / 256))


def qlinear_function(g: Graph) -> None:
    dtype, op_type = pick(g, np.int8, np.uint8), pick(g, "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
    x = [g.input(dtype, 4, 16), *g.parameters(dtype, g.scale(0.01, 0.05))]
    attributes = {"QLinearSoftmax": {"axis": -1, "opset": 13}, "QLinearLeakyRelu": {"alpha": 0.1}}.get(op_type, {})
    target = g.parameters(dtype, np.float32(1 / 256)) if op_type == "QLinearSoftmax" else g.parameters(dtype, g.scale())
    g.outputs.append(g.node(op_type, *x, *target, domain=MICROSOFT, **attributes))


def qlinear_arithmetic(g: Graph) -> None:
    dtype = pick(g, np.int8, np.uint8)
    sides = [[g.input(dtype, 4, 16), *g.parameters(dtype, g.scale(0.01, 0.05))] for _ in range(2)]
    op_type = pick(g, "QLinearAdd", "QLinearMul")
    target = g.parameters(dtype, g.scale(0.02, 0.1))
    g.outputs.append(g.node(op_type, *sides[0], *sides[1], *target, domain=MICROSOFT))


def qlinear_pool(g: Graph) -> None:
    last = int(g.r.integers(2))
    x = g.input(np.uint8, 1, *((7, 7, 3) if last else (3, 7, 7)))
    scale = g.scale()
    given = [x, *g.parameters(np.uint8, scale), *g.parameters(np.uint8, scale)]
    side = int(g.r.integers(1, 5))
    attributes = {"kernel_shape": [side, side], "strides": [2, 2], "channels_last": last}
    g.outputs.append(g.node("QLinearAveragePool", *given, domain=MICROSOFT, **attributes))


CLOSE: dict[str, Callable[[Graph], None]] = {
    each.__name__: each
    for each in (
        conv_transpose,
        function,
        arithmetic,
        pool,
        softmax,
        qlinear_function,
        qlinear_arithmetic,
        qlinear_pool,
    )
}
"""Those of floats, in an order or by tables of its own: where a result is about half it may be another."""


@pytest.mark.parametrize("kind", EXACT)
def test_integers_are_those_of_onnxruntime(kind: str) -> None:
    assert_equal(EXACT[kind])


@pytest.mark.parametrize("kind", CLOSE)
def test_integers_are_next_to_those_of_onnxruntime(kind: str) -> None:
    assert_close(CLOSE[kind])


@pytest.mark.parametrize(("route", "target"), [("shared", "x86-64"), ("shared", BEST), ("c", BEST)])
def test_tiles_are_those_of_onnxruntime(route: str, target: str, tmp_path: Path) -> None:
    g = Graph(np.random.default_rng(0))
    for _ in range(CASES // 10):  # each takes as long to compile as many others
        tiles(g)
    model = g.model()
    wanted = session(model).run(g.outputs, g.inputs)
    save(model, tmp_path / "tiles.onnx")
    computed = open_quickly(str(tmp_path / "tiles.onnx"), route, CompileOptions(target=target))(g.inputs)
    for number, (name, value) in enumerate(zip(g.outputs, wanted, strict=True)):
        np.testing.assert_array_equal(computed[name], value, err_msg=f"case {number}")


@pytest.mark.parametrize("optimize", [str(level) for level in LEVELS])
def test_c_and_llvm_give_the_same_integers(optimize: str, tmp_path: Path) -> None:
    g = Graph(np.random.default_rng(0))
    for make in (*EXACT.values(), *CLOSE.values()):
        for _ in range(4):
            make(g)
    ways = by_c_and_llvm(g.model(), tmp_path, CompileOptions(optimize=optimize))
    by_c, by_llvm = (compiled(g.inputs) for compiled in ways)
    assert all(by_c[name].tobytes() == by_llvm[name].tobytes() for name in g.outputs)


@pytest.mark.parametrize("route", ["c", "jit"])
def test_fixed_requantization_is_one_unit_off_at_most(route: str, tmp_path: Path) -> None:
    """Of one operator each; C and LLVM compute the same."""
    g = Graph(np.random.default_rng(1))
    for make in (conv, gemm, matmul, qlinear_conv, global_pool, pool):
        for _ in range(3):
            make(g)
    path = tmp_path / "cases.onnx"
    save(g.model(), path)
    exact = open_quickly(str(path), "jit", CompileOptions(optimize="0"))(g.inputs)
    fixed = open_quickly(str(path), route, CompileOptions(optimize="0", requantize="fixed"))(g.inputs)
    distances = [np.abs(exact[name].astype(np.int64) - fixed[name]) for name in g.outputs]
    assert max(int(each.max()) for each in distances) == 1
    assert sum(int(each.sum()) for each in distances) < 0.02 * sum(each.size for each in distances)


def test_fixed_requantization_is_for_cores_without_vectors() -> None:
    g = Graph(np.random.default_rng(0))
    conv(g)
    with pytest.raises(UsageError, match="option-conflict"):
        aotc.compile(g.model(), requantize="fixed")
