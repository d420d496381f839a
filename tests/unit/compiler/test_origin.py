"""The origin that compiled files name."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import aotc
from aotc.compiler.origin import origin_of
from aotc.model.metadata import Origin, from_json, to_json
from aotc.pipeline.options import CompileOptions

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
two (float[batch,3] x, float[3] w) => (float[batch,3] y) { y = Mul(x, w) }"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "two.onnx"
    onnx.save(onnx.parser.parse_model(TEXT), path)
    return path


def test_source_header_and_report(model: Path, tmp_path: Path) -> None:
    options = {"dims": {"batch": 2}, "optimize": "s", "target": "cortex-m4", "split": True, "export_operators": True}
    written = aotc.compile_to(model, tmp_path / "out", **options)
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    texts = {path.name: path.read_text() for path in written.files}
    flags = "--export-operators --split -Os --dim batch=2"
    lines = [
        f"/* The model two, compiled by aotc {aotc.__version__} for cortex-m4.",
        f" * Options: {flags}",
        f" * SHA-256 of the model: {digest} */",
    ]
    for name in ("two.c", "two.h", "two_operators.c"):
        assert texts[name].splitlines()[:3] == lines
    origin = json.loads(texts["two.json"])["origin"]
    assert origin["model_sha256"] == digest and " ".join(origin["options"]) == flags
    assert written.info is not None and from_json(texts["two.json"]) == written.info
    assert from_json(to_json(written.info)).origin == Origin(
        f"aotc {aotc.__version__}", "cortex-m4", tuple(origin["options"]), digest
    )


def test_it_is_the_same_wherever_the_model_is(model: Path, tmp_path: Path) -> None:
    """Nor does it say where it is; only the list of artefacts says what else was written."""
    (tmp_path / "elsewhere").mkdir()
    moved = tmp_path / "elsewhere" / "two.onnx"
    moved.write_bytes(model.read_bytes())
    found = []
    for source, emit in ((model, "c"), (moved, "c,mlf"), (model.read_bytes(), "c"), (onnx.load(model), "c")):
        folder = tmp_path / f"out{len(found)}"
        aotc.compile_to(source, folder, name="two", emit=emit, dims={"batch": 1}, ram="1M", verify_each=True)
        found.append([(folder / name).read_text() for name in ("two.c", "two.h", "two.json")])
        report = json.loads(found[-1].pop())
        assert [each["name"] for each in report.pop("artifacts")][:3] == ["two.c", "two.h", "two.json"]
        found[-1].append(json.dumps(report))
    assert all(each == found[0] for each in found)
    assert str(tmp_path) not in "".join(found[0])


def test_another_model_is_another(model: Path) -> None:
    content = model.read_bytes()
    changed = onnx.load(model)
    changed.doc_string = "other"
    assert origin_of(content, CompileOptions()) == origin_of(model, CompileOptions())
    assert origin_of(changed, CompileOptions()) != origin_of(model, CompileOptions())


def test_options_as_on_the_command_line(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    table.write_text("{}")
    options = CompileOptions.of(
        interface_api="packed",
        operator_api="cpacked",
        input_shapes={"x": (2, 3)},
        constants={"n": 4, "w": [1.0, 2.0], "long": np.arange(100)},
        tuned=str(table),
        threads=2,
        selftest="/somewhere/in.npz",
    )
    found = origin_of(b"", options).options
    assert found[:3] == ("--interface-api packed", "--operator-api cpacked", "--selftest")
    assert f"--tuned sha256:{hashlib.sha256(b'{}').hexdigest()}" in found and "--threads 2" in found
    assert {"--input-shape x=2,3", "--constant n=4", "--constant w=[1.0, 2.0]"} < set(found)
    assert [each for each in found if re.fullmatch(r"--constant long=sha256:[0-9a-f]{64}", each)]
    assert origin_of(b"", CompileOptions()).options == ()


def test_what_a_model_calls_a_dimension_ends_no_comment(tmp_path: Path) -> None:
    proto = onnx.parser.parse_model(TEXT)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "*/ int x; /*"
    proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "*/ int x; /*"
    aotc.compile_to(proto, tmp_path, name="two", dims={"*/ int x; /*": 1})
    head = (tmp_path / "two.c").read_text().split("#include")[0]
    assert head.count("*/") == 1 and head.rstrip().endswith("*/") and head.count("/*") == 1


def test_ir_keeps_the_digest_of_its_model(model: Path, tmp_path: Path) -> None:
    """Code that is compiled in two steps says of which model it is; IR of unknown origin says nothing."""
    aotc.compile_to(model, tmp_path, dims={"batch": 1}, stop_after="fuse")
    (ir,) = tmp_path.glob("*.mlir")
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    info = aotc.compile_to(ir, tmp_path / "out", start_at="fuse").info
    assert info is not None
    assert info.origin == Origin(f"aotc {aotc.__version__}", "host", ("--start-at fuse",), digest)
    assert digest in next((tmp_path / "out").glob("*.c")).read_text()
    ir.write_text(ir.read_text().replace(digest, "*/ int x; /*"))
    info = aotc.compile_to(ir, tmp_path / "out", start_at="fuse").info
    assert info is not None and info.origin is not None and info.origin.model_sha256 is None
    assert "SHA-256" not in next((tmp_path / "out").glob("*.c")).read_text()
