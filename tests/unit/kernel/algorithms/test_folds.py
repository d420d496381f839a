"""Columns of windows added up on tiles: the same kernels vectorised and as scalar loops, by LLVM and by C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pytest
from case_model import DTYPES, Array, CaseRuns, array_attributes, tensor, window_values

from aotc.dialects.graph.schedules import PositionsSchedule, ScheduleAttr

OUTER = (2, 3)
"""Batch and channels."""


@dataclass(frozen=True)
class Case:
    """Windows in an image, on tiles of `nr` vectors."""

    image: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    nr: int = 2
    dtype: str = "f32"
    op: str = "fold"

    def values(self) -> dict[str, Sequence[int]]:
        """The attributes."""
        places = window_values(self.kernel, self.strides, self.pads, self.dilations)
        return {"image": self.image, "kernel": self.kernel, **places}

    def windows(self) -> list[int]:
        """How many there are along each axis."""
        v, rank = self.values(), len(self.image)
        lengths = [n + v["pads"][axis] + v["pads"][rank + axis] for axis, n in enumerate(self.image)]
        each = zip(lengths, v["kernel"], v["dilations"], v["strides"], strict=True)
        return [(length - (size - 1) * dilation - 1) // stride + 1 for length, size, dilation, stride in each]

    def inputs(self) -> Sequence[Array]:
        """Columns."""
        shape = (OUTER[0], OUTER[1] * prod(self.kernel), prod(self.windows()))
        return [(np.random.default_rng(len(shape)).standard_normal(shape) * 50).astype(DTYPES[self.dtype])]

    def expected(self) -> Array:
        """Tap by tap and window by window."""
        v, result = self.values(), np.zeros((*OUTER, *self.image))
        x = self.inputs()[0].reshape(*OUTER, *self.kernel, *self.windows())
        for taps in np.ndindex(*self.kernel):
            for window in np.ndindex(*self.windows()):
                axes = zip(window, v["strides"], taps, v["dilations"], v["pads"], strict=False)
                at = [w * stride + tap * dilation - before for w, stride, tap, dilation, before in axes]
                if all(0 <= place < extent for place, extent in zip(at, self.image, strict=True)):
                    result[(..., *at)] += x[(..., *taps, *window)]
        return result

    def attributes(self, scheduled: bool) -> str:
        """As in the IR."""
        schedule = ScheduleAttr.of(PositionsSchedule(8 if self.dtype == "i16" else 4, 1, self.nr))
        return array_attributes(self.values()) + (f", schedule = {schedule}" if scheduled else "")

    def result_type(self) -> str:
        """The type of the result."""
        return tensor((*OUTER, *self.image), self.dtype)


CASES = (
    Case((6, 40), (3, 3), pads=(1, 1, 1, 1)),
    Case((6, 40), (3, 3), (2, 2), (1, 1, 1, 1)),
    Case((7, 35), (2, 3), (3, 2), (0, 2, 1, 3), (1, 2)),
    Case((5, 21), (2, 2), (3, 3), nr=1),
    Case((9, 30), (3, 4), (2, 4), (1, 0, 0, 2), (2, 1)),
    Case((50,), (5,), pads=(4, 4), nr=3),
    Case((30,), (2,), (2,), dilations=(4,), nr=1),
    Case((3, 4, 18), (2, 1, 2), (1, 2, 1), (0, 0, 1, 0, 0, 1)),
    Case((1, 40), (1, 3), (1, 1), (0, 9, 0, 9)),
    Case((6, 40), (3, 3), pads=(1, 1, 1, 1), dtype="i16"),
    Case((6, 40), (3, 3), (1, 2), (1, 1, 1, 1), dtype="f16"),
)


results = CaseRuns.of(CASES)


@pytest.mark.parametrize("route", ["jit", "c"])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_tiles_and_scalar_loops_agree(route: str, number: int) -> None:
    found = results(route)
    np.testing.assert_array_equal(found[f"tiled{number}"], found[f"plain{number}"])
    tolerance = 0.5 if CASES[number].dtype == "f16" else 1e-3
    np.testing.assert_allclose(found[f"plain{number}"], CASES[number].expected(), atol=tolerance)
