"""Expressions written for words of four bytes, and for quads: four lanes of at most 32 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from kernels.written import arguments, written
from xdsl.dialects.builtin import MemRefType, VectorType, f32, i8, i16, i32, i64
from xdsl.ir import Attribute

from aotc.dialects.builder import INDEX, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.builders.word_builder import QuadBuilder, WordBuilder, WordIndex

U8 = ELEMENT_TYPES["uint8"]


def instruction(name: str, *operands: str) -> str:
    return f'instruction[instruction="{name}"]({", ".join(operands)})'


def test_words_are_loaded_where_the_last_index_is_one() -> None:
    b = WordBuilder(block := arguments(MemRefType(i8, [8]), INDEX, MemRefType(f32, [])))
    memory, i = block.args[0], b.scalar(block.args[1], INDEX)
    assert written(b.load(memory, [WordIndex.of(i)], i8)) == "word_load(x, y):i32"
    assert written(b.load(memory, [i], i8)) == "load(x, y)"
    assert written(b.load(block.args[2], [], f32)) == "load(z)"
    assert WordIndex.of(i).key != i.key


def test_halves_of_words() -> None:
    b = WordBuilder(block := arguments(i32, i32))
    word, added = (b.scalar(arg, i32) for arg in block.args)
    assert written(b.widen(word, None, odd=False, unsigned=True)) == instruction("uxtb16", "x")
    assert written(b.widen(word, None, odd=True, unsigned=False)) == instruction("sxtb16.ror8", "x")
    assert written(b.widen(word, added, odd=False, unsigned=False)) == instruction("sxtab16", "y", "x")
    assert written(b.widen(word, added, odd=True, unsigned=True)) == instruction("uxtab16.ror8", "y", "x")


@pytest.mark.parametrize(("kind", "lanes", "name"), [(i8, 16, "vmladava.s8"), (i16, 8, "vmladava.s16")])
def test_dot_products_of_registers(kind: Attribute, lanes: int, name: str) -> None:
    b = WordBuilder(block := arguments(VectorType(kind, [lanes]), VectorType(kind, [lanes]), i32))
    x, w, total = (b.scalar(arg, dtype) for arg, dtype in zip(block.args, (kind, kind, i32), strict=True))
    assert written(b.lane_dot(x, w, total)) == instruction(name, "x", "y", "z")


Expression: TypeAlias = Callable[[QuadBuilder, Scalar, Scalar], Scalar]

ROUNDED = f"{instruction('vcvtn.s32.f32', 'x')}:4xi32"
BACK = "subi(0s, broadcast(y):4xi32)"
PRODUCT = instruction("vqrdmulh.s32", "x", "broadcast(y):4xi32")

WRITTEN: list[tuple[Attribute, Expression, str]] = [
    (f32, lambda b, x, y: b.fma(x, x, x), "addf(x, mulf(x, x))"),
    (f32, lambda b, x, y: b.fma(y, y, y), "fma(y, y, y)"),
    (
        f32,
        lambda b, x, y: b.quantized(x, 0, -9, 9, i8),
        f'tile_convert[kind="trunci"](minsi(maxsi({ROUNDED}, -9s), 9s)):4xi8',
    ),
    (
        f32,
        lambda b, x, y: b.quantized(x, 3, -9, 9, i16),
        f'tile_convert[kind="trunci"](minsi(maxsi({instruction("vqadd.s32", ROUNDED, "3s")}, -9s), 9s)):4xi16',
    ),
    (
        i32,
        lambda b, x, y: b.rescaled(x, y, y),
        instruction("vrshl.s32", instruction("vqadd.s32", PRODUCT, f"shrsi(andi({PRODUCT}, {BACK}), 31s)"), BACK),
    ),
    (i32, lambda b, x, y: b.cast(x, i16), 'tile_convert[kind="trunci"](x):4xi16'),
    (i32, lambda b, x, y: b.cast(x, f32), 'tile_convert[kind="sitofp"](x):4xf32'),
    (i16, lambda b, x, y: b.cast(x, i32), 'tile_convert[kind="extsi"](x):4xi32'),
    (i32, lambda b, x, y: b.cast(y, i64), "extsi(y):i64"),
    (i32, lambda b, x, y: b.cast(y, INDEX), "index_cast(y):index"),
]


@pytest.mark.parametrize("case", range(len(WRITTEN)), ids=str)
def test_what_is_written_for_quads(case: int) -> None:
    kind, expression, text = WRITTEN[case]
    b = QuadBuilder(block := arguments(VectorType(kind, [4]), kind))
    assert written(expression(b, *(b.scalar(arg, kind) for arg in block.args))) == text


def test_what_quads_leave_to_tiles_and_scalars() -> None:
    """One number is rounded without the instruction, as tiles of wider integers are."""
    b = QuadBuilder(block := arguments(VectorType(f32, [4]), f32, i32))
    many, one, whole = (b.scalar(arg, kind) for arg, kind in zip(block.args, (f32, f32, i32), strict=True))
    assert "instruction" not in written(b.quantized(one, 0, -9, 9, i8))
    assert "instruction" not in written(b.quantized(many, 0, -9, 9, i32))
    assert "instruction" not in written(b.rescaled(whole, whole, whole))
    with pytest.raises(NotVectorizable, match="a quad of i64"):
        b.cast(b.cast(many, i32), i64)
    with pytest.raises(NotVectorizable, match="tiles of index"):
        b.cast(b.cast(many, i32), INDEX)
    assert written(b.quad([whole] * 4)) == "quad(z, z, z, z):4xi32"
