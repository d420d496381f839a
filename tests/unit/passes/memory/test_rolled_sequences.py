"""Networks on sequences, of one axis or of pictures one position high, whose positions are computed some at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import SCALAR
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from quick_c import quick_flags, write_c

from aotc.compiler.driver import in_process, lower
from aotc.executor import compiled_in_process, load
from aotc.measuring.routes import build_shared
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import ANY_RAM, CompileOptions


class Sequence:
    """Layers on a sequence of `length` positions; `high`: on a picture of that length, one position high."""

    def __init__(self, length: int, channels: int, *, quantized: bool, high: bool) -> None:
        self.r, self.quantized, self.high = np.random.default_rng(length), quantized, high
        self.nodes, self.weights = list[NodeProto](), list[TensorProto]()
        self.shape = (channels, length)

    def extents(self, *values: int, before: int = 1) -> list[int]:
        """Along all spatial axes, `before` along the first where there are two."""
        return [before, *values] if self.high else [*values]

    def constant(self, value: Any, dtype: Any) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), f"w{len(self.weights)}"))
        return f"w{len(self.weights) - 1}"

    def node(self, kind: str, *operands: str, **attributes: Any) -> str:
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        return name

    def real(self, x: str) -> str:
        if not self.quantized:
            return x
        parameters = self.constant(1 / 16, np.float32), self.constant(-3, np.int8)
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *parameters), *parameters)

    def window(
        self, size: int, stride: int = 1, dilation: int = 1, pads: tuple[int, int] | None = None
    ) -> dict[str, Any]:
        """The attributes of a window, and the length after it."""
        span = (size - 1) * dilation + 1
        before, after = pads or (span // 2, span - 1 - span // 2)
        channels, length = self.shape
        self.shape = channels, (length + before + after - span) // stride + 1
        return {
            "kernel_shape": self.extents(size),
            "strides": self.extents(stride),
            "pads": [*self.extents(before, before=0), *self.extents(after, before=0)],
        }

    def conv(self, x: str, outputs: int, size: int, *, depthwise: bool = False, dilation: int = 1, **how: Any) -> str:
        inputs = self.shape[0]
        shape = (outputs, 1 if depthwise else inputs, *self.extents(size))
        if self.quantized:
            weight = self.constant(self.r.integers(-127, 128, shape), np.int8)
            weight = self.node("DequantizeLinear", weight, self.constant(1 / 256, np.float32))
        else:
            weight = self.constant(self.r.normal(0, 0.3, shape), np.float32)
        window = self.window(size, dilation=dilation, **how)
        self.shape = outputs, self.shape[1]
        group = inputs if depthwise else 1
        return self.real(self.node("Conv", x, weight, dilations=self.extents(dilation), group=group, **window))

    def model(self, result: str, first: tuple[int, int]) -> ModelProto:
        self.nodes.append(helper.make_node("Identity", [result], ["y"]))
        infos = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, *self.extents(length)])
            for name, (channels, length) in (("x", first), ("y", self.shape))
        ]
        graph = helper.make_graph(self.nodes, "g", infos[:1], infos[1:], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def network(length: int, channels: int, *, quantized: bool, high: bool) -> ModelProto:
    """Dilated convolutions, depthwise ones, an addition, a pool, a stride, a mean."""
    g = Sequence(length, 3, quantized=quantized, high=high)
    x = g.conv(g.real("x"), channels, 5, pads=(4, 0))
    y = g.conv(g.conv(x, channels, 3, depthwise=True, dilation=4), channels, 1)
    x = g.real(g.node("Relu", g.real(g.node("Add", x, y))))
    x = g.conv(x, 2 * channels, 3, stride=2)
    x = g.real(g.node("MaxPool", x, **g.window(3)))
    x = g.conv(x, channels, 3, dilation=2)
    x = g.node("GlobalAveragePool", x)
    g.shape = channels, 1
    return g.model(g.real(x), (3, length))


def compiled(model: ModelProto, target: str, ram: int | str) -> Compilation:
    return lower(model, in_process(CompileOptions.of(target=target, ram=ram, weights="embedded")))


@pytest.mark.parametrize(
    ("length", "channels", "quantized", "high"), [(161, 8, True, False), (190, 5, True, True), (178, 6, False, False)]
)
def test_positions_are_computed_some_at_a_time(
    length: int, channels: int, quantized: bool, high: bool, tmp_path: Path
) -> None:
    """Whatever the channels, rows that no word ends with among them, there are far fewer positions than in all."""
    model = network(length, channels, quantized=quantized, high=high)
    plain, rolled = compiled(model, SCALAR, ANY_RAM), compiled(model, SCALAR, "min")
    assert 2 * rolled.info().workspace_bytes < plain.info().workspace_bytes
    feed = {"x": np.random.default_rng(1).standard_normal((1, 3, *([1] if high else []), length)).astype(np.float32)}
    expected = compiled_in_process(plain)(feed)
    library = build_shared(write_c(rolled, tmp_path), quick_flags())
    for found in (load(library)(feed), compiled_in_process(rolled)(feed)):
        assert {name: array.tobytes() for name, array in found.items()} == {
            name: array.tobytes() for name, array in expected.items()
        }
