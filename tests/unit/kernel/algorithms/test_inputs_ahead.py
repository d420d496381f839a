"""Inputs of recurrent layers that are multiplied beside the products with the state of earlier steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from harness import assert_same_bits, by_every_route, reference
from onnx import numpy_helper

import aotc
from aotc.compiler.driver import lower
from aotc.machines.families import X86_AVX2, X86_AVX512, of_vendor
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.recurrent_cost import Ahead, Blocks, Layer, ahead, blocks_of, lead, steps_beside
from aotc.pipeline.options import CompileOptions

ZEN = of_vendor(X86_AVX512, zen=5)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def text(kind: str, shape: tuple[int, int, int], direction: str, biased: bool) -> str:
    """A layer of `shape` (steps, inputs, units), which the attribute of GRUs that PyTorch exports has, too."""
    steps, inputs, units = shape
    count = 2 if direction == "bidirectional" else 1
    more = ", linear_before_reset = 1" if kind == "GRU" else ""
    return (
        f"(float[{steps},1,{inputs}] x) => (float[{steps},{count},1,{units}] y, float[{count},1,{units}] h)"
        f' {{ y, h = {kind} <hidden_size = {units}, direction = "{direction}"{more}> (x, w, r{", b" * biased}) }}'
    )


def model_of(kind: str, shape: tuple[int, int, int], direction: str, biased: bool) -> onnx.ModelProto:
    _, inputs, units = shape
    count, gates, rng = 2 if direction == "bidirectional" else 1, GATES[kind], np.random.default_rng(0)
    sizes = {"w": (count, gates * units, inputs), "r": (count, gates * units, units), "b": (count, 2 * gates * units)}
    graph = text(kind, shape, direction, biased)
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {graph}')
    for name, size in sizes.items():
        if name != "b" or biased:
            values = (rng.standard_normal(size) / 8).astype(np.float32)
            model.graph.initializer.append(numpy_helper.from_array(values, name))
    return model


CASES = [
    ("LSTM", (50, 64, 64), "forward", True),
    ("GRU", (33, 64, 96), "reverse", True),
    ("GRU", (40, 50, 128), "bidirectional", True),  # depths that are no multiples of each other
    ("RNN", (61, 100, 128), "forward", False),
    ("LSTM", (24, 60, 80), "bidirectional", False),
    ("LSTM", (40, 130, 72), "forward", True),  # with a part of a panel of the state's weight
    ("LSTM", (40, 64, 88), "forward", True),  # in whose last step with inputs beside it there is a tile less to sum up
]


def agree_by_every_route(
    case: tuple[str, tuple[int, int, int], str, bool], folder: Path, *, rtol: float, atol: float, strict: bool = False
) -> None:
    """That every route has the same bits, which are near what onnxruntime has; `strict` code is only near it."""
    model = model_of(*case)
    x = np.random.default_rng(2).standard_normal((case[1][0], 1, case[1][1])).astype(np.float32)
    expected = reference(model, {"x": x})
    assert expected is not None
    found = {how: compiled({"x": x}) for how, compiled in by_every_route(model, folder).items()}
    assert_same_bits(found)
    if strict:
        found["strict"] = aotc.compile(model, accuracy="strict")({"x": x})
    for how, outputs in found.items():
        for got, wanted in zip(outputs.values(), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, err_msg=how)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_agrees_by_every_route(case: tuple[str, tuple[int, int, int], str, bool], tmp_path: Path) -> None:
    agree_by_every_route(case, tmp_path, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_is_scheduled_with_32_registers(case: tuple[str, tuple[int, int, int], str, bool]) -> None:
    layers = 2 if case[2] == "bidirectional" else 1
    lowered = lower(model_of(*case), CompileOptions.of(target="x86-64-v4", stop_after="schedule"))
    assert str(lowered.module).count(", ahead = ") == layers


STACKS = [
    # kind, steps, inputs, units of each layer, direction, biased
    ("LSTM", 50, 64, (64, 64), "forward", True),
    ("GRU", 50, 64, (128, 96), "reverse", True),  # other sizes
    ("RNN", 61, 100, (128, 128, 128), "forward", False),
    ("LSTM", 40, 24, (80, 48, 64), "forward", True),  # with a part of a panel of the state's weight
]


def stack(kind: str, steps: int, inputs: int, units: tuple[int, ...], direction: str, biased: bool) -> onnx.ModelProto:
    """Layers in a row, all states of each of which are an output, too."""
    gates, rng = GATES[kind], np.random.default_rng(0)
    more = ", linear_before_reset = 1" if kind == "GRU" else ""
    body, outputs, weights, size = list[str](), list[str](), dict[str, tuple[int, ...]](), inputs
    for number, count in enumerate(units):
        given = f"x{number}, w{number}, r{number}" + f", b{number}" * biased
        body.append(f'y{number}, h{number} = {kind} <hidden_size = {count}, direction = "{direction}"{more}> ({given})')
        body.append(f"x{number + 1} = Squeeze (y{number}, axes)")
        outputs.append(f"float[{steps},1,{count}] x{number + 1}, float[1,1,{count}] h{number}")
        weights |= {f"w{number}": (1, gates * count, size), f"r{number}": (1, gates * count, count)}
        weights |= {f"b{number}": (1, 2 * gates * count)} if biased else {}
        size = count
    graph = (
        f"(float[{steps},1,{inputs}] x0) => ({', '.join(outputs)}) <int64[1] axes = {{1}}> {{ {chr(10).join(body)} }}"
    )
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {graph}')
    for name, shape in weights.items():
        values = (rng.standard_normal(shape) / 8).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(values, name))
    return model


@pytest.mark.parametrize("case", STACKS, ids=lambda case: f"{case[0]}-{case[3]}")
def test_layers_in_a_row_agree_by_every_route(
    case: tuple[str, int, int, tuple[int, ...], str, bool], tmp_path: Path
) -> None:
    model, (_, steps, inputs, units, _, _) = stack(*case), case
    lowered = lower(model, CompileOptions.of(target="x86-64-v4", stop_after="schedule"))
    assert str(lowered.module).count(" leading = ") == 2 * (len(units) - 1), "of each layer but the last: how, and that"
    x = np.random.default_rng(2).standard_normal((steps, 1, inputs)).astype(np.float32)
    expected = reference(model, {"x0": x})
    assert expected is not None
    found = {how: compiled({"x0": x}) for how, compiled in by_every_route(model, tmp_path).items()}
    assert_same_bits(found)
    for how, outputs in found.items():
        for got, wanted in zip(outputs.values(), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5, err_msg=how)


@pytest.mark.parametrize("steps", range(2, 70))
@pytest.mark.parametrize(("size", "during"), [(14, 8), (5, 8), (8, 8), (3, 1)])
def test_blocks_are_done_in_time(steps: int, size: int, during: int) -> None:
    blocks = blocks_of(steps, size, during)
    assert blocks.first + blocks.count * size == steps
    for number in range(blocks.count):
        assert (number + 1) * during <= blocks.first + number * size
    more = Blocks(blocks.first - size, size, blocks.count + 1, during)
    late = any((number + 1) * during > more.first + number * size for number in range(more.count))
    assert late, "another block would have been done in time"
    for begun in range(steps + 1):
        left = blocks_of(steps, size, during, begun)
        assert begun <= left.first == steps - left.count * size
        assert left.count == blocks.count or left.first - size < begun, "another block would not have been begun"


def test_tiles_of_a_step_are_rounded_up() -> None:
    assert steps_beside(panels=8, tiles=64, beside=1) == 8
    assert steps_beside(panels=5, tiles=64, beside=2) == 32
    assert steps_beside(panels=5, tiles=65, beside=2) == 33


def layer(columns: int, depths: tuple[int, int], steps: int = 50, machine: Machine = ZEN, lanes: int = 16) -> Layer:
    return Layer(machine, lanes, 8, steps, columns, depths)


def test_costs_decide() -> None:
    wide = layer(1024, (256, 256))
    found = ahead(wide)
    assert found is not None
    assert found.rows * found.across + found.across + 8 + 2 <= X86_AVX512.registers
    assert ahead(layer(1024, (256, 256), 50, X86_AVX2)) is None, "16 registers are too few"
    assert ahead(layer(64, (64, 64))) is None, "the weight stays in L1"
    assert ahead(layer(1000, (250, 250))) is None, "a register would have columns that there are not"
    assert ahead(layer(1024, (256, 256), 4)) is None, "there are no steps to do it beside"
    assert ahead(layer(1024, (256, 8))) is None, "there is little to win"


@pytest.mark.parametrize("steps", [16, 24, 32, 50, 200])
def test_costs_decide_what_the_layer_before_begins(steps: int) -> None:
    wide = layer(1024, (256, 256), steps)
    tile = ahead(wide)
    assert tile is not None
    for own in (tile, None):
        found = lead(wide, own, 0, wide, tile)
        assert found is not None
        assert found.steps * tile.across + tile.across + 8 + 2 <= X86_AVX512.registers
        blocks = tile.blocks(wide)
        during = steps_beside(wide.panels, wide.registers // tile.across, found.beside)
        if own is not None:
            assert during <= steps - blocks.count * blocks.during, "its own inputs are multiplied until then"
        assert found.steps <= steps - during, "states are multiplied after they are known"
        after = ahead(wide, found.steps, tile.across)
        assert after is not None
        assert after.blocks(wide, found.steps).first >= found.steps
        assert after.cycles < tile.cycles


def test_costs_find_time_to_use() -> None:
    wide, narrow = layer(1024, (256, 256)), layer(512, (128, 64))
    tile, other = ahead(wide), ahead(narrow)
    assert tile is not None
    assert other is not None
    assert lead(layer(128, (64, 64)), None, 0, narrow, other) is None, "its weight stays in L1: it does not wait"
    assert lead(wide, Ahead(2, 1, 1, 0.0), 0, wide, tile) is None, "all its steps have inputs beside them"


def test_rows_of_a_tile_are_not_in_each_others_place() -> None:
    """Those of 256 inputs are 1 KiB apart, in 4 places of a way of 4 KiB; those of 1024 all in one."""
    assert X86_AVX512.l1 // X86_AVX512.recurrent.l1_ways == 4096
    assert [layer(1024, (256, inputs)).near_rows() for inputs in (256, 512, 1024, 2048)] == [28, 14, 7, 7]
    assert layer(1024, (256, 250)).near_rows() > X86_AVX512.registers
    for inputs, most in ((1024, 7), (512, 14)):
        found = ahead(layer(2048, (512, inputs), 200))
        assert found is not None
        assert found.rows <= most
    wide = layer(4096, (1024, 1024))
    tile = ahead(wide)
    assert tile is not None
    first = lead(wide, tile, 0, wide, tile)
    assert first is not None
    assert first.steps <= 7


@pytest.mark.parametrize("registers", range(8, 100))
def test_panels_of_the_inputs_are_full(registers: int) -> None:
    found = ahead(layer(registers * 16, (256, 256)))
    assert found is None or registers % found.across == 0
