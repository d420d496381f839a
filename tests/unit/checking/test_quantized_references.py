"""References of quantised models: onnxruntime's integers, and tolerances of a step."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

import aotc
from aotc.cli import verification
from aotc.cli.main import run
from aotc.compiler.checking.quantized_reference import as_unsigned, make_unsigned, quanta
from aotc.compiler.checking.reference import comparable_session, reference_session
from aotc.errors import EXIT_MODEL, EXIT_OK, EXIT_WRONG

HEADER = '<ir_version: 10, opset_import: ["" : 17]>\n'
BLOCK = (
    HEADER
    + """g (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y)
    <float s = {0.05}, int8 z = {-3}, float t = {0.0371}, int8 v = {5}, float r = {0.02}, int8 n = {0},
     int8[4, 4, 1, 1] w> {
    a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) k = DequantizeLinear(w, r, n) c = Conv(b, k)
    d = QuantizeLinear(c, t, v) e = DequantizeLinear(d, t, v) f = Add(b, e)
    g = QuantizeLinear(f, t, v) h = DequantizeLinear(g, t, v) y = Transpose<perm=[0, 1, 3, 2]>(h)
}"""
)


def block() -> ModelProto:
    model = onnx.parser.parse_model(BLOCK)
    weight = np.random.default_rng(0).integers(-128, 128, (4, 4, 1, 1), np.int8)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    return model


def data() -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).standard_normal((1, 4, 6, 6)).astype(np.float32)


def outputs(model: bytes) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options).run(None, {"x": data()})


def zero_points(model: ModelProto, op_type: str) -> list[int]:
    kinds = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    return [kinds[node.input[2]] for node in model.graph.node if node.op_type == op_type]


def test_tensors_between_operators_become_unsigned_and_mean_the_same() -> None:
    model = block()
    changed = as_unsigned(model.SerializeToString())
    assert changed is not None
    np.testing.assert_array_equal(outputs(changed)[0], outputs(model.SerializeToString())[0])
    found = onnx.load_model_from_string(changed)
    assert zero_points(found, "QuantizeLinear") == [TensorProto.UINT8] * 3
    assert zero_points(found, "DequantizeLinear").count(TensorProto.INT8) == 1  # the weight


def test_integers_that_the_model_takes_and_gives_stay_signed() -> None:
    text = """g (int8[1, 4, 6, 6] x) => (int8[1, 4, 6, 6] p, int8[1, 4, 6, 6] y)
        <float s = {0.05}, int8 z = {-3}, float t = {0.37}, int8 v = {5}, float r = {0.02}, int8 n = {0},
         int8[4, 4, 1, 1] w> {
        b = DequantizeLinear(x, s, z) k = DequantizeLinear(w, r, n) c = Conv(b, k) p = QuantizeLinear(c, t, v)
        d = DequantizeLinear(p, t, v) e = Conv(d, k) y = QuantizeLinear(e, t, v)
    }"""
    model = onnx.parser.parse_model(HEADER + text)
    model.graph.initializer.append(block().graph.initializer[-1])
    changed = as_unsigned(model.SerializeToString())
    assert changed is not None
    kinds = [value.type for value in comparable_session(model.SerializeToString()).get_outputs()]
    assert kinds == ["tensor(int8)"] * 2
    found = onnx.load_model_from_string(changed)
    assert zero_points(found, "QuantizeLinear") == [TensorProto.UINT8] * 2
    x = np.random.default_rng(1).integers(-128, 128, (1, 4, 6, 6), np.int8)
    right = reference_session(model.SerializeToString(), optimize=False).run(None, {"x": x})
    for got, expected in zip(reference_session(changed, optimize=False).run(None, {"x": x}), right, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_names_of_the_model_stay_its_own() -> None:
    model = block()
    model.graph.initializer.append(numpy_helper.from_array(np.float32(3.5), "v_of_uint8"))
    model.graph.node.append(onnx.helper.make_node("Mul", ["e", "v_of_uint8"], ["z_of_uint8"]))
    model.graph.output.append(onnx.helper.make_tensor_value_info("z_of_uint8", TensorProto.FLOAT, None))
    changed = as_unsigned(model.SerializeToString())
    assert changed is not None
    for got, expected in zip(outputs(changed), outputs(model.SerializeToString()), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_weights_in_other_files_come_along(tmp_path: Path) -> None:
    onnx.save(block(), tmp_path / "m.onnx", save_as_external_data=True, size_threshold=8, location="w.bin")
    assert (tmp_path / "w.bin").exists()
    changed = as_unsigned(tmp_path / "m.onnx")
    assert changed is not None
    np.testing.assert_array_equal(outputs(changed)[0], outputs(block().SerializeToString())[0])


@pytest.mark.parametrize(
    "nodes",
    [
        "a = QuantizeLinear(x, s, z) b = MaxPool<kernel_shape=[2, 2]>(a) y = DequantizeLinear(b, s, z)",
        "a = QuantizeLinear(x, s, u) y = DequantizeLinear(a, s, u)",
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) y = If(k) <then_branch = t () => "
        "(float[1, 4, 6, 6] p) { p = Identity(b) }, else_branch = e () => (float[1, 4, 6, 6] q) { q = Cast<to=1>(a) }>",
        "a = QuantizeLinear(x, s) y = DequantizeLinear(a, s)",
    ],
)
def test_what_something_else_reads_stays(nodes: str) -> None:
    values = "<float s = {0.05}, int8 z = {-3}, uint8 u = {3}, bool k = {1}>"
    text = f"g (float[1, 4, 6, 6] x) => (y) {values} {{ {nodes} }}"
    model = onnx.parser.parse_model(HEADER + text)
    before = model.SerializeToString(deterministic=True)
    assert not make_unsigned(model)
    assert model.SerializeToString(deterministic=True) == before


def test_zero_points_in_other_files_stay() -> None:
    model = block()
    for tensor in model.graph.initializer:
        if tensor.name in "zv":
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="z.bin")
    assert not make_unsigned(model)


def test_the_reference_computes_signed_tensors_as_unsigned_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    made, whole = [], onnxruntime.InferenceSession

    def session(model: bytes, *given: Any, **named: Any) -> Any:
        made.append(zero_points(onnx.load_model_from_string(model), "QuantizeLinear"))
        return whole(model, *given, **named)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    comparable_session(block().SerializeToString())
    assert made == [[TensorProto.UINT8] * 3]
    comparable_session(block().SerializeToString(), optimize=False)
    assert made[1] == [TensorProto.INT8] * 3


def test_a_step_is_the_scale_and_goes_with_what_is_moved() -> None:
    found = {name: round(quantum, 6) for name, quantum in quanta(block()).items()}
    assert found == {"b": 0.05, "k": 0.02, "e": 0.0371, "h": 0.0371, "y": 0.0371}


@pytest.mark.parametrize(("off", "code"), [(1, EXIT_OK), (-1, EXIT_OK), (2, EXIT_WRONG)])
def test_verify_allows_a_step_of_what_is_dequantised(
    off: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(block(), tmp_path / "m.onnx")
    right = verification.reference_sequence

    def other(*given: Any) -> Any:
        return [{name: array + np.float32(off * 0.0371) for name, array in each.items()} for each in right(*given)]

    monkeypatch.setattr(verification, "reference_sequence", other)
    assert run(["verify", str(tmp_path / "m.onnx")]) == code


@pytest.mark.parametrize(("off", "first"), [(1, 0), (2, 1)])
def test_a_self_test_allows_one_too(off: int, first: int, tmp_path: Path) -> None:
    onnx.save(block(), tmp_path / "m.onnx")
    wanted = comparable_session(tmp_path / "m.onnx").run(None, {"x": data()})[0] + np.float32(off * 0.0371)
    np.savez(tmp_path / "in.npz", x=data())
    np.savez(tmp_path / "out.npz", y=wanted)
    recorded = {"selftest": str(tmp_path / "in.npz"), "selftest_outputs": str(tmp_path / "out.npz")}
    aotc.compile_to(tmp_path / "m.onnx", tmp_path / "out", emit="shared", **recorded)
    assert ctypes.CDLL(str(tmp_path / "out" / "m.so")).aotc_m_selftest() == first


def test_a_file_that_is_no_model_is_refused_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.onnx").write_bytes(bytes(range(200)))
    assert run(["verify", str(tmp_path / "m.onnx")]) == EXIT_MODEL
    assert "is not an ONNX model" in capsys.readouterr().err
