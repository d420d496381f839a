"""`aotc plan --pareto`: programs from the fastest to that of the least RAM, each of which `--ram` gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import SCALAR
from onnx import numpy_helper, parser

from aotc.compiler.driver import lower, pareto
from aotc.pipeline.options import CompileOptions


def model() -> bytes:
    """Convolutions on pictures that become smaller, so that there is more than one way to roll them."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        m (float[1, 4, 16, 10] x) => (float[1, 4, 1, 1] y) <float[4, 4, 3, 3] w> {
            a = Conv<pads = [1, 1, 1, 1]>(x, w)
            b = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(a, w)
            c = Conv<pads = [1, 1, 1, 1]>(b, w)
            y = GlobalAveragePool(c)
        }"""
    found = parser.parse_model(text)
    found.graph.initializer.append(numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32), "w"))
    return found.SerializeToString()


def needed(**options: Any) -> int:
    return lower(model(), CompileOptions.of(**options)).info().ram_bytes


def test_every_point_can_be_built() -> None:
    points = pareto(model(), CompileOptions.of(target=SCALAR))
    sizes, costs = [point.ram_bytes for point in points], [point.instructions or 0 for point in points]
    assert len(points) > 1 and sizes == sorted(set(sizes), reverse=True) and costs == sorted(set(costs))
    assert sizes[0] == needed(target=SCALAR) and sizes[-1] == needed(target=SCALAR, ram="min")
    assert [needed(target=SCALAR, ram=size) for size in sizes[1:]] == sizes[1:]
    assert not any("row by row" in text for text in points[0].means)
    assert all(any("row by row" in text for text in point.means) for point in points[1:])
    assert all(point.flash_bytes for point in points)


@pytest.mark.parametrize("options", [{"target": "host"}, {"target": SCALAR, "optimize": "0"}])
def test_where_nothing_rolls_there_is_one_program(options: dict[str, Any]) -> None:
    (point,) = pareto(model(), CompileOptions.of(**options))
    assert point.ram_bytes == needed(**options)
    assert (point.instructions is None) == (options["target"] == "host")
