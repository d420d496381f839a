"""Stages in spatial tiles: the same operations as one staged kernel, vectorised and as scalar loops, and each alone.

All cases are kernels of one model, which is compiled once each way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from case_model import Array, array_attributes, run_on_tiles, tensor, window_values
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.parser import Parser

from aotc.compiler.lowering import new_context
from aotc.dialects.graph.compound.staged import StagedOp, stages_of
from aotc.dialects.graph.interfaces import AnchorOp, shape_of
from aotc.dialects.graph.schedules import MatmulSchedule, RowSchedule, Schedule, ScheduleAttr, WindowSchedule
from aotc.dialects.graph.structure import ConstantOp, YieldOp
from aotc.passes.fuse.groups import copy_group
from aotc.passes.kernel.nests.tile_walk import Plan, Walk
from aotc.pipeline.textual_ir import ir_text

LANES = 4


@dataclass(frozen=True)
class Case:
    """Operations in the syntax of the IR on `inputs`, of which the last one is computed in tiles of `tile`."""

    inputs: Mapping[str, tuple[int, ...]]
    body: str
    tile: tuple[int, ...]
    memory: tuple[tuple[int, ...], ...]
    """Shapes of the scratch buffers."""
    schedules: Mapping[str, Schedule] = field(default_factory=dict[str, Schedule])
    """Of each kind of anchor; where there are none, scalar loops are the only ones."""
    parts: tuple[int, ...] | None = None
    """Of how many tiles each part consists."""

    def arrays(self, number: int) -> dict[str, Array]:
        rng = np.random.default_rng(number)
        return {f"{name}{number}": rng.standard_normal(shape).astype(np.float32) for name, shape in self.inputs.items()}


def attention(heads: tuple[int, ...], rows: int, keys: int, tile: int, depth: int = 8, width: int = 6) -> Case:
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
    memory = (*single, min(tile, rows), keys)
    schedules = {
        "graph.matmul": MatmulSchedule(LANES, 3, 2, unroll=2),
        "graph.softmax": RowSchedule(LANES, -(-keys // LANES), steps=2),
    }
    inputs = {"q": q, "k": k, "v": v, "m": (rows, keys)}
    return Case(inputs, body, (*single, tile, width), (memory, memory), schedules)


CONV, DEPTHWISE = "blocked_conv", "blocked_depthwise_conv"


def schedule_for(op: str) -> Schedule:
    """Of a window."""
    return MatmulSchedule(LANES, 3, 2, unroll=2) if op == CONV else WindowSchedule(LANES, 3)


CONVOLUTIONS = {f"graph.{op}": schedule_for(op) for op in (CONV, DEPTHWISE)}


def window(strides: tuple[int, int], pads: tuple[int, ...], dilations: tuple[int, int] = (1, 1)) -> str:
    return array_attributes({"strides": strides, "pads": pads, "dilations": dilations})


def separable(images: int, extents: tuple[int, int], stride: int, pads: tuple[int, ...], tile: int) -> Case:
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
    return Case(inputs, body, (1, 2, tile, w, 4), ((1, 2, min(tile, h), w, 4),), CONVOLUTIONS)


@dataclass(frozen=True)
class Layer:
    """A window that moves along blocks of 4 channels: a pool, or a convolution and a relu."""

    op: str
    kernel: tuple[int, ...]
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    blocks: int = 2
    """Of the result; even, and for convolutions only."""

    def attributes(self) -> str:
        return array_attributes(window_values(self.kernel, self.strides, self.pads, self.dilations))

    def extents(self, before: Sequence[int]) -> tuple[int, ...]:
        given = window_values(self.kernel, self.strides, self.pads, self.dilations)
        strides, pads, dilations = (given[name] for name in ("strides", "pads", "dilations"))
        rank = len(self.kernel)
        spans = [(size - 1) * by + 1 for size, by in zip(self.kernel, dilations, strict=True)]
        return tuple((before[k] + pads[k] + pads[k + rank] - spans[k]) // strides[k] + 1 for k in range(rank))


def layers(
    images: int, extents: tuple[int, ...], chain: Sequence[Layer], tile: int, need: Sequence[int], tiled: bool = True
) -> Case:
    """Windows over 8 channels, one after the other; tiles of so many rows need `need` rows of each but the last."""
    inputs, body, blocks, value, memory = {"x": (images, 2, *extents, 4)}, "", 2, "x", list[tuple[int, ...]]()
    for number, layer in enumerate(chain):
        x, weight, name = tensor((images, blocks, *extents, 4)), "wvutsr"[number], "abcdef"[number]
        extents = layer.extents(extents)
        if layer.op == "blocked_conv":
            inputs[weight] = (layer.blocks // 2, blocks, *layer.kernel, 4, 8)
            channels = f"group = 1, block = 4, channels = {4 * blocks}, outputs = {4 * layer.blocks}"
            blocks = layer.blocks
        elif layer.op == "blocked_depthwise_conv":
            inputs[weight] = (blocks, *layer.kernel, 4)
        y, last = tensor((images, blocks, *extents, 4)), number == len(chain) - 1
        result = "y" if last else name
        if layer.op in ("max_pool", "average_pool"):
            kernel = array_attributes({"kernel": layer.kernel})
            body += f"%{result} = graph.{layer.op} %{value} {{{kernel}, {layer.attributes()}}} : ({x}) -> {y}\n"
        else:
            more = f", {channels}" if layer.op == "blocked_conv" else ""
            kinds = f"({x}, {tensor(inputs[weight])}) -> {y}"
            body += f"%{result} = graph.{layer.op} %{value}, %{weight} {{{layer.attributes()}{more}}} : {kinds}\n"
            if not last:
                result = "lmnopq"[number]
                body += f"%{result} = graph.relu %{name} : ({y}) -> {y}\n"
        value = result
        memory.append((1, blocks, *extents, 4))
    rows = [(1, shape[1], more, *shape[3:]) for shape, more in zip(memory, need, strict=False)]
    schedules = {f"graph.{op}": schedule_for(op) for op in {layer.op for layer in chain}}
    return Case(inputs, body, (1, blocks, tile, *extents[1:], 4), tuple(rows), schedules if tiled else {})


SAME = (1, 1, 1, 1)
KEEPING = (
    # Tiles see again rows of what is before the window: expansion, depthwise convolution, projection.
    layers(
        2, (11, 9), [Layer(CONV, (1, 1), blocks=4), Layer(DEPTHWISE, (3, 3), (), SAME), Layer(CONV, (1, 1))], 2, (4, 2)
    ),
    layers(
        1,
        (13, 9),
        [Layer(CONV, (1, 1), blocks=4), Layer(DEPTHWISE, (5, 5), (2, 2), (2, 2, 2, 2)), Layer(CONV, (1, 1))],
        2,
        (7, 2),
    ),
    layers(
        1,
        (11, 9),
        [
            Layer(DEPTHWISE, (3, 3), (), SAME),
            Layer(CONV, (1, 1)),
            Layer(DEPTHWISE, (3, 2), (2, 1), (2, 0, 2, 1), (2, 1)),
        ],
        2,
        (5, 7),
    ),
    # Tiles of one row; a stride that leaves rows out.
    layers(2, (12, 7), [Layer(CONV, (3, 3), (), SAME), Layer("max_pool", (3, 3), (2, 2), SAME)], 1, (3,)),
    layers(1, (15, 6), [Layer(CONV, (3, 3), (), SAME), Layer("average_pool", (2, 2), (3, 2))], 2, (5,)),
    # Windows over windows over windows; the last tile is smaller.
    layers(
        1,
        (11, 10),
        [Layer(CONV, (3, 3), (), SAME), Layer(CONV, (3, 3), (2, 1), SAME), Layer("average_pool", (3, 3), (1, 1), SAME)],
        4,
        (10, 5),
    ),
    # The last tiles see nothing new.
    layers(1, (4, 6), [Layer(CONV, (1, 3), (), (0, 1, 0, 1)), Layer(DEPTHWISE, (4, 3), (), (1, 1, 3, 1))], 1, (4,)),
    # One axis, three of them.
    layers(2, (21,), [Layer(CONV, (3,), (), (1, 1)), Layer(DEPTHWISE, (5,), (2,), (2, 2))], 3, (9,), tiled=False),
    layers(1, (7, 5, 6), [Layer(CONV, (1, 1, 1)), Layer(DEPTHWISE, (3, 3, 3), (1, 2, 1), (1,) * 6)], 2, (4,)),
)


def pooled(op: str, tile: int, need: int) -> Case:
    """A convolution, of which a pool sees each position once; tiles need `need` rows at most."""
    x, y, weights = tensor((1, 2, 9, 10, 4)), tensor((1, 2, 5, 5, 4)), tensor((1, 2, 3, 3, 4, 8))
    conv = window((1, 1), (1, 1, 1, 1)) + ", group = 1, block = 4, channels = 8, outputs = 8"
    body = f"""
      %c = graph.blocked_conv %x, %w {{{conv}}} : ({x}, {weights}) -> {x}
      %r = graph.relu %c : ({x}) -> {x}
      %y = graph.{op} %r {{kernel = array<i64: 2, 2>, {window((2, 2), (1, 0, 0, 0))}}} : ({x}) -> {y}
    """
    inputs = {"x": (1, 2, 9, 10, 4), "w": (1, 2, 3, 3, 4, 8)}
    schedules = {**CONVOLUTIONS, f"graph.{op}": schedule_for(op)}
    return Case(inputs, body, (1, 2, tile, 5, 4), ((1, 2, need, 10, 4),), schedules)


def parted(case: Case, *parts: int) -> Case:
    """In parts of so many tiles."""
    return replace(case, parts=parts, memory=tuple((len(parts) * outer, *inner) for outer, *inner in case.memory))


PARTED = (
    # Two and three heads of three tiles: halves; from the middle of a head; within one head; parts that differ.
    parted(attention((2, 3), 13, 17, 5), 9, 9),
    parted(attention((2, 3), 13, 17, 5), 7, 11),
    parted(attention((3,), 13, 8, 5), 4, 5),
    parted(attention((4,), 13, 8, 3), 10, 10),
    parted(attention((2, 3), 13, 17, 5), 1, 1, 5, 3, 8),
    # Images; halves of both, and thirds of them; all tiles of an axis but the last; one and three tiles of it.
    parted(KEEPING[0], 6, 6),
    parted(KEEPING[0], 3, 3, 3, 3),
    parted(KEEPING[3], 2, 2, 2, 2, 2, 2),
    parted(KEEPING[3], 5, 7),
    parted(KEEPING[7], 4, 4),
    parted(KEEPING[8], 3, 1),
)


CASES = (
    attention((2, 3), 13, 17, 5),
    attention((4,), 6, 8, 6),
    attention((1, 2), 9, 5, 20),
    separable(2, (10, 9), 1, (1, 1, 1, 1), 3),
    separable(1, (12, 7), 2, (0, 0, 1, 1), 2),
    separable(1, (5, 6), 1, (3, 1, 2, 1), 2),
    separable(1, (9, 8), 1, (-1, 0, -2, 0), 1),
    pooled("max_pool", 2, 4),
    pooled("average_pool", 3, 5),
    *KEEPING,
    *PARTED,
)
IN_C = (0, 3, 4, *(CASES.index(case) for case in (KEEPING[0], KEEPING[6], PARTED[3])))
WAYS = [(n, way) for n, case in enumerate(CASES) for way in ("plain", *(["tiled"] if case.schedules else []))]


def staged(case: Case, ops: Sequence[Operation]) -> StagedOp:
    """A copy of `ops` in spatial tiles."""
    block, inputs, inside = copy_group(ops)
    block.add_op(YieldOp([inside[ops[-1].results[0]]]))
    plan = Plan(stages_of(block), case.tile, case.parts or ())
    return StagedOp.of(inputs, Region(block), case.tile, case.parts, plan.scratch)


def module(numbers: Sequence[int], apart: bool = True) -> str:
    """Each case in tiles as scalar loops and vectorised, and where it is asked for as kernels of their own, `apart`."""
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
        if apart:
            values[f"apart{n}"] = mine[-1].results[0]
        kernels = {"plain": staged(CASES[n], mine)}
        if CASES[n].schedules:
            for op in mine:
                if isinstance(op, AnchorOp):
                    op.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(CASES[n].schedules[op.name])
            kernels["tiled"] = staged(CASES[n], mine)
            kernels["tiled"].attributes[ScheduleAttr.KEY] = mine[-1].attributes[ScheduleAttr.KEY]
        main.body.block.insert_ops_before([*kernels.values()], end)
        if not apart:
            for op in reversed(mine):
                op.detach()
                op.erase()
        for way, each in kernels.items():
            assert [shape_of(memory) for memory in each.memory] == [*CASES[n].memory]
            values[f"{way}{n}"] = each.result
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
    return run_on_tiles(module(numbers, apart=threads == 1), folder, route, feed, threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("staged")


@pytest.mark.parametrize(
    ("route", "number", "way"),
    [*(("jit", *each) for each in WAYS), *(("c", *each) for each in WAYS if each[0] in IN_C)],
)
def test_tiles_are_what_the_operations_compute(route: str, number: int, way: str, folder: Path) -> None:
    found = results(route, 1, folder)
    expected = found[f"apart{number}"]
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found[f"{way}{number}"], expected, rtol=0, atol=2e-6 * np.abs(expected).max())


def test_threads_change_nothing(folder: Path) -> None:
    one, two = results("jit", 1, folder), results("jit", 2, folder)
    assert two.keys() == {f"{way}{number}" for number, way in WAYS}
    for name, array in two.items():
        np.testing.assert_array_equal(array, one[name], err_msg=name)


@pytest.mark.parametrize("case", KEEPING)
def test_rows_are_computed_once_and_there_when_they_are_read(case: Case) -> None:
    parsed = Parser(new_context(), module([CASES.index(case)])).parse_module()
    kernel = next(op for op in parsed.walk() if isinstance(op, StagedOp))
    stages, shape = stages_of(kernel.block), shape_of(kernel.result)
    walk, computed = Walk(stages), [list[int]() for _ in stages]
    for first in range(0, shape[2], case.tile[2]):
        rows = range(first, min(first + case.tile[2], shape[2]))
        tile = walk.tile((range(1), range(shape[1]), rows, *map(range, shape[3:])))
        for number, (stage, step) in enumerate(zip(stages, tile, strict=True)):
            if step is None:
                continue
            computed[number] += step.box[2]
            if stage.chained is not None:
                there = computed[number - 1][-walk.extents[number - 1][2] :]
                assert set(step.implementation.boxes[stage.chained][2]) <= set(there)
    assert all(len(rows) == len(set(rows)) for rows in computed)
    assert computed[-1] == [*range(shape[2])]
    assert not walk.repeats
