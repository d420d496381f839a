"""Transposed convolution: its residues against counting, its kernels on vectors against onnxruntime."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from convolution_model import assert_as_onnxruntime, convolution

from aotc.dialects.graph.interfaces import ShapeError
from aotc.dialects.graph.windows.sliding import TransposedWindow, transposed_windows


def windows() -> list[TransposedWindow]:
    axes = itertools.product((1, 2, 5), (1, 2, 3, 5), (1, 2, 3, 4), (1, 2, 3), (0, 1, 2), (0, 1), (0, 1))
    return [window for axis in axes if (window := TransposedWindow(*axis)).positions > 0]


def meetings(window: TransposedWindow, position: int) -> set[tuple[int, int]]:
    """The pairs (element, tap) that add to a position."""
    pairs = itertools.product(range(window.extent), range(window.size))
    target = position + window.before
    return {(h, k) for h, k in pairs if h * window.stride + k * window.dilation == target}


def test_phases_see_what_meets() -> None:
    for window in windows():
        found: dict[int, set[tuple[int, int]]] = {}
        for part in window.residues():
            for j, q in itertools.product(range(part.count), range(part.window.positions)):
                position = part.start + j + q * part.stride
                assert position not in found, window
                seen = [(q + k * part.window.dilation - part.window.before, k) for k in range(part.window.size)]
                inside = [(h, k) for h, k in seen if 0 <= h < window.extent]
                found[position] = {(h, part.first_tap + j + k * part.tap_stride) for h, k in inside}
        assert found == {position: meetings(window, position) for position in range(window.positions)}, window


def test_neighbouring_phases_that_are_alike_are_one() -> None:
    assert [part.count for part in TransposedWindow(6, 16, 8, 1, 4, 4, 0).residues()] == [4, 4]
    assert [part.count for part in TransposedWindow(6, 2, 2, 1, 0, 0, 0).residues()] == [2]


def test_attributes_must_fit() -> None:
    with pytest.raises(ShapeError, match="output_padding has 2 values for 1 spatial axes"):
        transposed_windows([5], [3], [1], [0, 0], [1], [0, 0])
    with pytest.raises(ShapeError, match="leave nothing of the result"):
        transposed_windows([2], [1], [1], [2, 2], [1], [0])


@dataclass(frozen=True)
class Case:
    channels: int
    outputs: int
    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...] = ()
    output_padding: tuple[int, ...] = ()
    groups: int = 1


CASES = (
    Case(32, 48, (7, 9), (2, 2), (2, 2), (0, 0, 0, 0)),
    Case(20, 7, (5, 40), (3, 3), (2, 2), (1, 1, 1, 1), output_padding=(1, 1)),
    Case(3, 70, (50,), (16,), (8,), (4, 4)),
    Case(16, 16, (4, 3, 5), (3, 2, 4), (1, 2, 3), (1, 0, 2, 0, 1, 1)),
    Case(17, 33, (6, 11), (3, 3), (2, 4), (2, 1, 0, 3), dilations=(3, 2), output_padding=(1, 3)),
    Case(8, 20, (5, 6), (2, 2), (3, 4), (0, 0, 0, 0)),
    Case(64, 32, (5, 6), (4, 4), (2, 2), (1, 1, 1, 1), groups=4),
    Case(32, 32, (5, 6), (4, 4), (2, 2), (1, 1, 1, 1), groups=32),
    Case(24, 300, (1, 1), (4, 4), (1, 1), (0, 0, 0, 0)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_agree_with_onnxruntime(case: Case) -> None:
    rng = np.random.default_rng(0)
    rank = len(case.kernel)
    x = rng.standard_normal((2, case.channels, *case.extents)).astype(np.float32)
    weight = rng.standard_normal((case.channels, case.outputs // case.groups, *case.kernel)).astype(np.float32)
    bias = rng.standard_normal(case.outputs).astype(np.float32)
    model = convolution(
        "ConvTranspose",
        x,
        weight,
        bias,
        strides=case.strides,
        pads=case.pads,
        dilations=case.dilations or (1,) * rank,
        output_padding=case.output_padding or (0,) * rank,
        group=case.groups,
    )
    assert_as_onnxruntime(model, x, "0", "1")
