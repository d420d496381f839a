"""`fold-channels` on random quantised networks: the same bits, whatever goes in, and fewer channels."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i8, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from aotc import compile_to
from aotc.cli.main import run
from aotc.dialects.aot.contract import ENTRY, FOLDED_CHANNELS
from aotc.dialects.constants import constant_op
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.interfaces import GraphOp, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ConcatOp, ReshapeOp
from aotc.dialects.graph.quantized.bytes import LookupOp
from aotc.dialects.graph.quantized.requantization import FixedAddOp, RequantizeOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.dialects.graph.windows.pooling import MaxPoolOp, SumPoolOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.fold_channels import FoldChannelsPass

Array = np.ndarray[Any, Any]


class Network:
    """A graph on one image of 8-bit integers that grows operation by operation; half of the channels behind a sum are
    the zero point, whatever goes in."""

    def __init__(self, seed: int, channels: int = 3, size: int = 5) -> None:
        self.rng = np.random.default_rng(seed)
        self.ctx = Context()
        self.store = WeightStore.of(self.ctx)
        self.block = Block(arg_types=[TensorType(i8, [1, channels, size, size])])

    @property
    def input(self) -> SSAValue:
        return self.block.args[0]

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def constant(self, array: Array) -> SSAValue:
        return self.add(constant_op(array, "w", self.store))

    def weight(self, *shape: int) -> Array:
        """Weights of i8, a few channels of the operand with none but zeros."""
        weight = self.rng.integers(-127, 128, shape).astype(np.int8)
        weight[:, self.rng.random(shape[1]) < 0.1] = 0
        return weight

    def bias(self, count: int) -> Array:
        bias = self.rng.integers(-4000, 4000, count)
        bias[self.rng.permutation(count)[: count // 2]] -= 10_000_000
        return bias.astype(np.int32)

    def conv(
        self, x: SSAValue, outputs: int, kernel: int = 3, pads: int = 1, stride: int = 1, point: int = -128
    ) -> SSAValue:
        weight = self.constant(self.weight(outputs, shape_of(x)[1], kernel, kernel))
        return self.add(_conv(x, weight, self.constant(self.bias(outputs)), 1, pads, stride, point))

    def depthwise(self, x: SSAValue, pads: int = 1, stride: int = 1, point: int = -128, times: int = 1) -> SSAValue:
        channels = shape_of(x)[1]
        weight = self.constant(self.rng.integers(-127, 128, (channels * times, 1, 3, 3)).astype(np.int8))
        bias = self.constant(self.rng.integers(-400, 400, channels * times).astype(np.int32))
        return self.add(_conv(x, weight, bias, channels, pads, stride, point))

    def product(self, x: SSAValue, outputs: int, *, transpose: bool = False, biased: bool = True) -> SSAValue:
        weight = self.weight(outputs, shape_of(x)[-1])
        rhs = self.constant(weight if transpose else np.ascontiguousarray(weight.T))
        product = MatMulOp.get(x, rhs, transpose_rhs=transpose or None, accumulator=i32, lhs_zero_point=-128)
        value = self.add(product)
        return self.add(AddOp.get(value, self.constant(self.bias(outputs)))) if biased else value

    def requantize(self, x: SSAValue, scale: float = 1e-3, point: int = -128, low: int = -128) -> SSAValue:
        axis = 1 if len(shape_of(x)) > 2 else len(shape_of(x)) - 1
        scales = (self.rng.random(shape_of(x)[axis]) * scale + scale).astype(np.float32)
        return self.add(
            RequantizeOp.get(x, self.constant(scales), axis=axis, zero_point=point, low=low, high=127, to=i8)
        )

    def module(self, *results: SSAValue) -> ModuleOp:
        self.block.add_op(ReturnOp(*results))
        function = FuncOp("main", ([self.input.type], [value.type for value in results]), Region(self.block))
        ENTRY.set(function)
        return ModuleOp([function])


def _conv(x: SSAValue, weight: SSAValue, bias: SSAValue, group: int, pads: int, stride: int, point: int) -> ConvOp:
    return ConvOp.get(
        x, weight, bias, group=group, strides=[stride] * 2, pads=[pads] * 4, dilations=[1, 1],
        accumulator=i32, x_zero_point=point,
    )  # fmt: skip


def evaluated(module: ModuleOp, store: WeightStore, x: Array) -> list[Array]:
    """The results of the entry, one operation after the other, as each is defined."""
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    values: dict[SSAValue, Array] = {function.body.block.args[0]: x}
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp):
            return [values[value] for value in op.operands]
        if isinstance(op, ConstantOp):
            values[op.result] = op.inline_array() if op.key is None else store[op.key]
            continue
        assert isinstance(op, GraphOp)
        found = op.evaluate([values[value] for value in op.operands])
        assert found is not None
        values[op.results[0]] = found[0]
    raise AssertionError("no return")


def inputs(shape: Sequence[int], seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    uniform = [np.full(shape, value, np.int8) for value in (-128, 0, 127)]
    return [*uniform, rng.integers(-128, 128, shape).astype(np.int8)]


def channels(module: ModuleOp, kind: type[GraphOp]) -> list[int]:
    return [shape_of(op.results[0])[1] for op in module.walk() if isinstance(op, kind)]


def plain(n: Network) -> SSAValue:
    x = n.requantize(n.conv(n.input, 16))
    return n.requantize(n.conv(n.requantize(n.depthwise(x)), 12, kernel=1, pads=0))


def residual(n: Network) -> SSAValue:
    x = n.requantize(n.conv(n.input, 16))
    y = n.requantize(n.conv(x, 16))
    clamp = {"shift": 8, "zero_point": -128, "low": -128, "high": 127, "to": i8}
    x = n.add(FixedAddOp.get(x, y, x_factor=130, y_factor=140, offset=270 * 128, **clamp))
    return n.requantize(n.conv(x, 8))


def joined(n: Network) -> SSAValue:
    x = n.requantize(n.conv(n.input, 8))
    y = n.requantize(n.conv(x, 12, stride=1))
    z = n.add(ConcatOp.get([x, y, x], axis=1))
    return n.requantize(n.conv(z, 8, kernel=1, pads=0))


def flattened(n: Network) -> SSAValue:
    x = n.requantize(n.conv(n.input, 12, stride=2))
    window = {"strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1], "kernel": [2, 2]}
    x = n.add(MaxPoolOp.get(x, **window))
    size = int(np.prod(shape_of(x)))
    x = n.add(ReshapeOp.get(x, shape=[1, size]))
    x = n.requantize(n.product(x, 16, transpose=True))
    return n.requantize(n.product(x, 10, biased=False))


def pooled(n: Network) -> SSAValue:
    x = n.requantize(n.conv(n.input, 16), point=-100, low=-100)  # constants are not the zero point of the next
    pool = SumPoolOp.get(
        x, strides=[5, 5], pads=[0] * 4, dilations=[1, 1], kernel=[5, 5], x_zero_point=-128
    )  # fmt: skip
    x = n.add(ReshapeOp.get(n.requantize(n.add(pool)), shape=[1, 16]))
    return n.requantize(n.product(x, 7))


def tabulated(n: Network) -> SSAValue:
    x = n.requantize(n.conv(n.input, 16))
    table = n.constant(n.rng.integers(-128, 128, 256).astype(np.int8))
    x = n.add(LookupOp.get(x, table))
    return n.requantize(n.conv(x, 9, kernel=1, pads=0))


def multiplied(n: Network) -> SSAValue:
    x = n.requantize(n.conv(n.input, 8))
    x = n.requantize(n.depthwise(x, times=2))
    return n.requantize(n.conv(x, 8, kernel=1, pads=0))


NETWORKS: list[Callable[[Network], SSAValue]] = [plain, residual, joined, flattened, pooled, tabulated, multiplied]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("build", NETWORKS, ids=lambda build: build.__name__)
def test_networks_have_the_same_results_with_fewer_channels(build: Callable[[Network], SSAValue], seed: int) -> None:
    network = Network(seed)
    module = network.module(build(network))
    before = module.clone()
    FoldChannelsPass().apply(network.ctx, module)
    module.verify()
    for x in inputs(shape_of(network.input), seed):
        wanted, found = (evaluated(each, network.store, x) for each in (before, module))
        assert all(np.array_equal(a, b) for a, b in zip(wanted, found, strict=True))
    assert sum(channels(module, RequantizeOp)) < sum(channels(before, RequantizeOp))


def test_sums_along_another_axis_need_all_channels() -> None:
    network = Network(0)
    x = network.requantize(network.conv(network.input, 8))
    module = network.module(network.product(x, 3, biased=False))
    FoldChannelsPass().apply(network.ctx, module)
    module.verify()
    assert channels(module, RequantizeOp) == [8] and FOLDED_CHANNELS.get(module) is None


READERS: dict[str, Callable[[Network, SSAValue], SSAValue]] = {
    "nothing": lambda n, v: v,
    "a bias": lambda n, v: n.add(AddOp.get(v, n.constant(n.bias(6)))),
    "a bias on the left": lambda n, v: n.add(AddOp.get(n.constant(n.bias(6)), v)),
    "a bias of more axes": lambda n, v: n.add(AddOp.get(v, n.constant(n.bias(6)[None]))),
    "a bias, and itself": lambda n, v: n.add(AddOp.get(n.add(AddOp.get(v, n.constant(n.bias(6)))), v)),
    "itself": lambda n, v: n.add(AddOp.get(v, v)),
}


@pytest.mark.parametrize("name", READERS)
def test_what_constants_add_is_in_the_bias_that_is_there(name: str) -> None:
    """Or in one of its own: channels of -100 where the zero point is -128."""
    network = Network(0)
    x = network.requantize(network.conv(network.input, 8), point=-100, low=-100)
    x = network.add(ReshapeOp.get(x, shape=[1, 200]))
    module = network.module(READERS[name](network, network.product(x, 6, biased=False)))
    before = module.clone()
    FoldChannelsPass().apply(network.ctx, module)
    module.verify()
    for image in inputs(shape_of(network.input), 0)[2:]:
        wanted, found = (evaluated(each, network.store, image)[0] for each in (before, module))
        assert np.array_equal(wanted, found)
    sums = [sum(isinstance(op, AddOp) for op in each.walk()) for each in (before, module)]
    assert channels(module, RequantizeOp) == [4] and sums[1] - sums[0] == (name != "a bias")


def test_sums_alone_keep_a_multiple_of_four() -> None:
    """Three channels and four of eight are seven."""
    network = Network(0)
    parts = [network.requantize(network.conv(network.input, count)) for count in (3, 8)]
    module = network.module(network.requantize(network.conv(network.add(ConcatOp.get(parts, axis=1)), 8)))
    FoldChannelsPass().apply(network.ctx, module)
    assert channels(module, ConcatOp) == [7]
    assert [(each.channels, each.of) for each in FOLDED_CHANNELS.get(module) or []] == [(4, 8)]


def _two_convolutions(path: Path) -> Path:
    """A model of two QLinearConv, `first` and `second`: 8 channels between them, of which 4 are always -128."""
    numbers = {
        "xs": np.float32(0.1), "xz": np.int8(0), "ws": np.float32(0.01), "wz": np.int8(0), "ys": np.float32(0.1),
        "yz": np.int8(-128), "w": np.arange(-36, 36).reshape(8, 1, 3, 3).astype(np.int8),
        "b": np.array([-200_000, 9] * 4, np.int32), "v": np.arange(-4, 4).reshape(1, 8, 1, 1).astype(np.int8),
    }  # fmt: skip
    nodes = [
        helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["m"], "first"),
        helper.make_node("QLinearConv", ["m", "ys", "yz", "v", "ws", "wz", "ys", "xz"], ["y"], "second"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.INT8, [1, 1, 5, 5])],
        [helper.make_tensor_value_info("y", TensorProto.INT8, [1, 1, 3, 3])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in numbers.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
    return path


def test_check_and_metadata_say_what_is_not_computed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _two_convolutions(tmp_path / "m.onnx")
    folded = {"node": "first", "channels": 4, "of": 8}
    for options in ([], ["--target", "cortex-m4f"]):
        assert run(["check", str(path), "--json", *options]) == 0
        assert json.loads(capsys.readouterr().out)["folded_channels"] == [folded]
    assert run(["check", str(path)]) == 0
    assert "first 4 of 8" in capsys.readouterr().out
    for requantize in ("exact", "fixed"):
        compile_to(path, tmp_path / requantize, target="cortex-m4f", requantize=requantize)
        assert json.loads((tmp_path / requantize / "m.json").read_text())["folded_channels"] == [folded]
