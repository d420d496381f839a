"""`aotc inspect` on everything that the compiler writes."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

import aotc
from aotc.cli.main import run
from aotc.compiler.inspectors import INSPECTORS, inspect, inspectors
from aotc.model.artifacts import Artifact, ArtifactSet
from aotc.model.dlpack import dtype_of
from aotc.pipeline.options import KINDS

MODEL = Path(__file__).parents[2] / "models/data/kws_float/model.onnx"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    packed = {"interface_api": "packed", "operator_api": "cpacked"}
    aotc.compile_to(MODEL, folder, name="m", emit="vm", optimize="0", **packed)
    (folder / "m_vm.c").unlink()  # a table, without functions to show
    aotc.compile_to(MODEL, folder, name="m", emit=set(KINDS) - {"vm"}, weights="caller", optimize="0")
    aotc.compile_to(MODEL, folder, name="m", stop_after="plan", optimize="0")
    return folder


def read(path: Path) -> Artifact:
    return Artifact("", "none", path.name, path.read_bytes())


def test_f14_every_kind_has_a_view(written: Path) -> None:
    assert {path.suffix for path in written.iterdir()} == {f".{name.split('.')[1]}" for name in INSPECTORS}
    for path in written.iterdir():
        for method in inspectors(read(path), read(written / "m.json")):
            assert inspect(read(path), method, read(written / "m.json")), (path, method)


@pytest.mark.parametrize(
    ("file", "method", "expected"),
    [
        ("m.o", None, "aotc_m_run"),
        ("m.o", "disassembly", "<aotc_m_run>:"),
        ("libm.a", "functions", "aotc_m_run"),
        ("libm.a", "members", " m.o"),
        ("libm.a", "disassembly", "<aotc_m_run>:"),
        ("m.so", "symbols", "aotc_m_json"),
        ("m.so", "functions", " aotc_m_run"),
        ("m.so", "signatures", "aotc_m_run: input_1 float32[1, 49, 10, 1] -> Identity float32[1, 12]\naotc_m_"),
        ("m.json", "signatures", "[1, 12] -> out float32[1, 12]"),
        ("m.ll", "functions", "i32 aotc_m_run(ptr %"),
        ("m.c", "functions", "int32_t aotc_m_run("),
        ("m.json", None, '"name": "m"'),
        ("m.json", "plan", "arena 64,000 bytes"),
        ("m.tar", None, "m.weights.bin"),
        ("m.plan.npz", "arrays", "float32 ["),
        ("m.plan.mlir", "functions", "@main"),
        ("m.vm", None, "call  aotc_m_"),
        ("m.vm", "python", "with ib.function('main', num_inputs=2):"),
        ("m.vm", "stats", "Globals (#1): [main]"),
        ("m.ll", "assembly", "\naotc_m_run:"),
        ("m.json", "weights", ": float32 ["),
        ("m.weights.bin", "bytes", "bytes\nmost frequent: 0x"),
    ],
)
def test_f14_f15_what_a_view_shows(written: Path, file: str, method: str | None, expected: str) -> None:
    assert expected in inspect(read(written / file), method, read(written / "m.json"))


@pytest.mark.parametrize(("weights", "kinds"), [("caller", ("c", "mlf")), ("embedded", ("object", "mlf"))])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_f14_weights_by_name(
    weights: str, kinds: tuple[str, ...], dtype: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names, shapes and ranges: of the blob by the JSON beside it, and of an archive, which has the weights always."""
    kind = onnx.helper.np_dtype_to_tensor_dtype(dtype_of(dtype))
    ends = [onnx.helper.make_tensor_value_info(name, kind, [2, 3]) for name in "xy"]
    array = np.array([[3, -5, 2], [1, 0, 7]]).astype(dtype_of(dtype))
    initializers = [
        onnx.numpy_helper.from_array(values, name) for name, values in (("large", array), ("row", array[0]))
    ]
    nodes = [onnx.helper.make_node("Mul", ["x", "large"], ["m"]), onnx.helper.make_node("Add", ["m", "row"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], initializers)
    opset = [onnx.helper.make_opsetid("", 21)]
    model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=10)
    aotc.compile_to(model, tmp_path, name="m", emit=kinds, weights=weights)
    files = [("m.tar", ["--as", "weights"])] + ([("m.weights.bin", [])] if weights == "caller" else [])
    point = "" if dtype == "int8" else ".0"
    expected = [f"large: {dtype} [2, 3] -5{point} .. 7{point}", f"row: {dtype} [3] -5{point} .. 3{point}"]
    for name, how in files:
        assert run(["inspect", str(tmp_path / name), *how]) == 0
        assert sorted(capsys.readouterr().out.splitlines()) == expected
    blob = (tmp_path / "m.weights.bin").read_bytes() if weights == "caller" else None
    placed = {each["name"]: each for each in json.loads((tmp_path / "m.json").read_text())["constants"]}
    if blob is not None:
        start = placed["large"]["offset"]
        assert blob[start : start + array.nbytes] == array.tobytes()
        (tmp_path / "m.json").unlink()
        assert run(["inspect", str(tmp_path / "m.weights.bin")]) == 2
        assert "no NAME.json beside it says what is in it" in capsys.readouterr().err
        assert run(["inspect", str(tmp_path / "m.weights.bin"), "--as", "bytes"]) == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("dtype", value) for value in ("object", [])),
        *(("shape", [value]) for value in (-1, 1 << 40, 1 << 70, "a")),
        *(("offset", value) for value in (-8, 1 << 40, "a")),
    ],
)
def test_weights_that_are_not_there_are_no_crash(
    field: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aotc.compile_to(MODEL, tmp_path, name="m", weights="caller", optimize="0")
    listing = json.loads((tmp_path / "m.json").read_text())
    listing["constants"][0][field] = value
    (tmp_path / "m.json").write_text(json.dumps(listing))
    assert run(["inspect", str(tmp_path / "m.weights.bin")]) == 2
    assert "[invalid-file]" in capsys.readouterr().err


def test_functions_are_those_of_nm(written: Path) -> None:
    shown = {line.split()[-1] for line in inspect(read(written / "m.o")).splitlines() if "aotc_" in line}
    done = subprocess.run(["nm", written / "m.o"], capture_output=True, text=True, check=True)
    defined = [line.split() for line in done.stdout.splitlines()]
    assert shown == {name for *_, kind, name in defined if kind in "tT" and name.startswith("aotc_")}


def test_the_command(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(written / "m.o"), "--json"]) == 0
    assert "aotc_m_run" in json.loads(capsys.readouterr().out)["text"]
    assert run(["inspect", str(written / "m.o"), "--as", "nonsense"]) == 2
    assert "use functions, signatures, disassembly [unknown-view]" in capsys.readouterr().err
    assert run(["inspect", str(written), "--as", "functions"]) == 2
    assert "[unknown-view]" in capsys.readouterr().err
    assert run(["inspect", str(written / "m.so")]) == 0
    assert capsys.readouterr().out.startswith("name: m\n")


def test_an_entry_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AOTC_CACHE_DIR", str(tmp_path / "cache"))
    aotc.compile_to(MODEL, tmp_path / "out", name="m", optimize="0")
    (entry,) = (tmp_path / "cache").iterdir()
    assert run(["inspect", str(entry)]) == 0
    assert "c        native     flash m.c" in capsys.readouterr().out
    (entry / "m.c").unlink()
    assert run(["inspect", str(entry)]) == 2
    assert "[invalid-file]" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["m.json", "m.tar", "m.npz", "m.a", "m.o", "m.bin"])
def test_what_is_damaged_is_no_crash(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content in (b"", b"\x7fELF\x02\x01", b"!<arch>\nshort", b"PK\x03\x04", b"{"):
        (tmp_path / name).write_bytes(content)
        assert run(["inspect", str(tmp_path / name)]) in (0, 2)
        assert "Traceback" not in capsys.readouterr().err


def test_f15_a_set_is_listed() -> None:
    from aotc.compiler.inspectors import listing

    assert listing(ArtifactSet((Artifact("c", "native", "m.c", b"abc"),))) == "         3 c        native     host  m.c"


def test_a_library_is_not_run_to_be_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither one that is of no model, nor one that says that it is of one."""
    described = aotc.build(MODEL, name="m", optimize="0")["m.json"].text()
    (tmp_path / "library.c").write_text(
        f"""
        #include <stdlib.h>
        #ifdef MODEL
        const char aotc_m_json[] = {json.dumps(described)};
        #endif
        __attribute__((constructor)) static void ran(void) {{ abort(); }}
        """
    )
    library = tmp_path / "library.so"
    for flags, code, says in (((), 2, "has no metadata of a model"), (("-DMODEL",), 0, "name: m\n")):
        command = ["cc", "-shared", "-fPIC", *flags, tmp_path / "library.c", "-o", library]
        subprocess.run(command, check=True)
        assert run(["inspect", str(library)]) == code
        shown = capsys.readouterr()
        assert says in shown.out + shown.err
    library.with_suffix(".json").write_text(described.replace('"name": "m"', '"name": "beside"', 1))
    assert run(["inspect", str(library), "--as", "signatures"]) == 0
    assert "aotc_m_run: input_1 float32[1, 49, 10, 1]" in capsys.readouterr().out, "the library's own metadata"


def test_what_a_library_carries_is_shown_wherever_it_is(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = tmp_path / "elsewhere.so"
    library.write_bytes((written / "m.so").read_bytes())
    assert run(["inspect", str(library), "--as", "signatures"]) == 0
    assert "aotc_m_run: input_1 float32[1, 49, 10, 1] -> Identity float32[1, 12]" in capsys.readouterr().out
    other = bytearray(library.read_bytes())
    other[18] = 183  # for another machine
    library.write_bytes(other)
    assert run(["inspect", str(library), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "m"


def test_damaged_libraries_are_shown_or_refused(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line: cut off, or with bytes changed where its tables are."""
    whole = (written / "m.so").read_bytes()
    library, rng = tmp_path / "m.so", random.Random(1)
    tables = int.from_bytes(whole[40:48], "little")
    damaged = [whole[:size] for size in (0, 3, 40, 64, 4096, tables, len(whole) - 1)]
    for _ in range(60):
        image = bytearray(whole)
        for position in (rng.randrange(64), rng.randrange(4096), rng.randrange(tables, len(whole))):
            image[position] ^= 1 << rng.randrange(8)
        damaged.append(bytes(image))
    codes: set[int] = set()
    for image in damaged:
        library.write_bytes(image)
        for view in ((), ("--as", "signatures"), ("--as", "symbols"), ("--as", "functions")):
            codes.add(code := run(["inspect", str(library), *view]))
            shown = capsys.readouterr()
            assert code in (0, 2) and len(shown.err.splitlines()) == (code == 2), shown.err
            assert code == 0 or shown.err.startswith("error: ")
    assert codes == {0, 2}
