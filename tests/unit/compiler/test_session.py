"""onnxruntime's names: a program that is written for its sessions runs with ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

import aotc
from aotc.compiler.session import InferenceSession, ModelMetadata
from aotc.errors import UsageError

MODEL = Path(__file__).parents[2] / "models" / "data" / "kws_float" / "model.onnx"
TWO = """<ir_version: 10, opset_import: ["" : 21], producer_name: "me", domain: "d", model_version: 7,
doc_string: "doc", metadata_props: ["author": "nobody", "k": "v"]>
two (float[batch,3] x, int64[3] w) => (float[batch,3] y, bool[batch,3] positive) <float zero = {0}> {
  f = Cast<to = 1>(w)  y = Mul(x, f)  positive = Greater(x, zero) }"""
X, W = np.array([[1, -2, 3]], np.float32), np.array([1, 10, 100])


@pytest.fixture(scope="module")
def two() -> onnx.ModelProto:
    model = onnx.parser.parse_model(TWO)
    model.graph.doc_string = "of the graph"
    return model


@pytest.fixture(scope="module")
def session(two: onnx.ModelProto) -> InferenceSession:
    return aotc.InferenceSession(two.SerializeToString(), dims={"batch": 1}, providers=["CPUExecutionProvider"])


def test_a_program_for_onnxruntime() -> None:
    x = np.random.default_rng(0).standard_normal((1, 49, 10, 1)).astype(np.float32)
    found = []
    for package in (onnxruntime, aotc):
        session = package.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
        inputs, outputs = session.get_inputs(), session.get_outputs()
        (y,) = session.run([outputs[0].name], {inputs[0].name: x})
        meta = session.get_modelmeta()
        found.append(
            (
                [(each.name, each.type, each.shape) for each in (*inputs, *outputs)],
                {name: getattr(meta, name) for name in ModelMetadata.__dataclass_fields__},
                session.get_providers(),
                [each.name for each in session.get_overridable_initializers()],
                y,
            )
        )
    *theirs, expected = found[0]
    *ours, actual = found[1]
    assert ours == theirs
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_what_the_file_says_of_itself(two: onnx.ModelProto, session: InferenceSession, tmp_path: Path) -> None:
    theirs = onnxruntime.InferenceSession(two.SerializeToString()).get_modelmeta()
    path = tmp_path / "two.onnx"
    onnx.save(two, path)
    for source in (two, path):
        ours = aotc.InferenceSession(source, dims={"batch": 1}).get_modelmeta()
        assert ours == session.get_modelmeta()
        assert {name: getattr(theirs, name) for name in vars(ours)} == vars(ours)
    assert ours.custom_metadata_map == {"author": "nobody", "k": "v"} and ours.version == 7
    assert ours.graph_description == "of the graph"


def test_types_and_shapes(session: InferenceSession) -> None:
    assert [(a.name, a.type, a.shape) for a in session.get_inputs()] == [
        ("x", "tensor(float)", [1, 3]),
        ("w", "tensor(int64)", [3]),
    ]
    assert [a.type for a in session.get_outputs()] == ["tensor(float)", "tensor(bool)"]


@pytest.mark.parametrize("kind", ["double", "float16", "bfloat16", "uint8", "float8e4m3fn", "float8e5m2", "int16"])
def test_element_types_are_onnx_names(kind: str) -> None:
    text = f'<ir_version: 10, opset_import: ["" : 21]> m ({kind}[2] x) => ({kind}[2] y) {{ y = Identity(x) }}'
    session = aotc.InferenceSession(onnx.parser.parse_model(text))
    theirs = onnxruntime.InferenceSession(onnx.parser.parse_model(text).SerializeToString())
    assert [session.get_inputs()[0].type] == [theirs.get_inputs()[0].type] == [f"tensor({kind})"]


def test_runs(session: InferenceSession) -> None:
    for names, count in ((None, 2), ([], 2), (["positive"], 1), (["positive", "y"], 2)):
        results = session.run(names, {"x": X, "w": W})
        assert isinstance(results, list) and len(results) == count
    positive, y = results
    assert np.array_equal(y, X * W.astype(np.float32)) and np.array_equal(positive, X > 0)
    with pytest.raises(ValueError, match="no output 'z'; the outputs are 'y', 'positive'"):
        session.run(["z"], {"x": X, "w": W})
    with pytest.raises(ValueError, match="no input 'v' and 'w' missing"):
        session.run(None, {"x": X, "v": W})
    with pytest.raises(ValueError, match="no options"):
        session.run(None, {"x": X, "w": W}, onnxruntime.RunOptions())  # pyright: ignore[reportArgumentType]


def test_a_library(tmp_path: Path) -> None:
    aotc.compile_to(MODEL, tmp_path, name="kws", emit="shared")
    session = aotc.InferenceSession(tmp_path / "kws.so", threads=1)
    x = np.ones((1, 49, 10, 1), np.float32)
    (y,) = session.run(None, {"input_1": x})
    np.testing.assert_allclose(y, aotc.InferenceSession(MODEL).run(None, {"input_1": x})[0], rtol=1e-4, atol=1e-6)
    assert session.get_modelmeta().graph_name == "kws" and session.get_modelmeta().producer_name == ""
    with pytest.raises(UsageError, match="option-conflict"):
        aotc.InferenceSession(tmp_path / "kws.so", optimize=1)
    with pytest.raises(FileNotFoundError):
        aotc.InferenceSession(tmp_path / "other.so")


def test_providers(two: onnx.ModelProto) -> None:
    with pytest.raises(ValueError, match="no provider CUDAExecutionProvider"):
        aotc.InferenceSession(two, providers=[("CUDAExecutionProvider", {"device_id": 0})], dims={"batch": 1})


def test_options_of_a_session() -> None:
    options = onnxruntime.SessionOptions()
    assert aotc.InferenceSession(MODEL, options).model.metadata.threads == 1
    options.intra_op_num_threads = 2
    assert aotc.InferenceSession(MODEL, options).model.metadata.threads == 2
    assert aotc.InferenceSession(MODEL, options, threads=1).model.metadata.threads == 1


def test_open_shapes(two: onnx.ModelProto) -> None:
    """As there: names of extents, whatever shape arrives, outputs of data-dependent extents."""
    text = TWO.replace("float[batch,3] x", "float[batch,3] x, float[?,k] u").replace(
        "bool[batch,3] positive)", "bool[batch,3] positive, int64[2,found] where)"
    )
    model = onnx.parser.parse_model(text.replace("positive = ", "where = NonZero(u)  positive = "))
    theirs, ours = onnxruntime.InferenceSession(model.SerializeToString()), aotc.InferenceSession(model, max_shapes=2)
    assert [(a.name, a.type, a.shape) for a in ours.get_inputs()] == [
        (a.name, a.type, a.shape) for a in theirs.get_inputs()
    ]
    assert [a.type for a in ours.get_outputs()] == [a.type for a in theirs.get_outputs()]
    assert ours.get_outputs()[0].shape == ["batch", 3] and ours.get_modelmeta() == ModelMetadata(
        **vars(ours.get_modelmeta())
    )
    for n in (1, 2):
        feed = {"x": np.repeat(X, n, 0), "u": np.eye(n, 3, dtype=np.float32), "w": W}
        for actual, expected in zip(ours.run(None, feed), theirs.run(None, feed), strict=True):
            assert actual.shape == expected.shape and np.array_equal(actual, expected)
    fixed = aotc.InferenceSession(two)
    for n in (1, 2):
        x, y = np.repeat(X, n, 0), np.zeros((n, 3), np.float32)
        binding = fixed.io_binding()
        binding.bind_cpu_input("x", x)
        binding.bind_cpu_input("w", W)
        binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
        fixed.run_with_iobinding(binding)
        assert np.array_equal(y, x * W)


def test_bound_memory(session: InferenceSession, two: onnx.ModelProto) -> None:
    """The same calls on both sides."""
    for each in (session, onnxruntime.InferenceSession(two.SerializeToString())):
        x, y = X.copy(), np.zeros_like(X)
        binding = each.io_binding()
        binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
        binding.bind_cpu_input("w", W)
        binding.bind_output("positive")
        binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
        for _ in range(2):
            x += 1
            each.run_with_iobinding(binding)
            positive, copied = binding.copy_outputs_to_cpu()
            assert np.array_equal(y, x * W) and np.array_equal(copied, y) and np.array_equal(positive, x > 0)
        binding.clear_binding_outputs()
        binding.bind_output("positive")
        each.run_with_iobinding(binding)
        assert len(binding.copy_outputs_to_cpu()) == 1


def test_memory_that_is_refused(session: InferenceSession) -> None:
    binding = session.io_binding()
    with pytest.raises(ValueError, match="cuda:0"):
        binding.bind_output("y", "cuda")
    with pytest.raises(ValueError, match="without its element_type"):
        binding.bind_output("y", buffer_ptr=X.ctypes.data)
    with pytest.raises(ValueError, match="no run"):
        binding.copy_outputs_to_cpu()
    binding.bind_cpu_input("x", X)
    with pytest.raises(ValueError, match="'w' missing"):
        session.run_with_iobinding(binding)
    binding.bind_cpu_input("w", W)
    binding.bind_output("z")
    with pytest.raises(ValueError, match="no output 'z'"):
        session.run_with_iobinding(binding)
