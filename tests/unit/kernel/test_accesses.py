"""The access patterns of every kind of vectorised nest, recorded without lowering anything."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from kernel_program import lowered
from kernels.nests import anchor
from xdsl.dialects.builtin import VectorType, f32

from aotc.dialects.builder import INDEX
from aotc.dialects.graph.interfaces import AnchorOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.schedules import MatmulSchedule, Schedule
from aotc.model.memo import Memo
from aotc.passes.kernel import strategy
from aotc.passes.kernel.builders.tiles import Tile, TileIndex
from aotc.passes.kernel.nest import Accesses, AccessPattern, Nest, traced
from aotc.passes.kernel.strategy import KernelStrategy, accesses_of, is_vectorized

PRODUCTS = "#graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 1, order = rows>"
PREFETCHED = "#graph.matmul_schedule<lanes = 4, mr = 3, nr = 1, unroll = 2, order = columns, prefetch>"
ROWS = "#graph.row_schedule<lanes = 4, registers = 2, steps = 1, rows = 2, stages = 1>"
STEPS = "#graph.row_schedule<lanes = 4, registers = 1, steps = 2, rows = 1, stages = 1>"
WINDOWS = "#graph.window_schedule<lanes = 4, positions = 2>"
RESAMPLING = "#graph.resample_schedule<lanes = 4, rows = 2, registers = 2>"
SHUFFLES = "#graph.elementwise_schedule<lanes = 4, registers = 4>"
SCATTERS = "#graph.scatter_schedule<lanes = 1>"

WINDOW = "strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>"
FLAT = "strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1 : i64"


Unscheduled: TypeAlias = "Nest[AnchorOp, Schedule]"


def found(line: str, operands: str, result: str) -> Accesses:
    """How its nest accesses memory."""
    accesses = accesses_of(anchor(line, operands, result))
    assert accesses is not None
    return accesses


def text(pattern: AccessPattern) -> str:
    """`3x2x4/6 - 0 1*4+2`: 3 x 2 registers of 4 lanes, of which 6 are valid, along the last two of three axes."""
    valid = "" if pattern.valid is None else f"/{pattern.valid}"
    axes = ["+".join(f"{axis}" if step == 1 else f"{axis}*{step}" for axis, step in steps) for steps in pattern.steps]
    return f"{'x'.join(map(str, pattern.shape))}{valid} {' '.join(axis or '-' for axis in axes)}"


def reads(accesses: Accesses) -> list[set[str]]:
    return [set(map(text, patterns)) for patterns in accesses.reads]


def writes(accesses: Accesses) -> list[set[str]]:
    for pattern in (pattern for patterns in accesses.writes for pattern in patterns):
        assert (pattern.dtype, pattern.value) == (f32, VectorType(f32, pattern.at.shape))
    return [{text(pattern.at) for pattern in patterns} for patterns in accesses.writes]


def test_product_has_tails_of_rows_and_of_columns() -> None:
    accesses = found(f"matmul %0, %1 {{schedule = {PRODUCTS}}}", "7x5xf32, 5x10xf32", "7x10xf32")
    # The last row is alone: its elements are scalars, which are broadcast.
    assert reads(accesses)[0] == {"3x2x4 0 -", "3x1x4/2 0 -"}
    assert reads(accesses)[1] == {"3x2x4 - 1*4+2", "3x1x4/2 - 2", "1x2x4 - 1*4+2", "1x1x4/2 - 2"}
    assert writes(accesses) == [{"3x2x4 0 1*4+2", "3x1x4/2 0 2", "1x2x4 - 1*4+2", "1x1x4/2 - 2"}]


def test_prefetching_is_no_access() -> None:
    line = "packed_matmul %0, %1 {columns = 8 : i64, width = 4 : i64, schedule = "
    operands = "6x8xf32, 2x8x4xf32"
    plain = found(f"{line}{PREFETCHED.replace(', prefetch', '')}}}", operands, "6x8xf32")
    assert found(f"{line}{PREFETCHED}}}", operands, "6x8xf32") == plain
    assert reads(plain) == [{"3x1x4 0 -"}, {"3x1x4 - - 2"}]


def test_rows_along_the_lanes() -> None:
    accesses = found(f"softmax %0 {{axes = array<i64: 1>, schedule = {ROWS}}}", "3x10xf32", "3x10xf32")
    # Two rows together, then the third one; eight elements, then a tail of two.
    assert reads(accesses) == [{"2x2x4 0 1*4+2", "2x1x4/2 0 2", "1x2x4 - 1*4+2", "1x1x4/2 - 2"}]
    assert writes(accesses) == reads(accesses)


def test_rows_across_the_lanes() -> None:
    accesses = found(f"softmax %0 {{axes = array<i64: 1>, schedule = {STEPS}}}", "3x10x6xf32", "3x10x6xf32")
    assert reads(accesses) == [{"2x1x4 - 0 2", "2x1x4/2 - 0 2"}]
    assert writes(accesses) == reads(accesses)


def test_sums_of_rows_are_written_one_by_one() -> None:
    line = f'reduce %0 {{kind = "sum", axes = array<i64: 1>, keepdims = false, schedule = {ROWS}}}'
    accesses = found(line, "3x10xf32", "3xf32")
    assert reads(accesses) == [{"1x2x4 - 1*4+2", "1x1x4/2 - 2"}]
    assert writes(accesses) == [set()]


def test_window_has_strides_and_edges() -> None:
    line = f"blocked_depthwise_conv %0, %1 {{{WINDOW}, schedule = {WINDOWS}}}"
    accesses = found(line, "1x2x9x4xf32, 2x3x4xf32", "1x2x5x4xf32")
    # Of two positions two taps see one run of three elements; at the ends one tap lies in the padding.
    assert reads(accesses)[0] == {"3x4 - - 0*2 1", "2x4 - - 0*2 1", "1x4 - - - 1"}
    assert reads(accesses)[1] == {"2x4 - - 1", "1x4 - - 1"}
    assert writes(accesses) == [{"2x4 - - 0 1", "1x4 - - - 1"}]


@pytest.mark.parametrize(("columns", "tile"), [(3, "1x4 - - - - 1"), (1, "2x4 - - 0 - 1")])
def test_tiles_keep_the_order_of_taps(columns: int, tile: str) -> None:
    """Along an axis before the last there are tiles only where a window has one tap behind it."""
    attributes = "strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>"
    line = f"blocked_depthwise_conv %0, %1 {{{attributes}, schedule = {WINDOWS}}}"
    accesses = found(line, f"1x2x8x{columns}x4xf32, 2x3x{columns}x4xf32", "1x2x6x1x4xf32")
    assert writes(accesses) == [{tile}]


def test_blocked_convolution_has_edges_and_tails() -> None:
    line = f"blocked_conv %0, %1 {{{FLAT}, channels = 4, outputs = 12, block = 4, schedule = {PRODUCTS}}}"
    accesses = found(line, "1x1x7x4xf32, 2x1x3x4x8xf32", "1x3x7x4xf32")
    # The first and the last position see no element with one of the taps.
    assert reads(accesses)[0] == {"3x2x4 - - 0 -", "2x2x4 - - 0 -", "3x1x4 - - 0 -", "2x1x4 - - 0 -"}
    assert {each.split(" ", 1)[1] for each in reads(accesses)[1]} == {"- - - - 1*4+2", "- - - - 2"}
    assert {each.split(" ", 1)[1] for each in writes(accesses)[0]} == {"- 1 0 2", "- - 0 2", "- 1 - 2", "- - - 2"}


def test_resampling_reads_places_and_weights_one_by_one() -> None:
    line = f"resample %0, %1, %2 {{axis = 0 : i64, schedule = {RESAMPLING}}}"
    accesses = found(line, "6x3x10xf32, 11x2xi64, 11x2xf32", "11x3x10xf32")
    tiles = {"2x2x4 - 0 1*4+2", "2x1x4/2 - 0 2", "1x2x4 - - 1*4+2", "1x1x4/2 - - 2"}
    assert reads(accesses) == [tiles, set(), set()]
    assert writes(accesses) == [tiles]


def test_regrouping_reads_registers() -> None:
    sources = "0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15"
    line = f"regroup_channels %0 {{sources = array<i64: {sources}>, schedule = {SHUFFLES}}}"
    accesses = found(line, "1x4x6x4xf32", "1x4x6x4xf32")
    assert reads(accesses) == [{"4x4 - - 0 1", "2x4 - - 0 1"}]
    assert writes(accesses) == reads(accesses)


def test_stages_access_scratch_buffers_as_well() -> None:
    staged = f"""
      %r, %m = graph.staged (%a = %0 : tensor<2x4x5xf32>, %b = %1 : tensor<2x5x6xf32>)
          -> (tensor<2x4x6xf32>, tensor<1x2x6xf32>) attributes {{tile = array<i64: 1, 2, 6>, schedule = {ROWS}}} {{
        %2 = graph.matmul %a, %b {{schedule = {PRODUCTS}}}
          : (tensor<2x4x5xf32>, tensor<2x5x6xf32>) -> tensor<2x4x6xf32>
        %3 = graph.softmax %2 {{axes = array<i64: 2>, schedule = {ROWS}}} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
        graph.yield %3 : tensor<2x4x6xf32>
      }}"""
    head = "func.func @main(%0: tensor<2x4x5xf32>, %1: tensor<2x5x6xf32>)"
    op = next(op for op in lowered(f"{head} {{ {staged} func.return }}", "").walk() if op.name == "graph.staged")
    assert isinstance(op, AnchorOp)
    accesses = accesses_of(op)
    assert accesses is not None
    rows = {"2x2x4/6 - 0 1*4+2"}
    assert reads(accesses) == [{"2x2x4/6 - 0 -"}, {"2x2x4/6 - - 1*4+2"}, rows]
    assert writes(accesses) == [rows, rows]


def test_scattering_has_no_tiles() -> None:
    line = f'scatter_nd_in_memory %0, %1, %2 {{reduction = "none", schedule = {SCATTERS}}}'
    accesses = found(line, "4x6xf32, 2x1xi64, 2x6xf32", "4x6xf32, 4xi32")
    assert accesses == Accesses(reads=((), (), (), ()), writes=((), ()))


def test_what_is_not_vectorizable_has_no_accesses() -> None:
    # Blocks of four channels are no vectors of eight lanes.
    wide = WINDOWS.replace("lanes = 4", "lanes = 8")
    line = f"blocked_depthwise_conv %0, %1 {{{WINDOW}, schedule = {wide}}}"
    assert accesses_of(anchor(line, "1x2x9x4xf32, 2x3x4xf32", "1x2x5x4xf32")) is None
    # Panels of four columns are no two vectors of four lanes, nor are those of eight one.
    line = f"packed_matmul %0, %1 {{columns = 8 : i64, schedule = {PRODUCTS}}}"
    assert accesses_of(anchor(line, "6x8xf32, 2x8x4xf32", "6x8xf32")) is None
    for schedule in (
        PRODUCTS.replace("nr = 2", "nr = 1"),
        PRODUCTS.replace("lanes = 4, mr = 3, nr = 2", "lanes = 8, mr = 3, nr = 1"),
    ):
        line = f"blocked_conv %0, %1 {{{FLAT}, channels = 4, outputs = 12, block = 4, schedule = {schedule}}}"
        assert accesses_of(anchor(line, "1x1x7x4xf32, 2x1x3x4x8xf32", "1x3x7x4xf32")) is None
    # Columns that lie in rows are in no vector.
    line = f"matmul %0, %1 {{transpose_rhs = true, schedule = {PRODUCTS}}}"
    assert accesses_of(anchor(line, "7x5xf32, 10x5xf32", "7x10xf32")) is None
    # Without a schedule no nest is chosen.
    assert accesses_of(anchor("matmul %0, %1", "7x5xf32, 5x10xf32", "7x10xf32")) is None


def test_equal_operations_are_traced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    def counted(*arguments: Any) -> Accesses | None:
        nonlocal count
        count += 1
        return traced(*arguments)

    monkeypatch.setattr(strategy, "traced", counted)
    monkeypatch.setattr(strategy, "_accesses", Memo())
    line = f"matmul %0, %1 {{schedule = {PRODUCTS}}}"
    operands, result = "9x5xf32, 5x12xf32", "9x12xf32"
    assert found(line, operands, result) is found(line, operands, result)
    assert count == 1
    found(line.replace("mr = 3", "mr = 2"), operands, result)
    found(line, "9x7xf32, 7x12xf32", result)
    assert count == 3


class Known(KernelStrategy[MatMulOp]):
    """Says how its nest accesses memory, which is not written to find out."""

    SCHEDULES = (MatmulSchedule,)
    ACCESSES = Accesses(((), ()), ((),))

    def accesses(self, op: MatMulOp, schedule: Any) -> Accesses:
        return self.ACCESSES

    def nest(self, nest: Nest[MatMulOp, MatmulSchedule]) -> None:
        raise AssertionError("the nest is written")


def test_a_strategy_may_know_its_accesses(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Known()
    monkeypatch.setattr(strategy, "strategies_of", lambda op_class: (known,))
    op = anchor(f"matmul %0, %1 {{schedule = {PRODUCTS}}}", "7x5xf32, 5x10xf32", "7x10xf32")
    assert is_vectorized(op)
    assert accesses_of(op) is Known.ACCESSES


def test_an_anchor_without_a_nest_is_not_vectorised() -> None:
    line = f'scatter_nd %0, %1, %2 {{reduction = "none", schedule = {SCATTERS}}}'
    op = anchor(line, "4x6xf32, 2x1xi64, 2x6xf32", "4x6xf32")
    assert not is_vectorized(op)
    assert accesses_of(op) is None
    assert not is_vectorized(anchor("matmul %0, %1", "7x5xf32, 5x10xf32", "7x10xf32"))


def test_tile_and_element_do_not_mix() -> None:
    """A tile that is written at one element, and an index that is of two tiles, have no form."""
    op = anchor("matmul %0, %1", "4x4xf32, 4x4xf32", "4x4xf32")

    def two_tiles(nest: Unscheduled) -> None:
        row, column = (Tile((4,)).index(nest.b, 0, {0: 1}) for _ in range(2))
        nest.reads[0]([row, column])

    def one_element(nest: Unscheduled) -> None:
        b = nest.b
        value = nest.reads[0]([b.index(0), Tile((4,)).index(b, 0, {0: 1})])
        nest.write([b.index(0), b.index(0)], value)

    def one_row(nest: Unscheduled) -> None:
        index = [nest.b.index(0), Tile((4,)).index(nest.b, 0, {0: 1})]
        nest.write(index, nest.reads[0](index))

    assert traced(op, Schedule(1), two_tiles) is None
    assert traced(op, Schedule(1), one_element) is None
    accesses = traced(op, Schedule(1), one_row)
    assert accesses is not None
    assert reads(accesses) == [{"4 - 0"}, set()]
    assert writes(accesses) == [{"4 - 0"}]


def test_pattern_gives_the_index_that_it_was_taken_from() -> None:
    def write(nest: Unscheduled) -> None:
        b = nest.b
        start = nest.reads[0]([b.index(0), b.index(0)])
        begin = [b.cast(start, INDEX), b.index(3)]
        tile = Tile((2, 4), 7)
        index = [tile.index(b, begin[0], {0: 5}), tile.index(b, begin[1], {1: 1, 0: 2})]
        pattern = AccessPattern.of(index)
        assert pattern is not None
        assert pattern == AccessPattern((2, 4), 7, (((0, 5),), ((0, 2), (1, 1))))
        again = pattern.index(b, begin)
        assert AccessPattern.of(again) == pattern
        for one, other in zip(index, again, strict=True):
            assert isinstance(one, TileIndex)
            assert isinstance(other, TileIndex)
            assert one.base.key == other.base.key
        assert AccessPattern.of(begin) is None

    assert traced(anchor("matmul %0, %1", "4x4xi64, 4x4xi64", "4x4xi64"), Schedule(1), write) is not None


def test_a_nest_finds_the_readers_of_its_operands_and_scratch_buffers() -> None:
    line = 'scatter_nd_in_memory %0, %1, %2 {reduction = "none"}'
    op = anchor(line, "4x6xf32, 2x1xi64, 2x6xf32", "4x6xf32, 4xi32")
    found: list[bool] = []

    def write(nest: Unscheduled) -> None:
        found.append(nest.shape == (4, 6))
        for place, value in enumerate([*nest.op.operands, *op.scratch()]):
            found.append(nest.reader(value) is nest.reads[place])
        found.append(nest.reader(None) is None)

    assert traced(op, Schedule(1), write) is not None
    assert found == [True] * 6
