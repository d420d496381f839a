"""Models in f16 and bf16 at the level that users get, on vectors: against onnxruntime in f32, and C against LLVM.

Each model has every kind of chain side by side, of random sizes; its seed is its number. The reference computes the
same numbers in f32, so that what is tolerated is what the narrow type rounds off between kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from harness import by_c_and_llvm
from onnx import ModelProto, TensorProto, helper, numpy_helper, save

from aotc.machines.targets import lookup
from aotc.measuring.routes import open_model
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]

KINDS: dict[str, tuple[Any, int, float]] = {
    "f16": (np.float16, TensorProto.FLOAT16, 4e-3),
    "bf16": (ml_dtypes.bfloat16, TensorProto.BFLOAT16, 3e-2),
}
"""numpy's type, ONNX's, and the greatest difference allowed, relative to the greatest result: some units of the last
place."""
SEEDS = range(3)
TARGETS = ["host"]
if "+avx2" in lookup("host").features.split(","):
    TARGETS.append("x86-64-v3")


class Chains:
    """Chains of operators, each from an input of its own to an output."""

    def __init__(self, seed: int, kind: Any) -> None:
        self.r = np.random.default_rng(seed)
        self.kind = kind
        self.nodes: list[Any] = []
        self.weights: dict[str, Array] = {}
        self.feed: dict[str, Array] = {}
        self.outputs: list[str] = []

    def size(self, low: int, high: int) -> int:
        """One of low..high, both included."""
        return int(self.r.integers(low, high + 1))

    def numbers(self, *shape: int) -> Array:
        """Normally distributed numbers of the narrow type."""
        return self.r.standard_normal(shape).astype(np.float32).astype(self.kind)

    def input(self, *shape: int) -> str:
        name = f"x{len(self.feed)}"
        self.feed[name] = self.numbers(*shape)
        return name

    def weight(self, *shape: int, by: float = 1.0) -> str:
        """A constant; `by` keeps results near 1."""
        return self.constant((self.numbers(*shape).astype(np.float32) * by).astype(self.kind))

    def constant(self, array: Array) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = array
        return name

    def op(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], name=f"{op_type}_{name}", **attributes))
        return name

    def conv(self, x: str, channels: int, outputs: int, kernel: int, **more: Any) -> str:
        inputs = channels // more.get("group", 1)
        weight = self.weight(outputs, inputs, kernel, kernel, by=1 / np.sqrt(inputs * kernel * kernel))
        return self.op("Conv", x, weight, self.weight(outputs), pads=[kernel // 2] * 4, **more)

    def model(self, code: int, wide: bool) -> ModelProto:
        """The model of all chains; `wide` in f32, with the same numbers."""

        def stored(array: Array) -> Array:
            return array.astype(np.float32) if wide and array.dtype == self.kind else array

        code = TensorProto.FLOAT if wide else code
        graph = helper.make_graph(
            self.nodes,
            "chains",
            [helper.make_tensor_value_info(name, code, each.shape) for name, each in self.feed.items()],
            [helper.make_tensor_value_info(name, code, None) for name in self.outputs],
            [numpy_helper.from_array(stored(each), name) for name, each in self.weights.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def direct(c: Chains) -> str:
    """Convolutions on register tiles, of few and of many channels, with an epilogue between them."""
    first, second = c.size(3, 40), c.size(17, 70)
    x = c.conv(c.input(c.size(1, 2), 3, c.size(9, 20), c.size(9, 20)), 3, first, c.size(1, 5), strides=[2, 2])
    return c.conv(c.op("Relu", x), first, second, 1)


def winograd(c: Chains) -> str:
    """Transformed tiles, beside a direct convolution of the same activation, joined."""
    channels = 16 * c.size(1, 3)
    x = c.conv(c.input(1, 8, c.size(20, 30), c.size(20, 30)), 8, channels, 1)
    return c.op("Concat", c.conv(x, channels, 48, 3), c.conv(x, channels, 32, 1), axis=1)


def depthwise(c: Chains) -> str:
    """Expansion, depthwise and pointwise convolution, a residual."""
    channels = c.size(16, 40)
    x = c.input(1, channels, c.size(9, 40), 17)
    y = c.op("Relu", c.conv(x, channels, 3 * channels, 1))
    y = c.op("Relu", c.conv(y, 3 * channels, 3 * channels, 3, group=3 * channels))
    return c.op("Add", c.conv(y, 3 * channels, channels, 1), x)


def grouped(c: Chains) -> str:
    """Groups within blocks and across them, and few output channels."""
    x = c.conv(c.input(1, 64, 11, 13), 64, 64, 3, group=c.size(1, 2) * 16)
    return c.conv(c.conv(x, 64, 64, 3, group=2), 64, c.size(1, 3), 3)


def transposed(c: Chains) -> str:
    """Transposed convolution, then resampling."""
    channels, outputs = c.size(3, 35), c.size(5, 33)
    weight = c.weight(channels, outputs, 3, 3, by=1 / np.sqrt(9 * channels))
    x = c.op("ConvTranspose", c.input(1, channels, 7, 9), weight, strides=[2, 2], pads=[1, 1, 1, 1])
    scales = c.constant(np.array([1, 1, 2, 2], np.float32))
    return c.op("Resize", x, "", scales, mode="linear")


def pooled(c: Chains) -> str:
    """Poolings in blocks of channels, and a classifier."""
    channels = c.size(16, 50)
    x = c.conv(c.input(1, 8, 21, 19), 8, channels, 3)
    x = c.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = c.op("AveragePool", x, kernel_shape=[2, 2], strides=[1, 1])
    x = c.op("Flatten", c.op("GlobalAveragePool", x))
    return c.op("Softmax", c.op("Gemm", x, c.weight(channels, 30), c.weight(30)), axis=1)


def products(c: Chains) -> str:
    """Products with constants on both ways to store them, one row and many, with activations."""
    rows, depth, width = c.size(1, 40), c.size(5, 90), c.size(5, 90)
    x = c.op("Gemm", c.input(rows, depth), c.weight(width, depth, by=depth**-0.5), c.weight(width), transB=1)
    return c.op("MatMul", c.op("Gelu", x), c.weight(width, c.size(3, 70), by=width**-0.5))


def attention(c: Chains) -> str:
    """Scores of queries and keys that are both computed, their softmax, the weighted values."""
    heads, tokens, width = c.size(1, 3), c.size(5, 70), c.size(4, 40)
    q, k, v = (c.op("MatMul", c.input(tokens, width), c.weight(width, heads * width, by=width**-0.5)) for _ in range(3))
    shape = c.constant(np.array([tokens, heads, width], np.int64))
    q, k, v = (
        c.op("Transpose", c.op("Reshape", x, shape), perm=perm)
        for x, perm in ((q, [1, 0, 2]), (k, [1, 2, 0]), (v, [1, 0, 2]))
    )
    scores = c.op("Mul", c.op("MatMul", q, k), c.constant(np.array(width**-0.5).astype(c.kind)))
    return c.op("Transpose", c.op("MatMul", c.op("Softmax", scores, axis=-1), v), perm=[1, 0, 2])


def normalized(c: Chains) -> str:
    """A layer normalisation that a product, a residual and a reduction read."""
    rows, width = c.size(1, 20), c.size(9, 80)
    x = c.op("LayerNormalization", c.input(rows, width), c.weight(width), c.weight(width), axis=-1)
    y = c.op("Add", x, c.op("MatMul", x, c.weight(width, width, by=width**-0.5)))
    return c.op("Sub", y, c.op("ReduceMean", y, c.constant(np.array([1], np.int64)), keepdims=1))


def elementwise(c: Chains) -> str:
    """Functions, broadcasts, a transpose and padding."""
    rows, columns = c.size(1, 20), c.size(1, 50)
    x = c.op("Mul", c.op("Tanh", c.input(rows, columns)), c.weight(columns))
    x = c.op("Max", c.op("Transpose", x, perm=[1, 0]), c.input(columns, 1))
    return c.op("Pad", c.op("Sigmoid", x), c.constant(np.array([1, 0, 2, 3], np.int64)))


CHAINS: Sequence[Callable[[Chains], str]] = (
    *(direct, winograd, depthwise, grouped, transposed, pooled, products, attention, normalized, elementwise),
)


def chains(kind: str, seed: int) -> Chains:
    made = Chains(seed, KINDS[kind][0])
    made.outputs = [make(made) for make in CHAINS]
    return made


def expected(made: Chains) -> list[Array]:
    """In f32, by onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(made.model(0, wide=True).SerializeToString(), options)
    return session.run(None, {name: each.astype(np.float32) for name, each in made.feed.items()})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_results_are_those_of_f32_rounded(kind: str, seed: int, tmp_path: Path) -> None:
    """With vectors of every width, and by the scalar loops."""
    made, path, (dtype, code, most) = chains(kind, seed), tmp_path / "chains.onnx", KINDS[kind]
    save(made.model(code, wide=False), path)
    wanted = expected(made)
    for options in (CompileOptions(optimize="0"), *(CompileOptions(target=target) for target in TARGETS)):
        found = open_model(str(path), "jit", options)(made.feed)
        for make, name, each in zip(CHAINS, made.outputs, wanted, strict=True):
            assert found[name].dtype == dtype
            error = np.abs(found[name].astype(np.float64) - each).max() / np.abs(each).max()
            assert error <= most, f"{make.__name__} for {options.target} at -O{options.optimize}: {error}"


@pytest.mark.parametrize("kind", KINDS)
def test_c_and_llvm_give_the_same_bits(kind: str, tmp_path: Path) -> None:
    made = chains(kind, 0)
    ways = by_c_and_llvm(made.model(KINDS[kind][1], wide=False), tmp_path)
    by_c, by_llvm = (compiled(made.feed) for compiled in ways)
    for make, name in zip(CHAINS, made.outputs, strict=True):
        assert by_c[name].tobytes() == by_llvm[name].tobytes(), make.__name__
