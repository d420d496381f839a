"""Nodes of aotc.frontend.onnx.importers.contraction: pads, zero points, factors, and terms of Einstein sums."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from evaluated import assert_outputs, check, rows

ROWS = """
17 | float[1, 1, 5] x, float[1, 1, 1] w | y = Conv<strides = [3], auto_pad = "SAME_UPPER">(x, w) |
17 | float[1, 1, 6] x, float[1, 1, 2] w | y = Conv<strides = [4], auto_pad = "SAME_LOWER">(x, w) |
17 | float[1, 1, 6] x | y = MaxPool<kernel_shape = [1], strides = [3], auto_pad = "SAME_UPPER">(x) |
17 | float[1, 1, 6] x | y = MaxPool<kernel_shape = [2], strides = [2], pads = [1, 1]>(x) |
17 | float[1, 1, 3, 3] x | y = MaxPool<kernel_shape = [2, 2], pads = [1, 1, -1, 1]>(x) | invalid-attribute
17 | float[1, 1, 3, 3] x | y = MaxPool<kernel_shape = [2, 2], pads = [1, 1, 2, 1]>(x) | unsupported-attribute
17 | float[1, 1, 3, 3] x | y = MaxPool<kernel_shape = [2, 2], strides = [0, 1], auto_pad = "SAME_UPPER">(x)
    | invalid-attribute
17 | float[1, 1, 3, 3] x | y = MaxPool<kernel_shape = [2, 2], auto_pad = "SAME">(x) | invalid-attribute
17 | float[1, 1, 3, 3] x | y = MaxPool<kernel_shape = [2, 2]>(x) | -> max_pool
17 | float[1, 1, 3, 3] x | y, "" = MaxPool<kernel_shape = [2, 2]>(x) | -> max_pool
17 | float[1, 1, 3, 3] x | y, y2 = MaxPool<kernel_shape = [2, 2]>(x) | -> max_pool max_pool_indices
17 | float[2, 2] a, float[2, 2] b | y = Gemm<alpha = 0.5, beta = 0.5>(a, b) | -> matmul mul
17 | float[2, 2] a, float[2, 2] b, float[2] c | y = Gemm<beta = 0.0>(a, b, c) | -> matmul
17 | int32[2, 2] a, int32[2, 2] b | y = Gemm<beta = 0.5>(a, b) | -> matmul
17 | int32[2, 2] a, int32[2, 2] b, int32[2] c | y = Gemm<alpha = 2.0, beta = 3.0>(a, b, c) | -> matmul mul mul add
17 | float a, float[2] b | y = MatMul(a, b) | invalid-shape
17 | float[2] a, float b | y = MatMul(a, b) | invalid-shape
17 | float[2] a, float[2] b | y = MatMul(a, b) |
17 | uint8[2, 2] a, uint8[2, 2] b; uint8 z = {0} | y = MatMulInteger(a, b, z) | -> cast cast matmul
17 | uint8[2, 2] a, uint8[2, 2] b; uint8 z = {7} | y = MatMulInteger(a, b, z) |
17 | uint8[2, 2] a, uint8[2, 2] b, uint8 z | y = MatMulInteger(a, b, z) |
17 | float[2, 3] x, float[1, 4] x1 | y = Einsum<equation = "ij,jk->ik">(x, x1) |
17 | float[2, 3] x, float[4, 3] x1 | y = Einsum<equation = "ij,kj->ki">(x, x1) |
17 | float[2, 3] x, float[3, 4] x1 | y = Einsum<equation = "ij,jk">(x, x1) |
17 | float[2, 2, 3] x, float[3, 4] x1 | y = Einsum<equation = "...ij,jk">(x, x1) |
17 | float[2, 3] x, float[3, 4] x1 | y = Einsum<equation = "i...,...k->...ik">(x, x1) |
17 | float[3] x, float[3, 4] x1 | y = Einsum<equation = "j,jk->k">(x, x1) |
17 | float[2, 3] x, float[3] x1 | y = Einsum<equation = "ij,j->i">(x, x1) |
17 | float[2] x, float[3] x1 | y = Einsum<equation = "i,j->ij">(x, x1) |
17 | float[2, 3] x, float[3, 4] x1 | y = Einsum<equation = "ij,jk->ijk">(x, x1) |
17 | float[2, 3, 2] x, float[4, 3] x1 | y = Einsum<equation = "ijm,kn->ki">(x, x1) |
17 | float[2, 3] x | y = Einsum<equation = "ij->i">(x) |
17 | float[2, 3] x, float[2, 4] x1, float[3, 4] x2 | y = Einsum<equation = "ab,ac,bc->a">(x, x1, x2) |
17 | float[2] x | y = Einsum<equation = "ij->i">(x) | invalid-shape
17 | float[2, 3] x | y = Einsum<equation = "i->i">(x) | invalid-shape
17 | float[2] x | y = Einsum<equation = "...ij->ij">(x) | invalid-shape
17 | float[2, 3] x | y = Einsum<equation = "ij->ik">(x) | invalid-attribute
17 | float[2, 3] x | y = Einsum<equation = "ij->ii">(x) | invalid-attribute
"""


@pytest.mark.parametrize(("graph", "expected"), rows(ROWS))
def test_nodes(graph: str, expected: str) -> None:
    check(graph, expected)


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ("alpha = 0.5, beta = 1.0", [[10, 20], [11, 21]]),
        ("alpha = 1.0, beta = 0.5", [[6, 11], [7, 13]]),
        ("alpha = 0.5, beta = 0.0", [[0, 0], [1, 1]]),
    ],
)
def test_sums_of_integers_are_cut_off_at_last(factors: str, expected: list[list[int]]) -> None:
    graph = f"17 | int32[2, 2] a, int32[2, 2] b, int32[2] c | y = Gemm<{factors}>(a, b, c)"
    a, b, c = (np.array(x, np.int32) for x in ([[1, 0], [1, 1]], [[1, 1], [1, 2]], [10, 20]))
    assert_outputs(graph, {"a": a, "b": b, "c": c}, [np.array(expected, np.int32)])


@pytest.mark.parametrize("kinds", [("int8", "float8e4m3fn"), ("float8e4m3fn", "int8"), ("int8", "int8")])
def test_products_with_narrow_floats_are_of_floats(kinds: Sequence[str]) -> None:
    """Halves, which integers would lose."""
    of_a, of_b = kinds
    graph = (
        f"21 | {of_a}[1, 2] a, {of_b}[2, 1] b; {of_a} p = {{0}}, {of_b} q = {{0}}, float s = {{1}},"
        " float8e4m3fn z = {0} | y = QLinearMatMul(a, s, p, b, s, q, s, z)"
    )
    numbers = {"int8": np.dtype(np.int8), "float8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn)}
    half = np.array([1.5, 2], np.float32)
    feed = {"a": half.astype(numbers[of_a]).reshape(1, 2), "b": half.astype(numbers[of_b]).reshape(2, 1)}
    product = feed["a"].astype(np.float32) @ feed["b"].astype(np.float32)
    assert_outputs(graph, feed, [product.astype(ml_dtypes.float8_e4m3fn)])
