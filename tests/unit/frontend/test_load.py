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


def problems(source: object) -> str:
    with pytest.raises(CompileError) as caught:
        load_model(source)  # pyright: ignore[reportArgumentType]
    return str(caught.value)


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
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"# Notes\n\nnot a model\n", "is a text file"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR", "is not an ONNX model"),
        (VALID.SerializeToString()[:-7], "truncated"),
        (b"\x12\x03abc", "is not an ONNX model"),
    ],
)
def test_files_that_are_no_model(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert message in problems(path)
    assert "model.onnx" in problems(path)


def test_every_truncation_is_an_error() -> None:
    data = VALID.SerializeToString()
    for length in range(len(data)):
        problems(data[:length])


def test_a_file_beyond_what_protobuf_reads(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate((1 << 31) + 5)
    assert "larger than 2 GiB" in problems(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ('<ir_version: 10, opset_import: ["" : 29]>', "opset 29 of ai.onnx, supported are 1 to 28"),
        ('<ir_version: 10, opset_import: ["" : 29]>', "opset 29 of ai.onnx"),
        ('<ir_version: 10, opset_import: ["" : 17, "ai.onnx" : 18]>', "as 17, 18; keep one"),
        ('<ir_version: 99, opset_import: ["" : 17]>', "IR version 99, newer than"),
        ('<ir_version: 2, opset_import: ["" : 17]>', "IR version 2, older than 3"),
        ("<ir_version: 10, opset_import: []>", "imports no operator set"),
    ],
)
def test_versions(header: str, message: str) -> None:
    assert message in problems(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }", header=header))


@pytest.mark.parametrize(
    ("graph", "messages"),
    [
        ("g (float[2] x) => (float[2] y) { y = Add(x, z) }", ["Add_0 (Add): its input 'z' is defined nowhere"]),
        ("g (float[2] x) => (float[2] z) { y = Relu(x) }", ["output 'z' of the graph is defined nowhere"]),
        (
            "g (float[2] x) => (float[2] y) { a = Add(x, b) b = Relu(a) y = Relu(b) }",
            ["the nodes Add_0 -> Relu_1 -> Add_0 of the graph depend on each other in a cycle"],
        ),
        ("g (float[2] x) => (float[2] y) { y = Relu(x) y = Neg(x) }", ["Neg_1 (Neg): it defines 'y', which is"]),
        ("g (float[2] x, float[2] x) => (float[2] y) { y = Relu(x) }", ["input 'x' of the graph is there 2 times"]),
        ("g (float[2] x) => () { y = Relu(x) }", ["the graph has no outputs"]),
        (
            "g (float[2] x) => (float[2] y) { a = Add(x) y = Transpose <perm = 1.5> (a) }",
            ["has input size 1 not in range", "Transpose_1 (Transpose): Mismatched attribute"],
        ),
        (
            "g (bool b, float[2] x) => (float[2] y) { y = If (b) <then_branch = t () => (float[2] a) { a = Relu(q) },"
            " else_branch = e () => (float[2] c) { c = Add(x) }> }",
            ["If_0 (If): its input 'q' is defined nowhere", "Add_0 (Add): Node with schema(::Add:14) has input size 1"],
        ),
    ],
)
def test_invalid_graphs(graph: str, messages: list[str]) -> None:
    text = problems(parse(graph))
    for message in messages:
        assert message in text


def test_recursive_functions_are_refused() -> None:
    functions = """
        <domain: "local", opset_import: ["" : 17, "local" : 1]> f (x) => (y) { y = local.g(x) }
        <domain: "local", opset_import: ["" : 17, "local" : 1]> g (x) => (y) { y = local.f(x) }
    """
    header = '<ir_version: 10, opset_import: ["" : 17, "local" : 1]>'
    text = problems(parse("m (float[2] x) => (float[2] y) { y = local.f(x) }", functions, header))
    assert "the functions f -> g -> f call each other without end" in text


def test_a_name_that_is_not_utf8() -> None:
    data = VALID.SerializeToString().replace(b"\x01x", b"\x01\xff")
    assert "not UTF-8" in problems(data)


def test_initializers_of_wrong_size_are_all_named() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(VALID)
    model.graph.initializer[0].ClearField("float_data")
    model.graph.initializer[0].raw_data = b"\0" * 7
    large = numpy_helper.from_array(np.zeros((100, 10), np.float32), "large")
    large.dims[0] = 99
    model.graph.initializer.append(large)
    model.graph.initializer.append(helper.make_tensor("text", TensorProto.STRING, [1], ["a"]))
    model.graph.initializer.append(TensorProto(name="four", data_type=TensorProto.INT4, dims=[3], raw_data=b"\0"))
    model.graph.initializer.append(TensorProto(name="two", data_type=TensorProto.INT2, dims=[5], int32_data=[0]))
    model.graph.initializer.append(TensorProto(name="huge", data_type=TensorProto.FLOAT, dims=[1 << 40]))
    model.graph.initializer.append(TensorProto(name="negative", data_type=TensorProto.FLOAT, dims=[-2]))
    text = problems(model)
    assert "initializer 'w': it has 7 bytes of data, its shape [2] of float32 needs 8" in text
    assert "initializer 'large': it has 4000 bytes of data, its shape [99, 10] of float32 needs 3960" in text
    assert "initializer 'text': tensors of type string are not supported: text has no fixed size" in text
    assert "initializer 'four': it has 1 bytes of data, its shape [3] of int4 needs 2" in text
    assert "initializer 'two': it has 1 entries of 4 int2, its shape [5] needs 5" in text
    assert "initializer 'huge'" in text and "2^31 or more" in text
    assert "initializer 'negative': the shape [-2] has a negative dimension" in text


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
    ("location", "entries", "message"),
    [
        ("../w.bin", {}, "leads out of the model's folder"),
        ("sub/../../w.bin", {}, "leads out of the model's folder"),
        ("/etc/passwd", {}, "leads out of the model's folder"),
        ("C:\\w.bin", {}, "leads out of the model's folder"),
        ("..\\w.bin", {}, "leads out of the model's folder"),
        ("link.bin", {}, "is a link that leads out of the model's folder"),
        ("sub", {}, "is not a file"),
        ("", {}, "missing or malformed"),
        ("w\0.bin", {}, "missing or malformed"),
        ("w.bin", {"offset": 1}, "which has only 8 bytes"),
        ("w.bin", {"offset": -1}, "which has only 8 bytes"),
        ("w.bin", {"length": 1 << 60}, "needs 8"),
        ("w.bin", {"offset": "x"}, "is not a number"),
    ],
)
def test_external_data_that_is_refused(tmp_path: Path, location: str, entries: dict[str, object], message: str) -> None:
    folder = tmp_path / "models"
    (folder / "sub").mkdir(parents=True)
    for path in (tmp_path / "w.bin", folder / "w.bin"):
        path.write_bytes(b"\0" * 8)
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    text = problems(with_external(folder, location, **entries))
    assert message in text
    assert "initializer 'w'" in text


def test_external_data_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"initializer 'w'.*none.bin.*not in the model's folder") as caught:
        load_model(with_external(tmp_path, "none.bin"))
    assert isinstance(caught.value, OSError) and isinstance(caught.value, AotcError)
    assert caught.value.exit_code == EXIT_FILE


def test_external_data_needs_a_folder(tmp_path: Path) -> None:
    data = with_external(tmp_path, "w.bin").read_bytes()
    assert "the model was not read from a folder" in problems(data)


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
