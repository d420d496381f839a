"""Networks on blocked tensors, compiled for this machine's vectors, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import aotc

Array = np.ndarray[Any, Any]


class Net:
    """A model under construction; methods add nodes and return the names of their results."""

    def __init__(self, *shape: int) -> None:
        self._rng = np.random.default_rng(len(shape) * 1000 + sum(shape))
        self._nodes: list[NodeProto] = []
        self._weights: list[TensorProto] = []
        self.shape = shape
        self.channels: dict[str, int] = {"x": shape[1]}

    def weight(self, *shape: int) -> str:
        """A random constant."""
        name = f"w{len(self._weights)}"
        scale = 1 / np.sqrt(np.prod(shape[1:])) if len(shape) > 2 else 1.0
        value = (self._rng.standard_normal(shape) * scale).astype(np.float32)
        self._weights.append(numpy_helper.from_array(value, name))
        return name

    def constant(self, *values: float) -> str:
        """A constant of the values given."""
        name = f"w{len(self._weights)}"
        dtype = np.int64 if all(isinstance(value, int) for value in values) else np.float32
        self._weights.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def op(self, kind: str, *inputs: str, channels: int | None = None, **attributes: Any) -> str:
        """A node; as many channels as its first input unless said."""
        name = f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        self.channels[name] = self.channels.get(inputs[0], 0) if channels is None else channels
        return name

    def conv(self, x: str, outputs: int, size: int = 3, *, relu: bool = True, group: int = 1, **attributes: Any) -> str:
        """A convolution that keeps the spatial extents where it has no stride, with a relu."""
        rank = len(self.shape) - 2
        weight = self.weight(outputs, self.channels[x] // group, *[size] * rank)
        attributes = {"pads": [size // 2] * (2 * rank), "group": group} | attributes
        y = self.op("Conv", x, weight, self.weight(outputs), channels=outputs, **attributes)
        return self.op("Relu", y) if relu else y

    def concat(self, *parts: str, axis: int = 1) -> str:
        """Parts joined."""
        total = sum(self.channels[part] for part in parts) if axis == 1 else None
        return self.op("Concat", *parts, axis=axis, channels=total)

    def pointwise(self, x: str) -> str:
        """A batch norm as models write it, and an activation."""
        channels = self.channels[x]
        scaled = self.op("Mul", x, self.weight(channels, 1, 1))
        return self.op("Relu", self.op("Add", scaled, self.weight(channels, 1, 1)))

    def piece(self, x: str, start: int, stop: int, step: int = 1) -> str:
        """Some channels."""
        ends = [self.constant(value) for value in (start, stop, 1, step)]
        return self.op("Slice", x, *ends, channels=len(range(start, stop, step)))

    def shuffle(self, x: str, groups: int) -> str:
        """Channels of several groups in turn, of a model in two dimensions."""
        batch, _, *spatial = self.shape
        channels = self.channels[x]
        split = self.op("Reshape", x, self.constant(batch, groups, channels // groups, *spatial))
        turned = self.op("Transpose", split, perm=[0, 2, 1, 3, 4])
        return self.op("Reshape", turned, self.constant(batch, channels, *spatial), channels=channels)

    def model(self, *outputs: str) -> ModelProto:
        """The finished model."""
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self._nodes, "net", [x], values, self._weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dense_block() -> ModelProto:
    net = Net(1, 3, 9, 9)
    parts = [net.conv("x", 32, strides=[2, 2])]
    for _ in range(3):
        joined = net.concat(*parts) if len(parts) > 1 else parts[0]
        scaled = net.op("Add", net.op("Mul", joined, net.weight(net.channels[joined], 1, 1)), net.weight(1, 1, 1))
        parts.append(net.conv(net.op("Relu", scaled), 16))
    return net.model(net.op("GlobalAveragePool", net.concat(*parts)))


def squeeze_and_excite() -> ModelProto:
    net = Net(2, 5, 11, 7)
    x = net.conv("x", 40, 5, strides=[2, 1])
    gate = net.op("GlobalAveragePool", net.conv(x, 40, group=40))
    gate = net.op("Sigmoid", net.conv(net.conv(gate, 10, 1), 40, 1, relu=False))
    gated = net.op("Mul", x, gate)
    return net.model(net.op("Flatten", net.op("GlobalMaxPool", gated)), net.conv(gated, 24, 1))


def encoder_decoder() -> ModelProto:
    net = Net(1, 1, 12, 16)
    skip = net.conv("x", 16)
    low = net.conv(net.op("MaxPool", skip, kernel_shape=[2, 2], strides=[2, 2]), 40)
    scales = net.constant(1.0, 1.0, 2.0, 2.0)
    up = net.op("Resize", low, "", scales, mode="nearest")
    smooth = net.op("Resize", low, "", scales, mode="linear")
    both = net.conv(net.concat(skip, up), 20)
    return net.model(net.conv(net.concat(both, smooth, skip), 3, relu=False), net.op("Softmax", skip, axis=1))


def in_one_dimension() -> ModelProto:
    net = Net(3, 20, 33)
    x = net.conv("x", 48, 7, strides=[2])
    half = net.op("Slice", x, net.constant(16), net.constant(48), net.constant(1), channels=32)
    middle = net.op("Slice", x, net.constant(8), net.constant(40), net.constant(1), channels=32)
    y = net.conv(half, 32, 3, dilations=[2], pads=[2, 2])
    y = net.op("Add", y, net.op("Add", middle, half))
    return net.model(net.op("ReduceMean", y, axes=[2], keepdims=0), net.op("Transpose", y, perm=[0, 2, 1]))


def in_three_dimensions() -> ModelProto:
    net = Net(1, 2, 5, 6, 7)
    x = net.conv("x", 18, strides=[1, 2, 1])
    y = net.op("AveragePool", net.conv(x, 16), kernel_shape=[2, 2, 2])
    return net.model(net.op("Reshape", net.conv(y, 33, 1), net.constant(1, 33, -1)))


def groups() -> ModelProto:
    net = Net(1, 16, 8, 8)
    x = net.conv("x", 64, 1)
    whole = net.conv(x, 64, group=2)
    broken = net.conv(x, 64, group=16)
    depthwise = net.conv(whole, 64, 5, group=64, strides=[2, 2])
    y = net.op("ConvTranspose", depthwise, net.weight(64, 24, 2, 2), strides=[2, 2], channels=24)
    return net.model(net.conv(net.op("Clip", y, net.weight(), net.op("Exp", net.weight())), 8), broken)


def small_groups() -> ModelProto:
    """Groups of few channels, also on parts that end within blocks."""
    net = Net(2, 5, 9, 7)
    parts = net.concat(*(net.conv("x", channels, 1) for channels in (24, 20, 20)))
    ending = net.conv(net.conv(parts, 64, group=16, strides=[2, 1]), 64, group=8)
    broken = net.conv(net.conv(parts, 64, group=8), 40, 1)
    return net.model(net.conv(net.op("Add", ending, net.conv(ending, 64, group=32)), 64, 1), broken)


def spatial_attention() -> ModelProto:
    """Gates of one channel, which lie in blocks, too, are for all channels."""
    net = Net(1, 3, 9, 10)
    x = net.conv("x", 40)
    extremes = [net.op(kind, x, axes=[1], keepdims=1, channels=1) for kind in ("ReduceMean", "ReduceMax")]
    x = net.op("Mul", x, net.op("Sigmoid", net.conv(net.concat(*extremes), 1, 7, relu=False)))
    return net.model(net.conv(net.op("Add", net.conv(x, 1, 1), x, channels=40), 20))


def odd_parts() -> ModelProto:
    """Parts that end within blocks: a convolution reads them all, a pointwise operation drops the padding lanes."""
    net = Net(1, 3, 9, 9)
    x = net.conv("x", 24, 5)
    for _ in range(3):
        x = net.concat(x, net.conv(net.conv(net.pointwise(x), 21, 1), 12))
    y = net.conv(net.op("MaxPool", x, kernel_shape=[2, 2]), 33)
    small = net.concat(net.conv(x, 8), net.conv(x, 5, 1))
    return net.model(net.op("GlobalAveragePool", x), y, net.op("Softmax", small, axis=1), net.conv(small, 7))


def odd_splits() -> ModelProto:
    """Parts of a convolution's result, each convolved or kept, and joined again."""
    net = Net(2, 5, 8, 7)
    x = net.op("Sigmoid", net.conv("x", 104, 1))
    outs = [net.piece(x, 0, 26)]
    for start in (26, 52, 78):
        outs.append(net.conv(net.op("Add", net.piece(x, start, start + 26), outs[-1]), 26, relu=start == 26))
    gate = net.conv(net.op("GlobalMaxPool", net.concat(*outs)), 104, 1)
    joined = net.op("Mul", net.concat(*outs), gate)
    few = net.piece(joined, 3, 90, 9)
    return net.model(net.conv(joined, 20), net.conv(few, 4), few, net.conv(net.conv(joined, 104, 5, group=104), 2))


def shuffled() -> ModelProto:
    """Halves of which one is convolved, shuffled with the other."""
    net = Net(1, 3, 10, 6)
    x = net.conv("x", 58)
    for _ in range(3):
        half = net.conv(net.conv(net.piece(x, 29, 58), 29, 3, group=29, relu=False), 29, 1)
        x = net.shuffle(net.concat(net.piece(x, 0, 29), half), 2)
    grouped = net.conv(net.shuffle(net.conv(x, 60, 1, group=2), 3), 60, 1, group=3)
    return net.model(
        net.op("Add", grouped, net.concat(x, net.piece(x, 0, 2))), net.op("MaxPool", x, kernel_shape=[3, 3])
    )


def ghosts() -> ModelProto:
    """Channels and what a depthwise convolution makes of them, added to a result that is computed later."""
    net = Net(1, 3, 8, 9)
    x = net.conv("x", 20)
    for count in (20, 36, 8):
        first = net.conv(x, count // 2 + 1, 1)
        second = net.conv(first, count // 2 + 1, group=count // 2 + 1)
        ghost = net.piece(net.concat(first, second), 0, count)
        x = net.op("Add", ghost, net.conv(x, count, 1, relu=False))
    return net.model(x, net.conv(x, 3))


def group_norms() -> ModelProto:
    """Groups that are parts of blocks, with parameters for each group and for each channel."""
    net = Net(2, 3, 6, 7)
    x = net.conv("x", 40, relu=False)
    for groups, source in ((8, x), (1, x), (6, net.concat(net.conv(x, 20), net.conv(x, 10, 1)))):
        channels = net.channels[source]
        flat = net.op("Reshape", source, net.constant(2, groups, -1))
        normal = net.op("InstanceNormalization", flat, net.weight(groups), net.weight(groups), epsilon=1e-5)
        shaped = net.op("Reshape", normal, net.constant(2, channels, 6, 7), channels=channels)
        x = net.conv(net.pointwise(shaped), 40, relu=False)
    return net.model(x)


def random_graph(seed: int) -> ModelProto:
    """Convolutions, parts, joins and sums of any numbers of channels."""
    rng = np.random.default_rng(seed)
    net = Net(int(rng.integers(1, 3)), 3, int(rng.integers(4, 9)), int(rng.integers(4, 9)))
    values = [net.conv("x", int(rng.integers(4, 60)), 3)]

    def any_value() -> str:
        return values[-1] if rng.random() < 0.5 else values[int(rng.integers(len(values)))]

    def one_more() -> str:
        x = any_value()
        channels = net.channels[x]
        match int(rng.integers(8)):
            case 0 | 1:
                return net.conv(x, int(rng.integers(1, 70)), int(rng.choice([1, 3])), relu=bool(rng.integers(2)))
            case 2:
                return net.conv(x, channels, 3, group=channels)
            case 3:
                return net.concat(*(any_value() for _ in range(int(rng.integers(2, 4)))))
            case 4 if channels > 2:
                start = int(rng.integers(channels - 1))
                return net.piece(x, start, int(rng.integers(start + 1, channels + 1)), int(rng.integers(1, 3)))
            case 5 if channels % 2 == 0:
                return net.shuffle(x, 2)
            case 6:
                others = [value for value in values if net.channels[value] == channels]
                return net.op("Add", x, others[int(rng.integers(len(others)))])
            case _:
                return net.pointwise(x)

    for _ in range(14):
        values.append(one_more())
    return net.model(*dict.fromkeys((values[-1], any_value(), any_value())))


NETWORKS = (
    dense_block,
    squeeze_and_excite,
    encoder_decoder,
    in_one_dimension,
    in_three_dimensions,
    groups,
    small_groups,
    spatial_attention,
    odd_parts,
    odd_splits,
    shuffled,
    ghosts,
    group_norms,
)


@pytest.mark.parametrize(
    ("build", "accuracy"), [*((build, "fast") for build in NETWORKS), (dense_block, "strict"), (groups, "strict")]
)
def test_networks_are_what_onnxruntime_computes(build: Callable[[], ModelProto], accuracy: str) -> None:
    compare(build(), accuracy)


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_are_what_onnxruntime_computes(seed: int) -> None:
    compare(random_graph(seed), "fast")


def test_group_norm_of_a_large_mean_keeps_its_digits() -> None:
    """By the mean and what rounding took off it; onnxruntime is no measure of that."""
    net = Net(1, 3, 12, 12)
    big = net.op("Add", net.conv("x", 48, relu=False), net.constant(np.float32(1e4)))
    flat = net.op("Reshape", big, net.constant(0, 6, -1))
    normal = net.op("InstanceNormalization", flat, net.constant(*[1.0] * 6), net.constant(*[0.0] * 6), epsilon=1e-5)
    back = net.op("Reshape", normal, net.constant(1, 48, 12, 12), channels=48)
    model = net.model(big, net.conv(back, 16), back)
    x = np.random.default_rng(1).standard_normal((1, 3, 12, 12)).astype(np.float32)
    values, _, actual = aotc.compile(model)({"x": x}).values()
    groups = values.astype(np.float64).reshape(1, 6, -1)
    distance = groups - groups.mean(axis=2, keepdims=True)
    expected = distance / np.sqrt((distance**2).mean(axis=2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(actual.reshape(groups.shape), expected, rtol=1e-5, atol=1e-5)


def compare(model: ModelProto, accuracy: str) -> None:
    """Compile and run a model."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    shape = session.get_inputs()[0].shape
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    expected = cast(list[Array], session.run(None, {"x": x}))
    for mine, theirs in zip(aotc.compile(model, accuracy=accuracy)({"x": x}).values(), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4 * float(np.abs(theirs).max()))
