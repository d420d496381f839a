"""Constants that have no byte in the file for each element, and element types that layers refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lite_model import Graph, packed, write

import aotc
from aotc.errors import CompileError
from aotc.frontend.tflite.storage import Level, Sparsity, unpacked


@pytest.mark.parametrize("bits", [2, 4])
@pytest.mark.parametrize("missing", [0, 1])
def test_integers_of_a_few_bits(bits: int, missing: int) -> None:
    numbers = np.arange(-(2 ** (bits - 1)), 2 ** (bits - 1), dtype=np.int8)[missing:]
    data = np.frombuffer(packed(numbers, f"int{bits}"), np.uint8)
    np.testing.assert_array_equal(unpacked(data, bits, numbers.size), numbers)


def rows(starts: list[int], stored: list[int]) -> Level:
    """A sparse axis."""
    return np.array(starts), np.array(stored)


STORED = rows([0, 1, 1, 3], [1, 0, 1])


def test_blocks_of_both_axes() -> None:
    """A matrix of 6 x 4 in blocks of 2 x 2, the columns of each first."""
    found = Sparsity((0, 1, 3, 2), (0, 1), (3, STORED, 2, 2)).dense(np.arange(1, 13), (6, 4))
    expected = [[0, 0, 1, 3], [0, 0, 2, 4], [0] * 4, [0] * 4, [5, 7, 9, 11], [6, 8, 10, 12]]
    np.testing.assert_array_equal(found, expected)


DAMAGED = {
    "an axis twice": Sparsity((0, 0), (), (3, STORED)),
    "an axis missing": Sparsity((0, 1), (), (3,)),
    "an axis that is not there": Sparsity((0, 2), (), (3, STORED)),
    "more elements than values": Sparsity((0, 1), (), (3, rows([0, 2, 2, 4], [0, 1, 0, 1]))),
    "an index beyond": Sparsity((0, 1), (), (3, rows([0, 1, 1, 3], [1, 0, 2]))),
    "an index before": Sparsity((0, 1), (), (3, rows([0, 1, 1, 3], [1, -1, 0]))),
    "starts that fall": Sparsity((0, 1), (), (3, rows([0, 3, 1, 3], [1, 0, 1]))),
    "starts before": Sparsity((0, 1), (), (3, rows([-1, 1, 1, 3], [1, 0, 1]))),
    "starts beyond": Sparsity((0, 1), (), (3, rows([0, 1, 1, 4], [1, 0, 1]))),
    "too few starts": Sparsity((0, 1), (), (3, rows([0, 1, 1], [1, 0, 1]))),
    "more elements than the shape": Sparsity((0, 1), (), (4, 2)),
    "sparse blocks": Sparsity((0, 1, 2), (1,), (3, 1, rows([0, 1, 1, 2], [1, 0]))),
    "a block of an axis that is not there": Sparsity((0, 1, 2), (2,), (3, STORED, 1)),
    "a negative extent": Sparsity((0, 1), (), (3, -2)),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_sparse_tensor_is_refused(name: str) -> None:
    values = np.arange(3.0)
    if name == "a negative extent":
        assert not DAMAGED[name].dense(values, (3, 2)).any()
        return
    with pytest.raises(ValueError, match="it"):
        DAMAGED[name].dense(values, (3, 2))


def layer(code: str, of: str, kind: str, *, sparsity: Any = None, groups: int = 1, **more: Any) -> bytes:
    """A layer of one place, with weights of 1."""
    depth, graph, axis = 4, Graph(), 3 if code == "DEPTHWISE_CONV_2D" else 0
    scale: Any = {} if of == "float32" else {"scale": 0.5}
    graph.tensor("x", (1, depth) if code == "FULLY_CONNECTED" else (1, 1, 1, depth), of, **scale)
    shape = (depth, depth) if code == "FULLY_CONNECTED" else (1 if axis else depth, 1, 1, depth // groups)
    graph.constant("w", np.ones(shape, np.int8), kind, scale=0.25, sparsity=sparsity)
    graph.tensor("y", graph.tensors[0].shape, of, **scale)
    window: Any = {} if code == "FULLY_CONNECTED" else {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    inputs = ["x", "w"]
    if code == "TRANSPOSE_CONV":
        inputs = [graph.constant("shape", np.array((*shape[:1], 1, 1, depth), np.int32)), "w", "x"]
    graph.op(code, inputs, ["y"], **window, **more)
    return write([graph.ends(["x"], ["y"])])


REFUSED = [
    ("TRANSPOSE_CONV", "uint8", "uint8", {}),
    ("TRANSPOSE_CONV", "int8", "int4", {}),
    ("CONV_2D", "int8", "int2", {}),
    ("CONV_2D", "int16", "int4", {}),
    ("CONV_2D", "uint8", "int8", {}),
    ("CONV_2D", "float32", "int4", {}),
    ("CONV_2D", "float32", "int8", {"groups": 2}),
    ("DEPTHWISE_CONV_2D", "float32", "int8", {"depth_multiplier": 1}),
    ("FULLY_CONNECTED", "int16", "int4", {}),
    ("FULLY_CONNECTED", "int4", "int4", {}),
]


@pytest.mark.parametrize(("code", "of", "kind", "more"), REFUSED)
def test_types_that_no_kernel_takes_are_refused(code: str, of: str, kind: str, more: dict[str, Any]) -> None:
    with pytest.raises(CompileError, match="unsupported-type"):
        aotc.compile(layer(code, of, kind, **more))


def test_numbers_that_would_have_a_zero_point_are_refused() -> None:
    with pytest.raises(CompileError, match="unsupported-attribute"):
        aotc.compile(layer("FULLY_CONNECTED", "float32", "int8", asymmetric_quantize_inputs=True))


def test_a_damaged_sparse_weight_is_said_of_the_operator() -> None:
    stored = (np.array([0, 1, 1, 1, 9]), np.array([0]))
    with pytest.raises(CompileError, match="not-a-model") as caught:
        aotc.compile(layer("FULLY_CONNECTED", "int8", "int8", sparsity=([0, 1], [], [4, stored])))
    assert [(each.node, each.op_type) for each in caught.value.problems] == [("y", "FULLY_CONNECTED")]
