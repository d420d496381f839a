"""Winograd's convolution of 8-bit integers: exact for every machine that has it, and chosen where it is cheaper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_model import Array, CaseModel, tensor
from kernel_program import lowered
from onnx import ModelProto, TensorProto, helper, numpy_helper, save
from quick_c import open_quickly
from xdsl.dialects.builtin import f64, i32

from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.packed.winograd.winograd_axes import exact_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.families import X86_AVX2, X86_AVX512
from aotc.machines.machine import Machine
from aotc.machines.targets import lookup, machine_of
from aotc.mathematics.strided_transforms import STRIDE, StridedTransforms
from aotc.mathematics.winograd_transforms import OUTPUT_TILES, ExactTransforms, inverse_of_odd, power_of_two
from aotc.passes.kernel.costs import winograd_cost
from aotc.passes.kernel.costs.dot_cost import pair_machine
from aotc.passes.kernel.costs.winograd_cost import ConvolutionSizes
from aotc.passes.kernel.strategies.winograd_strategy import WinogradDotStrategy
from aotc.pipeline.options import CompileOptions

_FEATURES = lookup("host").features.split(",")
_LEVELS = {"x86-64-v2": "+avx2", "x86-64-v3": "+avx2", "x86-64-v4": "+avx512bw", "host": "+sse2"}
_TARGETS = ["x86-64", *(name for name, feature in _LEVELS.items() if feature in _FEATURES)]


@dataclass(frozen=True)
class Case:
    """x [N, C, H, W] of `kind` with a weight [M, C, 3, 3], quantised with `zero_point` and requantised."""

    x: tuple[int, int, int, int]
    outputs: int
    zero_point: int
    kind: Any = np.uint8
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    extreme: bool = False
    """Whether operands are the least and greatest integers only."""
    all: tuple[int, int] | None = None
    """The value of every element of x, and of the weight."""
    relu: bool = False
    strides: tuple[int, int] = (1, 1)

    def integers(self) -> tuple[Array, Array, Array]:
        """x, the weight, the bias."""
        rng = np.random.default_rng(sum(self.x) + self.outputs)
        shapes = (self.kind, self.x), (np.int8, (self.outputs, self.x[1], 3, 3))
        limits = [(np.iinfo(kind).min, np.iinfo(kind).max, kind, shape) for kind, shape in shapes]
        x, weight = (
            (np.where(rng.integers(0, 2, shape), high, low) if self.extreme else rng.integers(low, high + 1, shape))
            for low, high, _, shape in limits
        )
        if self.all is not None:
            x, weight = np.full(self.x, self.all[0]), np.full(weight.shape, self.all[1])
        return x.astype(self.kind), weight.astype(np.int8), rng.integers(-9999, 9999, self.outputs).astype(np.int32)

    def model(self, number: int, scale: float) -> list[Any]:
        """The node and initializers of case `number`; results are multiplied by `scale`."""
        (_, weight, bias), f32 = self.integers(), np.float32
        point = np.array(0 if self.relu else self.zero_point, self.kind)
        values = {
            "sx": np.array(1, f32),
            "zx": np.array(self.zero_point, self.kind),
            "w": weight,
            "sw": np.full(self.outputs, scale, f32),
            "zw": np.zeros(self.outputs, np.int8),
            "sy": np.array(1, f32),
            "zy": point,
            "b": bias,
        }
        operands = ["x", *values]
        node = helper.make_node(
            "QLinearConv",
            [f"{name}{number}" for name in operands],
            [f"y{number}"],
            pads=list(self.pads),
            strides=list(self.strides),
        )
        return [node, *(numpy_helper.from_array(array, f"{name}{number}") for name, array in values.items())]

    def sums(self) -> Array:
        """In i64 [N, M, H', W']."""
        x, weight, bias = (array.astype(np.int64) for array in self.integers())
        top, left, bottom, right = self.pads
        padded = np.pad(x - self.zero_point, [(0, 0), (0, 0), (top, bottom), (left, right)])
        down, across = self.strides
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(-2, -1))[:, :, ::down, ::across]
        return np.einsum("nchwij,mcij->nmhw", windows, weight) + bias[:, None, None]


CASES = (
    Case((1, 16, 8, 8), 16, 128),
    Case((2, 24, 9, 7), 20, 3),
    Case((1, 64, 14, 13), 64, 0, np.int8, (0, 1, 1, 0)),
    Case((1, 33, 11, 12), 17, -128, np.int8),
    Case((1, 40, 6, 6), 24, 255, extreme=True),
    Case((1, 40, 6, 6), 24, -128, np.int8, extreme=True),
    Case((1, 32, 5, 9), 40, 127, np.int8, (2, 0, 1, 2)),
    Case((1, 48, 12, 12), 16, 9, relu=True),
    # 255 * 128 * 9 * 114 < 2^25: the most channels of any weights whose sums F(4, 3) is exact for
    Case((1, 114, 6, 6), 16, 0, all=(255, -128)),
    Case((1, 114, 6, 6), 16, 127, np.int8, all=(-128, -128)),
    Case((1, 16, 16, 17), 24, -128, np.int8, strides=(2, 2)),
    Case((2, 33, 9, 14), 16, 3, pads=(0, 1, 1, 0), strides=(2, 2)),
    Case((1, 24, 15, 7), 20, 255, extreme=True, strides=(2, 2)),
    Case((1, 40, 11, 9), 16, -128, np.int8, extreme=True, strides=(2, 1)),
    Case((1, 32, 6, 19), 24, 127, np.int8, (2, 0, 1, 2), strides=(1, 2)),
    Case((1, 114, 9, 9), 16, 0, all=(255, -128), strides=(2, 2)),
    # with strides of 2 F(4, 3) is exact for sums below 2^29, which are those of any weights here
    Case((1, 128, 9, 9), 16, 0, all=(255, -128), strides=(2, 2)),
)
TOO_WIDE = Case((1, 128, 8, 8), 16, 0, all=(255, -128))
"""Its sums are not: 255 * 128 * 9 * 128 > 2^25."""


def _scale(sums: Array) -> float:
    return 100 / float(np.abs(sums).max())


def _model(cases: Sequence[Case]) -> tuple[ModelProto, dict[str, Array], dict[str, Array]]:
    """The cases as one model, what goes in and what comes out."""
    nodes: list[Any] = []
    initializers: list[Any] = []
    inputs: dict[str, Array] = {}
    results: dict[str, Array] = {}
    for number, case in enumerate(cases):
        sums = case.sums()
        node, *values = case.model(number, _scale(sums))
        nodes.append(node)
        initializers += values
        inputs[f"x{number}"] = case.integers()[0]
        point = 0 if case.relu else case.zero_point
        rounded = np.rint(sums.astype(np.float32) * np.float32(_scale(sums))) + point
        results[f"y{number}"] = np.clip(rounded, np.iinfo(case.kind).min, np.iinfo(case.kind).max).astype(case.kind)

    def infos(arrays: dict[str, Array]) -> list[Any]:
        kinds = {np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8}
        return [helper.make_tensor_value_info(name, kinds[a.dtype], a.shape) for name, a in arrays.items()]

    graph = helper.make_graph(nodes, "cases", infos(inputs), infos(results), initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), inputs, results


def _prefer(output_tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tiles of so many results seem to cost nothing."""

    known = winograd_cost.cycles

    def cycles(machine: Machine, sizes: ConvolutionSizes, size: int) -> float:
        return 0 if size == output_tile else known(machine, sizes, size)

    monkeypatch.setattr(winograd_cost, "cycles", cycles)
    monkeypatch.setattr(winograd_cost, "cycles_with_memory", cycles)


_WAYS = [
    *(("shared", target, 4) for target in _TARGETS),
    ("c", _TARGETS[-1], 4),
    ("shared", "x86-64", 2),
    ("c", _TARGETS[min(2, len(_TARGETS) - 1)], 2),
]


@pytest.mark.parametrize(("route", "target", "output_tile"), _WAYS)
def test_sums_are_exact(
    route: str, target: str, output_tile: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other case; the ways beside this one have the others."""
    _prefer(output_tile, monkeypatch)
    number = _WAYS.index((route, target, output_tile))
    _check(CASES[number % 2 :: 2], route, target, tmp_path)


def test_sums_that_large_tiles_are_not_exact_for_are_computed_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _prefer(4, monkeypatch)
    _check([TOO_WIDE], "shared", _TARGETS[-1], tmp_path)


def _check(cases: Sequence[Case], route: str, target: str, tmp_path: Path) -> None:
    model, inputs, results = _model(cases)
    save(model, tmp_path / "cases.onnx")
    run = open_quickly(str(tmp_path / "cases.onnx"), route, CompileOptions(target=target))
    found = run(inputs)
    for name, expected in results.items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name)


LANES, WIDTH = 8, 16


def _plain(number: int, case: Case, tile: int, model: CaseModel) -> None:
    """The operation of a case without a schedule, on operands as `assign-layouts` packs them."""
    x, weight, bias = case.integers()
    n, channels, height, width = x.shape
    blocks, outputs, steps = ceil_div(channels, LANES), ceil_div(case.outputs, WIDTH) * WIDTH, ceil_div(channels, 2)
    filled = np.pad(x, [(0, 0), (0, blocks * LANES - channels), (0, 0), (0, 0)], constant_values=77)
    pairs = np.pad(weight, [(0, outputs - case.outputs), (0, 2 * steps - channels), (0, 0), (0, 0)])
    pairs = pairs.reshape(-1, WIDTH, steps, 2, 3, 3).transpose(0, 4, 5, 2, 1, 3)
    operands = [
        np.ascontiguousarray(np.moveaxis(filled.reshape(n, blocks, LANES, height, width), 2, -1)),
        np.ascontiguousarray(pairs.reshape(-1, 1, 3, 3, steps, 2 * WIDTH)),
        np.pad(bias, (0, -case.outputs % LANES)),
    ]
    kinds = [model.input(f"x{number}_{k}", array) for k, array in enumerate(operands)]
    top, left, bottom, right = case.pads
    spans, strides = (height + top + bottom, width + left + right), case.strides
    positions = [(span - 3) // stride + 1 for span, stride in zip(spans, strides, strict=True)]
    size = prod(2 * tile + 1 if stride == 2 else tile + 2 for stride in strides)
    tiles, filters = ceil_div(positions[1], tile) | 1, (tile + 2) ** 2
    kind = tensor((n, ceil_div(case.outputs, LANES), *positions, LANES), "i32")
    scratch = tensor((size, tiles, (blocks | 1) * LANES), "i16"), tensor((size, tiles, WIDTH), "i32")
    results = ", ".join([kind, *scratch, tensor((filters, steps | 1, 2 * WIDTH), "i16")])
    attributes = ", ".join(
        [
            f"pads = array<i64: {', '.join(map(str, case.pads))}>",
            f"strides = array<i64: {', '.join(map(str, strides))}>",
            f"channels = {channels} : i64, outputs = {case.outputs} : i64, x_zero_point = {case.zero_point} : i64",
            f"output_tile = {tile} : i64, tile_rows = 1 : i64",
        ]
    )
    y, given = f"%plain{number}", ", ".join(f"%x{number}_{k}" for k in range(3))
    values = f"{y}, {y}_v, {y}_p, {y}_f"
    model.body.append(f"{values} = graph.winograd_conv {given} {{{attributes}}} : ({', '.join(kinds)}) -> ({results})")
    model.output(f"plain{number}", y, kind)


@pytest.mark.parametrize("output_tile", OUTPUT_TILES)
@pytest.mark.parametrize("route", ["jit", "c"])
def test_its_definition_in_scalar_loops_is_exact(route: str, output_tile: int, tmp_path: Path) -> None:
    model = CaseModel("winograd")
    cases = CASES[route == "c" :: 2]  # the others by the other route
    for number, case in enumerate(cases):
        _plain(number, case, output_tile, model)
    found = model.run(route, tmp_path)
    for number, case in enumerate(cases):
        y = np.moveaxis(found[f"plain{number}"], -1, 2)
        sums = y.reshape(y.shape[0], -1, *y.shape[3:])[:, : case.outputs]
        np.testing.assert_array_equal(sums, case.sums(), err_msg=str(case))


def test_it_needs_products_of_pairs() -> None:
    machine = machine_of("aarch64")
    assert pair_machine(X86_AVX2) is not None
    assert machine is not None and pair_machine(machine) is None


def test_both_tiles_are_there_for_integers_and_none_for_f64() -> None:
    machine = pair_machine(X86_AVX512)
    assert machine is not None
    sizes = ConvolutionSizes(1, 64, 64, 56, 56, group=2)
    assert [each.output_tile.data for each in winograd_cost.choices(machine, i32, sizes)] == [2, 4]
    assert not winograd_cost.choices(machine, f64, sizes)


@pytest.mark.parametrize(
    ("strides", "dilations", "tiles"),
    [
        ("1, 1", "1, 1", [2, 4]),
        ("2, 2", "1, 1", [2, 4]),
        ("1, 2", "1, 1", [2, 4]),
        ("3, 3", "1, 1", []),
        ("1, 3", "1, 1", []),
        ("1, 1", "1, 2", []),
        ("2, 2", "2, 2", []),
    ],
)
def test_strides_and_dilations(strides: str, dilations: str, tiles: list[int]) -> None:
    window = f"strides = array<i64: {strides}>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: {dilations}>"
    extents = [
        (11 + 2 - 2 * int(dilation) - 1) // int(stride) + 1
        for stride, dilation in zip(strides.split(", "), dilations.split(", "), strict=True)
    ]
    result = f"tensor<1x16x{extents[0]}x{extents[1]}xi32>"
    ops = lowered(
        f"""func.func @main(%x: tensor<1x16x11x11xui8>) {{
             %w = graph.constant dense<1> : tensor<16x16x3x3xi8>
             %y = graph.conv %x, %w {{{window}, group = 1, accumulator = i32}}
               : (tensor<1x16x11x11xui8>, tensor<16x16x3x3xi8>) -> {result}
             func.return
           }}""",
        "",
    ).walk()
    conv = next(op for op in ops if isinstance(op, ConvOp))
    found = WinogradDotStrategy().algorithms(conv, X86_AVX2)
    assert [each.output_tile.data for each in found] == tiles


# The transforms


def _combined(terms: Sequence[tuple[Fraction, Any]]) -> Any:
    assert all(factor.denominator == 1 for factor, _ in terms)
    return sum(int(factor) * value for factor, value in terms)


def _twice(transform: Any, grid: Array) -> Array:
    """Along both axes of an array of integers."""
    first = np.stack(transform(list(grid), _combined))
    return np.stack(transform(list(np.swapaxes(first, 0, 1)), _combined), axis=1)


def _matrix(transform: Any, size: int) -> Array:
    return np.stack(transform(list(np.eye(size, dtype=np.int64)), _combined))


_TRANSFORMS = [exact_of(tile, stride) for tile in OUTPUT_TILES for stride in (1, 2)]


@pytest.mark.parametrize("f", _TRANSFORMS)
def test_multiples_of_the_sums_are_exact_modulo_two_to_the_32nd(f: ExactTransforms | StridedTransforms) -> None:
    rng, stride = np.random.default_rng(0), STRIDE if isinstance(f, StridedTransforms) else 1
    x, weight = rng.integers(-255, 256, (f.inputs, f.inputs)), rng.integers(-128, 128, (3, 3))
    filters = _twice(f.transform_filter, weight)[np.ix_(f.filter_numbers, f.filter_numbers)]
    found = _twice(f.transform_output, _twice(f.transform_input, x) * filters)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3))[::stride, ::stride]
    sums = np.einsum("hwij,ij->hw", windows, weight)
    np.testing.assert_array_equal(found, sums * np.outer(f.multiples, f.multiples))
    for multiple in np.outer(f.multiples, f.multiples).flat:
        shifted = (found.flat[0] // f.multiples[0] ** 2 * int(multiple) * inverse_of_odd(int(multiple))) % 2**32
        assert shifted == (int(sums.flat[0]) << power_of_two(int(multiple))) % 2**32
        assert power_of_two(int(multiple)) <= 2 * f.shift


@pytest.mark.parametrize("f", _TRANSFORMS)
def test_what_is_transformed_fits_16_bits(f: ExactTransforms | StridedTransforms) -> None:
    for matrix, greatest in ((_matrix(f.transform_input, f.inputs), 255), (_matrix(f.transform_filter, 3), 128)):
        assert int(np.abs(matrix).sum(axis=1).max()) ** 2 * greatest < 2**15


@pytest.mark.parametrize("f", _TRANSFORMS)
def test_a_constant_image_is_zero_but_at_one_point_and_where_nothing_is_transformed(
    f: ExactTransforms | StridedTransforms,
) -> None:
    assert f.input_sums == _matrix(f.transform_input, f.inputs).sum(axis=1).tolist()
    odd = range(f.outputs + 1, f.inputs) if isinstance(f, StridedTransforms) else ()
    assert [place for place, total in enumerate(f.input_sums) if total] == [1, *odd]
