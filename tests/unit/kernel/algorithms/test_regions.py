"""Pictures sampled in blocks of channels: the same kernels vectorised and as scalar loops, by LLVM and by C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from case_model import Array, CaseRuns, tensor

from aotc.dialects.graph.schedules import ElementwiseSchedule, ScheduleAttr

LANES, BLOCKS, REGIONS, SIZE = 4, 3, 7, (2, 3)


@dataclass(frozen=True)
class Case:
    """One operation with its own attributes; `registers` of a tile."""

    op: str
    more: str
    registers: int = 2

    def inputs(self) -> Sequence[Array]:
        """Pictures; regions of which some reach out of them, or lie beside them; where each is."""
        rng = np.random.default_rng(len(self.more))
        x = rng.standard_normal((2, BLOCKS, 9, 11, LANES)).astype(np.float32)
        if self.op == "grid_sample":
            return [x, rng.uniform(-1.5, 1.5, (2, *SIZE, 2)).astype(np.float32)]
        corners = rng.uniform(-4, 11, (REGIONS, 2)).astype(np.float32)
        boxes = np.concatenate([corners, corners + rng.uniform(-1, 9, (REGIONS, 2)).astype(np.float32)], -1)
        boxes[0] += 40
        batches = rng.integers(0, 2, REGIONS)
        if self.op == "roi_max":
            return [x, np.concatenate([batches[:, None].astype(np.float32), boxes], -1)]
        return [x, boxes, batches]

    def attributes(self, scheduled: bool) -> str:
        """As in the IR."""
        schedule = ScheduleAttr.of(ElementwiseSchedule(LANES, self.registers))
        given = f"size = array<i64: {', '.join(map(str, SIZE))}>, scale = 0.8 : f64"
        texts = [given if self.op != "grid_sample" else "", self.more, f"schedule = {schedule}" if scheduled else ""]
        return ", ".join(filter(None, texts))

    def result_type(self) -> str:
        """The type of the result."""
        return tensor((2 if self.op == "grid_sample" else REGIONS, BLOCKS, *SIZE, LANES))


CASES = (
    Case("roi_align", "ratio = 2 : i64"),
    Case("roi_align", "ratio = 0 : i64, half_pixel = true", 3),
    Case("roi_align", "ratio = 0 : i64, maximum = true", 1),
    Case("roi_align", "ratio = 3 : i64, half_pixel = true, maximum = true"),
    Case("roi_max", ""),
    Case("roi_max", "", 4),
    Case("grid_sample", 'mode = "linear", padding = "zeros"'),
    Case("grid_sample", 'mode = "cubic", padding = "border", align_corners = true'),
    Case("grid_sample", 'mode = "nearest", padding = "reflection"', 3),
)


results = CaseRuns.of(CASES)


@pytest.mark.parametrize("route", ["jit", "c"])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_tiles_and_scalar_loops_agree(route: str, number: int) -> None:
    found = results(route)
    plain, tiled = found[f"plain{number}"], found[f"tiled{number}"]
    assert plain.any()
    np.testing.assert_array_equal(tiled, plain)
