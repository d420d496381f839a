"""Which modules get all of LLVM's passes for loops: those with loops over single elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, scf
from xdsl.parser import Parser

import aotc
from aotc.emit.llvm import object as native
from aotc.emit.llvm.object import has_scalar_loops

HEAD = '<ir_version: 10, opset_import: ["" : 18]> '
PRODUCT = "m (float[64,64] x) => (float[64,64] y) { y = MatMul(x, x) }"
SUM = "%v = arith.addf %{0}, %{0} : {1}"


def module(body: str) -> builtin.ModuleOp:
    ctx = Context()
    for dialect in (arith.Arith, builtin.Builtin, func.Func, scf.Scf):
        ctx.load_dialect(dialect)
    return Parser(
        ctx, f"func.func @f(%n : index, %x : f32, %t : vector<8xf32>) {{\n{body}\nfunc.return\n}}"
    ).parse_module()


def loop(body: str) -> str:
    return f"scf.for %i{len(body)} = %n to %n step %n {{\n{body}\n}}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", False),
        (SUM.format("x", "f32"), False),
        (loop(SUM.format("t", "vector<8xf32>")), False),
        (loop(SUM.format("x", "f32")), True),
        (loop(loop(SUM.format("t", "vector<8xf32>"))), False),
        (loop(loop(SUM.format("x", "f32"))), True),
        (loop("%w = arith.addf %t, %t : vector<8xf32>\n" + loop(SUM.format("x", "f32"))), True),
        (loop(SUM.format("t", "vector<8xf32>")) + "\n" + loop(""), True),
    ],
)
def test_innermost_loops_decide(body: str, expected: bool) -> None:
    assert has_scalar_loops(module(body).ops) is expected


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (PRODUCT, {"target": "x86-64-v3"}, ["tidy"]),
        ("m (double[64,64] x) => (double[64,64] y) { y = Mod<fmod = 1>(x, x) }", {"target": "x86-64-v3"}, ["1"]),
        (
            "m (float[64,64] x) => (float[64,64] y) { y = MatMul(x, x) }",
            {"target": "cortex-m4", "optimize": "2"},
            ["2"],
        ),
        (
            "m (float[64,64] x) => (float[64,64] y) { y = MatMul(x, x) }",
            {"target": "x86-64-v3", "optimize": "0"},
            ["0"],
        ),
    ],
)
def test_which_passes_run(
    text: str, options: dict[str, Any], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def tidied(module: Any, machine: Any) -> None:
        ran.append("tidy")

    def optimized(module: Any, machine: Any, level: str, rolled: bool = False) -> None:
        ran.append(level)

    monkeypatch.setattr(native, "tidy", tidied)
    monkeypatch.setattr(native, "optimize", optimized)
    aotc.build(onnx.parser.parse_model(HEAD + text), emit=("object",), **options)
    assert ran == expected


def test_what_is_tidied_has_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes change no result: a sum of products, its epilogue and a softmax, in vectors."""
    model = onnx.parser.parse_model(
        HEAD + "m (float[13,40] x, float[40,37] w) => (float[13,37] y) { a = MatMul(x, w) b = Relu(a) y = Softmax(b) }"
    )
    random = np.random.default_rng(0)
    inputs = {"x": random.standard_normal((13, 40), np.float32), "w": random.standard_normal((40, 37), np.float32)}
    tidied = aotc.compile(model)(inputs)["y"]
    monkeypatch.setattr(native, "has_scalar_loops", lambda _: True)
    np.testing.assert_array_equal(tidied, aotc.compile(model, profile=True)(inputs)["y"])
