"""Integer division and remainders of whatever is divided by whatever, on every route; onnxruntime traps on some."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import INTEGERS, onnx_type
from harness import Array, Feed, with_known
from node_suite.outcomes import FLAGS
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper, save
from quick_c import open_quickly

import aotc
from aotc.measuring.routes import build_shared
from aotc.pipeline.options import CompileOptions

OPERATORS: tuple[tuple[str, dict[str, Any]], ...] = (("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1}))
ROUTES: dict[str, tuple[str, dict[str, str]]] = {
    "in process": ("jit", {}),
    "without schedules": ("jit", {"optimize": "0"}),
    "C": ("c", {}),
    "C without vectors": ("c", {"target": "rv64gc"}),
}


def exact(op_type: str, fmod: bool, x: int, y: int) -> int:
    """The quotient of docs/abi.md, before it wraps."""
    quotient = 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    if op_type == "Div":
        return quotient
    rest = x - quotient * y
    return rest if fmod or not rest or not y or (rest < 0) == (y < 0) else rest + y


def awkward(dtype: str) -> tuple[Array, Array]:
    """Every pair of awkward numbers, thrice: more than fill the vectors of any target."""
    limits = np.iinfo(dtype)
    numbers = [limits.min, limits.min + 1, limits.max, 0, 1, 2, 3, 7, 10, *([-1, -2, -7] if limits.min else [])]
    lhs, rhs = zip(*itertools.product(numbers, numbers), strict=True)
    return np.array(lhs * 3, dtype), np.array(rhs * 3, dtype)


def everything() -> tuple[ModelProto, dict[str, Array], dict[str, Array]]:
    """One model of all element types and operators, by numbers and by constants; its inputs, and its outputs."""
    nodes: list[NodeProto] = []
    feed: dict[str, Array] = {}
    constants: dict[str, Array] = {}
    expected: dict[str, Array] = {}
    for dtype in INTEGERS:
        lhs, rhs = awkward(dtype)
        feed |= {f"x_{dtype}": lhs, f"y_{dtype}": rhs}
        known = {
            f"c{i}_{dtype}": np.array([value], dtype) for i, value in enumerate([0, 7, 1, -1][: 3 + (dtype[0] == "i")])
        }
        constants |= known
        for number, (op_type, attributes) in enumerate(OPERATORS):
            for name, divisor in {f"y_{dtype}": rhs, **known}.items():
                output = f"{op_type}{number}_{name}"
                nodes.append(helper.make_node(op_type, [f"x_{dtype}", name], [output], **attributes))
                pairs = np.broadcast(lhs, divisor)
                modulus = 1 << np.iinfo(dtype).bits
                values = [exact(op_type, bool(attributes), int(x), int(y)) % modulus for x, y in pairs]
                expected[output] = np.array(values, np.uint64).astype(dtype)
    graph = helper.make_graph(
        nodes,
        "division",
        [helper.make_tensor_value_info(name, onnx_type(x.dtype.name), x.shape) for name, x in feed.items()],
        [ValueInfoProto(name=name) for name in expected],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10), feed, expected


def assert_exact(actual: Feed, expected: Feed) -> None:
    for name, value in expected.items():
        np.testing.assert_array_equal(actual[name], value, name)


@pytest.mark.parametrize("route", ROUTES)
def test_division_is_defined(route: str, tmp_path: Path) -> None:
    model, feed, expected = everything()
    save(model, tmp_path / "division.onnx")
    way, options = ROUTES[route]
    if "target" in options:  # its C in this process: without the compiler's flags for that target
        aotc.compile_to(tmp_path / "division.onnx", tmp_path, emit="c", weights="embedded", **options)
        compiled = aotc.load(build_shared(tmp_path / "division.c", FLAGS))
    else:
        compiled = open_quickly(str(tmp_path / "division.onnx"), way, CompileOptions.of(**options))
    assert_exact(compiled(feed), expected)


def test_folded_division_is_the_same() -> None:
    model, feed, expected = everything()
    assert_exact(aotc.compile(with_known(model, feed, list(feed)), optimize=0)({}), expected)
