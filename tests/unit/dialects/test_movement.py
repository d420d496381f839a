"""Shapes, views and values of data movement on constants."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32, i64
from xdsl.ir import Block

from aotc.dialects.graph.indexing import GatherElementsOp, GatherNdOp, GatherOp
from aotc.dialects.graph.interfaces import GraphOp, ShapeError, shape_of
from aotc.dialects.graph.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from aotc.dialects.graph.scatter import ScatterElementsOp


def value(*shape: int, kind: object = f32):
    return Block(arg_types=[TensorType(kind, shape)]).args[0]  # pyright: ignore[reportArgumentType]


def run(op: GraphOp, *operands: object) -> np.ndarray:
    results = op.evaluate([np.asarray(operand) for operand in operands])
    assert results is not None
    assert results[0].shape == shape_of(op.results[0])
    return np.asarray(results[0])


def assert_view_is_a_run(op: GraphOp, x: np.ndarray) -> bool:
    result = run(op, x)
    flat, moved = x.reshape(-1), result.reshape(-1)
    is_run = any(np.array_equal(flat[at : at + moved.size], moved) for at in range(flat.size - moved.size + 1))
    offset = op.view_offset()
    assert (offset is not None) == is_run
    if offset is not None:
        assert np.array_equal(flat[offset : offset + moved.size], moved)
    return is_run


def test_a_slice_is_a_view_where_its_elements_lie_together() -> None:
    shape = (2, 3, 2)
    x = np.arange(12, dtype=np.float32).reshape(shape)
    ranges = [
        [
            (start, step, count)
            for start, step, count in itertools.product(range(n), (1, -1, 2), range(1, n + 1))
            if 0 <= start + (count - 1) * step < n
        ]
        for n in shape
    ]
    views = 0
    for parts in itertools.product(*ranges):
        starts, steps, counts = zip(*parts, strict=True)
        views += assert_view_is_a_run(SliceOp.get(value(*shape), starts=starts, steps=steps, shape=counts), x)
    assert views > 10


def test_a_transpose_of_axes_of_one_element_is_a_view() -> None:
    for shape in ((1, 3, 1), (2, 1, 3), (2, 3, 2)):
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        for permutation in itertools.permutations(range(3)):
            assert_view_is_a_run(TransposeOp.get(value(*shape), permutation=permutation), x)
    assert ReshapeOp.get(value(2, 3), shape=[6]).view_offset() == 0


def test_indices_out_of_range_are_clamped() -> None:
    x = np.array([10.0, 11.0, 12.0])
    indices = [-9, -1, 0, 7]
    expected = [10, 12, 10, 12]
    assert run(GatherOp.get(value(3), value(4, kind=i64), axis=0), x, indices).tolist() == expected
    assert run(GatherElementsOp.get(value(3), value(4, kind=i64), axis=0), x, indices).tolist() == expected
    tuples = [[index] for index in indices]
    assert run(GatherNdOp.get(value(3), value(4, 1, kind=i64), batch_dims=0), x, tuples).tolist() == expected


def test_updates_out_of_range_are_dropped() -> None:
    op = ScatterElementsOp.get(value(3), value(4, kind=i64), value(4), reduction="add", axis=0)
    assert run(op, [0.0, 0.0, 0.0], [-4, -1, 1, 3], [1.0, 2.0, 4.0, 8.0]).tolist() == [0, 4, 2]


def test_nothing_is_gathered_from_nothing() -> None:
    with pytest.raises(ShapeError, match="no element to gather"):
        GatherOp.get(value(0, 2), value(3, kind=i64), axis=0)
    empty = GatherOp.get(value(0, 2), value(0, kind=i64), axis=0)
    assert run(empty, np.zeros((0, 2)), np.zeros(0, np.int64)).shape == (0, 2)


def test_concatenation_takes_empty_parts() -> None:
    op = ConcatOp.get([value(0, 2), value(3, 2)], axis=0)
    assert run(op, np.zeros((0, 2)), np.ones((3, 2))).tolist() == np.ones((3, 2)).tolist()


@pytest.mark.parametrize("mode", ["reflect", "wrap", "edge"])
def test_an_empty_axis_has_nothing_to_repeat(mode: str) -> None:
    with pytest.raises(ShapeError, match=f"mode {mode} cannot pad an axis of no elements"):
        PadOp.get(value(0), pads=[1, 0], mode=mode)
    assert shape_of(PadOp.get(value(0), pads=[1, 0], mode="constant").result) == (1,)
