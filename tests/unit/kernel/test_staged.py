"""Stages in strips: the same operations as one staged kernel, on tiles and as plain loops, and each as a kernel alone.

All cases are kernels of one model, which is compiled once each way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from case_model import Array, array_attributes, run_on_tiles, tensor
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.parser import Parser

from aotc.dialects.graph.interfaces import AnchorOp, shape_of
from aotc.dialects.graph.schedule import Schedule, ScheduleAttr
from aotc.dialects.graph.staged import StagedOp
from aotc.dialects.graph.structure import ConstantOp, YieldOp
from aotc.driver import new_context
from aotc.passes.graph.groups import copy_group
from aotc.textual_ir import ir_text

LANES = 4


@dataclass(frozen=True)
class Case:
    """Operations in the syntax of the IR on `inputs`, of which the last one is computed in strips of `strip`."""

    inputs: Mapping[str, tuple[int, ...]]
    body: str
    strip: tuple[int, ...]
    memory: tuple[tuple[int, ...], ...]
    """Shapes of the working memory."""
    tiles: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Of the schedule of each kind of anchor."""

    def arrays(self, number: int) -> dict[str, Array]:
        rng = np.random.default_rng(number)
        return {f"{name}{number}": rng.standard_normal(shape).astype(np.float32) for name, shape in self.inputs.items()}


def attention(heads: tuple[int, ...], rows: int, keys: int, strip: int, depth: int = 8, width: int = 6) -> Case:
    q, k, v = (*heads, rows, depth), (1, *heads[1:], depth, keys), (*heads[:-1], 1, keys, width)
    s, y, single = tensor((*heads, rows, keys)), tensor((*heads, rows, width)), (1,) * len(heads)
    body = f"""
      %c = graph.constant dense<0.25> : tensor<f32>
      %s = graph.matmul %q, %k : ({tensor(q)}, {tensor(k)}) -> {s}
      %t = graph.mul %s, %c : ({s}, tensor<f32>) -> {s}
      %u = graph.add %m, %t : ({tensor((rows, keys))}, {s}) -> {s}
      %p = graph.softmax %u {{axes = array<i64: {len(heads) + 1}>}} : ({s}) -> {s}
      %y = graph.matmul %p, %v : ({s}, {tensor(v)}) -> {y}
    """
    memory = (*single, min(strip, rows), keys)
    tiles = {"graph.matmul": (3, 2), "graph.softmax": (1, -(-keys // LANES))}
    inputs = {"q": q, "k": k, "v": v, "m": (rows, keys)}
    return Case(inputs, body, (*single, strip, width), (memory, memory), tiles)


CONVOLUTIONS = {"graph.blocked_depthwise_conv": (3,), "graph.blocked_conv": (3, 2)}


def window(strides: tuple[int, int], pads: tuple[int, ...], dilations: tuple[int, int] = (1, 1)) -> str:
    return array_attributes({"strides": strides, "pads": pads, "dilations": dilations})


def separable(images: int, extents: tuple[int, int], stride: int, pads: tuple[int, ...], strip: int) -> Case:
    """8 channels, of which each is convolved, to 7."""
    h, w = ((extent + pads[k] + pads[k + 2] - 3) // stride + 1 for k, extent in enumerate(extents))
    x, d = tensor((images, 2, *extents, 4)), tensor((images, 2, h, w, 4))
    factors, weights = tensor((2, 1, 1, 4)), (tensor((2, 3, 3, 4)), tensor((1, 2, 1, 1, 4, 8)))
    pointwise = window((1, 1), (0, 0, 0, 0)) + ", group = 1, block = 4, channels = 8, outputs = 7"
    body = f"""
      %d = graph.blocked_depthwise_conv %x, %w, %b {{{window((stride, stride), pads)}}}
        : ({x}, {weights[0]}, {tensor((8,))}) -> {d}
      %r = graph.relu %d : ({d}) -> {d}
      %a = graph.mul %r, %f : ({d}, {factors}) -> {d}
      %y = graph.blocked_conv %a, %v {{{pointwise}}} : ({d}, {weights[1]}) -> {d}
    """
    inputs = {"x": (images, 2, *extents, 4), "w": (2, 3, 3, 4), "b": (8,), "f": (2, 1, 1, 4), "v": (1, 2, 1, 1, 4, 8)}
    return Case(inputs, body, (1, 2, strip, w, 4), ((1, 2, min(strip, h), w, 4),), CONVOLUTIONS)


def overlapping(strip: int) -> Case:
    """Two windows: strips of the second one share rows of the first, which are computed twice."""
    x, y, weights = (
        tensor((1, 2, 11, 9, 4)),
        tensor((1, 2, 6, 9, 4)),
        (tensor((1, 2, 3, 3, 4, 8)), tensor((2, 3, 3, 4))),
    )
    conv = window((1, 1), (1, 1, 1, 1)) + ", group = 1, block = 4, channels = 8, outputs = 8"
    body = f"""
      %c = graph.blocked_conv %x, %w {{{conv}}} : ({x}, {weights[0]}) -> {x}
      %r = graph.relu %c : ({x}) -> {x}
      %y = graph.blocked_depthwise_conv %r, %v {{{window((2, 1), (1, 2, 2, 2), (1, 2))}}} : ({x}, {weights[1]}) -> {y}
    """
    inputs = {"x": (1, 2, 11, 9, 4), "w": (1, 2, 3, 3, 4, 8), "v": (2, 3, 3, 4)}
    return Case(inputs, body, (1, 2, strip, 9, 4), ((1, 2, 2 * strip + 1, 9, 4),), CONVOLUTIONS)


def pooled(op: str, strip: int, held: int) -> Case:
    """A convolution, of which a pool sees each position once; strips need `held` rows at most."""
    x, y, weights = tensor((1, 2, 9, 10, 4)), tensor((1, 2, 5, 5, 4)), tensor((1, 2, 3, 3, 4, 8))
    conv = window((1, 1), (1, 1, 1, 1)) + ", group = 1, block = 4, channels = 8, outputs = 8"
    body = f"""
      %c = graph.blocked_conv %x, %w {{{conv}}} : ({x}, {weights}) -> {x}
      %r = graph.relu %c : ({x}) -> {x}
      %y = graph.{op} %r {{kernel = array<i64: 2, 2>, {window((2, 2), (1, 0, 0, 0))}}} : ({x}) -> {y}
    """
    inputs = {"x": (1, 2, 9, 10, 4), "w": (1, 2, 3, 3, 4, 8)}
    tiles = {**CONVOLUTIONS, f"graph.{op}": (3,)}
    return Case(inputs, body, (1, 2, strip, 5, 4), ((1, 2, held, 10, 4),), tiles)


CASES = (
    attention((2, 3), 13, 17, 5),
    attention((4,), 6, 8, 6),
    attention((1, 2), 9, 5, 20),
    separable(2, (10, 9), 1, (1, 1, 1, 1), 3),
    separable(1, (12, 7), 2, (0, 0, 1, 1), 2),
    separable(1, (5, 6), 1, (3, 1, 2, 1), 2),
    separable(1, (9, 8), 1, (-1, 0, -2, 0), 1),
    overlapping(2),
    pooled("max_pool", 2, 4),
    pooled("average_pool", 3, 5),
)
IN_C = (0, 3, 4, 7)


def staged(case: Case, ops: Sequence[Operation]) -> StagedOp:
    """A copy of `ops` in strips."""
    block, inputs, inside = copy_group(ops)
    block.add_op(YieldOp([inside[ops[-1].results[0]]]))
    return StagedOp.of(inputs, Region(block), case.strip)


def module(numbers: Sequence[int]) -> str:
    """Each case three times: as kernels of their own, and in strips as plain loops and on tiles."""
    arguments, body = [], []
    for n in numbers:
        for name, shape in CASES[n].inputs.items():
            arguments.append(f'%{name}{n}: {tensor(shape)} {{aot.name = "{name}{n}", aot.dtype = "float32"}}')
        body.append(re.sub(r"%([a-z])\b", rf"%\g<1>{n}", CASES[n].body))
    head = f"func.func @main({', '.join(arguments)}) attributes {{aot.entry}}"
    text = f'builtin.module attributes {{aot.name = "staged"}} {{\n{head} {{{"".join(body)} func.return\n}}\n}}'
    parsed = Parser(new_context(), text).parse_module()
    main = parsed.body.block.first_op
    assert isinstance(main, FuncOp)
    end = main.body.block.last_op
    assert isinstance(end, ReturnOp)
    values: dict[str, SSAValue] = {}
    ops = iter([op for op in main.body.block.ops if not isinstance(op, ConstantOp)])
    for n in numbers:
        mine = [next(ops)]
        while mine[-1].results[0].name_hint != f"y{n}":
            mine.append(next(ops))
        plain = staged(CASES[n], mine)
        for op in mine:
            if isinstance(op, AnchorOp):
                op.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(Schedule(LANES, CASES[n].tiles[op.name], 2))
        tiled = staged(CASES[n], mine)
        tiled.attributes[ScheduleAttr.KEY] = mine[-1].attributes[ScheduleAttr.KEY]
        main.body.block.insert_ops_before([plain, tiled], end)
        for each in (plain, tiled):
            assert [shape_of(memory) for memory in each.memory] == [*CASES[n].memory]
        values |= {f"apart{n}": mine[-1].results[0], f"plain{n}": plain.result, f"tiled{n}": tiled.result}
    end.operands = list(values.values())
    types = [value.type for value in values.values()]
    main.properties["function_type"] = FunctionType.from_lists([arg.type for arg in main.args], types)
    main.properties["res_attrs"] = ArrayAttr(
        DictionaryAttr({"aot.name": StringAttr(name), "aot.dtype": StringAttr("float32")}) for name in values
    )
    parsed.verify()
    return ir_text(parsed)


@cache
def results(route: str, threads: int, folder: Path) -> dict[str, Array]:
    numbers = tuple(range(len(CASES))) if route == "jit" else IN_C
    feed = {name: array for n in numbers for name, array in CASES[n].arrays(n).items()}
    return run_on_tiles(module(numbers), folder, route, feed, threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("staged")


@pytest.mark.parametrize("way", ["plain", "tiled"])
@pytest.mark.parametrize(("route", "number"), [*(("jit", n) for n in range(len(CASES))), *(("c", n) for n in IN_C)])
def test_strips_are_what_the_operations_compute(route: str, number: int, way: str, folder: Path) -> None:
    found = results(route, 1, folder)
    expected = found[f"apart{number}"]
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found[f"{way}{number}"], expected, rtol=0, atol=2e-6 * np.abs(expected).max())


def test_threads_change_nothing(folder: Path) -> None:
    one, two = results("jit", 1, folder), results("jit", 2, folder)
    for name, array in one.items():
        np.testing.assert_array_equal(two[name], array, err_msg=name)
