"""Channels that move to other lanes: C, LLVM and scalar loops against numpy; where channels are, against counting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from kernel_program import ENTRY, as_loops, kernel, lowered, on_tiles, through_c, through_llvm

from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.convolution.regrouping import PADDING_LANE, RegroupChannelsOp
from aotc.dialects.graph.schedules import Schedule, ScheduleAttr
from aotc.machines.families import X86_AVX512
from aotc.passes.kernel.layouts import channels_from, concatenated, is_compact
from aotc.passes.kernel.strategy import strategy_of


@dataclass(frozen=True)
class Case:
    """Parts of so many blocks, and the source of each lane of the result."""

    blocks: tuple[int, ...]
    sources: tuple[int, ...]
    spatial: tuple[int, ...] = (3, 9)
    lanes: int = 4
    dtype: str = "f32"


CASES = {
    "interleaved": Case((4,), tuple(place for pair in zip(range(8), range(8, 16), strict=True) for place in pair)),
    "padding lanes dropped": Case((6,), (*range(3), *range(4, 7), *range(8, 11), *range(12, 15), *range(16, 19), 20)),
    "several parts": Case(
        (1, 2, 1),
        (14, 2, 5, PADDING_LANE, 9, 9, 0, 12, PADDING_LANE, PADDING_LANE, PADDING_LANE, PADDING_LANE, 3, 2, 1, 0),
    ),
    "nothing moves": Case((2, 1), tuple(range(12)), (5,)),
    "at unequal distances": Case((7,), (*range(1, 4), 0, *range(5, 8), 4, *range(17, 20), 16, *range(25, 28), 24)),
    "in three dimensions": Case((3,), (1, 5, 9, 2), (2, 3, 4)),
    "integers": Case((2, 2), (*range(9, 25), *range(7, 16), *range(16, 23)), (7,), 16, "i32"),
    "wide": Case((3,), tuple(range(23, 3, -1))[:16], (1, 1), 8),
}


def source(case: Case, schedule: Schedule | None) -> str:
    """The operation as a model."""
    chosen = "" if schedule is None else f", schedule = {ScheduleAttr.of(schedule)}"
    ends = [*case.spatial, case.lanes]
    shapes = [(2, count, *ends) for count in (*case.blocks, len(case.sources) // case.lanes)]
    kinds = ["x".join([*map(str, shape), case.dtype]) for shape in shapes]
    names = ", ".join(f"%x{number}" for number in range(len(case.blocks)))
    operands = ", ".join(f"tensor<{kind}>" for kind in kinds[:-1])
    sources = f"sources = array<i64: {', '.join(map(str, case.sources))}>"
    text = f"%r0 = graph.regroup_channels {names} {{{sources}{chosen}}} : ({operands}) -> tensor<{kinds[-1]}>"
    return kernel(text, kinds[:-1], kinds[-1:])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_c_and_llvm_and_scalar_loops(case: Case, tmp_path: Path) -> None:
    (op,) = (op for op in lowered(source(case, None), "").walk() if isinstance(op, RegroupChannelsOp))
    strategy = strategy_of(op)
    schedule = strategy.schedule(op, X86_AVX512)
    assert schedule is not None
    assert schedule.lanes == case.lanes
    assert strategy.schedule(op, replace(X86_AVX512, vector_bytes=2)) is None
    dtype = {"f32": np.float32, "i32": np.int32}[case.dtype]
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-99, 99, (2, count, *case.spatial, case.lanes)).astype(dtype) for count in case.blocks]
    joined = np.moveaxis(np.concatenate(inputs, 1), -1, 2).reshape(2, -1, *case.spatial)
    kept = np.array(case.sources) != PADDING_LANE
    expected = joined[:, np.array(case.sources)[kept]]
    tiled, plain = on_tiles(as_loops(source(case, schedule))), as_loops(source(case, None))
    for program in (through_llvm(tiled, ENTRY), through_c(tiled, ENTRY, tmp_path), through_llvm(plain, ENTRY)):
        result = np.full((2, len(case.sources) // case.lanes, *case.spatial, case.lanes), 77, dtype)
        program(*inputs, result)
        flat = np.moveaxis(result, -1, 2).reshape(2, -1, *case.spatial)
        np.testing.assert_array_equal(flat[:, kept], expected)
    (folded,) = op.evaluate(inputs) or ()
    np.testing.assert_array_equal(np.moveaxis(folded, -1, 2).reshape(2, -1, *case.spatial)[:, kept], expected)


PARTS: tuple[tuple[Sequence[int], Sequence[int]], ...] = (
    ((7,), (7,)),
    ((8, 0, 5), (13,)),
    ((3, 4, 4, 2), (3, 10)),
    ((6, 6, 6, 5), (6, 6, 6, 5)),
    ((), (0,)),
)


@pytest.mark.parametrize(("given", "parts"), PARTS, ids=str)
def test_where_channels_are(given: Sequence[int], parts: Sequence[int]) -> None:
    channels = Channels.of(given, 4)
    assert channels.parts == tuple(parts)
    slots = [(block, lane) for block in range(channels.blocks) for lane in range(4)]
    places = [slots[place] for place in channels.places]
    assert channels.count == len(places) == sum(given)
    assert channels.slots == (channels.places[-1] + 1 if places else 0)
    found = {
        (run.first[0] + time * run.stride[0] + neighbour, lane): run.first[1]
        + time * run.stride[1]
        + neighbour * 4
        + lane
        for run in channels.strips
        for time in range(run.number)
        for neighbour in range(run.count)
        for lane in range(run.channels)
    }
    assert found == {place: channel for channel, place in enumerate(places)}
    for start, count in product(range(channels.count), (1, 3)):
        cut = channels.cut(start, min(count, channels.count - start))
        assert (cut is None) == (places[start][1] > 0)
        if cut is not None:
            first, part = cut
            assert [place + 4 * first for place in part.places] == list(channels.places[start : start + count])


def test_layouts_that_are_wanted() -> None:
    assert channels_from([26, 52, 0, 104], 104, 16).parts == (26, 26, 52)
    assert channels_from([32], 48, 16).parts == (48,)
    twelves = concatenated([Channels.of([24], 16), *[Channels.of([12], 16)] * 5])
    assert twelves.parts == (24, 12, 12, 12, 12, 12)
    assert [(run.number, run.count, run.channels) for run in twelves.strips] == [(1, 1, 16), (1, 1, 8), (5, 1, 12)]
    assert is_compact(twelves)
    assert not is_compact(Channels.of([8, 8], 16))  # twice the blocks
    assert not is_compact(Channels.of([31, 29, 30, 28, 27, 26, 25], 16))  # code for blocks of any size
    assert all(low < high for low, high in pairwise(twelves.places))
