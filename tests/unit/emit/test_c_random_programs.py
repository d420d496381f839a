"""Random structured programs in C against a direct interpretation of their IR.

Loops that carry and swap values, conditionals with results, loads and stores on buffers that may be the same: what
decides where an expression may be inlined and which variables may be shared.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_program import parse, run, source
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, SSAValue

from aotc.dialects import aot

SIZE = 6
FUNCTIONS = 40


class Generator:
    """Writes one function `f(a, b, c)` on three buffers of SIZE i32; `a` and `b` may be the same one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.budget = 60

    def function(self, symbol: str) -> str:
        for name in "abc":
            self.emit(f"%{name} = aot.buffer %{name}_p : !aot.ptr<i32> to memref<{SIZE}xi32>")
        for value in range(SIZE):
            self.emit(f"%c{value} = arith.constant {value} : index")
            self.emit(f"%k{value} = arith.constant {value - 2} : i32")
        scope = {"i32": [f"%k{i}" for i in range(SIZE)], "index": [f"%c{i}" for i in range(SIZE)], "i1": []}
        self.block(scope, 2)
        self.emit("%done = arith.constant 0 : i32\nfunc.return %done : i32")
        body = "\n".join(self.lines)
        arguments = "%a_p: !aot.ptr<i32>, %b_p: !aot.ptr<i32>, %c_p: !aot.ptr<i32> {aot.noalias}"
        return f"func.func @{symbol}({arguments}) -> i32 {{\n{body}\n}}\n"

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def pick(self, scope: dict[str, list[str]], kind: str) -> str:
        recent = scope[kind][-4:] if self.random.random() < 0.7 else scope[kind]
        return self.random.choice(recent)

    def block(self, scope: dict[str, list[str]], depth: int) -> None:
        for _ in range(self.random.randint(4, 12)):
            self.budget -= 1
            self.statement(scope, depth if self.budget > 0 else 0)
        for value in scope["i32"][-3:]:
            self.emit(
                f"memref.store {value}, %{self.random.choice('abc')}[{self.pick(scope, 'index')}] : memref<{SIZE}xi32>"
            )

    def statement(self, scope: dict[str, list[str]], depth: int) -> None:
        kinds = ["op", "op", "load", "load", "store", "store", "compare", "select"] + (["for", "if"] if depth else [])
        kind = self.random.choice(kinds)
        if kind in ("select", "if") and not scope["i1"]:
            kind = "compare"
        buffer, index = self.random.choice("abc"), self.pick(scope, "index")
        x, y, name = self.pick(scope, "i32"), self.pick(scope, "i32"), self.fresh()
        if kind == "op":
            op = self.random.choice(["addi", "subi", "muli", "xori", "maxsi", "minui"])
            self.emit(f"{name} = arith.{op} {x}, {y} : i32")
        elif kind == "load":
            self.emit(f"{name} = memref.load %{buffer}[{index}] : memref<{SIZE}xi32>")
        elif kind == "store":
            self.emit(f"memref.store {x}, %{buffer}[{index}] : memref<{SIZE}xi32>")
            return
        elif kind == "compare":
            self.emit(f"{name} = arith.cmpi {self.random.choice(['slt', 'eq', 'uge'])}, {x}, {y} : i32")
            scope["i1"].append(name)
            return
        elif kind == "select":
            self.emit(f"{name} = arith.select {self.pick(scope, 'i1')}, {x}, {y} : i32")
        else:
            self.region(kind, scope, depth)
            return
        scope["i32"].append(name)

    def region(self, kind: str, scope: dict[str, list[str]], depth: int) -> None:
        count = self.random.randint(0, 3)
        types = ", ".join(["i32"] * count)
        results = [self.fresh() for _ in range(count)]
        head = f"{', '.join(results)} = " if results else ""
        if kind == "for":
            arguments, variable = [self.fresh() for _ in range(count)], self.fresh()
            carried = ", ".join(f"{a} = {self.pick(scope, 'i32')}" for a in arguments)
            loop = f"scf.for {variable} = %c{self.random.randint(0, 2)} to %c{self.random.randint(2, 4)} step %c1"
            self.emit(f"{head}{loop}" + (f" iter_args({carried}) -> ({types})" if count else "") + " {")
            inner = {key: list(values) for key, values in scope.items()}
            inner["index"].append(variable)
            inner["i32"] += arguments
            self.block(inner, depth - 1)
            self.end(inner, count)
        else:
            self.emit(f"{head}scf.if {self.pick(scope, 'i1')}" + (f" -> ({types})" if count else "") + " {")
            for side in range(2):
                inner = {key: list(values) for key, values in scope.items()}
                if self.random.random() < 0.8:
                    self.block(inner, depth - 1)
                self.end(inner, count)
                if side == 0:
                    self.emit("} else {")
        self.emit("}")
        scope["i32"] += results

    def end(self, scope: dict[str, list[str]], count: int) -> None:
        values = [self.pick(scope, "i32") for _ in range(count)]
        types = ", ".join(["i32"] * count)
        self.emit(f"scf.yield {', '.join(values)} : {types}" if count else "scf.yield")


def signed(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


CALCULATE = {
    arith.AddiOp: lambda x, y: signed(x + y),
    arith.SubiOp: lambda x, y: signed(x - y),
    arith.MuliOp: lambda x, y: signed(x * y),
    arith.XOrIOp: lambda x, y: x ^ y,
    arith.MaxSIOp: max,
    arith.MinUIOp: lambda x, y: min(x, y, key=lambda v: v % 2**32),
}
COMPARE = {0: lambda x, y: x == y, 2: lambda x, y: x < y, 9: lambda x, y: x % 2**32 >= y % 2**32}


def interpret(block: Block, values: dict[SSAValue, Any]) -> list[Any]:
    """Run a block; the values its terminator hands on."""
    for op in block.ops:
        match op:
            case arith.ConstantOp():
                assert isinstance(op.value, IntegerAttr)
                values[op.result] = op.value.value.data
            case aot.BufferOp():
                values[op.result] = values[op.pointer]
            case memref.LoadOp():
                values[op.res] = int(values[op.memref][values[op.indices[0]]])
            case memref.StoreOp():
                values[op.memref][values[op.indices[0]]] = values[op.value]
            case arith.CmpiOp():
                values[op.result] = COMPARE[op.predicate.value.data](values[op.lhs], values[op.rhs])
            case arith.SelectOp():
                values[op.result] = values[op.lhs if values[op.cond] else op.rhs]
            case scf.ForOp():
                carried = [values[value] for value in op.iter_args]
                for i in range(values[op.lb], values[op.ub]):
                    values.update(zip(op.body.block.args, [i, *carried], strict=True))
                    carried = interpret(op.body.block, values)
                values.update(zip(op.results, carried, strict=True))
            case scf.IfOp():
                region = op.true_region if values[op.cond] else op.false_region
                values.update(zip(op.results, interpret(region.block, values), strict=True))
            case scf.YieldOp() | func.ReturnOp():
                return [values[value] for value in op.operands]
            case _:
                values[op.results[0]] = CALCULATE[type(op)](values[op.operands[0]], values[op.operands[1]])
    return []


@pytest.mark.parametrize("seed", [0, 1, 22])
def test_random_programs(tmp_path: Path, seed: int) -> None:
    text = "".join(Generator(seed * 1000 + i).function(f"f{i}") for i in range(FUNCTIONS))
    start = {f"{name}{i}": np.arange(SIZE, dtype=np.int32) * 7 - 11 for i in range(FUNCTIONS) for name in "abc"}
    calls, expected = [], {name: array.copy() for name, array in start.items()}
    for i, function in enumerate(parse(text).ops):
        assert isinstance(function, func.FuncOp)
        aliased = i % 2
        names = (f"a{i}", f"a{i}" if aliased else f"b{i}", f"c{i}")
        calls.append((f"f{i}", *names))
        interpret(function.body.block, dict(zip(function.args, [expected[name] for name in names], strict=True)))
    # Unused values are the generator's doing, not the emitter's.
    quiet = ["-O1", "-Wno-unused-variable", "-Wno-unused-but-set-variable"]
    results = run(tmp_path, source(text), start, calls, quiet)
    for name, array in expected.items():
        np.testing.assert_array_equal(results[name], array, err_msg=name)


def test_the_interpreter_sees_wrong_code() -> None:
    """The reference is not vacuous: programs change their buffers."""
    text = "".join(Generator(i).function(f"f{i}") for i in range(FUNCTIONS))
    changed = 0
    for function in parse(text).ops:
        assert isinstance(function, func.FuncOp)
        buffers = [np.arange(SIZE, dtype=np.int32) for _ in range(3)]
        interpret(function.body.block, dict(zip(function.args, buffers, strict=True)))
        changed += any((buffer != np.arange(SIZE)).any() for buffer in buffers)
    assert changed > FUNCTIONS // 2
