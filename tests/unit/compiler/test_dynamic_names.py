"""The names of other packages' executors on models with open shapes, and how these are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

import aotc
from aotc import DynamicModel

HEAD = '<ir_version: 10, opset_import: ["" : 18]> '


@pytest.fixture(scope="module")
def model() -> DynamicModel:
    text = "m (float[n, 2] x, float[2] w) => (float[n, 2] y, int64[2, k] z) { y = Mul(x, w)  z = NonZero(y) }"
    return DynamicModel(onnx.parser.parse_model(HEAD + text), name="m")


def test_names_and_places(model: DynamicModel) -> None:
    assert [model.get_input_index(name) for name in ("x", "w", "z")] == [0, 1, -1]
    assert [model.get_output_index(name) for name in ("y", "z", "x")] == [0, 1, -1]
    assert model.get_input_name(1) == "w"
    with pytest.raises(IndexError, match="2"):
        model.get_input_name(2)


def test_e4_run_is_timed(model: DynamicModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """E4: as of any other model."""
    model.set_input(x=np.ones((3, 2), np.float32), w=np.ones(2, np.float32))
    assert len(model.time_evaluator("run", aotc.cpu(), number=2, repeat=3)().results) == 3
    assert model.get_output(0).shape == (3, 2)
    runs: list[int] = []
    monkeypatch.setattr(model, "run", lambda: runs.append(1))
    assert len(model.time_evaluator("run", None, 5, 2)().results) == 2 and len(runs) == 1 + 5 * 2
    wrong: list[dict[str, Any]] = [{"func_name": "set_input"}, {"dev": (2, 0)}]
    for given in wrong:
        with pytest.raises(ValueError, match="times 'run'"):
            model.time_evaluator(**given)


def test_on_the_page_of_a_notebook(model: DynamicModel) -> None:
    html = model._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<caption>DynamicModel <b>m</b></caption>" in html and html.count("<tr>") == 5
    assert "<td>input</td><td>x</td><td>float32</td><td>n x 2</td>" in html
    assert "<td>output</td><td>z</td><td>int64</td><td>2 x ?</td>" in html
