"""Networks whose layers are computed row by row: the numbers of the program without a budget, in less memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import SCALAR
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from quick_c import quick_flags, write_c

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.errors import BudgetError
from aotc.executor import compiled_in_process, load
from aotc.measuring.routes import build_shared
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import CompileOptions


class Network:
    """A network of layers on pictures, whose extents are those of all their positions; of 8 bits, or of floats."""

    def __init__(self, seed: int, *, quantized: bool) -> None:
        self.r, self.quantized = np.random.default_rng(seed), quantized
        self.nodes, self.weights = list[NodeProto](), list[TensorProto]()
        self.shapes: dict[str, tuple[int, ...]] = {"x": (3, int(self.r.integers(9, 26)), int(self.r.integers(5, 14)))}

    def constant(self, value: Any, dtype: Any) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), f"w{len(self.weights)}"))
        return f"w{len(self.weights) - 1}"

    def node(self, kind: str, *operands: str, shape: tuple[int, ...] = (), **attributes: Any) -> str:
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        self.shapes[name] = shape or self.shapes[operands[0]]
        return name

    def real(self, x: str) -> str:
        """x, rounded to 8 bits where the network is."""
        if not self.quantized:
            return x
        parameters = self.constant(1 / 16, np.float32), self.constant(-3, np.int8)
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *parameters), *parameters)

    def window(self, x: str, kind: str, weight: tuple[int, ...] = ()) -> str:
        """A convolution, depthwise where `weight` has one input, or a pool, of any window that fits."""
        channels, *extents = self.shapes[x]
        kernel = [int(self.r.integers(1, 4)) for _ in extents]
        strides = [int(self.r.choice([1, 1, 2])) for _ in extents]
        dilations = [int(self.r.choice([1, 1, 2])) for _ in extents] if kind == "Conv" else [1, 1]
        pads = [int(self.r.integers(0, size)) for size in kernel * 2]
        spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
        shape = [
            (extent + pads[axis] + pads[axis + 2] - spans[axis]) // strides[axis] + 1
            for axis, extent in enumerate(extents)
        ]
        if min(shape) < 2:
            return x
        attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads}
        if kind != "Conv":
            return self.real(self.node(kind, x, shape=(channels, *shape), **attributes))
        values = (*weight, *kernel)
        if self.quantized:
            taps = self.constant(self.r.integers(-127, 128, values), np.int8)
            taps = self.node("DequantizeLinear", taps, self.constant(1 / 256, np.float32), shape=values)
        else:
            taps = self.constant(self.r.normal(0, 0.3, values), np.float32)
        group = channels if weight[1] == 1 else 1
        found = self.node("Conv", x, taps, shape=(weight[0], *shape), dilations=dilations, group=group, **attributes)
        return self.real(self.node("Relu", found) if self.r.integers(0, 2) else found)

    def conv(self, x: str) -> str:
        return self.window(x, "Conv", (int(self.r.integers(2, 9)), self.shapes[x][0]))

    def depthwise(self, x: str) -> str:
        return self.window(x, "Conv", (self.shapes[x][0], 1))

    def pool(self, x: str) -> str:
        return self.window(x, "MaxPool")

    def residual(self, x: str) -> str:
        """x and what becomes of it, added up."""
        y, channels = x, self.shapes[x][0]
        for size in self.r.choice([1, 3], int(self.r.integers(1, 3))):
            saved, self.r = self.r, np.random.default_rng(int(self.r.integers(0, 1 << 30)))
            y = self.same(y, channels, int(size))
            self.r = saved
        return self.real(self.node("Add", x, y))

    def same(self, x: str, outputs: int, size: int) -> str:
        """A convolution whose result has the positions of x."""
        shape = (outputs, self.shapes[x][0], size, size)
        if self.quantized:
            weight = self.constant(self.r.integers(-127, 128, shape), np.int8)
            weight = self.node("DequantizeLinear", weight, self.constant(1 / 256, np.float32), shape=shape)
        else:
            weight = self.constant(self.r.normal(0, 0.3, shape), np.float32)
        _, *extents = self.shapes[x]
        pads = [size // 2] * 4
        return self.real(self.node("Conv", x, weight, shape=(outputs, *extents), kernel_shape=[size] * 2, pads=pads))

    def model(self, *results: str) -> ModelProto:
        names = ["x", *(self.node("Identity", result) for result in results)]
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, *self.shapes[name]]) for name in names]
        graph = helper.make_graph(self.nodes, "g", infos[:1], infos[1:], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def drawn(seed: int, *, quantized: bool) -> ModelProto:
    """Some layers in a row; what some of them give is read again later, or a result of the model."""
    g = Network(seed, quantized=quantized)
    x = g.conv(g.real("x"))
    also: list[str] = []
    for _ in range(int(g.r.integers(3, 8))):
        layer = (g.conv, g.depthwise, g.depthwise, g.pool, g.residual)[int(g.r.integers(0, 5))]
        x = layer(x)
        if g.r.integers(0, 8) == 0:
            also.append(x)
    return g.model(x, *also)


def compiled(model: ModelProto, ram: int | str | None) -> Compilation:
    options = CompileOptions.of(target=SCALAR, ram=ram)
    return lower(model, replace(in_process(options), weights="embedded"))


def check(plain: Compilation, rolled: Compilation, feed: dict[str, Any], tmp_path: Path) -> None:
    """The numbers of the program without a budget, by C and by LLVM."""
    expected = compiled_in_process(plain)(feed)
    library = build_shared(write_c(rolled, tmp_path), quick_flags())
    for found in (load(library)(feed), compiled_in_process(rolled)(feed)):
        assert {name: array.tobytes() for name, array in found.items()} == {
            name: array.tobytes() for name, array in expected.items()
        }


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_those_without_a_budget(seed: int, quantized: bool, tmp_path: Path) -> None:
    model = drawn(seed, quantized=quantized)
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    feed = {"x": np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 2}
    plain, rolled = compiled(model, None), compiled(model, "min")
    assert rolled.info().workspace_bytes <= plain.info().workspace_bytes
    check(plain, rolled, feed, tmp_path)


def pictures() -> ModelProto:
    """Three layers of 8 channels on a picture of 24 x 12."""
    g = Network(0, quantized=True)
    g.shapes["x"] = (3, 24, 12)
    x = g.same(g.real("x"), 8, 3)
    return g.model(g.same(g.same(x, 8, 3), 2, 1))


def test_budget_is_met_at_the_least_cost(tmp_path: Path) -> None:
    """Layers that fit stay as they are, others roll; of a budget that is less than the least the message says so."""
    model = pictures()
    plain, least = compiled(model, None).info(), compiled(model, "min").info()
    assert least.workspace_bytes <= 8 * 12 * (3 + 1) + 3 * 12 * 24 + 64 < plain.workspace_bytes
    assert compiled(model, plain.ram_bytes + 64).info().plan == plain.plan
    assert compiled(model, least.ram_bytes).info().plan == least.plan
    found = f"{least.ram_bytes:,} bytes of RAM, the least that was found: .* 1\\.[0-9]+ times .* {plain.ram_bytes:,}"
    with pytest.raises(BudgetError, match=found):
        aotc.compile_to(model, tmp_path, target=SCALAR, ram=least.ram_bytes - 1, name="m")


REDUCTIONS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "GlobalAveragePool": ({}, (16, 1, 1)),
    "MaxPool": ({"kernel_shape": [5, 7], "dilations": [2, 1], "pads": [1, 0, 0, 0], "strides": [24, 1]}, (16, 1, 1)),
    "LpPool": ({"kernel_shape": [11, 7], "strides": [24, 1], "p": 3}, (16, 1, 1)),
    "ReduceMax": ({"axes": [2, 3]}, (16, 1, 1)),
    "ReduceMean": ({"axes": [2]}, (16, 1, 7)),
    "AveragePool": ({"kernel_shape": [25, 3], "pads": [1, 1, 0, 1], "strides": [3, 2]}, (16, 1, 4)),
}


@pytest.mark.parametrize(("quantized", "absent"), [(False, ("AveragePool",)), (True, ("ReduceMean", "LpPool"))])
def test_reductions_take_rows_as_they_come(quantized: bool, absent: Sequence[str], tmp_path: Path) -> None:
    """A picture that is pooled, or reduced, over all rows is never whole."""
    g = Network(3, quantized=quantized)
    g.shapes["x"] = (3, 24, 7)
    x = g.same(g.same(g.real("x"), 8, 3), 16, 1)
    drawn = {kind: how for kind, how in REDUCTIONS.items() if kind not in absent}
    model = g.model(*(g.real(g.node(kind, x, shape=shape, **how)) for kind, (how, shape) in drawn.items()))
    plain, rolled = compiled(model, None), compiled(model, "min")
    whole = 16 * 24 * 7 * (1 if quantized else 4)
    assert rolled.info().workspace_bytes < whole < plain.info().workspace_bytes
    check(plain, rolled, {"x": g.r.standard_normal((1, 3, 24, 7)).astype(np.float32) * 2}, tmp_path)


def test_a_mean_that_rows_are_multiplied_with_ends_a_kernel(tmp_path: Path) -> None:
    """Of what is multiplied with its own mean rows are computed up to the mean; those behind are another kernel's."""
    g = Network(5, quantized=False)
    g.shapes["x"] = (3, 20, 6)
    x = g.same(g.same(g.same("x", 8, 3), 16, 1), 4, 3)
    gates = g.node("Sigmoid", g.same(g.node("GlobalAveragePool", x, shape=(4, 1, 1)), 4, 1))
    y = g.node("Mul", x, gates)
    model = g.model(g.node("GlobalMaxPool", g.same(g.same(y, 16, 3), 8, 1), shape=(8, 1, 1)))
    plain, rolled = compiled(model, None), compiled(model, "min")
    assert rolled.info().workspace_bytes < 4 * 20 * 6 * 4 + 3200 < plain.info().workspace_bytes
    check(plain, rolled, {"x": g.r.standard_normal((1, 3, 20, 6)).astype(np.float32)}, tmp_path)
