"""Winograd convolution: the transforms, the choice, and the kernels on tiles and as scalar loops against float64.

The kernels of all cases are two models, compiled once: one of those that C computes as well, one of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any, cast

import numpy as np
import pytest
from case_model import Array, CaseModel, PartialRuns, tensor
from codegens.tested_targets import XEON, ZEN
from xdsl.dialects.builtin import TensorType, f32, f64
from xdsl.utils.test_value import create_ssa_value

from aotc.dialects.graph.packed.winograd.winograd_axes import Axis, WinogradWeightOp, axes_of
from aotc.dialects.graph.schedules import MatmulSchedule, ScheduleAttr
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import SlidingWindow, sliding_windows
from aotc.machines.families import X86_AVX2, X86_AVX512, of_vendor
from aotc.machines.machine import Machine
from aotc.machines.targets import Target
from aotc.mathematics.winograd_transforms import OUTPUT_TILES, Transforms, transforms
from aotc.passes.kernel.costs import winograd_cost
from aotc.passes.kernel.costs.lanes import lanes_of
from aotc.passes.kernel.costs.winograd_cost import ConvolutionSizes

AVX512 = replace(of_vendor(X86_AVX512, zen=5), l1=48 << 10)


# The transforms


def to_blocks(array: Array, axis: int, block: int) -> Array:
    """Split `axis` into blocks, padded with zeros: [.., C, rest..] -> [.., C / B, B, rest..]."""
    missing = -array.shape[axis] % block
    if missing:
        array = np.pad(array, [(0, missing if k == axis else 0) for k in range(array.ndim)])
    return array.reshape(*array.shape[:axis], -1, block, *array.shape[axis + 1 :])


def combine(terms: list[tuple[Fraction, Any]]) -> Any:
    return sum(np.float32(factor) * value for factor, value in terms)  # as exact as the operands


def twice(transform: Any, grid: Any) -> Array:
    """Along both axes of an array of numbers, or of arrays."""
    first = np.stack(transform(list(grid), combine))
    return np.stack(transform(list(np.swapaxes(first, 0, 1)), combine), axis=1)


def direct(x: Array, weight: Array) -> Array:
    """[.., C, H, W] with [M, C, 3, 3] in float64: [.., M, H - 2, W - 2]."""
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), axis=(-2, -1))
    return np.einsum("...chwij,mcij->...mhw", windows, weight.astype(np.float64), optimize=True)


@pytest.mark.parametrize("output_tile", OUTPUT_TILES)
def test_the_transforms_compute_a_convolution(output_tile: int) -> None:
    f = transforms(output_tile)
    rng = np.random.default_rng(0)
    d, g = rng.standard_normal((f.inputs, f.inputs)), rng.standard_normal((3, 3))
    y = twice(f.transform_output, twice(f.transform_input, d) * (f.weight_matrix @ g @ f.weight_matrix.T))
    np.testing.assert_allclose(y, direct(d[None], g[None, None])[0], rtol=1e-12, atol=1e-12)


def error_in_f32(f: Transforms) -> float:
    """Greatest error over greatest result: 64 channels, operands as after a relu."""
    rng = np.random.default_rng(0)
    d = np.maximum(rng.standard_normal((200, 64, f.inputs, f.inputs)), 0).astype(np.float32)
    g = (rng.standard_normal((16, 64, 3, 3)) / 17).astype(np.float32)
    v = twice(f.transform_input, np.moveaxis(d, (-2, -1), (0, 1)))
    u = np.moveaxis(f.weight_matrix @ g @ f.weight_matrix.T, (-2, -1), (0, 1)).astype(np.float32)
    y = np.moveaxis(twice(f.transform_output, v @ np.swapaxes(u, -1, -2)), (0, 1), (-2, -1))
    expected = direct(d, g)
    return float(np.abs(y - expected).max() / np.abs(expected).max())


def test_the_points_are_the_ones_of_least_error() -> None:
    usual = Transforms(4, tuple(map(Fraction, (0, 1, -1, 2, -2))))
    assert error_in_f32(transforms(2)) < 1e-6
    assert error_in_f32(transforms(4)) < 3e-6
    assert error_in_f32(usual) > 2 * error_in_f32(transforms(4))


@pytest.mark.parametrize("output_tile", OUTPUT_TILES)
def test_the_factors_are_exact_in_f32(output_tile: int) -> None:
    f = transforms(output_tile)
    factors: list[Fraction] = []

    def noted(terms: Sequence[tuple[Fraction, float]]) -> float:
        factors.extend(factor for factor, _ in terms)
        return 1.0

    f.transform_input([1.0] * f.inputs, noted)
    f.transform_output([1.0] * f.inputs, noted)
    assert factors and all(Fraction(float(np.float32(float(factor)))) == factor for factor in factors)


# The choice


@pytest.mark.parametrize(
    ("channels", "outputs", "extent", "output_tile"),
    [(64, 64, 56, 4), (128, 128, 28, 4), (512, 512, 7, 2), (128, 32, 56, 4), (16, 16, 32, 4), (64, 64, 8, 4)],
)
def test_what_was_measured_to_be_fastest_is_chosen(channels: int, outputs: int, extent: int, output_tile: int) -> None:
    machine = AVX512.with_weights(4 * 9 * channels * outputs)
    chosen = winograd_cost.choose(machine, f32, ConvolutionSizes(1, channels, outputs, extent, extent))
    assert chosen is not None and chosen.output_tile.data == output_tile


@pytest.mark.parametrize(
    ("target", "layers", "channels", "extent", "output_tile"),
    [
        (ZEN, 5, 512, 7, 2),
        (XEON, 1, 64, 14, 4),
        (XEON, 5, 64, 14, 2),
        (XEON, 5, 512, 7, None),
        (ZEN, 5, 512, 14, 4),
        (XEON, 5, 512, 14, 2),
        (ZEN, 1, 128, 14, 4),
        (ZEN, 5, 128, 14, 2),
        (XEON, 5, 128, 28, 4),
        (ZEN, 113, 512, 14, 4),
        (ZEN, 114, 512, 14, None),
    ],
)
def test_the_weights_of_all_layers_decide_how_large_tiles_are(
    target: Target, layers: int, channels: int, extent: int, output_tile: int | None
) -> None:
    machine = cast(Machine, target.core).with_weights(layers * 4 * 9 * channels**2)
    chosen = winograd_cost.choose(machine, f32, ConvolutionSizes(1, channels, channels, extent, extent))
    assert (chosen and chosen.output_tile.data) == output_tile


def test_taps_in_the_padding_cost_direct_convolution_nothing() -> None:
    """5 x 5 taps around 7 x 7 positions: 29 of 35 taps along an axis are inside."""
    window = SlidingWindow(extent=7, size=5, stride=1, dilation=1, before=2, after=2)
    assert window.inside == 29 / 35
    machine = cast(Machine, ZEN.core).with_weights(1 << 16)
    sizes = ConvolutionSizes(1, 256, 256, 7, 7, taps=25, segments=4)
    assert winograd_cost.choose(machine, f32, sizes)
    assert winograd_cost.choose(machine, f32, replace(sizes, inside=window.inside**2)) is None


@pytest.mark.parametrize("sizes", [(1, 3, 64, 224, 224), (1, 512, 512, 1, 1), (0, 64, 64, 8, 8)])
def test_where_it_does_not_pay_it_is_not_chosen(sizes: tuple[int, int, int, int, int]) -> None:
    assert winograd_cost.choose(AVX512, f32, ConvolutionSizes(*sizes)) is None


def test_fewer_channels_than_lanes_are_convolved_directly() -> None:
    assert not winograd_cost.choices(AVX512, f32, ConvolutionSizes(1, 15, 64, 56, 56))
    assert winograd_cost.choices(AVX512, f32, ConvolutionSizes(1, 16, 64, 56, 56))


def test_only_f32_may_lose_accuracy() -> None:
    assert winograd_cost.choose(AVX512, f64, ConvolutionSizes(1, 64, 64, 56, 56)) is None


@pytest.mark.parametrize("machine", [AVX512, X86_AVX2])
@pytest.mark.parametrize("extent", [5, 17, 56, 300])
def test_blocks_are_equal_and_fit_the_cache(machine: Machine, extent: int) -> None:
    sizes = ConvolutionSizes(2, 64, 96, extent, extent)
    chosen = winograd_cost.choose(machine.with_weights(4 * 9 * 64 * 96), f32, sizes)
    assert chosen is not None
    m, rows = chosen.output_tile.data, chosen.tile_rows.data
    all_rows, columns = sizes.tiles(m)
    width = winograd_cost.schedule(machine, f32, sizes, chosen).nr * lanes_of(machine, f32)
    assert rows == ceil_div(all_rows, ceil_div(all_rows, rows))
    assert rows * columns <= 2 * 16 or rows == 1 or 4 * (m + 2) ** 2 * rows * columns * (64 + width) <= machine.l2


def test_what_the_estimate_says_of_other_windows() -> None:
    def chosen(channels: int, *extents: int, taps: int, segments: int, tiled: tuple[bool, bool]) -> bool:
        sizes = ConvolutionSizes(extents[0], channels, 64, *extents[1:], taps=taps, segments=segments, tiled=tiled)
        return winograd_cost.choose(AVX512, f32, sizes) is not None

    assert chosen(64, 16, 28, 28, taps=27, segments=3, tiled=(True, True))  # 3 x 3 x 3
    assert chosen(64, 1, 28, 28, taps=25, segments=4, tiled=(True, True))  # 5 x 5
    assert chosen(64, 1, 1, 1024, taps=9, segments=3, tiled=(False, True))  # 9
    assert not chosen(64, 1, 1, 2, taps=3, segments=1, tiled=(False, True))  # two positions of a row of 3 taps


# The kernels


@dataclass(frozen=True)
class Case:
    """x [N, C, spatial..] with a weight [M, C, kernel..], in registers of `lanes`; `tile` is (rows, blocks of a
    panel)."""

    x: tuple[int, ...]
    outputs: int
    pads: tuple[int, ...] = (1, 1, 1, 1)
    output_tile: int = 4
    tile_rows: int = 1
    tile: tuple[int, int] = (3, 2)
    panel: int = 2
    lanes: int = 4
    epilogue: bool = True
    """A bias, another tensor added, and a relu."""
    kernel: tuple[int, ...] = (3, 3)
    strides: tuple[int, ...] = (1, 1)
    dilations: tuple[int, ...] = (1, 1)
    tiled_axes: tuple[int, ...] | None = None

    @property
    def number(self) -> Any:
        return np.float32 if self.lanes == 4 else np.float64

    @property
    def axes(self) -> tuple[Axis, ...]:
        windows = sliding_windows(self.x[2:], self.kernel, self.strides, self.pads, self.dilations)
        return axes_of(windows, self.tiled_axes, self.output_tile)

    def plain_inputs(self) -> list[Array]:
        """x, the weight, and perhaps the bias and what is added."""
        rng = np.random.default_rng(sum(self.x))
        shapes: list[tuple[int, ...]] = [self.x, (self.outputs, self.x[1], *self.kernel)]
        if self.epilogue:
            shapes += [(self.outputs,), self.result_shape()]
        return [rng.standard_normal(shape).astype(self.number) for shape in shapes]

    def result_shape(self) -> tuple[int, ...]:
        return self.x[0], self.outputs, *(axis.window.positions for axis in self.axes)

    def expected(self) -> Array:
        x, weight, *rest = self.plain_inputs()
        y, extents = np.zeros(self.result_shape()), self.x[2:]
        for index in np.ndindex(*y.shape[2:]):
            for tap in np.ndindex(*self.kernel):
                place = self._place(index, tap)
                if all(0 <= at < extent for at, extent in zip(place, extents, strict=True)):
                    y[(..., *index)] += x[(..., *place)].astype(np.float64) @ weight[(..., *tap)].T.astype(np.float64)
        spread = (-1, *(1,) * len(self.kernel))
        return np.maximum(y + rest[0].reshape(spread) + rest[1], 0) if rest else y

    def _place(self, index: Sequence[int], tap: Sequence[int]) -> tuple[int, ...]:
        together = zip(index, tap, self.strides, self.dilations, self.pads, strict=False)
        return tuple(at * stride + number * dilation - before for at, number, stride, dilation, before in together)

    def inputs(self) -> list[Array]:
        """As the kernel takes them; the lanes of missing channels are NaN."""
        x, weight, *rest = self.plain_inputs()
        panels = self._panels(weight).astype(self.number)
        packed = [self._blocked(x), panels]
        if rest:
            packed += [to_blocks(rest[0], 0, self.lanes).reshape(-1), self._blocked(rest[1])]
        return [np.ascontiguousarray(array) for array in packed]

    def _panels(self, weight: Array) -> Array:
        """[panels, products, segments * C, width]: each segment of each axis, multiplied with that axis' matrix."""
        parts: list[Array] = []
        for segment in np.ndindex(*(axis.segments for axis in self.axes)):
            part = weight.astype(np.float64)
            for number, (axis, first) in enumerate(zip(self.axes, segment, strict=True)):
                taps = np.moveaxis(part, 2 + number, -1)[..., first * axis.taps :][..., : axis.taps]
                matrix = axis.transforms.weight_matrix[:, : taps.shape[-1]]
                part = np.moveaxis(taps @ matrix.T, -1, 2 + number)
            parts.append(part.reshape(*weight.shape[:2], -1))
        return np.swapaxes(to_blocks(np.concatenate(parts, 1), 0, self.panel * self.lanes), 1, 3)

    def _blocked(self, x: Array) -> Array:
        missing = [(0, 0)] * x.ndim
        missing[1] = (0, -x.shape[1] % self.lanes)
        filled = np.pad(x, missing, constant_values=np.nan)
        return np.moveaxis(to_blocks(filled, 1, self.lanes), 2, -1)

    def attributes(self) -> list[str]:
        """Those that an operation on the window has."""
        arrays = {"kernel": self.kernel, "strides": self.strides, "dilations": self.dilations}
        given = {name: values for name, values in arrays.items() if values != getattr(Case, name)}
        if self.tiled_axes is not None:
            given["tiled_axes"] = self.tiled_axes
        return [f"{name} = array<i64: {', '.join(map(str, values))}>" for name, values in given.items()]

    def lines(self, number: int, tiled: bool) -> tuple[list[str], str, str]:
        """The operations, the last value and its type."""
        dtype = "f32" if self.lanes == 4 else "f64"
        kinds = [tensor(array.shape, dtype) for array in self.inputs()]
        n, m, *extents = self.result_shape()
        result = (n, ceil_div(m, self.lanes), *extents, self.lanes)
        size, tiles = self.inputs()[1].shape[1], (self.tile_rows * self.axes[-1].tiles) | 1
        segments = prod(axis.segments for axis in self.axes)
        pitch = (segments * ceil_div(self.x[1], self.lanes) | 1) * self.lanes
        shapes = (result, (size, tiles, pitch), (size, tiles, self.panel * self.lanes))
        results = [tensor(shape, dtype) for shape in shapes]
        attributes = [
            *self.attributes(),
            f"pads = array<i64: {', '.join(map(str, self.pads))}>",
            *(f"{name} = {value} : i64" for name, value in (("channels", self.x[1]), ("outputs", self.outputs))),
            f"output_tile = {self.output_tile} : i64",
            f"tile_rows = {self.tile_rows} : i64",
        ]
        if tiled:
            attributes.append(f"schedule = {ScheduleAttr.of(MatmulSchedule(self.lanes, *self.tile, 4))}")
        way = "tiled" if tiled else "plain"
        y = f"%{way}{number}"
        operands = ", ".join(f"%x{number}_{k}" for k in range(len(kinds[:3])))
        types = f"({', '.join(kinds[:3])}) -> ({', '.join(results)})"
        lines = [f"{y}, {y}_v, {y}_p = graph.winograd_conv {operands} {{{', '.join(attributes)}}} : {types}"]
        if self.epilogue:
            lines.append(f"{y}_a = graph.add {y}, %x{number}_3 : ({results[0]}, {results[0]}) -> {results[0]}")
            lines.append(f"{y}_r = graph.relu {y}_a : ({results[0]}) -> {results[0]}")
            y += "_r"
        return lines, y, results[0]


CASES = (
    Case((1, 1, 1, 1), 1),
    Case((1, 5, 3, 4), 7, (0, 0, 0, 0), epilogue=False),
    Case((1, 6, 12, 16), 18, tile_rows=3, tile=(5, 2)),
    Case((2, 3, 7, 13), 4, (0, 2, 1, 0), tile_rows=2, epilogue=False),
    Case((3, 9, 6, 5), 10, (2, 2, 2, 2), tile_rows=4, tile=(4, 1)),
    Case((1, 4, 40, 2), 20, tile_rows=3, tile=(2, 3), panel=3),
    Case((1, 4, 2, 40), 3, (1, 0, 1, 2), tile=(8, 1), panel=1),
    Case((1, 4, 3, 3), 4, (9, 10, 7, 12), tile_rows=2),
    Case((1, 7, 11, 12), 5, (-1, -2, 0, -1)),
    Case((1, 5, 1, 2), 7, output_tile=2, epilogue=False),
    Case((2, 9, 5, 13), 13, (0, 2, 1, 2), output_tile=2, tile_rows=2),
    Case((1, 4, 3, 3), 4, (5, 0, 4, 7), output_tile=2, tile_rows=3),
    Case((1, 6, 8, 9), 5, tile_rows=2, lanes=2),
    # one axis; windows of segments, of which the last may lack taps; channels that end within a block
    Case((2, 6, 23), 7, (1, 1), kernel=(3,), strides=(1,), dilations=(1,)),
    Case((1, 5, 18), 9, (4, 3), tile_rows=1, kernel=(8,), strides=(1,), dilations=(1,), output_tile=2),
    Case((1, 6, 9, 10), 5, (2, 2, 2, 2), tile_rows=2, kernel=(5, 5)),
    Case((2, 5, 8, 11), 6, (3, 0, 3, 0), tile_rows=3, kernel=(7, 4), epilogue=False),
    # an axis that is not in tiles: rows, columns, with strides and dilations
    Case((1, 6, 7, 13), 5, (0, 1, 0, 1), tile_rows=2, kernel=(1, 3), tiled_axes=(1,)),
    Case((1, 6, 13, 7), 5, (1, 0, 1, 1), tile_rows=2, kernel=(5, 2), dilations=(1, 3), tiled_axes=(0,)),
    Case((2, 4, 9, 12), 5, (1, 1, 1, 1), tile_rows=2, strides=(2, 1), tiled_axes=(1,)),
    # three axes
    Case(
        (2, 6, 4, 6, 9),
        5,
        (1, 1, 1, 1, 1, 1),
        2,
        3,
        kernel=(3, 3, 3),
        strides=(1,) * 3,
        dilations=(1,) * 3,
        tiled_axes=(1, 2),
    ),
    Case(
        (1, 4, 7, 6, 7),
        6,
        (2, 0, 2, 1, 0, 1),
        4,
        2,
        kernel=(3, 2, 5),
        strides=(2, 1, 1),
        dilations=(2, 1, 1),
        tiled_axes=(2,),
    ),
)
PLAIN = (1, 10, 14, 16, 18, 20, 21)
"""The cases that are also computed by scalar loops."""
IN_C = (4, 10, 14, 16, 18, 21)


WEIGHTS = (0, 14, 16, 18, 20)
"""Those whose weight is also transformed by the operation."""


def module(numbers: Sequence[int]) -> CaseModel:
    model = CaseModel("winograd")
    model.add(CASES, numbers, PLAIN)
    return model


results = PartialRuns(module, len(CASES), IN_C)


@pytest.mark.parametrize(
    ("route", "number"), [*(("jit", number) for number in range(len(CASES))), *(("c", number) for number in IN_C)]
)
def test_kernels_agree_with_float64(route: str, number: int) -> None:
    case, found = CASES[number], results(route, number)
    expected = case.expected()
    for way in ("tiled", "plain") if number in PLAIN else ("tiled",):
        y = np.moveaxis(found[f"{way}{number}"], -1, 2)
        y = y.reshape(y.shape[0], -1, *y.shape[3:])[:, : case.outputs]
        tolerance = 2e-6 if case.number is np.float32 else 1e-14
        np.testing.assert_allclose(y, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("number", WEIGHTS)
def test_the_weight_is_transformed_at_compile_time(number: int) -> None:
    case = CASES[number]
    weight = case.plain_inputs()[1]
    value = create_ssa_value(TensorType(f32, weight.shape))
    width = case.panel * case.lanes
    op = WinogradWeightOp.get(value, output_tile=case.output_tile, width=width, tiled_axes=case.tiled_axes)
    found = op.evaluate([weight])
    np.testing.assert_allclose(found[0], case.inputs()[1], rtol=1e-6, atol=1e-7)
