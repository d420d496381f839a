"""Resize along one axis: coordinates, neighbours and weights."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx_text import Imported, parse

from aotc.dialects.graph.vision.sampling import ResampleOp
from aotc.frontend.onnx.importers.resize import COORDINATE_MODES, NEAREST_MODES, ResizedAxis


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("asymmetric", [0, 0.5, 1, 1.5]),
        ("half_pixel", [-0.25, 0.25, 0.75, 1.25]),
        ("pytorch_half_pixel", [-0.25, 0.25, 0.75, 1.25]),
        ("tf_half_pixel_for_nn", [0.25, 0.75, 1.25, 1.75]),
        ("align_corners", [0, 1 / 3, 2 / 3, 1]),
        ("half_pixel_symmetric", [-0.25, 0.25, 0.75, 1.25]),
    ],
)
def test_coordinates(mode: str, expected: list[float]) -> None:
    assert ResizedAxis(2, 4, 2.0, mode).coordinates() == pytest.approx(expected)


def test_a_crop_shows_part_of_the_operand_and_may_leave_it() -> None:
    axis = ResizedAxis(5, 3, 0.6, "tf_crop_and_resize", (0.5, 1.5))
    assert axis.coordinates().tolist() == [2, 4, 6]
    assert axis.outside().tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("round_prefer_floor", [0, 0, 1, 1]),
        ("round_prefer_ceil", [0, 1, 1, 1]),
        ("floor", [0, 0, 1, 1]),
        ("ceil", [0, 1, 1, 1]),
        ("simple", [0, 0, 1, 1]),
    ],
)
def test_ties_between_neighbours(rounding: str, expected: list[int]) -> None:
    assert ResizedAxis(2, 4, 2.0, "asymmetric").nearest(rounding).tolist() == expected


def test_weights_add_up_to_one_and_places_exist() -> None:
    modes = [mode for mode in COORDINATE_MODES if mode != "tf_crop_and_resize"]
    for mode, (extent, count), antialias, outside in itertools.product(
        modes, ((1, 4), (5, 2), (7, 7), (3, 8)), (False, True), (False, True)
    ):
        axis = ResizedAxis(extent, count, count / extent, mode)
        for places, weights in (axis.linear(outside, antialias), axis.cubic(-0.75, outside, antialias)):
            assert places.shape == weights.shape == (count, places.shape[1])
            assert places.min() >= 0 and places.max() < extent
            assert weights.sum(1) == pytest.approx(np.ones(count), abs=1e-5), (mode, extent, count)
        for rounding in NEAREST_MODES:
            nearest = axis.nearest(rounding)
            assert nearest.min() >= 0 and nearest.max() < extent


@pytest.mark.parametrize("mode", COORDINATE_MODES)
def test_an_axis_may_become_empty(mode: str) -> None:
    axis = ResizedAxis(1, 0, 0.5, mode)
    assert axis.coordinates().shape == axis.nearest("floor").shape == axis.outside().shape == (0,)
    assert axis.linear()[0].shape == (0, 2) and axis.cubic(-0.75, False)[0].shape == (0, 4)


@pytest.mark.parametrize(("sizes", "axes"), [((8, 10), [3, 2]), ((2, 3), [2, 3]), ((8, 3), [3, 2]), ((2, 10), [2, 3])])
def test_what_shrinks_is_resampled_first_and_of_what_grows_the_last_axis(
    sizes: tuple[int, int], axes: list[int]
) -> None:
    rows, columns = sizes
    head = f"g (float[1,2,4,5] x) => (float[1,2,{rows},{columns}] y) <int64[4] s = {{1,2,{rows},{columns}}}>"
    imported = Imported(parse(head + '{ y = Resize<mode="linear">(x, "", "", s) }'))
    assert [op.axis for op in imported.operations if isinstance(op, ResampleOp)] == axes


@pytest.mark.parametrize("mode", ["half_pixel", "half_pixel_symmetric"])
@pytest.mark.parametrize("rounding", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
def test_coordinates_are_exact(mode: str, rounding: str) -> None:
    """An odd number of elements becomes one: the element in their middle, however it is rounded."""
    for factor, count in itertools.product((3, 5, 7, 11), (2, 3, 13)):
        for scale in (1 / factor, float(np.float32(1 / factor))):
            found = ResizedAxis(factor * count, count, scale, mode).nearest(rounding)
            assert found.tolist() == [i * factor + factor // 2 for i in range(count)], (factor, count, scale)
