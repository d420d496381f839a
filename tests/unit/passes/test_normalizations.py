"""Normalisations as models write them, in one operation or in many, before and after convolutions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import aotc
from aotc.compiler.driver import lower
from aotc.dialects.graph.normalization import NormalizeOp
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(7)


def _model(nodes: list[NodeProto], x: Array, constants: dict[str, Array], opset: int = 17) -> ModelProto:
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        nodes,
        "normalization",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    graph.output[0].type.tensor_type.elem_type = kind
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def _compared(model: ModelProto, x: Array, tolerance: float = 2e-5) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    for level in ("0", "2"):
        found = aotc.compile(model, optimize=level)({"x": x})["y"]
        np.testing.assert_allclose(found, np.asarray(expected), rtol=tolerance, atol=tolerance, err_msg=f"-O{level}")


def _count(model: ModelProto, folder: Path) -> int:
    """How many normalisations the `graph` phase leaves."""
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    module = lower(str(path), CompileOptions.of(stop_after="graph")).module
    return sum(isinstance(op, NormalizeOp) for op in module.walk())


def _written_out(axes: list[int], square: str, kind: type[np.generic]) -> tuple[list[NodeProto], dict[str, Array]]:
    """Layer normalisation as PyTorch exports it before opset 17."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=axes),
        helper.make_node("Sub", ["x", "mean"], ["distance"]),
        helper.make_node(square, ["distance", "distance" if square == "Mul" else "two"], ["squares"]),
        helper.make_node("ReduceMean", ["squares"], ["variance"], axes=axes),
        helper.make_node("Add", ["variance", "epsilon"], ["sum"]),
        helper.make_node("Sqrt", ["sum"], ["root"]),
        helper.make_node("Div", ["distance", "root"], ["y"]),
    ]
    return nodes, {"two": np.array(2, kind), "epsilon": np.array(1e-5, kind)}


@pytest.mark.parametrize("square", ["Mul", "Pow"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((3, 37), [1]), ((2, 5, 16), [-1]), ((2, 3, 4, 5), [2, 3]), ((4, 6, 8), [0, 2]), ((1, 1, 130), [-1])],
)
def test_what_is_written_out_is_one_operation(
    shape: tuple[int, ...], axes: list[int], square: str, tmp_path: Path
) -> None:
    x = (RANDOM.standard_normal(shape) * 3 + 5).astype(np.float32)
    nodes, constants = _written_out(axes, square, np.float32)
    model = _model(nodes, x, constants)
    assert _count(model, tmp_path) == 1
    _compared(model, x)


def test_f64_is_normalised_in_f64(tmp_path: Path) -> None:
    x = RANDOM.standard_normal((4, 33)) + 100
    nodes, constants = _written_out([-1], "Mul", np.float64)
    model = _model(nodes, x, constants)
    assert _count(model, tmp_path) == 1
    _compared(model, x, 1e-12)


def test_half_precision_rounds_where_the_model_does(tmp_path: Path) -> None:
    x = RANDOM.standard_normal((4, 32)).astype(np.float16)
    nodes, constants = _written_out([-1], "Mul", np.float16)
    assert _count(_model(nodes, x, constants), tmp_path) == 0


def test_rows_of_no_variance_give_what_the_written_out_ones_do() -> None:
    x = np.full((2, 16), 3, np.float32)
    nodes, constants = _written_out([-1], "Mul", np.float32)
    _compared(_model(nodes, x, constants), x)


@pytest.mark.parametrize("channels", [16, 20])
@pytest.mark.parametrize("shape", [(2, 3, 9, 7), (1, 3, 40)])
def test_instances_are_normalised_between_convolutions(channels: int, shape: tuple[int, ...]) -> None:
    """In blocks of channels, the last of which is not full."""
    x = RANDOM.standard_normal(shape).astype(np.float32)
    ones = [1] * (len(shape) - 2)
    weights = {
        "w": RANDOM.standard_normal((channels, 3, *(3 * each for each in ones))).astype(np.float32),
        "v": RANDOM.standard_normal((8, channels, *ones)).astype(np.float32),
        "scale": RANDOM.standard_normal(channels).astype(np.float32),
        "bias": RANDOM.standard_normal(channels).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=ones * 2),
        helper.make_node("InstanceNormalization", ["a", "scale", "bias"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Conv", ["c", "v"], ["y"]),
    ]
    _compared(_model(nodes, x, weights), x, 1e-4)


@pytest.mark.parametrize("optimize", [0, 2])
@pytest.mark.parametrize("columns", [48, 3001])
def test_rows_far_from_zero_keep_their_digits(optimize: int, columns: int) -> None:
    """The mean of such a row, rounded, is off by more than the result may be."""
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[6,{columns}] x, float[{columns}] s) => (y, mean, inverse)
        {{ y, mean, inverse = LayerNormalization(x, s) }}"""
    x = (np.random.default_rng(0).standard_normal((6, columns)) + 1e4).astype(np.float32)
    found = aotc.compile(onnx.parser.parse_model(text), optimize=optimize)({"x": x, "s": np.ones(columns, np.float32)})
    distances = x.astype(np.float64) - x.astype(np.float64).mean(1, keepdims=True)
    inverse = 1 / np.sqrt((distances**2).mean(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found["y"], distances * inverse, atol=1e-5)
    np.testing.assert_allclose(found["inverse"], inverse, rtol=1e-5)
