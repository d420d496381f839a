"""The writer of .tflite files against its readers: the generated ones of the schema, and the interpreters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lite_model import Graph, flatbuffers, packed, tflite, write
from lite_oracle import ORACLES, Micro, run


def _dense(**more: Any) -> bytes:
    graph = Graph()
    graph.tensor("x", (1, 4), "int8", scale=0.5, zero=-3)
    graph.constant("w", np.arange(12, dtype=np.int8).reshape(3, 4), scale=[0.1, 0.25, 0.3])
    graph.constant("b", np.arange(3, dtype=np.int32), scale=[0.05, 0.125, 0.15])
    graph.tensor("y", (1, 3), "int8", scale=0.5, zero=2)
    graph.op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], fused_activation_function="RELU")
    return write([graph.ends(["x"], ["y"])], **more)


def test_what_is_written_is_read() -> None:
    data = _dense(description="dense", metadata={"labels": b"one"}, signatures={"serve": (0, {"a": "x"}, {"out": "y"})})
    model = tflite.Model.GetRootAs(data)
    graph = model.Subgraphs(0)
    assert tflite.Model.ModelBufferHasIdentifier(data, 0)
    assert (model.Version(), model.Description(), graph.Name()) == (3, b"dense", b"main")
    assert model.Metadata(0).Name() == b"labels"
    assert model.Buffers(model.Metadata(0).Buffer()).DataAsNumpy().tobytes() == b"one"
    signature = model.SignatureDefs(0)
    assert (signature.SignatureKey(), signature.Inputs(0).Name(), signature.Outputs(0).TensorIndex()) == (
        b"serve",
        b"a",
        3,
    )
    x, w = graph.Tensors(0), graph.Tensors(1)
    assert (x.Name(), x.ShapeAsNumpy().tolist(), x.Type()) == (b"x", [1, 4], tflite.TensorType.INT8)
    assert (x.Quantization().Scale(0), x.Quantization().ZeroPoint(0)) == (0.5, -3)
    assert w.Quantization().ScaleAsNumpy().tolist() == np.array([0.1, 0.25, 0.3], np.float32).tolist()
    assert model.Buffers(w.Buffer()).DataAsNumpy().tolist() == list(range(12))
    node = graph.Operators(0)
    assert model.OperatorCodes(node.OpcodeIndex()).BuiltinCode() == tflite.BuiltinOperator.FULLY_CONNECTED
    options = tflite.FullyConnectedOptions()
    options.Init(node.BuiltinOptions().Bytes, node.BuiltinOptions().Pos)
    assert options.FusedActivationFunction() == tflite.ActivationFunctionType.RELU


def test_constants_lie_on_multiples_of_16_bytes() -> None:
    data = _dense()
    model = tflite.Model.GetRootAs(data)
    for index in range(model.BuffersLength()):
        if (buffer := model.Buffers(index)).DataLength():
            offset = flatbuffers.number_types.UOffsetTFlags.py_type(buffer._tab.Offset(4))
            assert buffer._tab.Vector(offset) % 16 == 0


@pytest.mark.parametrize("oracle", ORACLES)
def test_interpreters_run_it(oracle: str) -> None:
    x = np.array([[1, 2, 3, 4]], np.int8)
    # 4, 5, 6, 7 times the rows of w, plus b: 38, 127, 216; times 0.1, 0.25, 0.3; plus 2, at most 127
    w, b = np.arange(12).reshape(3, 4), np.arange(3)
    sums = ((x.astype(int) + 3) @ w.T + b) * [0.1, 0.25, 0.3]
    expected = np.clip(np.round(sums).astype(int) + 2, 2, 127)
    assert run(_dense(), [[x]], oracle)[0][0].tolist() == expected.tolist()


def test_variables_live_from_call_to_call() -> None:
    graph = Graph()
    graph.tensor("handle", (), "resource")
    for name in ("x", "state", "y"):
        graph.tensor(name, (1, 2), "float32")
    graph.op("VAR_HANDLE", [], ["handle"], container="c", shared_name="v")
    graph.op("READ_VARIABLE", ["handle"], ["state"])
    graph.op("ADD", ["x", "state"], ["y"])
    graph.op("ASSIGN_VARIABLE", ["handle", "y"], [])
    x, model = np.array([[1, 2]], np.float32), Micro(write([graph.ends(["x"], ["y"])]))
    assert [model(x)[0].tolist() for _ in range(3)] == [[[1, 2]], [[2, 4]], [[3, 6]]]
    model.reset()
    assert model(x)[0].tolist() == [[1, 2]]


def test_several_subgraphs() -> None:
    graphs = [Graph("main"), Graph("then"), Graph("else")]
    graphs[0].tensor("condition", (1,), "bool")
    for graph in graphs:
        graph.tensor("x", (2,), "float32")
        graph.tensor("y", (2,), "float32")
        graph.ends(["x"], ["y"])
    graphs[0].op("IF", ["condition", "x"], ["y"], then_subgraph_index=1, else_subgraph_index=2)
    graphs[1].op("ABS", ["x"], ["y"])
    graphs[2].op("NEG", ["x"], ["y"])
    model = write([graphs[0].ends(["condition", "x"], ["y"]), *graphs[1:]])
    x = np.array([-1, 2], np.float32)
    assert [run(model, [[np.array([value]), x]])[0][0].tolist() for value in (True, False)] == [[1, 2], [1, -2]]


def test_custom_operators_take_options() -> None:
    from flatbuffers import flexbuffers

    graph = Graph()
    graph.tensor("x", (1, 8), "int16")
    graph.constant("w", np.full(8, 2048, np.int16))
    graph.tensor("y", (1, 8), "int16")
    graph.op("SignalWindow", ["x", "w"], ["y"], custom=bytes(flexbuffers.Dumps({"shift": 12})))
    x = np.arange(8, dtype=np.int16)[None] * 10
    assert run(write([graph.ends(["x"], ["y"])]), [[x]])[0][0].tolist() == (x // 2).tolist()


def test_narrow_elements_lie_from_the_low_bits_up() -> None:
    assert packed(np.array([1, -2, 7]), "int4").hex() == "e107"
    assert packed(np.array([1, -2, -1, 0, 1]), "int2").hex() == "3901"


def test_sparse_constants_are_read() -> None:
    graph = Graph()
    graph.tensor("x", (1, 4), "float32")
    stored = ([0, 1, 3], [2, 0, 3])
    graph.constant("w", np.array([5, 6, 7], np.float32), sparsity=([0, 1], [], [2, stored]))
    graph.tensors[-1].shape = (2, 4)
    graph.tensor("dense", (2, 4), "float32")
    graph.tensor("y", (1, 2), "float32")
    graph.op("DENSIFY", ["w"], ["dense"])
    graph.op("FULLY_CONNECTED", ["x", "dense", None], ["y"])
    x = np.array([[1, 2, 3, 4]], np.float32)
    assert run(write([graph.ends(["x"], ["y"])]), [[x]], "lite")[0][0].tolist() == [[15, 34]]
