"""Steps of sums of bytes that are added up in 16 bits, two at a time: their bounds, and convolutions in this way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_program import ENTRY, as_loops, kernel, through_llvm
from onnx import save
from quick_c import open_quickly
from test_dot_kernels import CONVOLUTIONS, Cases
from xdsl.dialects.builtin import TensorType, i8, i32
from xdsl.ir import Block
from xdsl.parser import Parser

import aotc
from aotc.compiler.lowering import new_context
from aotc.dialects.aot.contract import TARGET
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.packed.integers.paired_steps import PairStepsOp
from aotc.dialects.graph.schedules import schedule_of, signature
from aotc.machines.families import X86_AVX2
from aotc.machines.targets import lookup
from aotc.machines.tuning_table import DIRECT, TuningTable
from aotc.mathematics.step_pairing import check_pairing, pair_steps
from aotc.passes.integers import pair_steps as pair_steps_pass
from aotc.passes.kernel import strategy
from aotc.passes.kernel.costs.dot_cost import PanelSteps, paired_cycles, paired_schedule
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]
_RANDOM = np.random.default_rng(5)
_AVX2 = "+avx2" in lookup("host").features.split(",")


def _steps(*weights: tuple[int, int, int, int]) -> Array:
    """Steps of one lane."""
    return np.array(weights, np.int8).reshape(-1, 1, 4)


@pytest.mark.parametrize(
    ("steps", "plain", "found"),
    [
        (_steps((100, 28, 0, 0), (-100, -28, 0, 0)), True, (1, 0)),  # 128 of each sign
        (_steps((100, 0, 0, 0), (28, 0, 0, 0)), True, (1, 0)),
        (_steps((100, 0, 0, 0), (29, 0, 0, 0)), True, (0, 1)),  # 129 of one
        (_steps((0, 0, -100, 0), (0, 0, 0, -29)), True, (0, 1)),
        (_steps((100, 0, 0, 0), (0, 0, 100, 0)), True, (1, 0)),  # which do not meet
        (_steps((100, 0, 0, 0), (28, 0, 0, 0)), False, (0, 1)),
        (_steps((127, 100, 0, 0), (28, 0, 0, 0)), True, (0, 1)),  # 255
        (_steps((127, 100, 0, 0), (29, 0, 0, 0)), True, (0, 0)),  # 256
        (_steps((-128, -128, 0, 0), (0, 0, 1, 1)), True, (0, 0)),
        (_steps((1, 1, 1, 1)), True, (0, 0)),  # no partner
    ],
)
def test_bounds(steps: Array, plain: bool, found: tuple[int, int]) -> None:
    (pairing,) = pair_steps(steps[None], plain=plain)
    assert (pairing.plain, pairing.complemented) == found
    assert sorted(pairing.order) == list(range(len(steps)))
    check_pairing(steps[pairing.order], *found)


def test_what_breaks_a_bound_is_noticed() -> None:
    for steps, plain, complemented in (
        (_steps((100, 0, 0, 0), (29, 0, 0, 0)), 1, 0),
        (_steps((-100, 0, 0, 0), (0, -29, 0, 0)), 1, 0),
        (_steps((127, 100, 0, 0), (29, 0, 0, 0)), 0, 1),
        (_steps((0, 0, 0, 0), (0, 0, 0, 0), (127, 100, 0, 0), (29, 0, 0, 0)), 1, 1),
    ):
        with pytest.raises(AssertionError, match="leaves 16 bits"):
            check_pairing(steps, plain, complemented)


def test_pairs_never_leave_16_bits() -> None:
    """With the integers that make sums greatest and least, for every lane of every pair."""
    for scale, count in product((10, 40, 70), (1, 7, 64, 200)):
        weight = np.clip(np.rint(_RANDOM.normal(0, scale, (count, 8, 4))), -128, 127).astype(np.int8)
        (pairing,) = pair_steps(weight[None], plain=True)
        assert sorted(pairing.order) == list(range(count))
        ordered = weight[pairing.order].astype(np.int64)
        for pair in range(pairing.plain + pairing.complemented):
            four = np.concatenate(np.split(ordered[2 * pair : 2 * pair + 2].reshape(2, 8, 2, 2), 2), axis=3)[0]
            if pair < pairing.plain:
                greatest, least = (255 * np.maximum(sign * four, 0).sum(axis=2) for sign in (1, -1))
            else:
                greatest, least = (most * np.abs(four).sum(axis=2) for most in (127, 128))
            assert greatest.max() < 2**15 and least.max() <= 2**15


def test_most_steps_find_a_partner() -> None:
    """As in layers of networks: normally distributed, the greatest of an output 127."""
    for channels, share in ((64, 0.5), (256, 0.9), (1024, 0.95)):
        weight = _RANDOM.normal(0, 1, (8, channels))
        weight = np.rint(weight * 127 / np.abs(weight).max(axis=1, keepdims=True)).astype(np.int8)
        (pairing,) = pair_steps(weight.reshape(8, -1, 4).swapaxes(0, 1)[None], plain=True)
        assert 2 * (pairing.plain + pairing.complemented) >= share * channels / 4


@pytest.mark.parametrize("unsigned", [False, True])
def test_paired_convolution_by_definition(unsigned: bool) -> None:
    """The order that `pair_steps` prepares, and the scalar loops of `paired_dot_conv`, against sums in numpy."""
    kind = np.uint8 if unsigned else np.int8
    info = np.iinfo(kind)
    x = _RANDOM.integers(info.min, info.max, (2, 2, 5, 7, 8), endpoint=True).astype(kind)
    weight = np.rint(_RANDOM.normal(0, 30, (2, 2, 3, 2, 2, 32))).astype(np.int8)  # [panels, blocks, kernel.., groups]
    start = _RANDOM.integers(-999, 999, 16).astype(np.int32)
    block = Block(arg_types=[TensorType(i8, weight.shape), TensorType(i32, start.shape)])
    pitches = [5 * 7 * 8, 7 * 8, 8, 4]
    op = PairStepsOp.get(*block.args, pitches=pitches, unsigned=unsigned)
    paired, places, counts, bias = op.evaluate([weight, start]) or []
    assert counts.sum() > 4 and (counts[:, 0].sum() > 0) == unsigned
    names: dict[Any, str] = {np.dtype(np.int8): "i8", np.dtype(np.uint8): "ui8", np.dtype(np.int32): "i32"}
    operands, found = [x, paired, places, counts, bias], np.zeros((2, 2, 2, 6, 8), np.int32)
    kinds = ["x".join([*map(str, each.shape), names[each.dtype]]) for each in (*operands, found)]
    text = f"""%r0 = graph.paired_dot_conv %x0, %x1, %x2, %x3, %x4 {{strides = array<i64: 2, 1>,
        extents = array<i64: 2, 6>, products = 96 : i64}} : ({", ".join(f"tensor<{kind}>" for kind in kinds[:-1])})
        -> tensor<{kinds[-1]}>"""
    through_llvm(as_loops(kernel(text, kinds[:-1], kinds[-1:])), ENTRY)(*operands, found)
    plain = weight.reshape(2, 2, 3, 2, 2, 8, 4).astype(np.int64)  # [panel, block, row, column, group, lane, element]
    split = x.reshape(2, 2, 5, 7, 2, 4).astype(np.int64)
    for row, column in product(range(2), range(6)):
        window = split[:, :, 2 * row : 2 * row + 3, column : column + 2]
        sums = np.einsum("nbrcge,pbrcgle->npl", window, plain) + start.reshape(2, 8)
        np.testing.assert_array_equal(found[:, :, row, column], sums)


_CONV = """func.func @main(%x: tensor<1x64x14x14xi8>) -> tensor<1x64x7x7xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x3x3xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
      group = 1 : i64, accumulator = i32} : (tensor<1x64x14x14xi8>, tensor<64x64x3x3xi8>) -> tensor<1x64x7x7xi32>
  func.return %0 : tensor<1x64x7x7xi32>
}"""


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("measured", ["algorithms", "schedules", None])
def test_measured_decisions_take_precedence(
    measured: str | None, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a strategy keeps the weight packed or not."""
    monkeypatch.setattr(strategy, "keeps_packed", lambda *_: packed)
    ctx = new_context()
    module = Parser(ctx, _CONV).parse_module()
    (conv,) = (op for op in module.walk() if isinstance(op, ConvOp))
    table = TuningTable()
    if measured == "algorithms":
        table.algorithms[signature(conv)] = DIRECT
    elif measured == "schedules":
        table.schedules[signature(conv)] = "#graph.matmul_schedule<lanes = 8, mr = 4, nr = 2, unroll = 2, order = rows>"
    (tmp_path / "table.json").write_text(table.text())
    TARGET.set(module, "x86-64-v3")
    pair_steps_pass.PairStepsPass(str(tmp_path / "table.json")).apply(ctx, module)
    assert (schedule_of(conv) is None) == (measured is not None)


def test_cost_follows_the_share_of_pairs() -> None:
    """Pairs are faster than steps that are alone, plain ones more so; a machine without them has no schedule."""
    few, some, all_ = PanelSteps(0, 0, 64), PanelSteps(0, 32, 0), PanelSteps(32, 0, 0)
    cycles: list[float] = []
    for steps in (few, some, all_):
        schedule = paired_schedule(X86_AVX2, [14, 14], 8, steps, unsigned=True)
        assert schedule is not None and schedule.mr == 7 and schedule.order == "rows"
        cycles.append(paired_cycles(X86_AVX2, schedule, [14, 14], 8, steps))
    assert cycles[0] > 1.05 * cycles[1] > 1.1 * cycles[2]
    large = paired_schedule(X86_AVX2, [7, 7], 4096, PanelSteps(512, 0, 0), unsigned=True)
    assert large is not None and large.order == "columns"
    machine = replace(X86_AVX2, dot=replace(X86_AVX2.dot, pairs=None))
    assert paired_schedule(machine, [14, 14], 8, some, unsigned=True) is None


@pytest.fixture
def always_paired(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Any other way is slower; and the check that sums of this kind are there."""
    monkeypatch.setattr(pair_steps_pass, "least_cycles", lambda op, machine: float("inf"))

    def check(text: str) -> None:
        grouped = sum(each.groups > 1 for each in CONVOLUTIONS)
        assert text.count("= graph.paired_dot_conv") == len(CONVOLUTIONS) - grouped

    return check


@pytest.mark.parametrize(
    ("kind", "most", "target"),
    [
        (np.int8, 20, "x86-64-v3"),
        (np.uint8, 128, "x86-64-v3"),
        (np.int8, 70, "x86-64-v3"),
        (np.uint8, 20, "x86-64-v2"),
    ],
)
def test_exact(
    kind: type[np.generic], most: int, target: str, tmp_path: Path, always_paired: Callable[[str], None]
) -> None:
    if not _AVX2:
        pytest.skip("no AVX2 here")
    cases = Cases(kind, most=most)
    aotc.compile_to(cases.model(), tmp_path, name="m", target=target, stop_after="schedule")
    (text,) = (path.read_text() for path in tmp_path.glob("*.mlir"))
    always_paired(text)
    save(cases.model(), tmp_path / "model.onnx")
    for route in ("jit", "c"):
        found = open_quickly(str(tmp_path / "model.onnx"), route, CompileOptions.of(target=target))(cases.feed)
        for name, expected in cases.expected.items():
            np.testing.assert_array_equal(found[name], expected, err_msg=f"{name} by {route}")
