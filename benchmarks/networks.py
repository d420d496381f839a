"""The networks of the benchmark, made from their papers: batch 1, float32, random weights from a fixed seed.

`python benchmarks/networks.py FOLDER` writes them all. Random weights take the same time as trained ones.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

OPSET, IR_VERSION = 17, 9


class Network:
    """A graph under construction; methods add nodes and return the name of a result."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.channels: dict[str, int] = {}
        """Channels of results that are images."""

    def input(self, name: str, shape: Sequence[int], dtype: int = TensorProto.FLOAT) -> str:
        """An input; an image [N, C, H, W] has C channels."""
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        self.channels[name] = shape[1]
        return name

    def constant(self, array: np.ndarray[Any, Any]) -> str:
        """A weight, or another constant."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def normal(self, shape: Sequence[int], deviation: float) -> str:
        """A weight of normally distributed values."""
        return self.constant((self.random.standard_normal(shape) * deviation).astype(np.float32))

    def integers(self, *values: int) -> str:
        """A constant vector of int64."""
        return self.constant(np.array(values, np.int64))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one result, whose channels are those of its first input."""
        result = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [result], name=result, **attributes))
        self.channels[result] = self.channels.get(inputs[0], 0)
        return result

    def conv(
        self,
        x: str,
        outputs: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        pads: Sequence[int] | None = None,
        group: int = 1,
        bias: bool = True,
    ) -> str:
        """A convolution; padded by half the kernel unless said otherwise."""
        taps = (kernel, kernel) if isinstance(kernel, int) else kernel
        channels = self.channels[x] // group
        weights = [self.normal((outputs, channels, *taps), (2 / (channels * taps[0] * taps[1])) ** 0.5)]
        if bias:
            weights.append(self.normal((outputs,), 0.05))
        half = [tap // 2 for tap in taps]
        places = {"kernel_shape": taps, "strides": [stride, stride], "pads": [*half, *half] if pads is None else pads}
        result = self.op("Conv", x, *weights, group=group, **places)
        self.channels[result] = outputs
        return result

    def norm(self, x: str) -> str:
        """Batch normalisation."""
        count = self.channels[x]
        near_one = [self.constant(self.random.uniform(0.8, 1.2, count).astype(np.float32)) for _ in range(2)]
        shift, mean = self.normal((count,), 0.1), self.normal((count,), 0.1)
        return self.op("BatchNormalization", x, near_one[0], shift, mean, near_one[1])

    def conv_norm(self, x: str, outputs: int, kernel: int | tuple[int, int], stride: int = 1, **more: Any) -> str:
        """Convolution and batch normalisation."""
        return self.norm(self.conv(x, outputs, kernel, stride, bias=False, **more))

    def relu(self, x: str) -> str:
        """max(x, 0)."""
        return self.op("Relu", x)

    def relu6(self, x: str) -> str:
        """min(max(x, 0), 6)."""
        return self.op("Clip", x, self.scalar(0), self.scalar(6))

    def pool(self, kind: str, x: str, kernel: int, stride: int, pad: int = 0, **more: Any) -> str:
        """MaxPool or AveragePool."""
        return self.op(kind, x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, **more)

    def classify(self, x: str, classes: int) -> str:
        """Global average, then a dense layer."""
        return self.dense(self.op("Flatten", self.op("GlobalAveragePool", x)), self.channels[x], classes)

    def dense(self, x: str, inputs: int, outputs: int) -> str:
        """Gemm with a bias."""
        weight = self.normal((outputs, inputs), (1 / inputs) ** 0.5)
        return self.op("Gemm", x, weight, self.normal((outputs,), 0.05), transB=1)

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        """MatMul and Add, as transformers are exported."""
        weight = self.normal((inputs, outputs), (1 / inputs) ** 0.5)
        return self.op("Add", self.op("MatMul", x, weight), self.normal((outputs,), 0.02))

    def scalar(self, value: float) -> str:
        """A constant of one element."""
        return self.constant(np.array(value, np.float32))

    def gelu(self, x: str) -> str:
        """x / 2 * (1 + erf(x / sqrt 2))."""
        error = self.op("Erf", self.op("Div", x, self.scalar(2**0.5)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", error, self.scalar(1))), self.scalar(0.5))

    def attention(self, x: str, tokens: int, width: int, heads: int, mask: str | None = None) -> str:
        """Self-attention with a projection before and after."""
        size = width // heads
        shape = self.integers(1, tokens, heads, size)

        def head(permutation: Sequence[int]) -> str:
            return self.op("Transpose", self.op("Reshape", self.linear(x, width, width), shape), perm=permutation)

        query, key, value = head([0, 2, 1, 3]), head([0, 2, 3, 1]), head([0, 2, 1, 3])
        scores = self.op("Div", self.op("MatMul", query, key), self.scalar(size**0.5))
        if mask is not None:
            scores = self.op("Add", scores, mask)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), value)
        together = self.op("Transpose", mixed, perm=[0, 2, 1, 3])
        return self.linear(self.op("Reshape", together, self.integers(1, tokens, width)), width, width)

    def build(self, *outputs: str) -> onnx.ModelProto:
        """The checked model, with every shape inferred."""
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, infos, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        model = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        onnx.checker.check_model(model)
        return model


def resnet50(n: Network) -> str:
    """He et al., arXiv:1512.03385, with the stride in the 3 x 3 convolution."""
    x = n.pool("MaxPool", n.relu(n.conv_norm(n.input("x", (1, 3, 224, 224)), 64, 7, 2)), 3, 2, 1)
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            inner = n.relu(n.conv_norm(n.relu(n.conv_norm(x, width, 1)), width, 3, stride))
            short = n.conv_norm(x, 4 * width, 1, stride) if not block else x
            x = n.relu(n.op("Add", n.conv_norm(inner, 4 * width, 1), short))
    return n.classify(x, 1000)


def mobilenetv2(n: Network) -> str:
    """Sandler et al., arXiv:1801.04381."""
    x = n.relu6(n.conv_norm(n.input("x", (1, 3, 224, 224)), 32, 3, 2))
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, width, blocks, first in stages:
        for block in range(blocks):
            stride, inner = 1 if block else first, n.channels[x] * expansion
            wide = n.relu6(n.conv_norm(x, inner, 1)) if expansion > 1 else x
            result = n.conv_norm(n.relu6(n.conv_norm(wide, inner, 3, stride, group=inner)), width, 1)
            x = n.op("Add", x, result) if block else result
    return n.classify(n.relu6(n.conv_norm(x, 1280, 1)), 1000)


def squeezenet(n: Network) -> str:
    """SqueezeNet 1.1: Iandola et al., arXiv:1602.07360."""
    x = n.relu(n.conv(n.input("x", (1, 3, 224, 224)), 64, 3, 2, pads=(0, 0, 0, 0)))
    for widths in ((16, 16), (32, 32), (48, 48, 64, 64)):
        x = n.pool("MaxPool", x, 3, 2)
        for width in widths:
            squeezed = n.relu(n.conv(x, width, 1))
            x = n.op("Concat", *(n.relu(n.conv(squeezed, 4 * width, kernel)) for kernel in (1, 3)), axis=1)
            n.channels[x] = 8 * width
    return n.op("Softmax", n.op("Flatten", n.op("GlobalAveragePool", n.relu(n.conv(x, 1000, 1)))), axis=1)


def densenet121(n: Network) -> str:
    """Huang et al., arXiv:1608.06993."""
    x = n.pool("MaxPool", n.relu(n.conv_norm(n.input("x", (1, 3, 224, 224)), 64, 7, 2)), 3, 2, 1)
    for stage, layers in enumerate((6, 12, 24, 16)):
        if stage:
            x = n.pool("AveragePool", n.conv(n.relu(n.norm(x)), n.channels[x] // 2, 1, bias=False), 2, 2)
        for _ in range(layers):
            narrow = n.relu(n.norm(n.conv(n.relu(n.norm(x)), 128, 1, bias=False)))
            grown = n.channels[x] + 32
            x = n.op("Concat", x, n.conv(narrow, 32, 3, bias=False), axis=1)
            n.channels[x] = grown
    return n.classify(n.relu(n.norm(x)), 1000)


def vit_tiny(n: Network) -> str:
    """ViT-Ti/16: Dosovitskiy et al., arXiv:2010.11929; Touvron et al., arXiv:2012.12877."""
    width, tokens = 192, 197
    image = n.conv(n.input("x", (1, 3, 224, 224)), width, 16, 16, (0,) * 4)
    patches = n.op("Reshape", image, n.integers(1, width, 196))
    classified = n.op("Concat", n.normal((1, 1, width), 0.02), n.op("Transpose", patches, perm=[0, 2, 1]), axis=1)
    x = n.op("Add", classified, n.normal((1, tokens, width), 0.02))

    def norm(x: str) -> str:
        scale = n.constant(n.random.uniform(0.8, 1.2, width).astype(np.float32))
        return n.op("LayerNormalization", x, scale, n.normal((width,), 0.1), axis=-1, epsilon=1e-6)

    for _ in range(12):
        x = n.op("Add", x, n.attention(norm(x), tokens, width, 3))
        x = n.op("Add", x, n.linear(n.gelu(n.linear(norm(x), width, 4 * width)), 4 * width, width))
    first = n.op("Gather", norm(x), n.constant(np.array(0, np.int64)), axis=1)
    return n.dense(first, width, 1000)


def bert_tiny(n: Network) -> str:
    """BERT-Tiny: Turc et al., arXiv:1908.08962; 32 tokens, layer normalisation spelt out as old exporters do."""
    width, tokens, words = 128, 32, 4096
    ids = n.input("input_ids", (1, tokens), TensorProto.INT64)
    given = n.op("Cast", n.input("attention_mask", (1, tokens), TensorProto.INT64), to=TensorProto.FLOAT)
    absent = n.op("Sub", n.scalar(1), n.op("Unsqueeze", given, n.integers(1, 2)))
    mask = n.op("Mul", absent, n.scalar(-10000))

    def norm(x: str) -> str:
        centred = n.op("Sub", x, n.op("ReduceMean", x, axes=[-1]))
        variance = n.op("ReduceMean", n.op("Mul", centred, centred), axes=[-1])
        unit = n.op("Div", centred, n.op("Sqrt", n.op("Add", variance, n.scalar(1e-12))))
        scale = n.constant(n.random.uniform(0.8, 1.2, width).astype(np.float32))
        return n.op("Add", n.op("Mul", unit, scale), n.normal((width,), 0.1))

    x = norm(n.op("Add", n.op("Gather", n.normal((words, width), 1.0), ids), n.normal((1, tokens, width), 0.1)))
    for _ in range(2):
        x = norm(n.op("Add", x, n.attention(x, tokens, width, 2, mask)))
        x = norm(n.op("Add", x, n.linear(n.gelu(n.linear(x, width, 4 * width)), 4 * width, width)))
    return x


def ic_resnet8(n: Network) -> str:
    """Image classification of MLPerf Tiny, arXiv:2106.07597."""
    x = n.relu(n.conv_norm(n.input("x", (1, 3, 32, 32)), 16, 3))
    for width in (16, 32, 64):
        stride = 1 if width == 16 else 2
        inner = n.conv_norm(n.relu(n.conv_norm(x, width, 3, stride)), width, 3)
        x = n.relu(n.op("Add", inner, x if stride == 1 else n.conv(x, width, 1, stride)))
    return n.op("Softmax", n.dense(n.op("Flatten", n.pool("AveragePool", x, 8, 8)), 64, 10), axis=1)


def kws_dscnn(n: Network) -> str:
    """Keyword spotting of MLPerf Tiny, arXiv:2106.07597: depthwise separable convolutions."""
    x = n.relu(n.conv_norm(n.input("x", (1, 1, 49, 10)), 64, (10, 4), 2, pads=(4, 1, 5, 1)))
    for _ in range(4):
        x = n.relu(n.conv_norm(n.relu(n.conv_norm(x, 64, 3, group=64)), 64, 1))
    pooled = n.op("AveragePool", x, kernel_shape=[25, 5], strides=[25, 5])
    return n.op("Softmax", n.dense(n.op("Flatten", pooled), 64, 12), axis=1)


def micro_speech(n: Network) -> str:
    """Keyword spotting of TensorFlow Lite for Microcontrollers: one convolution, one dense layer."""
    x = n.relu(n.conv(n.input("x", (1, 1, 49, 40)), 8, (10, 8), 2, pads=(4, 3, 5, 3)))
    return n.op("Softmax", n.dense(n.op("Flatten", x), 25 * 20 * 8, 4), axis=1)


def mlp3(n: Network) -> str:
    """Three dense layers on a digit."""
    x = n.relu(n.dense(n.input("x", (1, 784)), 784, 128))
    return n.op("Softmax", n.dense(n.relu(n.dense(x, 128, 64)), 64, 10), axis=1)


MODELS: dict[str, Callable[[Network], str]] = {
    function.__name__: function
    for function in (
        *(resnet50, mobilenetv2, squeezenet, densenet121, vit_tiny),
        *(bert_tiny, ic_resnet8, kws_dscnn, micro_speech, mlp3),
    )
}
"""By name, largest first."""


def write(name: str, folder: Path) -> Path:
    """The file of a model in `folder`, made where it is not there."""
    path = folder / f"{name}.onnx"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        network = Network(name)
        path.write_bytes(network.build(MODELS[name](network)).SerializeToString())
    return path


if __name__ == "__main__":
    for each in MODELS:
        print(write(each, Path(sys.argv[1])))
