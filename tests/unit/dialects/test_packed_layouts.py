"""Layouts: shapes, both index functions, arrays and the text agree, for those that kernels have and for random ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, TensorType, i1, i32
from xdsl.ir import Block
from xdsl.parser import Parser

from aotc.compiler.lowering import new_context
from aotc.dialects.builder import Bitwise, Comparison, Scalar, ScalarLike
from aotc.dialects.graph import GRAPH
from aotc.dialects.graph.interfaces import ShapeError
from aotc.dialects.graph.packed.convolution.blocked_conv import channel_blocks, weight_panels
from aotc.dialects.graph.packed.integers.channels_last import words
from aotc.dialects.graph.packed.integers.dot_products import row_groups
from aotc.dialects.graph.packed.layout import Layout, Mode, blocks
from aotc.dialects.graph.packed.pack import LayoutAttr, pack, unpack
from aotc.dialects.graph.packed.products.packed_matmul import column_panels
from aotc.errors import CompileError
from aotc.passes.fuse.outline_kernels import OutlineKernelsPass
from aotc.passes.kernel.builders.loop_builder import LoopBuilder


class Numbers(LoopBuilder):
    """Computes with constants at once, conditions too."""

    def compare(self, how: Comparison, a: Scalar, c: ScalarLike) -> Scalar:
        left, right = a.constant, a.typed(c).constant
        assert left is not None and right is not None
        return self.const({"lt": left < right, "ge": left >= right}[how], i1)

    def bitwise(self, how: Bitwise, a: Scalar, c: Scalar) -> Scalar:
        assert how == "and" and a.constant is not None and c.constant is not None
        return self.const(a.constant and c.constant, i1)

    def when(
        self, condition: Scalar, then: Callable[[], Sequence[Scalar]], otherwise: Callable[[], Sequence[Scalar]]
    ) -> list[Scalar]:
        return list(then() if condition.constant else otherwise())


B = Numbers(Block())


def scalars(index: Sequence[int]) -> list[Scalar]:
    return [B.index(at) for at in index]


def numbers(index: Sequence[Scalar]) -> tuple[int, ...]:
    assert all(at.constant is not None for at in index)
    return tuple(int(at.constant or 0) for at in index)


Case = tuple[Layout, tuple[int, ...]]

OURS: list[Case] = [
    (channel_blocks(4, 16), (2, 20, 3, 2)),
    (channel_blocks(3, 4), (1, 8, 5)),
    (channel_blocks(2, 1), (3, 5)),
    (channel_blocks(3, 4, (3, 6, 1)), (2, 10, 3)),
    (weight_panels(4, 8, 4), (10, 6, 3, 1)),
    (weight_panels(3, 2, 4, 3), (6, 2, 1)),
    (weight_panels(3, 4, 4, 2), (10, 5, 2)),
    (column_panels(2, 8), (5, 20)),
    (column_panels(3, 4, transposed=True), (2, 7, 3)),
    (row_groups(3), (2, 7, 6)),
    (weight_panels(4, 4, 8, 2).interleaved(4), (6, 5, 1, 2)),
    (weight_panels(3, 4, 6).interleaved(2), (6, 5, 3)),
    (column_panels(2, 4, transposed=True).interleaved(4), (6, 10)),
    (row_groups(2, 2), (4, 3)),
    *(
        (words(columns, word), shape)
        for columns in (1, 2, 4)
        for word in (1, 4, 16)
        for shape in ((5, 3, 11), (4, 1, 8), (1, 2, 3), (7, 1, 1), (6, 2, 12))
    ),
]


def random_case(seed: int) -> Case:
    """Some digits of each dimension, in any order, on any axes; or on one axis, where they stay within blocks."""
    r = random.Random(seed)
    shape = tuple(r.randint(1, 9) for _ in range(r.randint(1, 4)))
    modes: list[Mode] = []
    for dim in range(len(shape)):
        stride = 1
        for extent in r.choice([[], [1], [2], [3], [2, 3], [4, 2]]):
            modes.append(Mode(dim, stride, extent))
            stride *= extent
        modes.append(Mode(dim, stride))
    r.shuffle(modes)
    if r.random() < 0.5:
        inwards = sorted(modes, key=lambda mode: (-mode.stride, mode.extent is not None))
        return Layout("random", (tuple(inwards),), tight=True), shape
    cuts = sorted({0, len(modes), *(r.randint(0, len(modes)) for _ in range(3))})
    return Layout("random", tuple(tuple(modes[first:end]) for first, end in pairwise(cuts))), shape


CASES = [*OURS, *map(random_case, range(60))]


@pytest.mark.parametrize(("layout", "shape"), CASES, ids=str)
def test_indices_agree_with_arrays(layout: Layout, shape: tuple[int, ...]) -> None:
    array = np.arange(1, prod(shape) + 1, dtype=np.int32).reshape(shape)
    packed = layout.pack(array)
    assert list(packed.shape) == layout.packed(shape)
    assert packed.flags.c_contiguous
    assert sorted(packed[packed != 0].tolist()) == sorted(array.reshape(-1).tolist())
    if layout.tight:
        assert packed.all()
    if not layout.parts:
        for index in np.ndindex(packed.shape):
            source, inside = layout.source(B, scalars(index), shape)
            found = array[numbers(source)] if all(each.constant for each in inside) else 0
            assert found == packed[index], index
    if layout.groups > 1:
        return
    read = layout.reader(B, lambda place: B.const(int(packed[numbers(place)]), i32), shape)
    for index in np.ndindex(shape):
        assert read(scalars(index)).constant == array[index]
        if not layout.parts:
            assert packed[numbers(layout.place(B, scalars(index), shape))] == array[index]
    np.testing.assert_array_equal(layout.unpack(packed, shape), array)
    if layout.keeps_order(shape):
        np.testing.assert_array_equal(packed.reshape(-1)[: array.size], array.reshape(-1))


@pytest.mark.parametrize(("layout", "shape"), CASES, ids=str)
def test_the_text_is_the_layout(layout: Layout, shape: tuple[int, ...]) -> None:
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(GRAPH)
    assert Parser(ctx, str(LayoutAttr(layout))).parse_attribute() == LayoutAttr(layout)


def test_what_keeps_its_order_is_seen() -> None:
    keeps = [(shape, channel_blocks(len(shape), 4).keeps_order(shape)) for shape in ((1, 6, 1), (2, 8, 1), (1, 3))]
    assert all(kept for _, kept in keeps), keeps
    moves = [(shape, channel_blocks(len(shape), 4).keeps_order(shape)) for shape in ((2, 6, 1), (1, 6, 2), (2, 3))]
    assert not any(kept for _, kept in moves), moves
    assert not channel_blocks(2, 4, (3, 3)).keeps_order((1, 6))
    assert not weight_panels(2, 1, 1, 2).keeps_order((2, 1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Layout("x", ((Mode(0, 4),), (Mode(0, 1, 2),))), "a digit of stride 4 where one of 2 is missing"),
        (lambda: Layout("x", ((Mode(0, 1, 2),),)), "no digit for what is beyond 2"),
        (lambda: Layout("x", ((Mode(1),),)), "dimension 0 has no digit"),
        (lambda: Layout("x", ((Mode(0),), (Mode(0),))), "a digit of stride 1 where one of 0 is missing"),
        (lambda: channel_blocks(2, 0), "blocks of dimension 1 must be positive, found 0"),
        (lambda: Layout("x", (blocks(0, 2), (Mode(1),)), tight=True), "a tight layout has one axis, found 2"),
        (lambda: Layout("x", (blocks(0, 2)[::-1],), tight=True), "do not lie within its blocks"),
        (lambda: Layout("x", ((Mode(0),),), groups=2), "2 groups and parts"),
        (lambda: row_groups(2, 0), "blocks of dimension 0 must be positive, found 0"),
        (lambda: weight_panels(3, 4, 6).interleaved(4), "groups of 4 do not divide blocks of 6"),
        (lambda: channel_blocks(3, 4).packed((1, 2)), "a layout of 3 dimensions is not of"),
        (lambda: channel_blocks(2, 4, (3, 3)).packed((1, 7)), "are not 7 channels"),
        (lambda: weight_panels(3, 2, 4, 4).packed((6, 2, 1)), "6 output channels do not divide into 4 groups"),
    ],
)
def test_what_is_no_layout(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        make()


def test_what_is_not_packed_and_unpacked() -> None:
    (x,) = Block(arg_types=[TensorType(i32, [1, 8, 4])]).args
    with pytest.raises(ShapeError, match="regroup_channels"):
        pack(x, channel_blocks(3, 4, (3, 5)))
    with pytest.raises(ShapeError, match=r"\[1, 9, 1\] in this layout is \[1, 3, 1, 4\], found \[1, 8, 4\]"):
        unpack(x, channel_blocks(3, 4), (1, 9, 1))
    with pytest.raises(ShapeError, match="what each group sees"):
        unpack(x, weight_panels(3, 4, 4, 2), (8, 4, 1))


def test_what_packs_constants_has_no_kernel() -> None:
    text = """func.func @main(%w: tensor<4x3xi8>) -> tensor<2x3xi8> attributes {aot.entry} {
      %0 = graph.pack_nibbles %w : (tensor<4x3xi8>) -> tensor<2x3xi8>
      func.return %0 : tensor<2x3xi8>
    }"""
    ctx = new_context()
    with pytest.raises(CompileError, match=r"graph\.pack_nibbles has no kernel.*it packs constants"):
        OutlineKernelsPass().apply(ctx, Parser(ctx, text).parse_module())
