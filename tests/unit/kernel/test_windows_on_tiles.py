"""Windows over blocked and plain tensors: the same kernels vectorised, as scalar loops and counted out in numpy.

All cases are kernels of one model, which is compiled once each way.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pytest
from case_model import DTYPES, Array, CaseRuns, array_attributes, tensor, window_values

from aotc.dialects.graph.schedules import PositionsSchedule, ScheduleAttr, WindowSchedule
from aotc.dialects.graph.windows.sliding import SlidingWindow, sliding_windows

LANES = 4
OUTER = (2, 2)
"""Batch and blocks."""
CONV, GROUPED = "blocked_depthwise_conv", "blocked_lanes_conv"
RUN = 2
"""Channels of a group."""
ZERO_POINT = 3
LESS = f"x_zero_point = {ZERO_POINT} : i64"


@dataclass(frozen=True)
class Case:
    """One window; `more` are further attributes of a pool."""

    op: str
    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    more: str = ""
    tile: int = 4
    bias: bool = False
    dtype: str = "f32"
    plain: int = 0
    """So many vectors of positions of a plain tensor; 0: it is in blocks."""

    def values(self) -> dict[str, Sequence[int]]:
        """The attributes that are always there."""
        return window_values(self.kernel, self.strides, self.pads, self.dilations)

    def windows(self) -> list[SlidingWindow]:
        """One for each axis."""
        values = self.values()
        return sliding_windows(
            self.extents, self.kernel, values["strides"], values["pads"], values["dilations"], "ceil" in self.more
        )

    def attributes(self, tiled: bool) -> str:
        """As in the IR."""
        values = self.values() | ({} if self.op in (CONV, GROUPED) else {"kernel": self.kernel})
        texts = [array_attributes(values)]
        if tiled:
            blocked = WindowSchedule(self.lanes, self.tile)
            schedule = PositionsSchedule(self.lanes, 1, self.plain) if self.plain else blocked
            texts.append(f"schedule = {ScheduleAttr.of(schedule)}")
        return ", ".join([*texts, *filter(None, [self.more])])

    @property
    def lanes(self) -> int:
        bits = 32 if self.op == "sum_pool" or self.dtype == "f16" else int(self.dtype.lstrip("uif"))
        return LANES * 32 // bits

    @property
    def inner(self) -> tuple[int, ...]:
        """The extents that a tensor has behind the positions."""
        return () if self.plain else (self.lanes,)

    @property
    def number(self) -> Any:
        return DTYPES[self.dtype]

    def inputs(self) -> list[Array]:
        """x, with some NaN for a pool; weight; bias."""
        rng = np.random.default_rng(prod(self.extents))
        shapes: list[tuple[int, ...]] = [(*OUTER, *self.extents, *self.inner)]
        if self.op in (CONV, GROUPED):
            shapes.append((*([RUN] if self.op == GROUPED else []), OUTER[1], *self.kernel, self.lanes))
            if self.bias:
                shapes.append((OUTER[1] * self.lanes,))
        if self.dtype in ("i8", "ui8"):
            return [rng.integers(0, 256, shapes[0]).astype(np.uint8).view(self.number)]
        arrays = [rng.standard_normal(shape).astype(self.number) for shape in shapes]
        if self.op not in (CONV, GROUPED):
            arrays[0][rng.random(shapes[0]) < 0.01] = np.nan
        return arrays

    def result_shape(self) -> tuple[int, ...]:
        return (*OUTER, *(window.positions for window in self.windows()), *self.inner)

    def result_type(self) -> str:
        return tensor(self.result_shape(), "i32" if self.op == "sum_pool" else self.dtype)

    def expected(self) -> Array:
        """Position by position."""
        x, *parameters = (array.astype(np.float64) for array in self.inputs())
        windows = self.windows()
        result = np.empty(self.result_shape())
        for position in itertools.product(*(range(window.positions) for window in windows)):
            seen, padded = [], 0
            for taps in itertools.product(*(range(window.size) for window in windows)):
                axes = list(zip(windows, position, taps, strict=True))
                places = [p * w.stride + tap * w.dilation - w.before for w, p, tap in axes]
                padded += all(place < w.extent + w.after for w, place in zip(windows, places, strict=True))
                if all(0 <= place < w.extent for w, place in zip(windows, places, strict=True)):
                    seen.append((x[(slice(None), slice(None), *places)], taps))
            result[(slice(None), slice(None), *position)] = self._combined(seen, padded, parameters)
        return result

    def _combined(self, seen: list[tuple[Array, tuple[int, ...]]], padded: int, parameters: list[Array]) -> Array:
        zero = np.zeros((*OUTER, *self.inner))
        if self.op == CONV:
            initial = parameters[1].reshape(OUTER[1], self.lanes) if self.bias else zero
            return initial + sum((x * parameters[0][(slice(None), *taps)] for x, taps in seen), zero)
        if self.op == GROUPED:
            initial = parameters[1].reshape(OUTER[1], self.lanes) if self.bias else zero
            first = np.arange(self.lanes) // RUN * RUN
            return initial + sum(
                (x[..., first + i] * parameters[0][(i, slice(None), *taps)] for x, taps in seen for i in range(RUN)),
                zero,
            )
        values = [x for x, _ in seen]
        if self.op == "max_pool":
            least = np.iinfo(self.number).min if self.dtype in ("i8", "ui8") else -np.inf
            return np.max(values, axis=0) if values else zero + least
        if self.op == "sum_pool":
            return sum((x - ZERO_POINT for x in values), zero)
        if self.op == "lp_pool":
            p = int(self.more.split()[2])
            return sum((abs(x) ** p for x in values), zero) ** (1 / p)
        return sum(values, zero) / (padded if "include_pad" in self.more else max(len(values), 1))


CASES = (
    Case(CONV, (9, 11), (3, 3), pads=(1, 1, 1, 1), bias=True),
    Case(CONV, (9, 18), (3, 3), (2, 2), (0, 0, 1, 1), bias=True),
    Case(CONV, (7, 17), (5, 5), (1, 3), (2, 0, 2, 7), tile=3),
    Case(CONV, (6, 21), (3, 3), (1, 2), (3, 3, 3, 3), (3, 3)),
    Case(CONV, (4, 3), (3, 7), (1, 1), (1, 3, 1, 3), tile=8),
    Case(CONV, (5, 13), (2, 4), (1, 1), (-1, -2, 0, -1)),
    Case(CONV, (40,), (3,), pads=(1, 1), tile=7),
    Case(CONV, (70,), (12,), (2,), (5, 6), (2,), tile=7, bias=True),
    Case(CONV, (30, 1), (5, 1), pads=(2, 0, 2, 0)),
    Case(CONV, (60, 2), (3, 2), (1, 1), (1, 1, 1, 0)),
    Case(CONV, (3, 4, 10), (3, 2, 3), pads=(1, 0, 1, 1, 1, 1)),
    Case(CONV, (1, 1), (1, 1), pads=(4, 9, 4, 9)),
    Case(CONV, (64,), (64,), pads=(40, 50), tile=2),
    Case(CONV, (9, 11), (3, 3), pads=(1, 1, 1, 1), bias=True, dtype="f64"),
    Case(GROUPED, (9, 11), (3, 3), pads=(1, 1, 1, 1), bias=True),
    Case(GROUPED, (9, 18), (3, 3), (2, 2), (0, 0, 1, 1)),
    Case(GROUPED, (70,), (12,), (2,), (5, 6), (2,), tile=7, bias=True),
    Case(GROUPED, (1, 1), (1, 1), pads=(4, 9, 4, 9)),
    Case(GROUPED, (64,), (64,), pads=(40, 50), tile=2),
    Case(GROUPED, (5, 11), (3, 1), pads=(1, 0, 1, 0), dtype="f64"),
    Case("max_pool", (12, 23), (3, 3), (2, 2), (1, 1, 1, 1)),
    Case("max_pool", (9, 13), (2, 3), (2, 3), (0, 1, 1, 2), more="ceil = true"),
    Case("max_pool", (4, 6), (2, 2), (1, 1), (2, 2, 2, 2)),
    Case("max_pool", (50,), (20,), (3,), (10, 9), (2,), tile=3),
    Case("max_pool", (5, 8, 9), (2, 2, 2), (2, 2, 2)),
    Case("average_pool", (10, 14), (3, 3), (1, 1), (1, 1, 1, 1)),
    Case("average_pool", (10, 15), (3, 3), (2, 2), (1, 2, 0, 1), more="include_pad = true, ceil = true"),
    Case("average_pool", (7, 7), (7, 7)),
    Case("average_pool", (3, 5), (9, 4), (7, 4), more="ceil = true"),
    Case("average_pool", (1, 2), (9, 9), (9, 9), more="include_pad = true, ceil = true"),
    Case("max_pool", (3, 11), (9, 4), (9, 4), (1, 0, 2, 1), more="ceil = true"),
    Case("average_pool", (6, 9), (2, 4), (1, 1), (3, 5, 0, 6), (1, 2)),
    Case("average_pool", (64,), (64,), pads=(40, 50), tile=2),
    Case("average_pool", (9, 11), (3, 3), pads=(1, 1, 1, 1), dtype="f64"),
    Case("lp_pool", (9, 11), (3, 2), (1, 2), (1, 1, 1, 1), more="p = 2 : i64"),
    Case("lp_pool", (9, 11), (3, 2), (1, 2), (1, 1, 1, 1), more="p = 1 : i64"),
    Case("max_pool", (5, 40), (3, 3), (2, 2), (1, 1, 1, 1), plain=2),
    Case("max_pool", (5, 23), (5, 5), pads=(2, 2, 2, 2), plain=3),
    Case("max_pool", (3, 5, 21), (2, 2, 2), (2, 2, 2), plain=1),
    Case("max_pool", (4, 31), (2, 3), (3, 3), (0, 1, 1, 2), more="ceil = true", plain=2),
    Case("max_pool", (70,), (4,), (3,), (5, 9), (3,), plain=2),
    Case("max_pool", (4, 6), (2, 2), (1, 1), (2, 2, 2, 2), plain=1),
    Case("max_pool", (3, 3), (2, 2), (1, 1), (9, 9, 9, 9), plain=4),
    Case("max_pool", (6, 30), (2, 3), (1, 1), (-1, -2, 0, -1), plain=2),
    Case("max_pool", (6, 50), (3, 3), (2, 2), (1, 1, 1, 1), dtype="i8", plain=1),
    Case("max_pool", (6, 90), (3, 3), pads=(1, 1, 1, 1), dtype="ui8", plain=2),
    Case("max_pool", (9, 19), (3, 3), (1, 2), (1, 1, 1, 1), dtype="f64", plain=2),
    Case("max_pool", (9, 29), (3, 3), (2, 2), (1, 1, 1, 1), dtype="f16", plain=2),
    Case("average_pool", (9, 29), (3, 3), pads=(1, 1, 1, 1), plain=2),
    Case("average_pool", (10, 35), (3, 3), (2, 2), (1, 2, 0, 1), more="include_pad = true, ceil = true", plain=2),
    Case("average_pool", (6, 39), (2, 4), (1, 1), (3, 5, 0, 6), (1, 2), plain=2),
    Case("average_pool", (3, 40), (1, 4), (1, 4), plain=2),
    Case("average_pool", (9, 25), (3, 3), (2, 2), (1, 1, 1, 1), dtype="f16", plain=1),
    Case("lp_pool", (9, 31), (3, 2), (1, 2), (1, 1, 1, 1), more="p = 2 : i64", plain=2),
    Case("lp_pool", (9, 31), (3, 2), (1, 2), (1, 1, 1, 1), more="p = 1 : i64", plain=2),
    Case("sum_pool", (9, 31), (3, 2), (1, 2), (1, 1, 1, 1), more=LESS, dtype="i8", plain=2),
    Case("sum_pool", (9, 31), (3, 3), pads=(1, 1, 1, 1), more=LESS, dtype="ui8", plain=2),
)


results = CaseRuns.of(CASES)


@pytest.mark.parametrize("route", ["jit", "c"])
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{number}-{CASES[number].op}")
def test_tiles_scalar_loops_and_counting_agree(route: str, number: int) -> None:
    case, found = CASES[number], results(route)
    plain, tiled = found[f"plain{number}"], found[f"tiled{number}"]
    if case.op in (CONV, GROUPED):
        np.testing.assert_allclose(tiled, plain, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(tiled, plain)
    tolerance = 1e-3 if case.dtype == "f16" else 1e-5
    np.testing.assert_allclose(plain, case.expected(), rtol=tolerance, atol=tolerance)
