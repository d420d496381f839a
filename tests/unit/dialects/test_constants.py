"""Constants of every element type keep their bits through the IR and its text, and what they give is found once."""

from __future__ import annotations

from typing import Any, NoReturn

import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, TensorType, f32
from xdsl.ir import Block, SSAValue
from xdsl.parser import Parser

from aotc.dialects.constants import constant_array, constant_op, folded, packed_later
from aotc.dialects.dtypes import ELEMENT_TYPES, extended, number_kind, numpy_dtype
from aotc.dialects.graph import GRAPH
from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.packed.convolution.blocked_conv import channel_blocks, weight_panels
from aotc.dialects.graph.packed.pack import PackOp, pack
from aotc.dialects.graph.packed.products.packed_matmul import column_panels
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.weight_store import WeightStore
from aotc.pipeline.workers import aside


def samples(name: str) -> list[np.ndarray[Any, Any]]:
    dtype = numpy_dtype(name)
    if name == "bool":
        special = [True, False]
    elif number_kind(dtype) in "iu":
        special = [ml_dtypes.iinfo(dtype).min, ml_dtypes.iinfo(dtype).max, 0, 1]
    else:
        limits = ml_dtypes.finfo(dtype)
        special = [limits.min, limits.max, limits.smallest_subnormal, -0.0, 0.1, np.nan, np.inf, -np.inf]
    one = np.array(special, dtype)
    arrays = [one, one[:1], one[-1:].reshape(()), np.broadcast_to(one[-1], (2, 3)), np.zeros((0, 3), dtype)]
    return [extended(array) for array in (*arrays, np.ones(65, dtype))]


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_round_trip(name: str) -> None:
    store = WeightStore()
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(GRAPH)
    for array in samples(name):
        op = constant_op(array, 'a name: with "quotes" and > brackets', store)
        parsed = Parser(ctx, str(op)).parse_op()
        assert isinstance(parsed, ConstantOp)
        parsed.verify()
        assert str(parsed) == str(op)
        for value in (constant_array(op, store), constant_array(parsed, store)):
            assert (value.dtype, value.shape, value.tobytes()) == (array.dtype, array.shape, array.tobytes())


def doubled(value: SSAValue, times: int) -> SSAValue:
    """`value` added to itself again and again: 2^times ways lead from the sum to it."""
    for _ in range(times):
        value = AddOp.get(value, value).result
    return value


def test_many_ways_to_one_constant() -> None:
    """A packer sees at once whether it is constant, also where operands are shared, as in dense networks."""
    store = WeightStore()
    ones = constant_op(np.ones((1, 3, 1, 1), np.float32), "ones", store)
    values = folded(pack(doubled(ones.result, 60), channel_blocks(4, 4)), store)
    assert values is not None
    np.testing.assert_array_equal(values[0].reshape(4), np.float32([2**60, 2**60, 2**60, 0]))
    argument = Block(arg_types=[TensorType(f32, [1, 3, 1, 1])]).args[0]
    assert folded(pack(doubled(argument, 60), channel_blocks(4, 4)), store) is None


def test_a_blob_has_arrays_at_their_offsets_and_zeros_elsewhere() -> None:
    store = WeightStore()
    keys = [store.add(name, np.full(size, value, np.uint8)) for name, size, value in (("b", 3, 2), ("a", 2, 1))]
    empty = store.add("empty", np.zeros((0, 4), np.float32))
    offsets = dict(zip(keys, (8, 2), strict=True)) | {empty: 8}
    assert store.blob(offsets) == bytes([0, 0, 1, 1, 0, 0, 0, 0, 2, 2, 2])
    assert b"".join(store.pieces(offsets, 13)) == store.blob(offsets) + bytes(2)
    assert store.blob({}) == b""


PANELS = weight_panels(4, 16, 16)
WEIGHT = np.arange(256 * 64 * 9, dtype=np.float32).reshape(256, 64, 3, 3)


@pytest.fixture
def store() -> WeightStore:
    """One that leaves work to a thread."""
    found = WeightStore()
    found.aside = aside
    return found


@pytest.fixture
def packing(store: WeightStore) -> PackOp:
    """An operation that packs a weight of `store`."""
    return pack(constant_op(WEIGHT, "w", store).result, PANELS)


@pytest.mark.parametrize("is_aside", [True, False])
def test_a_packed_weight_is_there_when_it_is_read(store: WeightStore, packing: PackOp, is_aside: bool) -> None:
    later = packed_later(packing, "w", store)
    assert later is not None
    key = store.add("w", later)
    store.aside = aside if is_aside else None  # without one it is made where it is read
    assert store.is_missing(key)
    assert not store.is_missing("w")
    store.begin()
    expected = packing.evaluate([WEIGHT])
    assert expected is not None
    assert (store.described(key).shape, store.described(key).dtype) == (expected[0].shape, expected[0].dtype)
    np.testing.assert_array_equal(store[key], expected[0])
    assert not store.is_missing(key)
    assert not store[key].flags.writeable


def test_what_is_packed_at_once(store: WeightStore, packing: PackOp) -> None:
    """Small constants, what is no constant, and those whose contents the store would compare."""
    small = constant_op(WEIGHT[:16, :16], "small", store)
    assert packed_later(pack(small.result, PANELS), "small", store) is None
    argument = Block(arg_types=[packing.x.type]).args[0]
    assert packed_later(pack(argument, PANELS), "w", store) is None
    assert packed_later(AddOp.get(packing.x, packing.x), "w", store) is None
    values = packing.evaluate([WEIGHT])
    assert values is not None
    store.add("w", values[0])
    assert packed_later(packing, "w", store) is None
    assert packed_later(packing, "another", store) is not None
    store.aside = None
    assert packed_later(packing, "another", store) is None


def test_one_that_is_missing_is_packed_again_when_it_is_there(store: WeightStore, packing: PackOp) -> None:
    later = packed_later(packing, "w", store)
    assert later is not None
    between = constant_op(later, "w", store)
    second = pack(between.result, column_panels(6, 16))
    assert packed_later(second, "w_1", store) is None
    assert folded(second, store) is not None


def test_what_is_added_is_compared_with_contents_only() -> None:
    """Not with what is in memory until then."""
    store = WeightStore()
    contents, empty = np.ones(8, np.float32), np.zeros(8, np.float32)
    store.fill_later(empty, lambda: contents)
    assert store.add("w", empty) == "w"
    assert store.add("w", np.zeros(8, np.float32)) == "w_1"
    assert store.add("w", contents) == "w"


def test_a_missing_array_that_is_forgotten_takes_no_place() -> None:
    store = WeightStore()
    empty = np.empty(8, np.float32)
    store.fill_later(empty, lambda: np.ones(8, np.float32))
    store.discard([store.add("w", empty)])
    assert not store.is_missing("w")
    store.add("w", np.zeros(8, np.float32))
    store.settle()
    np.testing.assert_array_equal(store["w"], 0)


def test_an_error_beside_is_raised_where_the_array_is_read(store: WeightStore) -> None:
    def fail() -> NoReturn:
        raise MemoryError("too large")

    empty = np.empty(4)
    store.fill_later(empty, fail)
    key = store.add("w", empty)
    store.begin()
    with pytest.raises(MemoryError, match="too large"):
        store[key]
