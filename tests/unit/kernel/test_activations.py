"""Softplus and Mish, however models write them, against f64 over a sample of all floats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from ulps import CHUNK, Array, chunks, errors

import aotc
from aotc.compiler.driver import lower
from aotc.dialects.graph.functions import MishOp, SoftplusOp
from aotc.dialects.graph.interfaces import GraphOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.pipeline.options import CompileOptions

STEP = 2511
"""Of the bit patterns that are tested; odd, so that every exponent and low bit occurs."""
SUBNORMAL_POWER = -87.0
"""Below it exp(x) is no normal number, which softplus is and Mish is a multiple of."""


def node(op_type: str, *names: str) -> NodeProto:
    """Inputs, then the output."""
    return helper.make_node(op_type, names[:-1], names[-1:])


LOGARITHM = [node("Exp", "x", "e"), node("Add", "e", "one", "s"), node("Log", "s", "p")]
TIMES_TANH = [node("Tanh", "p", "t"), node("Mul", "x", "t", "y")]
SOFTPLUS = {
    "one operator": [node("Softplus", "x", "y")],
    "a logarithm": [node("Exp", "x", "e"), node("Add", "one", "e", "s"), node("Log", "s", "y")],
}
MISH = {
    "one operator": [node("Mish", "x", "y")],
    "softplus": [node("Softplus", "x", "p"), *TIMES_TANH],
    "a logarithm": [*LOGARITHM, *TIMES_TANH],
}
CASES = {("softplus", way): nodes for way, nodes in SOFTPLUS.items()} | {
    ("mish", way): nodes for way, nodes in MISH.items()
}
OPERATIONS: dict[str, type[GraphOp]] = {"softplus": SoftplusOp, "mish": MishOp}


def softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def mish(x: Array) -> Array:
    return x * np.tanh(softplus(x))


EXACT: dict[str, Callable[[Array], Array]] = {"softplus": softplus, "mish": mish}
ULPS = {"softplus": 2, "mish": 4}
SMALL = {"softplus": 2.0**-125, "mish": 2.0**-142}
"""The greatest errors below `SUBNORMAL_POWER`."""


def model(nodes: list[NodeProto], count: int) -> ModelProto:
    given, result = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [count]) for name in "xy")
    one = numpy_helper.from_array(np.ones(1, np.float32), "one")
    graph = helper.make_graph(nodes, "activation", [given], [result], [one])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize(("name", "way"), CASES)
def test_one_operation_is_left(name: str, way: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model(CASES[name, way], 4).SerializeToString())
    module = lower(str(path), CompileOptions.of(stop_after="graph")).module
    left = [type(op) for op in module.walk() if isinstance(op, GraphOp) and not isinstance(op, ConstantOp)]
    assert left == [OPERATIONS[name]]


@pytest.mark.parametrize("level", ["0", "2"])
@pytest.mark.parametrize("name", EXACT)
def test_error(name: str, level: str) -> None:
    compiled = aotc.compile(model(CASES[name, "a logarithm"], CHUNK), optimize=level)
    worst, at = 0.0, 0.0
    with np.errstate(all="ignore"):
        for x in chunks(STEP):
            expected = EXACT[name](x.astype(np.float64))
            found = compiled({"x": x})["y"]
            error = errors(found, expected)
            small = (x < SUBNORMAL_POWER) & np.isfinite(x)
            assert (np.abs(found - expected)[small] < SMALL[name]).all()
            error[small] = 0
            place = int(np.argmax(error))
            if error[place] > worst:
                worst, at = float(error[place]), float(x[place])
    print(f"{name}: {worst:.3f} ulp at {at!r}")
    assert worst <= ULPS[name], f"{worst} ulp at {at!r}"


@pytest.mark.parametrize("level", ["0", "2"])
def test_corners(level: str) -> None:
    """Of large numbers both are the number, where exp overflows; NaN, and with Mish -inf, give NaN."""
    x = np.array([np.inf, 3e38, 1e5, 100, 89, 20, 0, -0.0, -1e5, -3e38, -np.inf, np.nan], np.float32)
    expected = {
        "softplus": [np.inf, 3e38, 1e5, 100, 89, 20, np.log(2), np.log(2), 0, 0, 0, np.nan],
        "mish": [np.inf, 3e38, 1e5, 100, 89, 20, 0, 0, 0, 0, np.nan, np.nan],
    }
    for (name, way), nodes in CASES.items():
        found = aotc.compile(model(nodes, len(x)), optimize=level)({"x": x})["y"]
        np.testing.assert_allclose(found, np.float32(expected[name]), rtol=2e-7, err_msg=f"{name}, {way}")
