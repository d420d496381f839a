"""Values that GCC keeps in registers where a loop needs all of them."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from c_program import printed
from kernel_program import lowered
from onnx import helper, numpy_helper

import aotc

ROWS, DEPTH, COLUMNS = 100, 128, 512

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None, reason="looks at what GCC makes for x86-64"
)


def perceptrons() -> onnx.ModelProto:
    """Two layers of x + GELU(x V + b) W, with GELU by erf, whose polynomials' constants are invariant in all loops of
    product's kernel; x is in the workspace."""
    random = np.random.default_rng(0)
    weights = {
        "v": random.standard_normal((DEPTH, COLUMNS), np.float32) / 16,
        "w": random.standard_normal((COLUMNS, DEPTH), np.float32) / 32,
        "bias": random.standard_normal(COLUMNS, np.float32),
        "root": np.float32(2**0.5),
        "one": np.float32(1),
        "half": np.float32(0.5),
    }
    nodes: list[onnx.NodeProto] = []
    x = "x"
    for layer in range(2):
        wide, y = f"wide{layer}", f"y{layer}"
        nodes += [
            helper.make_node("MatMul", [x, "v"], [f"{wide}_product"]),
            helper.make_node("Add", [f"{wide}_product", "bias"], [wide]),
            helper.make_node("Div", [wide, "root"], [f"{wide}_scaled"]),
            helper.make_node("Erf", [f"{wide}_scaled"], [f"{wide}_erf"]),
            helper.make_node("Add", [f"{wide}_erf", "one"], [f"{wide}_more"]),
            helper.make_node("Mul", [wide, f"{wide}_more"], [f"{wide}_twice"]),
            helper.make_node("Mul", [f"{wide}_twice", "half"], [f"{wide}_gelu"]),
            helper.make_node("MatMul", [f"{wide}_gelu", "w"], [f"{wide}_narrow"]),
            helper.make_node("Add", [f"{wide}_narrow", x], [y]),
        ]
        x = y
    graph = helper.make_graph(
        nodes,
        "perceptrons",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [ROWS, DEPTH])],
        [helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT, [ROWS, DEPTH])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def innermost_loops(assembly: str) -> list[str]:
    """Runs of instructions from a label to a jump back to it with no label between."""
    found, label, lines = [], "", list[str]()
    for line in assembly.splitlines():
        if match := re.match(r"(\.L\d+):", line):
            label, lines = match[1], []
        elif label and re.match(rf"\s+j\w+\s+{re.escape(label)}$", line):
            found.append("\n".join(lines))
        else:
            lines.append(line)
    return found


def test_sums_stay_in_registers_where_an_epilogue_has_many_constants(tmp_path: Path) -> None:
    aotc.compile_to(perceptrons(), tmp_path, name="m", target="x86-64-v3", emit=("c",))
    command = ("gcc", "-O3", "-march=x86-64-v3", "-S", "-o", "m.s", "m.c")
    subprocess.run(command, cwd=tmp_path, check=True)
    products = [text for text in innermost_loops((tmp_path / "m.s").read_text()) if text.count("vfmadd231ps") >= 12]
    assert products, "no loop of a register tile was found"
    lines = [line for text in products for line in text.splitlines() if "ymm" in line]
    assert not [line for line in lines if re.search(r"\((%rsp|%rbp)\)", line)]


_SUMS = """
    func.func @sums(%p0: !aot.ptr<i16> {aot.readonly, aot.noalias}, %p1: !aot.ptr<i16> {aot.readonly, aot.noalias},
        %p2: !aot.ptr<i32> {aot.noalias}) -> i32 {
      %a = aot.buffer %p0 : !aot.ptr<i16> to memref<11x64xi16>
      %b = aot.buffer %p1 : !aot.ptr<i16> to memref<32x16xi16>
      %c = aot.buffer %p2 : !aot.ptr<i32> to memref<11x8xi32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c32 = arith.constant 32 : index
      %none = arith.constant dense<0> : vector<11x8xi32>
      %sums = scf.for %k = %c0 to %c32 step %c2 iter_args(%before = %none) -> (vector<11x8xi32>) {
        %at = arith.muli %k, %c2 : index
        %next = arith.addi %k, %c1 : index
        %next_at = arith.muli %next, %c2 : index
        %x = aot.tile_load %a[%c0, %at] {strides = array<i64: 64, 0>, group = 2}
            : memref<11x64xi16> -> vector<11x16xi16>
        %w = aot.tile_load %b[%k, %c0] {strides = array<i64: 0, 1>} : memref<32x16xi16> -> vector<11x16xi16>
        %first = aot.tile_dot %x, %w, %before : vector<11x16xi16>, vector<11x8xi32>
        %y = aot.tile_load %a[%c0, %next_at] {strides = array<i64: 64, 0>, group = 2}
            : memref<11x64xi16> -> vector<11x16xi16>
        %v = aot.tile_load %b[%next, %c0] {strides = array<i64: 0, 1>} : memref<32x16xi16> -> vector<11x16xi16>
        %second = aot.tile_dot %y, %v, %first : vector<11x16xi16>, vector<11x8xi32>
        scf.yield %second : vector<11x8xi32>
      }
      aot.tile_store %sums, %c[%c0, %c0] {strides = array<i64: 8, 1>} : vector<11x8xi32>, memref<11x8xi32>
      %ok = arith.constant 0 : i32
      func.return %ok : i32
    }"""


def test_products_of_two_steps_are_not_added_up_first(tmp_path: Path) -> None:
    """Eleven sums and what is added to them are all the registers there are."""
    module = lowered(_SUMS, 'attach-target{target="x86-64-v3"},unroll-tiles,select-instructions')
    (tmp_path / "m.c").write_text(printed(module))
    subprocess.run(("gcc", "-O3", "-march=x86-64-v3", "-S", "-o", "m.s", "m.c"), cwd=tmp_path, check=True)
    products = [text for text in innermost_loops((tmp_path / "m.s").read_text()) if text.count("vpmaddwd") == 22]
    assert len(products) == 1
    assert not re.search(r"\((%rsp|%rbp)\)", products[0])
