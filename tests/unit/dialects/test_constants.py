"""Constants of every element type keep their bits through the IR and its text, and what they give is found once."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, TensorType, f32
from xdsl.ir import Block, SSAValue
from xdsl.parser import Parser

from aotc.dialects.constants import constant_array, constant_op, folded
from aotc.dialects.dtypes import ELEMENT_TYPES, extended, number_kind, numpy_dtype
from aotc.dialects.graph import GRAPH
from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.packed.conv import PackChannelsOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.weights import WeightStore


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
    """What packs a value sees at once whether it is constant, also where operands are shared, as in dense networks."""
    store = WeightStore()
    ones = constant_op(np.ones((1, 3, 1, 1), np.float32), "ones", store)
    values = folded(PackChannelsOp.get(doubled(ones.result, 60), block=4), store)
    assert values is not None
    np.testing.assert_array_equal(values[0].reshape(4), np.float32([2**60, 2**60, 2**60, 0]))
    argument = Block(arg_types=[TensorType(f32, [1, 3, 1, 1])]).args[0]
    assert folded(PackChannelsOp.get(doubled(argument, 60), block=4), store) is None


def test_a_blob_has_arrays_at_their_offsets_and_zeros_elsewhere() -> None:
    store = WeightStore()
    keys = [store.add(name, np.full(size, value, np.uint8)) for name, size, value in (("b", 3, 2), ("a", 2, 1))]
    empty = store.add("empty", np.zeros((0, 4), np.float32))
    offsets = dict(zip(keys, (8, 2), strict=True)) | {empty: 8}
    assert store.blob(offsets) == bytes([0, 0, 1, 1, 0, 0, 0, 0, 2, 2, 2])
    assert b"".join(store.pieces(offsets, 13)) == store.blob(offsets) + bytes(2)
    assert store.blob({}) == b""
