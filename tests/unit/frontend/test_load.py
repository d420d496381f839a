"""Files that are no model, or no valid one: one clear error each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_text import parse

from aotc.dialects.dtypes import element_type, is_encoded, numpy_dtype
from aotc.errors import EXIT_FILE, AotcError, CompileError, FileError
from aotc.frontend.onnx import load_model
from aotc.frontend.onnx.tensors import DTYPES, read_tensor

VALID = parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")


def problems(source: object) -> list[tuple[str, str]]:
    """Where they are, and their ids."""
    with pytest.raises(CompileError) as caught:
        load_model(source)  # pyright: ignore[reportArgumentType]
    return [(problem.node, problem.id) for problem in caught.value.problems]


def with_external(folder: Path, location: str, **entries: object) -> Path:
    model = onnx.ModelProto()
    model.CopyFrom(VALID)
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, str(value)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_a_missing_file_and_a_folder_are_oserrors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.onnx")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"# Notes\n\nnot a model\n",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR",
        VALID.SerializeToString()[:-7],
        b"\x12\x03abc",
    ],
)
def test_files_that_are_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(CompileError, match=r"^model\.onnx .*\[not-a-model\]$"):
        load_model(path)


def test_every_truncation_is_an_error() -> None:
    data = VALID.SerializeToString()
    for length in range(len(data)):
        problems(data[:length])


def test_a_file_beyond_what_protobuf_reads(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate((1 << 31) + 5)
    assert problems(path) == [("", "too-large")]


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ('<ir_version: 10, opset_import: ["" : 29]>', "unsupported-version"),
        ('<ir_version: 10, opset_import: ["" : 17, "ai.onnx" : 18]>', "duplicate-name"),
        ('<ir_version: 99, opset_import: ["" : 17]>', "unsupported-version"),
        ('<ir_version: 2, opset_import: ["" : 17]>', "unsupported-version"),
        ("<ir_version: 10, opset_import: []>", "invalid-model"),
    ],
)
def test_versions(header: str, problem: str) -> None:
    assert problems(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }", header=header)) == [("", problem)]


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("g (float[2] x) => (float[2] y) { y = Add(x, z) }", [("Add_0", "undefined-name")]),
        ("g (float[2] x) => (float[2] z) { y = Relu(x) }", [("", "undefined-name")]),
        (
            "g (float[2] x) => (float[2] y) { a = Add(x, b) b = Relu(a) y = Relu(b) }",
            [("", "cyclic-graph")],
        ),
        ("g (float[2] x) => (float[2] y) { y = Relu(x) y = Neg(x) }", [("Neg_1", "duplicate-name")]),
        ("g (float[2] x, float[2] x) => (float[2] y) { y = Relu(x) }", [("", "duplicate-name")]),
        ("g (float[2] x) => () { y = Relu(x) }", [("", "invalid-model")]),
        (
            "g (float[2] x) => (float[2] y) { a = Add(x) y = Transpose <perm = 1.5> (a) }",
            [("Add_0", "invalid-node"), ("Transpose_1", "invalid-node")],
        ),
        (
            "g (bool b, float[2] x) => (float[2] y) { y = If (b) <then_branch = t () => (float[2] a) { a = Relu(q) },"
            " else_branch = e () => (float[2] c) { c = Add(x) }> }",
            [("If_0", "undefined-name"), ("Add_0", "invalid-node")],
        ),
    ],
)
def test_invalid_graphs(graph: str, expected: list[tuple[str, str]]) -> None:
    assert set(expected) <= set(problems(parse(graph)))


def test_recursive_functions_are_refused() -> None:
    functions = """
        <domain: "local", opset_import: ["" : 17, "local" : 1]> f (x) => (y) { y = local.g(x) }
        <domain: "local", opset_import: ["" : 17, "local" : 1]> g (x) => (y) { y = local.f(x) }
    """
    header = '<ir_version: 10, opset_import: ["" : 17, "local" : 1]>'
    model = parse("m (float[2] x) => (float[2] y) { y = local.f(x) }", functions, header)
    assert ("", "cyclic-graph") in problems(model)


def test_a_name_that_is_not_utf8() -> None:
    data = VALID.SerializeToString().replace(b"\x01x", b"\x01\xff")
    assert problems(data) == [("", "not-a-model")]


def test_initializers_of_wrong_size_are_all_named() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(VALID)
    model.graph.initializer[0].ClearField("float_data")
    model.graph.initializer[0].raw_data = b"\0" * 7
    large = numpy_helper.from_array(np.zeros((100, 10), np.float32), "large")
    large.dims[0] = 99
    model.graph.initializer.append(large)
    model.graph.initializer.append(TensorProto(name="text", data_type=TensorProto.STRING, dims=[2], string_data=[b"a"]))
    model.graph.initializer.append(TensorProto(name="four", data_type=TensorProto.INT4, dims=[3], raw_data=b"\0"))
    model.graph.initializer.append(TensorProto(name="two", data_type=TensorProto.INT2, dims=[5], int32_data=[0]))
    model.graph.initializer.append(TensorProto(name="huge", data_type=TensorProto.FLOAT, dims=[1 << 40]))
    model.graph.initializer.append(TensorProto(name="negative", data_type=TensorProto.FLOAT, dims=[-2]))
    names = ("w", "large", "text", "four", "two", "huge", "negative")
    assert problems(model) == [(f"initializer {name!r}", "invalid-data") for name in names]


def test_the_given_model_stays_as_it_is() -> None:
    model = parse("g (float[400] x) => (float[400] y) { y = Add(x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.arange(400, dtype=np.float32), "w"))
    before = model.SerializeToString(deterministic=True)
    loaded = load_model(model)
    assert model.SerializeToString(deterministic=True) == before
    assert not loaded.proto.graph.initializer[0].HasField("raw_data")
    assert len(loaded.payloads["w"]) == 1600


# External data


def test_external_data_is_read_from_the_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "w.bin").write_bytes(b"skip" + np.array([3, 4], np.float32).tobytes())
    model = load_model(with_external(tmp_path, "sub/w.bin", offset=4, length=8))
    assert read_tensor(model.proto.graph.initializer[0], model.folder).tolist() == [3, 4]


@pytest.mark.parametrize(
    ("location", "entries"),
    [
        ("../w.bin", {}),
        ("sub/../../w.bin", {}),
        ("/etc/passwd", {}),
        ("C:\\w.bin", {}),
        ("..\\w.bin", {}),
        ("link.bin", {}),
        ("sub", {}),
        ("", {}),
        ("w\0.bin", {}),
        ("w.bin", {"offset": 1}),
        ("w.bin", {"offset": -1}),
        ("w.bin", {"length": 1 << 60}),
        ("w.bin", {"offset": "x"}),
    ],
)
def test_external_data_that_is_refused(tmp_path: Path, location: str, entries: dict[str, object]) -> None:
    folder = tmp_path / "models"
    (folder / "sub").mkdir(parents=True)
    for path in (tmp_path / "w.bin", folder / "w.bin"):
        path.write_bytes(b"\0" * 8)
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    assert problems(with_external(folder, location, **entries)) == [("initializer 'w'", "invalid-data")]


def test_external_data_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"'w'.*none\.bin.*\[unusable-file\]") as caught:
        load_model(with_external(tmp_path, "none.bin"))
    assert isinstance(caught.value, OSError) and isinstance(caught.value, AotcError)
    assert caught.value.exit_code == EXIT_FILE


def test_external_data_needs_a_folder(tmp_path: Path) -> None:
    data = with_external(tmp_path, "w.bin").read_bytes()
    assert problems(data) == [("initializer 'w'", "invalid-data")]


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
)
def test_tensors_of_every_type(dtype: str, raw: bool) -> None:
    array = np.array([[0, 1, 2], [3, 100, 1]]).astype(dtype)
    if raw:
        tensor = numpy_helper.from_array(array)
    else:
        values = array.flatten().tolist()
        tensor = helper.make_tensor("t", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), array.shape, values)
    found = read_tensor(tensor, None)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_bfloat16_and_negative_numbers_in_int32_data() -> None:
    tensor = helper.make_tensor("t", TensorProto.BFLOAT16, [2], [1.5, -2.0])
    assert read_tensor(tensor, None).astype(np.float32).tolist() == [1.5, -2]
    assert read_tensor(helper.make_tensor("t", TensorProto.INT8, [2], [-128, 127]), None).tolist() == [-128, 127]


@pytest.mark.parametrize("code", [code for code, name in DTYPES.items() if is_encoded(element_type(name))])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 25])
def test_elements_of_less_than_a_byte_are_unpacked(code: int, count: int, tmp_path: Path) -> None:
    dtype = numpy_dtype(DTYPES[code])
    array = np.random.default_rng(count).integers(0, 255, count).astype(np.float32).astype(dtype)
    raw = numpy_helper.from_array(array, "t")
    (tmp_path / "data").write_bytes(b"\xaa" * 3 + raw.raw_data)
    outside = TensorProto(data_type=code, dims=[count], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "data", "offset": "3"}.items():
        outside.external_data.add(key=key, value=value)
    typed = helper.make_tensor("t", code, [count], array.astype(np.float32).tolist())
    for tensor in (raw, typed, outside):
        found = read_tensor(tensor, tmp_path)
        assert (found.dtype, found.shape) == (dtype, (count,))
        np.testing.assert_array_equal(found.astype(np.float32), numpy_helper.to_array(raw).astype(np.float32))


def test_bytes_of_truth_values_are_normalised() -> None:
    tensor = TensorProto(data_type=TensorProto.BOOL, dims=[3], raw_data=b"\x00\x02\xff")
    assert read_tensor(tensor, None).view(np.uint8).tolist() == [0, 1, 1]
