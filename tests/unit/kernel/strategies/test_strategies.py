"""Which of several strategies is asked, and where strategies have no schedule."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from typing import Any, ClassVar

import pytest
from kernel_program import lowered
from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute

from aotc.dialects.graph.compound.staged import StagedOp
from aotc.dialects.graph.interfaces import AnchorOp, GraphOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.schedules import (
    MatmulSchedule,
    PositionsSchedule,
    Schedule,
    ScheduleAttr,
    StrassenAttr,
    WindowSchedule,
    WinogradAttr,
)
from aotc.machines.families import X86_AVX2, X86_AVX512
from aotc.machines.machine import Machine
from aotc.model.memo import Memo
from aotc.passes.kernel import strategies, strategy
from aotc.passes.kernel.nest import Accesses
from aotc.passes.kernel.spatial_tiling import Box
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, choose_algorithm, choose_schedule, strategy_of

WINDOW = "strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>"


def operation(line: str, operands: str, result: str) -> GraphOp:
    """The operation `line` on %0, %1, ..; types are written `4x8xf32, 8xf32`."""
    kinds = [f"tensor<{kind}>" for kind in operands.split(", ")]
    results = [f"tensor<{kind}>" for kind in result.split(", ")]
    arguments = ", ".join(f"%{n}: {kind}" for n, kind in enumerate(kinds))
    names = ", ".join(f"%r{n}" for n in range(len(results)))
    body = f"{names} = graph.{line} : ({', '.join(kinds)}) -> ({', '.join(results)})\n func.return"
    ops = lowered(f"func.func @main({arguments}) {{ {body} }}", "").walk()
    return next(op for op in ops if isinstance(op, GraphOp))


def proposed(op: GraphOp, machine: Machine) -> Schedule | None:
    return strategy_of(op).schedule(op, machine)


@pytest.mark.parametrize(
    ("line", "operands", "result"),
    [
        (f"blocked_depthwise_conv %0, %1 {{{WINDOW}}}", "1x2x9x8xf32, 2x3x8xf32", "1x2x7x8xf32"),
        (f"narrow_conv %0, %1 {{{WINDOW}}}", "1x1x9x8xf32, 1x1x3x8xf32", "1x1x7xf32"),
        (
            "winograd_conv %0, %1 {pads = array<i64: 1, 1, 1, 1>, channels = 5, outputs = 24, output_tile = 4,"
            " tile_rows = 2}",
            "1x1x9x9x8xf32, 2x36x5x16xf32",
            "1x3x9x9x8xf32, 36x7x8xf32, 36x7x16xf32",
        ),
    ],
    ids=["depthwise", "narrow", "winograd"],
)
def test_blocks_of_other_lanes_than_the_machines_are_scalar(line: str, operands: str, result: str) -> None:
    op = operation(line, operands, result)
    assert proposed(op, X86_AVX512) is None
    assert proposed(op, X86_AVX2) is not None


def test_pooling_of_plain_tensors_has_positions_in_the_lanes() -> None:
    line = f"max_pool %0 {{kernel = array<i64: 3>, {WINDOW}, ceil_mode = false}}"
    assert isinstance(choose_schedule(operation(line, "1x2x16xf32", "1x2x14xf32"), X86_AVX512), PositionsSchedule)
    assert isinstance(proposed(operation(line, "1x2x16x16xf32", "1x2x14x16xf32"), X86_AVX512), WindowSchedule)


@pytest.mark.parametrize(("lanes", "vectorised"), [(8, True), (12, False)])
def test_lanes_are_a_power_of_two_to_be_shuffled(lanes: int, vectorised: bool) -> None:
    sources = ", ".join(map(str, reversed(range(lanes))))
    kind = f"1x1x4x{lanes}xf32"
    op = operation(f"regroup_channels %0 {{sources = array<i64: {sources}>}}", kind, kind)
    assert (proposed(op, X86_AVX512) is not None) is vectorised


@pytest.mark.parametrize(("updates", "scratch"), [(4, False), (5, True)])
def test_few_updates_take_no_scratch_buffer(updates: int, scratch: bool) -> None:
    operands = f"9xf32, {updates}x1xi64, {updates}xf32"
    op = operation('scatter_nd %0, %1, %2 {reduction = "none"}', operands, "9xf32")
    assert (proposed(op, X86_AVX512) is not None) is scratch


def test_only_weights_are_asked_for_ahead() -> None:
    computed = operation("matmul %0, %1", "128x768xf32, 768x3072xf32", "128x3072xf32")
    schedule = choose_schedule(computed, X86_AVX512)
    assert isinstance(schedule, MatmulSchedule)
    assert schedule.order == "columns" and not schedule.prefetch
    packed = operation("packed_matmul %0, %1 {columns = 3072}", "128x768xf32, 96x768x32xf32", "128x3072xf32")
    streamed = choose_schedule(packed, X86_AVX512)
    assert isinstance(streamed, MatmulSchedule) and streamed.prefetch


def test_a_softmax_of_f64_is_scalar() -> None:
    kind = "8x64xf64"
    assert proposed(operation("softmax %0 {axes = array<i64: 1>}", kind, kind), X86_AVX512) is None
    normalized = operation("normalize %0 {axes = array<i64: 1>, epsilon = 1.0e-5}", kind, kind)
    assert proposed(normalized, X86_AVX512) is not None


@pytest.mark.parametrize(("extent", "vectorised"), [(3, False), (4, True)])
def test_few_elements_along_the_lanes_are_added_one_by_one(extent: int, vectorised: bool) -> None:
    line = 'reduce %0 {kind = "sum", axes = array<i64: 1>, keepdims = false}'
    assert (proposed(operation(line, f"8x{extent}xf32", "8xf32"), X86_AVX512) is not None) is vectorised


# --- spatial tiles ---------------------------------------------------------------------------------------------------

PRODUCT = MatmulSchedule(4, 4, 2, order="columns", kc=2)


@pytest.mark.parametrize(
    ("line", "operands", "result", "box"),
    [
        ("matmul %0, %1", "8x5xf32, 5x8xf32", "8x8xf32", (range(4), range(8))),
        ("softmax %0 {axes = array<i64: 1>}", "8x6xf32", "8x6xf32", (range(2, 4), range(6))),
    ],
)
def test_a_tile_has_whole_rows(line: str, operands: str, result: str, box: Box) -> None:
    op = operation(line, operands, result)
    found = strategy_of(op).tiled_implementation(op, box)
    assert found is not None and found.boxes[0][0] == box[0]
    *outer, last = box
    assert strategy_of(op).tiled_implementation(op, (*outer, last[1:])) is None


def test_pooling_of_plain_tensors_has_no_tiles() -> None:
    pool = f"max_pool %0 {{kernel = array<i64: 3>, {WINDOW}, ceil_mode = false}}"
    for channels, tiled in (("2", False), ("2", True)):
        lanes = "x4" if tiled else ""
        op = operation(pool, f"1x{channels}x18{lanes}xf32", f"1x{channels}x16{lanes}xf32")
        box = (range(1), range(2), range(3, 7), *([range(4)] if tiled else []))
        assert (strategy_of(op).tiled_implementation(op, box) is not None) is tiled


@pytest.mark.parametrize("partials", [False, True])
def test_with_partial_sums_there_are_no_tiles(partials: bool) -> None:
    given = ", partials" if partials else ""
    product = ", 8x8xf32" if partials else ""
    sums = ", 7x8xf32" if partials else ""
    window = "strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1 : i64"
    line = f"blocked_conv %0, %1 {{{window}, channels = 8, outputs = 8, block = 4{given}}}"
    for op, box in (
        (
            operation(f"packed_matmul %0, %1 {{columns = 8{given}}}", "8x5xf32, 1x5x8xf32", f"8x8xf32{product}"),
            (range(4), range(8)),
        ),
        (
            operation(line, "1x2x7x4xf32, 1x2x3x4x8xf32", f"1x2x7x4xf32{sums}"),
            (range(1), range(2), range(2, 5), range(4)),
        ),
    ):
        tiling = strategy_of(op).spatial_tiling(op, PRODUCT)
        tile = strategy_of(op).tiled_implementation(op, box)
        assert (tiling is None) is (tile is None) is partials


def test_an_operand_is_read_as_the_strictest_reader_asks() -> None:
    text = """func.func @main(%x: tensor<6x6xf32>) {
      %r, %m = graph.staged (%a = %x : tensor<6x6xf32>)
          -> (tensor<6x6xf32>, tensor<2x6xf32>) attributes {tile = array<i64: 2, 6>} {
        %1 = graph.softmax %a {axes = array<i64: 1>} : (tensor<6x6xf32>) -> tensor<6x6xf32>
        %2 = graph.matmul %1, %a : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
        graph.yield %2 : tensor<6x6xf32>
      }
      func.return
    }"""
    op = next(op for op in lowered(text, "").walk() if isinstance(op, StagedOp))
    assert strategy_of(op).prologue(op, 0) is Prologue.MOVED


# --- several strategies for an operator ------------------------------------------------------------------------------


class Proposing(KernelStrategy[MatMulOp]):
    """Proposes a schedule of MR rows, which costs as many cycles, and perhaps an algorithm."""

    SCHEDULES: ClassVar[tuple[type[Schedule], ...]] = (MatmulSchedule,)
    ALGORITHMS: ClassVar[tuple[type[Attribute], ...]] = (StrassenAttr, WinogradAttr)

    def __init__(self, rows: int, faster: Attribute | None = None) -> None:
        self._schedule, self._faster = MatmulSchedule(16, rows, 1), faster

    def schedule(self, op: MatMulOp, machine: Machine) -> Schedule | None:
        return self._schedule

    def cost(self, op: MatMulOp, schedule: Any, machine: Machine) -> float:
        return schedule.mr

    def algorithm(self, op: MatMulOp, machine: Machine) -> Attribute | None:
        return self._faster


def several(monkeypatch: pytest.MonkeyPatch, *known: KernelStrategy[Any]) -> AnchorOp:
    """A product for which there are these strategies."""

    def strategies_of(op_class: type[GraphOp]) -> Sequence[KernelStrategy[Any]]:
        return known

    monkeypatch.setattr(strategy, "strategies_of", strategies_of)
    op = operation("matmul %0, %1", "8x8xf32, 8x8xf32", "8x8xf32")
    assert isinstance(op, AnchorOp)
    return op


def test_the_cheapest_schedule_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    op = several(monkeypatch, Proposing(5), Proposing(2), Proposing(7))
    assert choose_schedule(op, X86_AVX512) == MatmulSchedule(16, 2, 1)


def test_the_cheapest_algorithm_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = StrassenAttr(IntAttr(2)), StrassenAttr(IntAttr(4))
    op = several(monkeypatch, Proposing(5, few), Proposing(2, many), Proposing(1))
    assert choose_algorithm(op, X86_AVX512) == many
    assert AnchorOp.ALGORITHM not in op.attributes


def test_only_who_knows_an_algorithm_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Direct(Proposing):
        ALGORITHMS = ()

    direct, other = Direct(1), Proposing(3)
    op = several(monkeypatch, direct, other)
    assert strategy_of(op) is direct
    op.attributes[AnchorOp.ALGORITHM] = StrassenAttr(IntAttr(2))
    assert strategy_of(op) is other
    assert choose_schedule(op, X86_AVX512) == MatmulSchedule(16, 3, 1)


def test_accesses_are_those_of_the_strategy_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Known(Proposing):
        def accesses(self, op: MatMulOp, schedule: Any) -> Accesses | None:
            return Accesses(((),) * schedule.mr, ()) if self.few else None

        few = True

    class Unknown(Known):
        few = False

    monkeypatch.setattr(strategy, "_accesses", Memo())
    for known, expected in ((Known(3), Accesses(((),) * 3, ())), (Unknown(3), None)):
        op = several(monkeypatch, known)
        op.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(MatmulSchedule(16, 3, 1))
        assert strategy.accesses_of(op) == expected


def test_the_strategies_of_every_module_are_known() -> None:
    """Several modules may have some of one class; the mapping of all has them all, those of a module in its order."""
    modules = [
        import_module(each.name)
        for each in pkgutil.walk_packages(strategies.__path__, strategies.__name__ + ".")
        if not each.ispkg
    ]
    found = {op_class: [*known] for op_class, known in strategies.STRATEGIES.items()}
    for module in modules:
        for op_class, known in getattr(module, "STRATEGIES", {}).items():
            assert [each for each in found[op_class] if each in known] == [*known]
            found[op_class] = [each for each in found[op_class] if each not in known]
    assert not any(found.values())
