"""Objects, archives, shared libraries and code in this process, from one small module with weights and a workspace."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from xdsl.parser import Parser

import aotc
from aotc.compiler.driver import compile_to
from aotc.compiler.lowering import new_context
from aotc.emit.llvm.embedded_weights import EmbeddedWeights
from aotc.emit.llvm.jit import host_object, load_object
from aotc.emit.llvm.link import data_object, shared_library, static_library
from aotc.emit.llvm.object import NativeCode
from aotc.errors import CompileError, UsageError
from aotc.executor import load
from aotc.machines.requirements import needed
from aotc.machines.targets import TARGETS, binding, lookup
from aotc.model.conventions import entry_symbol
from aotc.model.weight_store import WeightStore
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import CompileOptions

ROWS, COLUMNS = 5, 7
WEIGHTS = np.linspace(-1, 1, COLUMNS, dtype=np.float32)
BIAS = np.arange(-2, ROWS - 2, dtype=np.int8)

MODEL = f"""
builtin.module attributes {{aot.name = "m"}} {{
  aot.global @aotc_m_model : !aot.struct<"AOTCTypedModel"> = [[@aotc_m_run, 1 : i32, 1 : i32]]
  func.func @aotc_m_run(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>) -> i32 attributes {{aot.entry}} {{
    %ws = aot.workspace : memref<{4 * ROWS}xi8>
    %c0 = arith.constant 0 : index
    %t = memref.view %ws[%c0][] : memref<{4 * ROWS}xi8> to memref<{ROWS}xf32>
    %p = aot.data %t : memref<{ROWS}xf32> to !aot.ptr<f32>
    %s = func.call @aotc_m_matvec(%x, %p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %s
    %r = func.call @aotc_m_activate(%p, %y) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %r
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }}
  func.func private @aotc_m_matvec(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>) -> i32 {{
    %a = aot.buffer %x : !aot.ptr<f32> to memref<{ROWS}x{COLUMNS}xf32>
    %b = aot.buffer %y : !aot.ptr<f32> to memref<{ROWS}xf32>
    %w = aot.weight "w" : memref<{COLUMNS}xf32>
    %bias = aot.weight "bias" : memref<{ROWS}xi8>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = arith.constant {ROWS} : index
    %columns = arith.constant {COLUMNS} : index
    scf.for %i = %c0 to %rows step %c1 {{
      %q = memref.load %bias[%i] : memref<{ROWS}xi8>
      %init = arith.sitofp %q : i8 to f32
      %sum = scf.for %j = %c0 to %columns step %c1 iter_args(%acc = %init) -> (f32) {{
        %u = memref.load %a[%i, %j] : memref<{ROWS}x{COLUMNS}xf32>
        %v = memref.load %w[%j] : memref<{COLUMNS}xf32>
        %m = arith.mulf %u, %v : f32
        %n = arith.addf %acc, %m : f32
        scf.yield %n : f32
      }}
      memref.store %sum, %b[%i] : memref<{ROWS}xf32>
    }}
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }}
  func.func private @aotc_m_activate(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>) -> i32 {{
    %a = aot.buffer %x : !aot.ptr<f32> to memref<{ROWS}xf32>
    %b = aot.buffer %y : !aot.ptr<f32> to memref<{ROWS}xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = arith.constant {ROWS} : index
    scf.for %i = %c0 to %rows step %c1 {{
      %v = memref.load %a[%i] : memref<{ROWS}xf32>
      %r = math.roundeven %v : f32
      %t = math.tanh %r : f32
      memref.store %t, %b[%i] : memref<{ROWS}xf32>
    }}
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }}
}}
"""
X = np.random.default_rng(1).normal(0, 2, (ROWS, COLUMNS)).astype(np.float32)


def compilation(target: str = "host", optimize: str = "2") -> Compilation:
    """The model after the phase `interface`."""
    ctx = new_context()
    store = WeightStore.of(ctx)
    store.add("w", WEIGHTS)
    store.add("bias", BIAS)
    module = Parser(ctx, MODEL).parse_module()
    return Compilation(CompileOptions(target=target, optimize=optimize), ctx, module, store, "interface")


def check(address: int | None) -> None:
    """Call the entry and compare."""
    assert address
    y = np.full(ROWS, np.nan, np.float32)
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(address)
    assert entry(X.ctypes.data, y.ctypes.data) == 0
    np.testing.assert_allclose(y, np.tanh(np.rint(X @ WEIGHTS + BIAS)), rtol=1e-6)


@pytest.mark.parametrize("optimize", ["0", "1", "2", "3", "s"])
def test_in_process_at_every_level(optimize: str) -> None:
    made = compilation(optimize=optimize)
    symbol = entry_symbol(made.name, "c")
    library = load_object(host_object(made), [symbol])
    check(library.address(symbol))


def test_converting_leaves_the_module_as_it_was() -> None:
    subject = compilation()
    before = str(subject.module)
    assert NativeCode(subject).object
    assert str(subject.module) == before


@pytest.mark.parametrize("target", TARGETS)
def test_an_object_for_every_target(target: str) -> None:
    code = NativeCode(compilation(target))
    more = ["aotc_m_supported"] if needed(target) else []
    assert code.exports == [*more, "aotc_m_model", "aotc_m_run"]
    assert code.weights is not None
    blob = b"".join(code.weights.pieces(code.compilation.store))
    assert code.object.count(blob) == 1
    assert code.object.find(code.weights.marker) < 0
    assert code.object == NativeCode(compilation(target)).object
    for library_call in (b"roundeven", b"rint", b"memset", b"memcpy"):
        assert library_call not in code.object


@pytest.mark.parametrize("target", ["host", "cortex-m4", "rv32imac", "wasm32"])
def test_text_and_assembly_hold_the_weights(target: str) -> None:
    code = NativeCode(compilation(target))
    again = binding().parse_assembly(code.text)
    again.verify()
    machine = code.target.machine()
    assert code.weights is not None
    assert b"".join(code.weights.pieces(code.compilation.store)) in machine.emit_object(again)
    assert "aotc_m_run" in code.assembly
    assert "<string>" not in code.text


def test_the_weights_of_the_store_are_patched_in_at_their_offsets() -> None:
    code = NativeCode(compilation())
    weights = code.weights
    assert weights is not None
    blob = b"".join(weights.pieces(code.compilation.store))
    for key, array in (("w", WEIGHTS), ("bias", BIAS)):
        start = weights.offsets[key]
        assert start % 64 == 0
        assert bytes(blob[start : start + array.nbytes]) == array.tobytes()


def store_of(**arrays: Any) -> WeightStore:
    """A store of these arrays."""
    store = WeightStore()
    for key, array in arrays.items():
        store.add(key, array)
    return store


def test_patching_wants_exactly_one_marker_with_zeros_behind_it() -> None:
    weights = EmbeddedWeights("blob", 40, {"a": 0})
    store = store_of(a=np.arange(40, dtype=np.uint8))
    image = b"head" + weights.marker + bytes(8) + b"tail"
    assert weights.patch(image, store) == b"head" + bytes(range(40)) + b"tail"
    for broken in (
        b"head",
        image + weights.marker,
        b"head" + weights.marker + bytes(4),
        image.replace(b"\0\0", b"\0x"),
    ):
        with pytest.raises(CompileError, match="invalid-file"):
            weights.patch(broken, store)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler to link")
def test_shared_library_exports_the_entry_the_descriptor_and_the_metadata(tmp_path: Path) -> None:
    code = NativeCode(compilation())
    metadata = data_object("aotc_m_json", b'{"name": "m\\u00e9"}\0', code.target)
    image = shared_library([code.object, metadata], code.target, "m")
    assert image[:] == shared_library([code.object, metadata], code.target, "m")[:]
    path = tmp_path / "m.so"
    path.write_bytes(image)
    library = ctypes.CDLL(str(path))
    check(ctypes.cast(library.aotc_m_run, ctypes.c_void_p).value)
    text = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, "aotc_m_json")))
    assert text == b'{"name": "m\\u00e9"}'
    listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    more = ["aotc_m_supported"] if needed("host") else []
    found = sorted(line.split()[-1] for line in listed.splitlines())
    assert found == ["aotc_m_json", "aotc_m_model", "aotc_m_run", *more]


def test_a_shared_library_is_for_this_machine() -> None:
    with pytest.raises(UsageError, match="not-this-machine"):
        shared_library([b""], lookup("cortex-m4"), "m")


def test_linking_without_a_compiler_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CompileError, match="missing-tool"):
        shared_library([b""], lookup("host"), "m")


@pytest.mark.skipif(shutil.which("ar") is None or shutil.which("cc") is None, reason="needs binutils and a C compiler")
@pytest.mark.parametrize("name", ["m.o", "a_name_that_is_too_long_for_the_header.o"])
def test_archive_is_one_that_binutils_reads(name: str, tmp_path: Path) -> None:
    code = NativeCode(compilation())
    odd = data_object("aotc_m_json", b"four\0", code.target) + b"\0"
    members = {name: code.object, "odd_length_and_long.o": odd}
    archive = static_library(members, {name: code.exports, "odd_length_and_long.o": ["aotc_m_json"]})
    path = tmp_path / "libm_.a"
    path.write_bytes(archive)
    listed = subprocess.run(["ar", "t", path], capture_output=True, text=True, check=True).stdout.split()
    assert listed == list(members)
    assert subprocess.run(["ar", "p", path, name], capture_output=True, check=True).stdout == code.object
    main = tmp_path / "main.c"
    main.write_text(
        "int aotc_m_run(const float *, float *); extern const char aotc_m_json[];\n"
        f"static float x[{ROWS * COLUMNS}], y[{ROWS}];\n"
        "int main(void) { return aotc_m_run(x, y) || !aotc_m_json[3]; }\n"
    )
    subprocess.run(["cc", main, path, "-lm", "-o", tmp_path / "program"], check=True)
    assert subprocess.run([tmp_path / "program"], check=False).returncode == 0


def test_a_missing_symbol_is_an_error_of_ours() -> None:
    source = "declare i32 @aotc_nowhere()\ndefine i32 @f() {\n %r = call i32 @aotc_nowhere()\n ret i32 %r\n}\n"
    image = lookup("host").machine().emit_object(binding().parse_assembly(source))
    with pytest.raises(CompileError, match="not-loadable"):
        load_object(image, ["f"])


def test_weights_that_nothing_reads_are_not_in_the_object(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y, float[0] z) <float[0] none = {}>
        { y = Neg(x) z = Identity(none) }"""
    for kind in ("object", "llvm-ir", "shared"):
        files = compile_to(onnx.parser.parse_model(text), tmp_path / kind, emit=kind, name="m").files
        assert all(path.stat().st_size for path in files)
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(load(next((tmp_path / "shared").glob("*.so")))({"x": x})["y"], -x)


def test_weights_that_no_result_depends_on_are_left_out(tmp_path: Path) -> None:
    """`where(c, x, x)`: LLVM removes the read of the constant c, and then c; what is left is complete."""
    x, c = np.array([1, 2, 3], np.float32), np.array([True, False, True])
    nodes = [onnx.helper.make_node("Where", ["c", "x", "x"], ["y"])]
    info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in "xy"]
    graph = onnx.helper.make_graph(nodes, "g", info[:1], info[1:], [onnx.numpy_helper.from_array(c, "c")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    made = aotc.compile_to(model, tmp_path, name="m", emit=("shared", "llvm-ir", "asm"), optimize="0")
    library = next(path for path in made.files if path.suffix == ".so")
    assert np.array_equal(aotc.load(library)(x)["y"], x)
