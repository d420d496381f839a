"""Convolutions and products of 8-bit integers on vectors, of random shapes, against sums in numpy: exactly."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, helper, numpy_helper, save
from quick_c import open_quickly

import aotc
from aotc.machines.targets import lookup
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]
_AVX2 = "+avx2" in lookup("host").features.split(",")


@dataclass(frozen=True)
class Convolution:
    """Sizes along each spatial axis; `pads` are begins, then ends."""

    channels: int
    outputs: int
    spatial: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    groups: int = 1


CONVOLUTIONS = [
    Convolution(16, 16, (9, 11), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    Convolution(3, 20, (13, 14), (7, 7), (2, 2), (1, 1), (3, 3, 3, 3)),  # few channels
    Convolution(1, 20, (11, 14), (4, 5), (2, 2), (1, 1), (1, 2, 2, 3)),  # few, whose taps are unfolded
    Convolution(2, 9, (23,), (3,), (1,), (1,), (2, 2)),
    Convolution(3, 8, (6, 9), (2, 8), (1, 3), (2, 1), (0, 7, 1, 0)),
    Convolution(1, 8, (4, 9), (3, 4), (1, 1), (1, 2), (0, 0, 0, 0)),  # taps that are no neighbours
    Convolution(5, 3, (6, 33), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
    Convolution(24, 20, (9, 5), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),  # short rows, whose positions are one axis
    Convolution(37, 50, (5, 7), (3, 2), (1, 2), (2, 1), (2, 0, 1, 1)),  # odd numbers of channels, uneven pads
    Convolution(64, 24, (1, 1), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),  # every position sees padding
    Convolution(19, 17, (23,), (5,), (3,), (1,), (4, 2)),  # one axis
    Convolution(9, 8, (4, 5, 6), (2, 3, 2), (1, 1, 2), (1, 1, 1), (1, 1, 0, 0, 1, 1)),  # three
    Convolution(32, 64, (8, 8), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), groups=4),
    Convolution(24, 48, (7, 7), (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), groups=8),
    Convolution(20, 40, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), groups=20),  # depthwise, with a multiplier
    Convolution(32, 32, (10, 12), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), groups=32),
    Convolution(18, 18, (9, 40), (3, 3), (2, 2), (1, 1), (0, 0, 1, 1), groups=18),
    Convolution(16, 16, (11, 9), (5, 5), (1, 1), (2, 1), (4, 2, 4, 2), groups=16),  # taps in two groups
    Convolution(16, 16, (6, 3), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), groups=16),  # narrower than a group of taps
    Convolution(16, 16, (5, 9), (3, 3), (1, 1), (1, 2), (1, 2, 1, 2), groups=16),  # taps that are no neighbours
    Convolution(33, 33, (17,), (8,), (1,), (1,), (0, 7), groups=33),
    Convolution(16, 16, (4, 8), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), groups=16),
    Convolution(24, 24, (7, 5), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), groups=24),  # a line in one tile
    Convolution(12, 12, (9, 13), (2, 4), (1, 2), (1, 1), (0, 1, 1, 2), groups=12),  # rows of taps in pairs
    Convolution(8, 8, (3, 6), (4, 3), (1, 1), (1, 1), (5, 3, 4, 3), groups=8),  # positions that see nothing
    Convolution(8, 8, (2, 3), (7, 7), (1, 1), (1, 1), (3, 3, 3, 3), groups=8),  # no line sees all rows of taps
    Convolution(8, 8, (3, 30), (2, 11), (1, 1), (1, 1), (1, 5, 0, 5), groups=8),  # more taps than are unrolled
    Convolution(9, 9, (4, 5, 6), (3, 3, 2), (1, 2, 1), (1, 1, 2), (1, 1, 1, 1, 1, 1), groups=9),  # three axes
    Convolution(8, 8, (23,), (5,), (1,), (3,), (6, 6), groups=8),  # one axis, taps that are no neighbours
]
PRODUCTS = [(1, 64, 10), (7, 33, 40), (20, 4, 16), (5, 130, 7), (3, 33, 20), (33, 96, 129), (3, 7, 5)]


class Cases:
    """One model of all of them side by side; an input and an output each."""

    def __init__(self, kind: type[np.generic], *, most: int = 128, offsets: bool = False) -> None:
        """`most` is the greatest magnitude of a weight; with `offsets` weights are uint8, with a zero point for each
        channel or column."""
        self._random = np.random.default_rng(7)
        self._kind, self._most, self._offsets = kind, most, offsets
        self.feed: dict[str, Array] = {}
        self.expected: dict[str, Array] = {}
        self._nodes: list[NodeProto] = []
        self._constants: list[Any] = []
        for each in CONVOLUTIONS:
            self._convolution(each)
        for m, k, n in PRODUCTS:
            self._product(m, k, n)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.expected)

    def model(self) -> ModelProto:
        element = helper.np_dtype_to_tensor_dtype(np.dtype(self._kind))
        graph = helper.make_graph(
            self._nodes,
            "integers",
            [helper.make_tensor_value_info(name, element, x.shape) for name, x in self.feed.items()],
            [helper.make_tensor_value_info(name, element, y.shape) for name, y in self.expected.items()],
            self._constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def _any(self, shape: Sequence[int], kind: Any) -> Array:
        """Extreme values among others."""
        info = np.iinfo(kind)
        values = self._random.integers(info.min, info.max, shape, endpoint=True)
        extreme = self._random.choice([info.min, info.max], shape)
        return np.where(self._random.random(shape) < 0.3, extreme, values).astype(kind)

    def _weight(self, shape: Sequence[int]) -> Array:
        if self._offsets:
            return self._any(shape, np.uint8)
        return np.clip(self._any(shape, np.int8), -self._most, min(self._most, 127)).astype(np.int8)

    def _zero_points(self, channels: int) -> Array:
        """Of the weights: those of some channels fit i8 without them, and some of the others do not."""
        if not self._offsets:
            return np.zeros(channels, np.int8)
        return self._random.choice([0, 77, 128, 255], channels).astype(np.uint8)

    def _add(
        self, op: str, x: Array, weights: tuple[Array, Array], sums: Array, bias: Array | None, **attributes: Any
    ) -> None:
        """A node, and what becomes of its `sums` [.., channels along axis 1 or the last..]."""
        weight, points = weights
        number, axis = self.count, 1 if op == "QLinearConv" else sums.ndim - 1
        scale = self._random.uniform(0.5, 1.5, points.shape).astype(np.float32)
        point, to = self._point, self._kind(self._random.integers(0, 20))
        y_scale = np.float32(max(np.abs(sums).max() / 90, 1))
        given = {
            "xs": np.float32(0.5),
            "xz": point,
            "w": weight,
            "ws": scale,
            "wz": points,
            "ys": y_scale,
            "yz": to,
        } | ({} if bias is None else {"b": bias})
        self._constants += [numpy_helper.from_array(np.asarray(a), f"{name}{number}") for name, a in given.items()]
        self.feed[f"x{number}"] = x
        names = [f"x{number}", *(f"{name}{number}" for name in given)]
        self._nodes.append(helper.make_node(op, names, [f"y{number}"], **attributes))
        multiplier = np.float32(0.5) * scale / y_scale
        if scale.ndim:
            multiplier = multiplier.reshape([-1 if each == axis else 1 for each in range(sums.ndim)])
        rounded = np.rint(sums.astype(np.float32) * multiplier) + np.float32(to)
        info = np.iinfo(self._kind)
        self.expected[f"y{number}"] = np.clip(rounded, info.min, info.max).astype(self._kind)

    def _convolution(self, of: Convolution) -> None:
        self._point = self._any((), self._kind)[()] if self.count % 3 else self._kind(0)
        x = self._any((2 if self.count % 4 == 0 else 1, of.channels, *of.spatial), self._kind)
        weight, points = self._weight((of.outputs, of.channels // of.groups, *of.kernel)), self._zero_points(of.outputs)
        bias = self._random.integers(-9999, 9999, of.outputs).astype(np.int32)
        rank = len(of.spatial)
        shifted = x.astype(np.int64) - int(self._point)
        padded = np.pad(shifted, [(0, 0), (0, 0), *zip(of.pads[:rank], of.pads[rank:], strict=True)])
        positions = [
            (extent - (k - 1) * dilation - 1) // stride + 1
            for extent, k, dilation, stride in zip(padded.shape[2:], of.kernel, of.dilations, of.strides, strict=True)
        ]
        sums = np.zeros((x.shape[0], of.outputs, *positions), np.int64)
        counted = weight.astype(np.int64) - points.astype(np.int64).reshape([-1] + [1] * (rank + 1))
        inputs, outputs = of.channels // of.groups, of.outputs // of.groups
        for group in range(of.groups):
            rows = slice(group * outputs, (group + 1) * outputs)
            for taps in itertools.product(*map(range, of.kernel)):
                window = tuple(
                    slice(tap * dilation, tap * dilation + (count - 1) * stride + 1, stride)
                    for tap, dilation, stride, count in zip(taps, of.dilations, of.strides, positions, strict=True)
                )
                seen = padded[(slice(None), slice(group * inputs, (group + 1) * inputs), *window)]
                sums[:, rows] += np.einsum("nc...,mc->nm...", seen, counted[(rows, slice(None), *taps)])
        sums += bias.reshape(-1, *[1] * rank)
        self._add(
            "QLinearConv",
            x,
            (weight, points),
            sums,
            bias,
            strides=of.strides,
            dilations=of.dilations,
            pads=of.pads,
            group=of.groups,
        )

    def _product(self, m: int, k: int, n: int) -> None:
        self._point = self._any((), self._kind)[()]
        x, weight, points = self._any((2, m, k), self._kind), self._weight((k, n)), self._zero_points(n)
        sums = (x.astype(np.int64) - int(self._point)) @ (weight.astype(np.int64) - points.astype(np.int64))
        self._add("QLinearMatMul", x, (weight, points), sums, None)


def _equal(found: dict[str, Array], cases: Cases) -> None:
    for name, expected in cases.expected.items():
        np.testing.assert_array_equal(found[name], expected, err_msg=f"{name} of {CONVOLUTIONS} and {PRODUCTS}")


@pytest.mark.parametrize(("route", "kind"), [("jit", np.int8), ("c", np.int8), ("c", np.uint8)])
def test_exact_on_this_machine(kind: type[np.generic], route: str, tmp_path: Path) -> None:
    cases = Cases(kind)
    save(cases.model(), tmp_path / "model.onnx")
    _equal(open_quickly(str(tmp_path / "model.onnx"), route, CompileOptions())(cases.feed), cases)


@pytest.mark.parametrize(
    ("target", "most"), [("x86-64", 128), ("x86-64-v2", 127), ("x86-64-v3", 128), ("x86-64-v3", 127), ("x86-64-v3", 64)]
)
def test_exact_without_a_dot_product_of_bytes(target: str, most: int, tmp_path: Path) -> None:
    if not _AVX2:
        pytest.skip("no AVX2 here")
    cases = Cases(np.uint8, most=most)
    aotc.compile_to(cases.model(), tmp_path, name="m", emit="shared", target=target)
    _equal(aotc.load(tmp_path / "m.so")(cases.feed), cases)


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
def test_exact_where_weights_have_zero_points(target: str, tmp_path: Path) -> None:
    if not _AVX2:
        pytest.skip("no AVX2 here")
    cases = Cases(np.uint8, offsets=True)
    aotc.compile_to(cases.model(), tmp_path, name="m", emit="shared", target=target)
    _equal(aotc.load(tmp_path / "m.so")(cases.feed), cases)


@pytest.mark.parametrize(("route", "optimize"), [("c", "2"), ("jit", "0")])
def test_exact_with_zero_points_in_c_and_without_schedules(route: str, optimize: str, tmp_path: Path) -> None:
    cases = Cases(np.int8, offsets=True)
    save(cases.model(), tmp_path / "model.onnx")
    _equal(open_quickly(str(tmp_path / "model.onnx"), route, CompileOptions.of(optimize=optimize))(cases.feed), cases)


@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize("target", ["x86-64-v3", "aarch64"])
def test_all_are_dot_products(target: str, offsets: bool, tmp_path: Path) -> None:
    cases = Cases(np.int8, offsets=offsets)
    aotc.compile_to(cases.model(), tmp_path, name="m", target=target, stop_after="schedule")
    (text,) = (path.read_text() for path in tmp_path.glob("*.mlir"))
    most = cases.count * (2 if offsets else 1)  # sums of what weights see, where these have a zero point
    kinds = ("blocked_dot_", "blocked_pair_", "packed_dot_", "paired_dot_", "winograd_conv")
    found = sum(text.count(f"graph.{kind}") for kind in kinds)
    assert cases.count <= found <= most
    assert ("graph.blocked_pair_" in text) == (target == "x86-64-v3")
    constants = [line for line in text.splitlines() if "graph.constant" in line]
    assert constants and not any("xi16" in line for line in constants)  # weights stay bytes
