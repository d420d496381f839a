"""Loops and memory of scalars: which loops are written, and which become nothing or their only iteration."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kernels.written import arguments, effects, written
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import IntegerAttr, MemRefType, f16, f32, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.builder import INDEX, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES, storage_type
from aotc.passes.kernel.builders.loop_builder import LoopBuilder, trips

INT4, UINT4, E4M3, U8 = (ELEMENT_TYPES[name] for name in ("int4", "uint4", "float8_e4m3fn", "uint8"))


def visited(write: Callable[[LoopBuilder, Scalar, Callable[..., None]], None]) -> list[str]:
    """The loops that are written, and the indices at which the body is."""
    b = LoopBuilder(block := arguments(INDEX))

    def body(*index: Scalar | int | list[Scalar]) -> None:
        found = index[0] if isinstance(index[0], list) else index
        b.effect(test.TestOp([b.index(each).ssa if isinstance(each, int) else each.ssa for each in found]))

    write(b, b.scalar(block.args[0], INDEX), body)
    return [each.replace("op(", "at(") for each in effects(block)]


LOOPS: list[tuple[Callable[[LoopBuilder, Scalar, Callable[..., None]], None], list[str]]] = [
    (lambda b, n, at: b.parallel_for((3, 1, 4), at), ["parallel(0, 0, 3, 4, 1, 1) {at(?, 0, ?); reduce()}"]),
    (lambda b, n, at: b.parallel_for((3, 0), at), []),
    (lambda b, n, at: b.parallel_for((1, 1), at), ["at(0, 0)"]),
    (lambda b, n, at: b.parallel_range(2, 9, 3, at), ["parallel(2, 9, 3) {at(?); reduce()}"]),
    (lambda b, n, at: b.parallel_range(2, 5, 3, at), ["at(2)"]),
    (lambda b, n, at: b.parallel_range(2, 6, 3, at), ["parallel(2, 6, 3) {at(?); reduce()}"]),
    (lambda b, n, at: b.parallel_range(2, 3, 3, at), ["at(2)"]),
    (lambda b, n, at: b.parallel_range(2, 2, 3, at), []),
    (lambda b, n, at: b.parallel_range(3, 2, 3, at), []),
    (lambda b, n, at: b.sequential_range(2, 9, 3, at), ["for(2, 9, 3) {at(?); yield()}"]),
    (lambda b, n, at: b.sequential_range(2, 5, 3, at), ["at(2)"]),
    (lambda b, n, at: b.sequential_range(2, 6, 3, at), ["for(2, 6, 3) {at(?); yield()}"]),
    (lambda b, n, at: b.sequential_range(2, 2, 3, at), []),
    (lambda b, n, at: b.sequential_range(3, 2, 3, at), []),
    (lambda b, n, at: b.sequential_range(n, 2, 3, at), ["for(x, 2, 3) {at(?); yield()}"]),
    (lambda b, n, at: b.sequential_range(0, n, 3, at), ["for(0, x, 3) {at(?); yield()}"]),
    (
        lambda b, n, at: b.parallel_segments(8, 3, at),
        ["parallel(0, 6, 3) {at(?, 3); reduce()}", "at(6, 2)"],
    ),
    (lambda b, n, at: b.sequential_segments(7, 3, at), ["for(0, 6, 3) {at(?, 3); yield()}", "at(6, 1)"]),
]


@pytest.mark.parametrize("case", range(len(LOOPS)), ids=lambda at: f"{at} {LOOPS[at][1]}")
def test_loops(case: int) -> None:
    write, loops = LOOPS[case]
    assert visited(write) == loops


def test_loops_carry_what_iterations_give() -> None:
    b = LoopBuilder(block := arguments(f32, INDEX))
    x, n = b.scalar(block.args[0], f32), b.scalar(block.args[1], INDEX)

    def total(low: int, high: int | Scalar) -> Scalar:
        return b.loop(low, high, 1, [x], lambda _, carried: [carried[0] + 1])[0]

    assert written(total(0, 0)) == "x"
    assert written(total(4, 5)) == "addf(x, 1.0)"
    assert effects(block) == []
    assert total(0, n).dtype == f32
    assert effects(block) == ["for(0, y, 1, x) {yield(addf(?, 1.0))}"]


@pytest.mark.parametrize(
    ("kind", "loaded", "element"),
    [
        (f32, "load(x, y)", "load(x, y)"),
        (i32, "load(x, y)", "load(x, y)"),
        (U8, "load(x, y)", "load(x, y)"),
        (f16, "extf(load(x, y)):f32", "extf(load(x, y)):f32"),
        (E4M3, "load(x, y)", "load(x, y)"),
        (INT4, "load(x, y)", "shrsi(shli(load(x, y), 4), 4)"),
        (UINT4, "load(x, y)", "andi(load(x, y), 15)"),
    ],
    ids=str,
)
def test_what_memory_holds(kind: Attribute, loaded: str, element: str) -> None:
    b = LoopBuilder(block := arguments(MemRefType(storage_type(kind), [8]), INDEX))
    memory, index = block.args[0], [b.scalar(block.args[1], INDEX)]
    assert written(b.load(memory, index, kind)) == loaded
    found = b.load_element(memory, index, kind)
    assert (written(found), found.dtype) == (element, f32 if kind == f16 else kind)
    b.store(found, memory, index)
    stored = f"truncf({element}):f16" if kind == f16 else element
    assert effects(block) == [f"store({stored}, x, y)"]


def test_iterations_of_a_loop_are_known_where_its_bounds_are_constant() -> None:
    block = arguments(INDEX)

    def number(value: int | None) -> SSAValue:
        return block.args[0] if value is None else arith.ConstantOp(IntegerAttr(value, INDEX)).result

    cases = [(0, 7, 3, 3), (2, 8, 3, 2), (5, 5, 1, 0), (6, 5, 1, 0), (None, 7, 1, None), (0, None, 1, None)]
    for low, high, step, count in [*cases, (0, 7, None, None)]:
        assert trips(number(low), number(high), number(step)) == count
