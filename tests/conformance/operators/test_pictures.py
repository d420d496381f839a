"""Sampling, regions, folding and boxes against onnxruntime, over modes, types and ranks, and C against LLVM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from drafts import Draft, agrees_with_onnxruntime, draft, has_no_warnings_in_c, is_the_same_in_c
from harness import Array
from onnx.reference import ReferenceEvaluator

import aotc
from aotc.errors import CompileError

RANDOM = np.random.default_rng(5)


def normal(*shape: int, dtype: str = "float32") -> Array:
    return RANDOM.standard_normal(shape).astype(dtype)


def grids() -> Iterator[Draft]:
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                grid = RANDOM.uniform(-2.6, 2.6, (2, 4, 5, 2)).astype(np.float32)
                options = {"padding_mode": padding, "align_corners": align}
                yield draft("GridSample", 20, normal(2, 9 if align else 3, 5, 7), grid, mode=mode, **options)
                if mode != "cubic":
                    space = RANDOM.uniform(-1.6, 1.6, (1, 2, 3, 2, 3)).astype(np.float32)
                    yield draft("GridSample", 22, normal(1, 2, 3, 4, 5), space, mode=mode, **options)
    grid = RANDOM.uniform(-1.2, 1.2, (1, 2, 3, 2)).astype(np.float32)
    yield draft("GridSample", 16, normal(1, 1, 3, 4), grid, mode="bilinear")
    yield draft("GridSample", 16, normal(1, 1, 3, 4), grid, mode="bicubic", padding_mode="border")


def affine_grids() -> Iterator[Draft]:
    for size in ((1, 3, 5, 6), (2, 1, 4, 3), (1, 2, 1, 4), (1, 1, 2, 3, 4), (2, 1, 3, 1, 2)):
        count = len(size) - 2
        for align in (0, 1):
            theta, given = normal(size[0], count, count + 1), np.array(size)
            yield draft("AffineGrid", 20, theta, given, constants=[1], align_corners=align)


def regions() -> Iterator[Draft]:
    corner = RANDOM.uniform(0, 8, (5, 2))
    rois = np.concatenate([corner, corner + RANDOM.uniform(0, 9, (5, 2))], 1)
    batches = np.array([0, 1, 1, 0, 1])
    for dtype in ("float32", "float64"):
        for mode in ("avg", "max"):
            for ratio in (0, 2):
                given = [normal(2, 11 if ratio else 3, 10, 12, dtype=dtype), rois.astype(dtype), batches]
                size = {"output_height": 3, "output_width": 2, "spatial_scale": 0.7, "sampling_ratio": ratio}
                yield draft("RoiAlign", 10, *given, mode=mode, **size)
                yield draft("RoiAlign", 16, *given, mode=mode, coordinate_transformation_mode="half_pixel", **size)
    boxes = np.concatenate([batches[:, None], rois], 1).astype(np.float32)
    yield draft("MaxRoiPool", 1, normal(2, 3, 10, 12), boxes, pooled_shape=[3, 2], spatial_scale=0.6)
    yield draft("MaxRoiPool", 1, normal(2, 18, 10, 12), boxes, pooled_shape=[3, 2], spatial_scale=0.6)
    yield draft("MaxRoiPool", 1, normal(2, 1, 5, 6), boxes, pooled_shape=[1, 4])


def windows() -> Iterator[Draft]:
    for groups, offset_groups in ((1, 1), (2, 2), (1, 4)):
        x, weight = normal(2, 4, 6, 7), normal(4, 4 // groups, 3, 2)
        options = {"group": groups, "offset_group": offset_groups, "pads": [1, 0, 1, 1], "strides": [2, 1]}
        outer = (2, offset_groups * 12, 3, 7)
        offsets = normal(*outer)
        mask = RANDOM.uniform(0, 1, (2, offset_groups * 6, 3, 7)).astype(np.float32)
        yield draft("DeformConv", 19, x, weight, offsets, None, mask, **options)
        yield draft("DeformConv", 22, x, weight, offsets, normal(4), **options)
    for dtype in ("float32",):
        columns = [normal(2, 3 * 6, 20, dtype=dtype), np.array([5, 6]), np.array([2, 3])]
        yield draft("Col2Im", 18, *columns[:1], *columns[1:], constants=[1, 2], strides=[1, 1], pads=[0, 0, 0, 1])
    yield draft("Col2Im", 18, normal(1, 8, 16), np.array([6, 6]), np.array([2, 2]), constants=[1, 2], dilations=[2, 2])
    yield draft(
        "Col2Im",
        18,
        normal(1, 8, 9),
        np.array([5, 5]),
        np.array([2, 2]),
        constants=[1, 2],
        strides=[2, 2],
        pads=[1, 1, 0, 0],
    )
    indices = np.array([[[[5, 7], [13, 15]], [[0, 3], [9, 10]]]]) + np.array([0, 16]).reshape(1, 2, 1, 1)
    yield draft("MaxUnpool", 11, normal(1, 2, 2, 2), indices, kernel_shape=[2, 2], strides=[2, 2])
    yield draft("Det", 11, normal(3, 2, 4, 4))
    yield draft("Det", 22, np.array([[0, 2.0, 1], [0, 0, 3], [5, 0, 0]], np.float32))
    yield draft("Det", 22, np.array([[1, 2.0], [2, 4]], np.float32))


def boxes() -> Iterator[Draft]:
    corner = RANDOM.uniform(0, 1, (2, 40, 2))
    given = np.concatenate([corner, corner + RANDOM.uniform(-0.3, 0.5, (2, 40, 2))], 2).astype(np.float32)
    scores = RANDOM.uniform(0, 1, (2, 3, 40)).astype(np.float32)
    most, overlap, least = np.array([6]), np.array([0.4], np.float32), np.array([0.3], np.float32)
    for constants in ((), (2,), (2, 3, 4)):
        yield draft("NonMaxSuppression", 11, given, scores, most, overlap, least, constants=constants)
    yield draft("NonMaxSuppression", 11, np.abs(given), scores, np.array([50]), overlap, center_point_box=1)
    yield draft("NonMaxSuppression", 10, given, np.round(scores, 1), np.array([9]))  # scores that are equal


def test_an_affine_grid_has_a_matrix_for_each_picture() -> None:
    model, _ = draft("AffineGrid", 20, normal(2, 2, 3), np.array([1, 3, 4, 5]), constants=[1]).model()
    with pytest.raises(CompileError, match="invalid-shape"):
        aotc.build(model)


def test_a_grid_has_the_axes_of_the_picture() -> None:
    model, _ = draft("GridSample", 16, normal(1, 3, 4, 4), normal(1, 5, 1)).model()
    with pytest.raises(CompileError, match=r"grid \[1, 5, 1\] .*invalid-shape"):
        aotc.build(model)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64"])
def test_pictures_of_integers_are_sampled_at_their_elements(dtype: str) -> None:
    x = RANDOM.integers(0, 2 if dtype == "bool" else 100, (1, 2, 4, 5)).astype(dtype)
    grid = RANDOM.uniform(-1.3, 1.3, (1, 3, 3, 2)).astype(np.float32)
    model, feed = draft("GridSample", 22, x, grid, mode="nearest").model()
    (wanted,) = ReferenceEvaluator(model).run(None, feed)
    np.testing.assert_array_equal(aotc.compile(model)(feed)["y0"], wanted)
    for mode in ("linear", "cubic"):
        with pytest.raises(CompileError, match=rf"mode = {mode} of {dtype}.*Cast.*\[unsupported-type\]"):
            aotc.build(draft("GridSample", 22, x, grid, mode=mode).model()[0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_determinants_of_other_types(dtype: str) -> None:
    x = normal(2, 3, 5, 5, dtype=dtype)
    model, feed = draft("Det", 22, x).model()
    found = aotc.compile(model)(feed)["y0"]
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.linalg.det(x.astype(np.float64)), rtol=2e-2 if dtype == "float16" else 1e-4)


def all_drafts() -> list[Draft]:
    return [*grids(), *affine_grids(), *regions(), *windows(), *boxes()]


@pytest.mark.parametrize("each", all_drafts(), ids=str)
def test_pictures(each: Draft) -> None:
    agrees_with_onnxruntime(each)


def test_pictures_in_c_without_warnings(tmp_path: Path) -> None:
    has_no_warnings_in_c(all_drafts(), tmp_path)


def test_pictures_in_c(tmp_path: Path) -> None:
    is_the_same_in_c(all_drafts(), tmp_path)
