"""NaN is handed on where onnxruntime loses it: docs/commands.md says where."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from drafts import Draft, draft
from harness import reference

import aotc

PAGE = Path(__file__).parents[3] / "docs" / "commands.md"
NAN = float("nan")
ROW = np.array([1, NAN, 3, 2], np.float32)
PICTURE = np.array([[[[1, 2], [3, 4]]]], np.float32)
GRID = np.array([[[[NAN, 0], [0, NAN]]]], np.float32)
PLACES, ONES = np.arange(4), np.ones(4, np.float32)

LOST: list[Draft] = [
    draft("MaxPool", 18, ROW.reshape(1, 1, 4), kernel_shape=[2]),
    draft("GlobalMaxPool", 18, ROW.reshape(1, 1, 4)),
    draft("ReduceMax", 18, ROW, np.array([0]), constants=[1]),
    draft("ReduceMin", 18, ROW, np.array([0]), constants=[1]),
    *(draft("ScatterElements", 18, ROW, PLACES, ONES, reduction=how) for how in ("max", "min")),
    *(draft("ScatterND", 18, ROW, PLACES[:, None], ONES, reduction=how) for how in ("max", "min")),
    draft("Clip", 18, ONES, np.array(NAN, np.float32), np.array(2, np.float32)),
    draft("Clip", 18, ONES, np.array(0, np.float32), np.array(NAN, np.float32)),
    draft("GridSample", 20, PICTURE, GRID, mode="linear"),
    draft("GridSample", 20, PICTURE, GRID, mode="cubic", padding_mode="border"),
]


@pytest.mark.parametrize("each", LOST, ids=str)
def test_nan_is_handed_on(each: Draft) -> None:
    model, feed = each.model()
    (theirs,) = reference(model, feed) or ()
    ours = aotc.compile(model)(feed)["y0"]
    lost = np.isnan(ours) & ~np.isnan(theirs)
    assert lost.any()
    np.testing.assert_allclose(ours[~lost], theirs[~lost], rtol=1e-5)


def test_the_page_says_where() -> None:
    (listed,) = re.findall(r"^NaN in inputs: .*?(?:\n\n(?!\*)|\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert {each.op_type for each in LOST} | {"LSTM", "GRU"} == {*re.findall(r"`(\w+)`", listed)}
