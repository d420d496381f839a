"""Packed sums of products of bytes by definition, in scalar loops, and what prepares their operands, against numpy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from kernel_program import ENTRY, Array, as_loops, kernel, through_llvm
from xdsl.dialects.builtin import TensorType, i8, i32
from xdsl.ir import Block

from aotc.dialects.builder import INDEX
from aotc.dialects.graph.packed.integers.channels_last import words
from aotc.dialects.graph.packed.integers.dot_products import ZeroPointBiasOp, is_narrow, is_narrow_anyhow, row_groups
from aotc.dialects.graph.packed.pack import LayoutAttr
from aotc.dialects.graph.windows.sliding import Edges, SlidingWindow
from aotc.passes.kernel.builders.loop_builder import LoopBuilder

_RANDOM = np.random.default_rng(3)


def _bytes(*shape: int, kind: type[np.generic] = np.int8) -> Array:
    info = np.iinfo(kind)
    return _RANDOM.integers(info.min, info.max, shape, endpoint=True).astype(kind)


def _run(op: str, operands: list[Array], result: Array) -> Array:
    """`op` from %x0, .. to %r0, in scalar loops."""
    names = {np.dtype(np.int8): "i8", np.dtype(np.uint8): "ui8", np.dtype(np.int32): "i32"}
    kinds = ["x".join([*map(str, each.shape), names[each.dtype]]) for each in (*operands, result)]
    types = ", ".join(f"tensor<{kind}>" for kind in kinds[:-1])
    text = kernel(f"{op} : ({types}) -> tensor<{kinds[-1]}>", kinds[:-1], kinds[-1:])
    through_llvm(as_loops(text), ENTRY)(*operands, result)
    return result


@pytest.mark.parametrize("rows", [8, 7, 3])
def test_interleaved_rows(rows: int) -> None:
    x = _bytes(2, rows, 6)
    steps = -(-rows // 4)
    padded = np.zeros((2, steps * 4, 6), np.int8)
    padded[:, :rows] = x
    expected = padded.reshape(2, steps, 4, 6).swapaxes(2, 3).reshape(2, steps, 24)
    np.testing.assert_array_equal(row_groups(3).pack(x), expected)
    layout = LayoutAttr(row_groups(3))
    found = _run(f"%r0 = graph.pack %x0 {{layout = {layout}}}", [x], np.zeros_like(expected))
    np.testing.assert_array_equal(found, expected)


def test_words_of_a_kernel() -> None:
    x, layout = _bytes(7, 3, 11), words(4, 4)
    found = _run(f"%r0 = graph.pack %x0 {{layout = {LayoutAttr(layout)}}}", [x], np.zeros(x.size, np.int8))
    np.testing.assert_array_equal(found, layout.pack(x))


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize("point", [0, 5, -128])
def test_bias_by_the_taps_that_are_seen(point: int, complement: bool) -> None:
    weight, bias = _bytes(6, 3, 3, 2), _RANDOM.integers(-999, 999, 6).astype(np.int32)
    properties = {"extents": [4, 9], "strides": [1, 2], "pads": [1, 1, 2, 0], "dilations": [2, 1]}
    block = Block(arg_types=[TensorType(i8, weight.shape), TensorType(i32, bias.shape)])
    op = ZeroPointBiasOp.get(*block.args, zero_point=point, complement=complement, **properties)
    (table,) = op.evaluate([weight, bias])
    edges = op.edges()
    for position in product(*(range(window.positions) for window in op.windows())):
        seen = np.zeros(weight.shape[2:], bool)
        for taps in np.ndindex(seen.shape):
            elements = (
                w.stride * p + t * w.dilation - w.before for w, p, t in zip(op.windows(), position, taps, strict=True)
            )
            seen[taps] = all(0 <= e < w.extent for e, w in zip(elements, op.windows(), strict=True))
        cases = tuple(each.case_of(at) for each, at in zip(edges, position, strict=True))
        counted = point * weight.astype(np.int64) + (np.minimum(weight, 0) if complement else 0)
        expected = bias - counted[:, :, seen].sum(axis=(1, 2))
        np.testing.assert_array_equal(table[cases], expected)


def test_cases_of_positions() -> None:
    """Numbers and IR agree; positions of a case see the same taps, and one of them stands for the case."""
    b = LoopBuilder(Block(arg_types=[INDEX]))
    for extent, size, stride, dilation, before, after in product((1, 4, 9), (1, 3), (1, 2), (1, 2), (0, 2), (0, 1)):
        window = SlidingWindow(extent, size, stride, dilation, before, after)
        if extent + before + after < window.span:
            continue
        edges = Edges.of(window)
        taps: dict[int, set[tuple[int, ...]]] = {}
        for position in range(window.positions):
            elements = ((tap, position * stride + tap * dilation - before) for tap in range(size))
            seen = tuple(tap for tap, element in elements if 0 <= element < extent)
            taps.setdefault(edges.case_of(position), set()).add(seen)
            assert edges.case(b, b.index(position)).constant == edges.case_of(position)
        assert sorted(taps) == list(range(edges.count))
        for case, found in taps.items():
            assert len(found) == 1 and edges.case_of(edges.position_of(case)) == case


@pytest.mark.parametrize("complement", [False, True])
def test_convolution_by_definition(complement: bool) -> None:
    x, weight = _bytes(1, 2, 5, 6, 8, kind=np.int8 if complement else np.uint8), _bytes(2, 2, 3, 3, 2, 32)
    bias = _RANDOM.integers(-999, 999, (3, 3, 16)).astype(np.int32)
    window = "strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>"
    op = f"""%r0 = graph.blocked_dot_conv %x0, %x1, %x2 {{{window}, group = 1 : i64, channels = 16 : i64,
        outputs = 16 : i64, block = 8 : i64{", complement" * complement}}}"""
    found = _run(op, [x, weight, bias], np.zeros((1, 2, 5, 6, 8), np.int32))
    plain = weight.reshape(2, 2, 3, 3, 2, 8, 4).transpose(0, 5, 1, 4, 6, 2, 3).reshape(16, 16, 3, 3).astype(np.int64)
    padded = np.pad(x[0].transpose(0, 3, 1, 2).reshape(16, 5, 6).astype(np.int64), [(0, 0), (1, 1), (1, 1)])
    for row, column in product(range(5), range(6)):
        cases = (0 if row == 0 else 2 if row == 4 else 1), (0 if column == 0 else 2 if column == 5 else 1)
        sums = bias[cases] + np.einsum("cij,mcij->m", padded[:, row : row + 3, column : column + 3], plain)
        if complement:
            rows, columns = (slice(max(1 - at, 0), min(end - at, 3)) for at, end in ((row, 6), (column, 7)))
            sums += np.minimum(plain, 0)[:, :, rows, columns].sum(axis=(1, 2, 3))
        np.testing.assert_array_equal(found[0, :, row, column].reshape(-1), sums)


def test_depthwise_convolution_by_definition() -> None:
    x, weight = _bytes(2, 1, 7, 9, 8), _bytes(1, 3, 2, 32)
    weight.reshape(1, 3, 2, 8, 4)[:, :, 1, :, 1:] = 0  # five taps
    bias = _RANDOM.integers(-999, 999, (1, 1, 8)).astype(np.int32)
    window = "strides = array<i64: 2, 1>, pads = array<i64: 0, 2, 0, 2>, dilations = array<i64: 1, 1>"
    op = f"%r0 = graph.blocked_dot_depthwise_conv %x0, %x1, %x2 {{{window}, taps_across = 5 : i64}}"
    found = _run(op, [x, weight, bias], np.zeros((2, 1, 3, 9, 8), np.int32))
    plain = weight.reshape(3, 2, 8, 4).transpose(0, 1, 3, 2).reshape(3, 8, 8)[:, :5].astype(np.int64)
    padded = np.pad(x[:, 0].astype(np.int64), [(0, 0), (0, 0), (2, 2), (0, 0)])
    for row, column in product(range(3), range(9)):
        seen = padded[:, 2 * row : 2 * row + 3, column : column + 5]
        np.testing.assert_array_equal(found[:, 0, row, column], bias[0, 0] + np.einsum("nijc,ijc->nc", seen, plain))


def test_depthwise_convolution_by_pairs_by_definition() -> None:
    x, weight = _bytes(2, 1, 7, 9, 8, kind=np.uint8), _bytes(1, 3, 4, 8)
    bias = _RANDOM.integers(-999, 999, (1, 1, 8)).astype(np.int32)
    window = "strides = array<i64: 2, 1>, pads = array<i64: 0, 2, 0, 4>, dilations = array<i64: 1, 2>"
    op = f"%r0 = graph.blocked_pair_depthwise_conv %x0, %x1, %x2 {{{window}}}"
    found = _run(op, [x, weight, bias], np.zeros((2, 1, 3, 9, 8), np.int32))
    padded = np.pad(x[:, 0].astype(np.int64), [(0, 0), (0, 0), (2, 4), (0, 0)])
    for row, column in product(range(3), range(9)):
        seen = padded[:, 2 * row : 2 * row + 3, column : column + 7 : 2]
        sums = bias[0, 0] + np.einsum("nijc,ijc->nc", seen, weight[0].astype(np.int64))
        np.testing.assert_array_equal(found[:, 0, row, column], sums)


@pytest.mark.parametrize("complement", [False, True])
def test_product_by_definition(complement: bool) -> None:
    x, weight = _bytes(2, 3, 6, kind=np.int8 if complement else np.uint8), _bytes(3, 2, 16)
    bias = np.arange(10, dtype=np.int32)
    op = "%r0 = graph.packed_dot_matmul %x0, %x1, %x2" + " {complement}" * complement
    found = _run(op, [x, weight, bias], np.zeros((2, 3, 10), np.int32))
    plain = weight.reshape(3, 2, 4, 4).transpose(1, 3, 0, 2).reshape(8, 12)[:6, :10].astype(np.int64)
    if complement:
        bias = bias + np.minimum(plain, 0).sum(axis=0)
    np.testing.assert_array_equal(found, x.astype(np.int64) @ plain + bias)


def test_flipped_signs() -> None:
    x = np.arange(-128, 128, dtype=np.int16).astype(np.int8)
    flipped = _run("%r0 = graph.flip_sign %x0", [x], np.zeros(256, np.uint8))
    np.testing.assert_array_equal(flipped, np.arange(256))
    np.testing.assert_array_equal(_run("%r0 = graph.flip_sign %x0", [flipped], np.zeros(256, np.int8)), x)


def test_narrow_pairs() -> None:
    """`is_narrow` is whether sums of pairs fit 16 bits; with signed factors, that and weights which can be negated."""
    for a, b in product((-128, -127, -65, -64, -1, 0, 1, 2, 63, 64, 65, 126, 127), range(-128, 128)):
        weight = np.array([[0, 0], [a, b]], np.int8)
        for unsigned, low, high in ((True, 0, 255), (False, -128, 127)):
            sums = [x * a + y * b for x, y in product((low, high), repeat=2)]
            fits = min(sums) >= -(2**15) and max(sums) < 2**15
            assert is_narrow(weight, unsigned=unsigned) == (fits if unsigned else -128 not in (a, b))
            assert fits or not is_narrow(weight, unsigned=unsigned)
        assert not is_narrow_anyhow(weight) or is_narrow(weight, unsigned=True)
