"""Whole C files: weights, header, descriptor, external linkage, names and comments that C cannot take as they are."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from c_program import WARNINGS, elementwise, parse, run, source

from aotc import compile_to
from aotc.emit.c.contents.array_initialisers import definition
from aotc.emit.c.contents.preamble import MACROS, TEXTS
from aotc.emit.c.files import emit_c
from aotc.emit.c.syntax.c_types import F32, F64, float_literal
from aotc.emit.c.syntax.text import comment_text, string_literal
from aotc.errors import CompileError
from aotc.model.files import write_files
from aotc.model.metadata import ModelInfo, PlanInfo, TensorInfo
from aotc.model.weight_store import Array, WeightStore

MODEL = """
builtin.module attributes {aot.name = "tiny"} {
  func.func private @aotc_tiny_add_0(
      %x: !aot.ptr<f32> {aot.readonly, aot.noalias}, %w: !aot.ptr<f32> {aot.readonly, aot.noalias},
      %y: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.notes = ["sum / 2^3, + zero point 4 */"]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %xb = aot.buffer %x : !aot.ptr<f32> to memref<4xf32>
    %wb = aot.buffer %w : !aot.ptr<f32> to memref<4xf32>
    %yb = aot.buffer %y : !aot.ptr<f32> to memref<4xf32>
    scf.for %i = %c0 to %c4 step %c1 {
      %a = memref.load %xb[%i] : memref<4xf32>
      %b = memref.load %wb[%i] : memref<4xf32>
      %s = arith.addf %a, %b : f32
      memref.store %s, %yb[%i] : memref<4xf32>
    }
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  } loc("Add */ ?")
  func.func @aotc_tiny_run(
      %x: !aot.ptr<f32> {aot.name = "1st input", aot.dtype = "float32", aot.readonly},
      %y: !aot.ptr<f32> {aot.name = "class", aot.dtype = "float32", aot.noalias}) -> i32 attributes {aot.entry} {
    %c0 = arith.constant 0 : index
    %w = aot.weight "int" : memref<4xf32>
    %wd = aot.data %w : memref<4xf32> to !aot.ptr<f32>
    %ws = aot.workspace : memref<16xi8>
    %t = memref.view %ws[%c0][] : memref<16xi8> to memref<4xf32>
    %td = aot.data %t : memref<4xf32> to !aot.ptr<f32>
    %s0 = func.call @aotc_tiny_add_0(%x, %wd, %td) : (!aot.ptr<f32>, !aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %s0
    %s1 = func.call @aotc_tiny_add_0(%td, %wd, %y) : (!aot.ptr<f32>, !aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %s1
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }
  aot.global @aotc_tiny_model : !aot.struct<"AOTCTypedModel"> = [[@aotc_tiny_run, 1 : i32, 1 : i32]]
}
"""
INFO = ModelInfo(
    name="tiny",
    inputs=(TensorInfo('1st "input"', "n1st_input", "float32", (1, 4)),),
    outputs=(TensorInfo("class", "class_", "int8", (), 0.25, -3),),
    interface_api="c",
    operator_api="unpacked",
    workspace="internal",
    weights="embedded",
    workspace_bytes=16,
    workspace_alignment=16,
    weights_bytes=16,
    io_bytes=20,
    kernels=(),
    plan=PlanInfo(16, 16, True, 16, (), ()),
)


def store() -> WeightStore:
    weights = WeightStore()
    weights.add("int", np.array([1, 2, 3, 4], np.float32))
    return weights


@pytest.fixture
def model(tmp_path: Path) -> Path:
    write_files(tmp_path, emit_c(parse(MODEL), store(), INFO))
    return tmp_path


def test_a_program_uses_the_model(model: Path) -> None:
    (model / "main.c").write_text("""
#include "tiny.h"
#include <stdio.h>
int main(void) {
  static const int32_t shape[AOTC_TINY_INPUT_0_NDIM] = AOTC_TINY_INPUT_0_SHAPE;
  AOTC_TINY_INPUT_0_TYPE x[AOTC_TINY_INPUT_0_LENGTH] = {10.0f, 20.0f, 30.0f, 40.0f}, y[4];
  if (aotc_tiny_model.run_func(x, y) != 0 || shape[1] != 4 || sizeof x != AOTC_TINY_INPUT_0_SIZE) return 1;
  printf("%s %s %g %g %d %g", AOTC_TINY_NAME, AOTC_TINY_INPUT_0_NAME, (double)y[0], (double)y[3],
         AOTC_TINY_OUTPUT_0_ZERO_POINT, (double)AOTC_TINY_OUTPUT_0_SCALE);
  return (int)aotc_tiny_model.num_input_tensors - AOTC_TINY_NUM_INPUTS;
}
""")
    subprocess.run(["gcc", *WARNINGS, "-o", "main", "main.c", "tiny.c"], cwd=model, check=True)
    done = subprocess.run(["./main"], cwd=model, check=True, capture_output=True, text=True)
    assert done.stdout == 'tiny 1st "input" 12 48 -3 0.25'


def test_external_linkage(model: Path) -> None:
    subprocess.run(["gcc", *WARNINGS, "-c", "tiny.c"], cwd=model, check=True)
    names = subprocess.run(
        ["nm", "-g", "--defined-only", "tiny.o"], cwd=model, capture_output=True, text=True, check=True
    )
    assert sorted(line.split()[-1] for line in names.stdout.splitlines()) == ["aotc_tiny_model", "aotc_tiny_run"]
    undefined = subprocess.run(["nm", "-u", "tiny.o"], cwd=model, capture_output=True, text=True, check=True)
    assert not undefined.stdout.strip()


def test_the_header_is_cxx(model: Path) -> None:
    (model / "use.cpp").write_text(
        '#include "tiny.h"\n#include "tiny.h"\nint main() { return !aotc_tiny_model.run_func; }\n'
    )
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run(["gcc", *WARNINGS, "-c", "tiny.c"], cwd=model, check=True)
    subprocess.run([*command, "use.cpp", "tiny.o", "-o", "use"], cwd=model, check=True)


@pytest.mark.parametrize(
    "text",
    [
        "m (float[1, 9, 4] b, float[1, 2, 9] s) => (int64[n, 3] y) <int64[1] k = {5}> { y = NonMaxSuppression(b,s,k) }",
        "m (float[40] x) => (float[7] y, int64[7] i) <int64[1] k = {7}> { y, i = TopK(x, k) }",
    ],
    ids=["boxes", "top"],
)
@pytest.mark.parametrize("target", ["x86-64-v3", "cortex-m4"])
def test_heaps_carry_nothing_unread(tmp_path: Path, text: str, target: str) -> None:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> {text}')
    compile_to(model, tmp_path, name="m", target=target)
    subprocess.run(["gcc", *WARNINGS, "-Wextra", "-fsyntax-only", "m.c"], cwd=tmp_path, check=True)


def test_d32_sections_and_placement(model: Path) -> None:
    """D32: of data; tests/unit/compiler/test_compile_flow.py has code, too."""
    flags = ['-DAOTC_WEIGHTS=__attribute__((section(".slow")))', '-DAOTC_WORKSPACE=__attribute__((section(".fast")))']
    subprocess.run(["gcc", *WARNINGS, *flags, "-c", "tiny.c"], cwd=model, check=True)
    sections = subprocess.run(["objdump", "-h", "tiny.o"], cwd=model, capture_output=True, text=True, check=True).stdout
    sizes = {line.split()[1]: int(line.split()[2], 16) for line in sections.splitlines() if re.match(r" +\d+ \.", line)}
    assert sizes[".slow"] == 16 and sizes[".fast"] == 16


def test_the_report(model: Path) -> None:
    assert json.loads((model / "tiny.json").read_text())["workspace_bytes"] == 16


def test_comments_and_names(model: Path) -> None:
    text = (model / "tiny.c").read_text()
    assert "/* Add * / ?\n * sum / 2^3, + zero point 4 * / */\nstatic int32_t aotc_tiny_add_0(" in text
    assert "int32_t aotc_tiny_run(const float *n1st_input, float *restrict class_)" in text
    assert "static const AOTC_WEIGHTS float aotc_tiny_int[4]" in text
    assert text.isascii() and "malloc" not in text and "string.h" not in text


@pytest.mark.parametrize("name", [*MACROS, "int32_t", "memcpy", "aotc_m_run"])
def test_names_that_are_taken(name: str, tmp_path: Path) -> None:
    x, y = (onnx.helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, [4]) for each in (name, "y"))
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", [name], ["y"])], "g", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    compile_to(model, tmp_path, name="m", target="cortex-m4")
    subprocess.run(["gcc", *WARNINGS, "-c", "m.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a*/b", "a* /b"), ("/*", "/ *"), ("??/", "? ?/"), ("x\ny", "x\\ny"), ("é", "\\xe9"), ("\\", "\\x5c")],
)
def test_comment_text(text: str, shown: str) -> None:
    assert comment_text(text) == shown


def test_string_literals(tmp_path: Path) -> None:
    text = 'a"b\\c??/\n1é\x01f'
    (tmp_path / "s.c").write_text(
        f"#include <stdio.h>\nint main(void) {{ fputs({string_literal(text)}, stdout); return 0; }}\n"
    )
    subprocess.run(["gcc", *WARNINGS, "-trigraphs", "s.c", "-o", "s"], cwd=tmp_path, check=True)
    assert subprocess.run(["./s"], cwd=tmp_path, check=True, capture_output=True).stdout.decode() == text


def test_float_literals() -> None:
    assert float_literal(0.1, F64) == "0.1"
    assert float_literal(float(np.float32(0.1)), F32) == "0.1f"
    assert float_literal(1.0, F32) == "1.0f"
    assert float_literal(-np.inf, F32) == "-INFINITY"
    assert float_literal(1e-45, F32) == "1e-45f"


INFINITE = np.array([np.inf, -np.inf, np.nan, 1.0])
ARRAYS = {
    "f32": np.random.default_rng(0).integers(0, 2**31 - 2**24, 40000, np.uint32).view(np.float32),
    "f64": np.array([0.1, -1.0, 1e300, 5e-324, 2.0**60, 0.0, -0.0]),
    "whole": np.array([0.0, -0.0, 3.0, 2.0**100, 0.5], np.float32),
    "infinite": INFINITE.astype(np.float32),
    "f16": np.arange(0, 65536, 13, dtype=np.uint16).view(np.float16),
    "bf16": np.arange(0, 65536, 13, dtype=np.uint16).view(ml_dtypes.bfloat16),
    "truth": np.array([True, False, True]),
    "i8": np.arange(-128, 128).astype(np.int8),
    "u8": np.arange(0, 256).astype(np.uint8),
    "i16": np.array([-32768, 32767, 0], np.int16),
    "u16": np.array([65535, 0], np.uint16),
    "i32": np.array([-(2**31), 2**31 - 1, 5], np.int32),
    "u32": np.array([2**32 - 1, 0], np.uint32),
    "i64": np.array([-(2**63), 2**63 - 1, -(2**31), 1], np.int64),
    "u64": np.array([2**64 - 1, 2**63, 1], np.uint64),
}


@pytest.mark.parametrize("as_bytes", [False, True])
def test_weights_read_back(tmp_path: Path, as_bytes: bool) -> None:
    """Every dtype through gcc, bit for bit, as numbers and as the bytes of a string."""
    c = "#include <stdint.h>\n#include <stdbool.h>\n#include <math.h>\n#include <stdio.h>\n"
    c += TEXTS["BYTES"] if as_bytes else ""
    for name, array in ARRAYS.items():
        c += "".join(definition("static const", name, array, as_bytes))
    values = ".values" if as_bytes else ""
    writes = "".join(f"fwrite({name}{values}, 1, sizeof {name}{values}, stdout);" for name in ARRAYS)
    (tmp_path / "w.c").write_text(c + f"int main(void) {{ {writes} return 0; }}\n")
    subprocess.run(["gcc", *WARNINGS, "w.c", "-o", "w"], cwd=tmp_path, check=True)
    data = subprocess.run(["./w"], cwd=tmp_path, check=True, capture_output=True).stdout
    assert len(data) == sum(array.nbytes for array in ARRAYS.values())
    for name, array in ARRAYS.items():
        back, data = data[: array.nbytes], data[array.nbytes :]
        if name == "infinite" and not as_bytes:
            np.testing.assert_array_equal(np.frombuffer(back, array.dtype), array)
        else:
            assert back == array.tobytes(), name


def test_long_weights_of_vector_code_are_bytes(tmp_path: Path) -> None:
    """Scalar code has numbers, which any compiler reads; short ones have them anyway."""
    text = """
func.func @run(%y_p: !aot.ptr<f32> {aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %y = aot.buffer %y_p : !aot.ptr<f32> to memref<8xf32>
  %long = aot.weight "long" : memref<1024xf32>
  %short = aot.weight "short" : memref<8xf32>
  LOAD
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
"""
    vectors = """
  %a = aot.tile_load %long[%c0] {strides = array<i64: 1>, offset = 96 : i64} : memref<1024xf32> -> vector<4xf32>
  %b = aot.tile_load %short[%c0] {strides = array<i64: 1>} : memref<8xf32> -> vector<4xf32>
  %s = arith.addf %a, %b : vector<4xf32>
  aot.tile_store %s, %y[%c0] {strides = array<i64: 1>} : vector<4xf32>, memref<8xf32>
"""
    scalars = """
  %a = memref.load %long[%c0] : memref<1024xf32>
  %b = memref.load %short[%c0] : memref<8xf32>
  %s = arith.addf %a, %b : f32
  memref.store %s, %y[%c0] : memref<8xf32>
"""
    weights = WeightStore()
    weights.add("long", np.arange(1024, dtype=np.float32) * 0.25)
    weights.add("short", np.arange(8, dtype=np.float32))
    plain = source(text.replace("LOAD", scalars), weights)
    assert "float aotc_model_long[1024] = {" in plain and "float aotc_model_short[8] = {" in plain
    c = source(text.replace("LOAD", vectors), weights)
    assert "    float values[1024];\n} aotc_model_long = {" in c and "float aotc_model_short[8] = {" in c
    result = run(tmp_path, c, {"y": np.zeros(8, np.float32)}, [("run", "y")])["y"]
    np.testing.assert_array_equal(result, [24, 25.25, 26.5, 27.75, 0, 0, 0, 0])


def test_contents_of_weights_bound_accumulators() -> None:
    """An int32 bias may overflow an accumulator only if its values say so."""
    text = """
builtin.module {
  func.func private @k(
      %b_p: !aot.ptr<i32> {aot.readonly, aot.noalias}, %x_p: !aot.ptr<i8> {aot.readonly, aot.noalias}) -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %b = aot.buffer %b_p : !aot.ptr<i32> to memref<2xi32>
    %x = aot.buffer %x_p : !aot.ptr<i8> to memref<9xi8>
    %start = memref.load %b[%c0] : memref<2xi32>
    %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%acc = %start) -> (i32) {
      %v = memref.load %x[%i] : memref<9xi8>
      %w = arith.extsi %v : i8 to i32
      %s = arith.addi %acc, %w : i32
      scf.yield %s : i32
    }
    func.return %r : i32
  }
  func.func @run(%x: !aot.ptr<i8> {aot.readonly}) -> i32 {
    %w = aot.weight "bias" : memref<2xi32>
    %d = aot.data %w : memref<2xi32> to !aot.ptr<i32>
    %r = func.call @k(%d, %x) : (!aot.ptr<i32>, !aot.ptr<i8>) -> i32
    func.return %r : i32
  }
}
"""
    for values, plain in (([-1000, 1000], True), ([0, 2**31 - 5], False)):
        weights = WeightStore()
        weights.add("bias", np.array(values, np.int32))
        assert ("acc += x_p[i];" in source(text, weights)) is plain


def test_unsigned_data(tmp_path: Path) -> None:
    """Data that only unsigned operations touch is uint8_t, without casts."""
    body = "%a = arith.extui %x0 : i8 to i32\n%f = arith.uitofp %a : i32 to f32\n%r = arith.fptoui %f : f32 to i8"
    c = source(elementwise("f", body, ["i8"], "i8", 256))
    assert "f(const uint8_t *restrict x0_p, uint8_t *restrict out_p)" in c
    assert "out_p[i] = (uint8_t)(float)x0_p[i];" in c
    x: Array = np.arange(256).astype(np.uint8)
    results = run(tmp_path, c, {"x": x, "y": np.zeros_like(x)}, [("f", "x", "y")])
    np.testing.assert_array_equal(results["y"], x)


def test_everything_that_has_no_c_is_reported() -> None:
    text = """
func.func private @f(%x: !aot.ptr<f32>) -> i32 {
  %b = aot.buffer %x : !aot.ptr<f32> to memref<4xf32>
  "memref.copy"(%b, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  %ok = arith.constant 0 : i32
  func.return %ok : i32
} loc("Copy_7")
func.func private @g() -> i32 {
  %c = arith.constant 3 : i32
  %r = math.ctpop %c : i32 loc("Pop_1")
  func.return %r : i32
}
"""
    with pytest.raises(CompileError) as error:
        source(text)
    assert [problem.what for problem in error.value.problems] == [
        "memref.copy cannot be written in C",
        "math.ctpop cannot be written in C",
    ]
    assert error.value.problems[1].node == "Pop_1"


def test_a_local_does_not_shadow_a_weight(tmp_path: Path) -> None:
    """The local is met first, the weight of that name later."""
    text = """
func.func @run(%x: !aot.ptr<f32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %ws = aot.workspace : memref<128xi8>
  %val = memref.view %ws[%c64][] : memref<128xi8> to memref<16xf32>
  %w = aot.weight "val" : memref<16xf32>
  %a = memref.load %val[%c0] : memref<16xf32>
  %b = memref.load %w[%c0] : memref<16xf32>
  %s = arith.addf %a, %b : f32
  func.return %s : f32
}
"""
    weights = WeightStore()
    weights.add("val", np.ones(16, np.float32))
    (tmp_path / "unit.c").write_text(source(text, weights))
    subprocess.run(["gcc", *WARNINGS, "-c", "unit.c"], cwd=tmp_path, check=True)


def test_the_same_text_every_time() -> None:
    assert source(MODEL, store()) == source(MODEL, store())


@pytest.mark.parametrize("elements", [2**31 - 1, 2**31])
def test_index_type_of_large_buffers(elements: int) -> None:
    text = elementwise("f", "%r = arith.addi %x0, %x0 : i8", ["i8"], "i8", elements)
    assert ("int64_t i = 0" in source(text)) is (elements >= 2**31)
