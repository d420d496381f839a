"""Random structured programs in C against a direct interpretation of their IR.

Loops that carry and swap values, conditionals with results, loads and stores on buffers that may be the same: what
decides where an expression may be inlined and which variables may be shared. On numbers, and on vectors that overlap
in memory.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_program import parse, printed, run
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerAttr
from xdsl.ir import Block, SSAValue

from aotc.compiler.lowering import new_context
from aotc.dialects import aot
from aotc.pipeline.phases import PassRunner

SIZE = 6
FUNCTIONS = 40


class Generator:
    """Writes one function `f(a, b, c)` on three buffers of SIZE i32 (and the rest of the last vector).

    `a` and `b` may be the same one. The function computes with i32, or with vectors of `lanes` of them.
    """

    def __init__(self, seed: int, lanes: int = 0) -> None:
        self.random = random.Random(seed)
        self.lanes = lanes
        self.kind = f"vector<{lanes}xi32>" if lanes else "i32"
        self.memory = f"memref<{SIZE + max(0, lanes - 1)}xi32>"
        self.lines: list[str] = []
        self.count = 0
        self.budget = 60

    def function(self, symbol: str) -> str:
        for name in "abc":
            self.emit(f"%{name} = aot.buffer %{name}_p : !aot.ptr<i32> to {self.memory}")
        for value in range(SIZE):
            self.emit(f"%c{value} = arith.constant {value} : index")
            number = f"dense<{value - 2}>" if self.lanes else str(value - 2)
            self.emit(f"%k{value} = arith.constant {number} : {self.kind}")
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
            self.store(value, self.random.choice("abc"), self.pick(scope, "index"))

    def load(self, name: str, buffer: str, index: str) -> None:
        if self.lanes:
            step = self.random.choice([0, 1, 1, 1])
            place = f"{{strides = array<i64: {step}>}}"
            self.emit(f"{name} = aot.tile_load %{buffer}[{index}] {place} : {self.memory} -> {self.kind}")
        else:
            self.emit(f"{name} = memref.load %{buffer}[{index}] : {self.memory}")

    def store(self, value: str, buffer: str, index: str) -> None:
        if self.lanes:
            valid = self.random.choice(["", "", f", valid = {self.lanes - 1} : i64"])
            place = f"{{strides = array<i64: 1>{valid}}}"
            self.emit(f"aot.tile_store {value}, %{buffer}[{index}] {place} : {self.kind}, {self.memory}")
        else:
            self.emit(f"memref.store {value}, %{buffer}[{index}] : {self.memory}")

    def scalar(self, value: str) -> str:
        if not self.lanes:
            return value
        name = self.fresh()
        self.emit(f"{name} = vector.extract {value}[{self.random.randrange(self.lanes)}] : i32 from {self.kind}")
        return name

    def statement(self, scope: dict[str, list[str]], depth: int) -> None:
        kinds = ["op", "op", "load", "load", "store", "store", "compare", "select"] + (["for", "if"] if depth else [])
        kinds += ["pick"] if self.lanes else []
        kind = self.random.choice(kinds)
        if kind in ("select", "if") and not scope["i1"]:
            kind = "compare"
        buffer, index = self.random.choice("abc"), self.pick(scope, "index")
        x, y, name = self.pick(scope, "i32"), self.pick(scope, "i32"), self.fresh()
        if kind == "op":
            op = self.random.choice(["addi", "subi", "muli", "xori", "maxsi", "minui"])
            self.emit(f"{name} = arith.{op} {x}, {y} : {self.kind}")
        elif kind == "load":
            self.load(name, buffer, index)
        elif kind == "store":
            self.store(x, buffer, index)
            return
        elif kind == "compare":
            x, y = self.scalar(x), self.scalar(y)
            self.emit(f"{name} = arith.cmpi {self.random.choice(list(PREDICATES))}, {x}, {y} : i32")
            scope["i1"].append(name)
            return
        elif kind == "pick":
            self.emit(f"{name} = aot.tile_pick {x}, {y}, {self.pick(scope, 'i32')} : {self.kind}")
        elif kind == "select" and self.lanes:
            a, b, condition = self.pick(scope, "i32"), self.pick(scope, "i32"), self.fresh()
            mask = f"vector<{self.lanes}xi1>"
            predicate = self.random.choice(list(PREDICATES))
            self.emit(f'{condition} = aot.tile_compare "{predicate}" {a}, {b} : {self.kind} -> {mask}')
            self.emit(f"{name} = aot.tile_select {condition}, {x}, {y} : {mask}, {self.kind}")
        elif kind == "select":
            self.emit(f"{name} = arith.select {self.pick(scope, 'i1')}, {x}, {y} : i32")
        else:
            self.region(kind, scope, depth)
            return
        scope["i32"].append(name)

    def region(self, kind: str, scope: dict[str, list[str]], depth: int) -> None:
        count = self.random.randint(0, 3)
        types = ", ".join([self.kind] * count)
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
        types = ", ".join([self.kind] * count)
        self.emit(f"scf.yield {', '.join(values)} : {types}" if count else "scf.yield")


def unsigned(x: Any) -> Any:
    return np.asarray(x).view(np.uint32)


CALCULATE = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.XOrIOp: np.bitwise_xor,
    arith.MaxSIOp: np.maximum,
    arith.MinUIOp: lambda x, y: np.minimum(unsigned(x), unsigned(y)).view(np.int32),
}
PREDICATES = {
    "eq": np.equal,
    "slt": np.less,
    "uge": lambda x, y: np.greater_equal(unsigned(x), unsigned(y)),
}
NUMBERED = {0: "eq", 2: "slt", 9: "uge"}


def interpret(block: Block, values: dict[SSAValue, Any]) -> list[Any]:
    """Run a block; the values its terminator hands on. Numbers are arrays, of no dimension where they are scalars."""
    for op in block.ops:
        match op:
            case arith.ConstantOp():
                if isinstance(op.value, IntegerAttr):
                    number = op.value.value.data
                    is_index = isinstance(op.result.type, IndexType)
                    values[op.result] = number if is_index else np.array(number, np.int32)
                else:
                    assert isinstance(op.value, DenseIntOrFPElementsAttr)
                    values[op.result] = np.array(op.value.get_values(), np.int32)
            case aot.BufferOp():
                values[op.result] = values[op.pointer]
            case memref.LoadOp():
                values[op.res] = values[op.memref][values[op.indices[0]]].copy()
            case memref.StoreOp():
                values[op.memref][values[op.indices[0]]] = values[op.value]
            case aot.TileLoadOp():
                lanes = np.arange(aot.tile_shape(op.result)[0]) * op.element_strides()[0]
                values[op.result] = values[op.buffer][values[op.indices[0]] + lanes]
            case aot.TileStoreOp():
                tile, place = values[op.tile][: op.count()], values[op.indices[0]]
                values[op.buffer][place : place + len(tile)] = tile
            case vector.ExtractOp():
                values[op.result] = values[op.vector][op.static_position.get_values()[0]]
            case arith.CmpiOp():
                predicate = NUMBERED[op.predicate.value.data]
                values[op.result] = PREDICATES[predicate](values[op.lhs], values[op.rhs])
            case aot.TileCompareOp():
                values[op.result] = PREDICATES[op.predicate.data](values[op.lhs], values[op.rhs])
            case arith.SelectOp():
                values[op.result] = values[op.lhs if values[op.cond] else op.rhs]
            case aot.TileSelectOp():
                values[op.result] = np.where(values[op.condition], values[op.lhs], values[op.rhs])
            case aot.TilePickOp():
                both = np.concatenate([values[op.a], values[op.b]])
                values[op.result] = both[values[op.numbers] % len(both)]
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


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize(("seed", "lanes"), [(0, 0), (1, 0), (22, 0), (3, 4), (4, 4)])
def test_random_programs(tmp_path: Path, seed: int, lanes: int) -> None:
    text = "".join(Generator(seed * 1000 + i, lanes).function(f"f{i}") for i in range(FUNCTIONS))
    size = SIZE + max(0, lanes - 1)
    start = {f"{name}{i}": np.arange(size, dtype=np.int32) * 7 - 11 for i in range(FUNCTIONS) for name in "abc"}
    calls, expected = [], {name: array.copy() for name, array in start.items()}
    module = parse(text)
    for i, function in enumerate(module.ops):
        assert isinstance(function, func.FuncOp)
        aliased = i % 2
        names = (f"a{i}", f"a{i}" if aliased else f"b{i}", f"c{i}")
        calls.append((f"f{i}", *names))
        interpret(function.body.block, dict(zip(function.args, [expected[name] for name in names], strict=True)))
    # Unused values are the generator's doing, not the emitter's.
    quiet = ["-Og", "-Wno-unused-variable", "-Wno-unused-but-set-variable"]
    PassRunner(new_context()).run("test", "select-instructions", module)
    results = run(tmp_path, printed(module), start, calls, quiet)
    for name, array in expected.items():
        np.testing.assert_array_equal(results[name], array, err_msg=name)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
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
