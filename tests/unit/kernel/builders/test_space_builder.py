"""Indices as affine forms of loop positions: what is decided at compile time, and where a space must be split."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from kernels.written import arguments, effects, written
from xdsl.dialects.builtin import MemRefType, VectorType, f32, f64, i1, i8, i32
from xdsl.ir import Block, SSAValue

from aotc.dialects.builder import INDEX, Comparison, Scalar
from aotc.passes.kernel.builders.space_builder import (
    Affine,
    AffineIndex,
    Loop,
    OpenCondition,
    Refine,
    Refinement,
    Space,
    SpaceBuilder,
    is_natural,
)
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile


def test_forms() -> None:
    i, j, n = Loop(4), Loop(5), Block(arg_types=[INDEX]).args[0]
    form = Affine(1, {i: 2, n: 3})
    assert not form.bounded
    assert Affine(1, {i: 2}).bounded
    assert Affine(1).bounded
    assert form.plus(Affine(1, {i: -2})).key == Affine(2, {n: 3}).key
    assert form.plus(form, -1).key == Affine().key
    assert form.replaced(j, Affine(7)) is form
    assert form.replaced(i, Affine(5, {j: 1})).key == Affine(11, {j: 2, n: 3}).key
    assert Affine(1, {i: 2, j: -3}).range() == (-11, 7)


def test_spaces() -> None:
    space = Space.of((4, 1, 2))
    assert [loop.extent for loop in space.loops] == [4, 2]
    assert [form.range() for form in space.index] == [(0, 3), (0, 0), (0, 1)]
    assert [len(form.factors) for form in space.index] == [1, 0, 1]
    low, high = space.refined(Refinement(space.loops[0], 1))
    assert [[loop.extent for loop in each.loops] for each in (low, high)] == [[2], [3, 2]]
    assert [each.index[0].range() for each in (low, high)] == [(0, 0), (1, 3)]
    (strips,) = space.refined(Refinement(space.loops[0], 2, periodic=True))
    assert [loop.extent for loop in strips.loops] == [2, 2, 2]
    seven = Space.of((7,))
    parts = seven.refined(Refinement(seven.loops[0], 3, periodic=True))
    assert [[loop.extent for loop in each.loops] for each in parts] == [[2, 3], []]
    parts = seven.refined(Refinement(seven.loops[0], 4, periodic=True))
    assert [[loop.extent for loop in each.loops] for each in parts] == [[4], [3]]


@pytest.mark.parametrize(
    ("constant", "factors", "natural"),
    [
        (0, (1,), True),
        (-1, (1,), (0, 1)),
        (-4, (1,), (0, 4)),
        (-5, (1,), False),
        (3, (-1,), (0, 4)),
        (4, (-1,), True),
        (-1, (-1,), False),
        (0, (-1,), (0, 1)),
        (-5, (2, 1), (0, 2)),
        (-9, (2, 1), (0, 4)),
        (-1, (2, 1), (0, 1)),
        (-2, (2, -3), (0, 1)),
    ],
)
def test_where_forms_are_natural(constant: int, factors: tuple[int, ...], natural: bool | tuple[int, int]) -> None:
    """Of loops of five and of three: True, False, or which of them is split where."""
    loops = (Loop(5), Loop(3))
    found = is_natural(Affine(constant, dict(zip(loops, factors, strict=False))))
    assert found == (natural if isinstance(natural, bool) else Refinement(loops[natural[0]], natural[1]))


Expression: TypeAlias = Callable[[SpaceBuilder, Scalar, Scalar, Scalar], Scalar]


def spaces() -> tuple[SpaceBuilder, Scalar, Scalar, Scalar]:
    """A builder, the positions of loops of eight and of three, which are y and z, and an index known at run time, x."""
    b = SpaceBuilder(block := arguments(INDEX, INDEX, INDEX))
    loops = Loop(8), Loop(3)
    b.place({loop: b.scalar(arg, INDEX) for loop, arg in zip(loops, block.args[1:], strict=True)})
    i, j = (b.affine(Affine(0, {loop: 1})) for loop in loops)
    return b, i, j, b.scalar(block.args[0], INDEX)


WRITTEN: list[tuple[Expression, str]] = [
    (lambda b, i, j, n: i + 1, "addi(1, y)"),
    (lambda b, i, j, n: 1 + i, "addi(1, y)"),
    (lambda b, i, j, n: i + n, "addi(y, x)"),
    (lambda b, i, j, n: n + i, "addi(x, y)"),
    (lambda b, i, j, n: n + 1, "addi(x, 1)"),
    (lambda b, i, j, n: i - i, "0"),
    (lambda b, i, j, n: i * 8 - i * 8 + 5, "5"),
    (lambda b, i, j, n: 9 - i, "addi(9, muli(y, -1))"),
    (lambda b, i, j, n: n - 1, "subi(x, 1)"),
    (lambda b, i, j, n: i * 3, "muli(y, 3)"),
    (lambda b, i, j, n: 3 * i, "muli(y, 3)"),
    (lambda b, i, j, n: n * 3, "muli(x, 3)"),
    (lambda b, i, j, n: i * n, "muli(y, x)"),
    (lambda b, i, j, n: n * i, "muli(x, y)"),
    (lambda b, i, j, n: (i * 4 + j) / 4, "y"),
    (lambda b, i, j, n: b.rem(i * 4 + j, b.index(4)), "z"),
    (lambda b, i, j, n: (i * 4 + j + 9) / 4, "addi(2, y)"),
    (lambda b, i, j, n: n / 4, "divui(x, 4)"),
    (lambda b, i, j, n: i / n, "divui(y, x)"),
    (lambda b, i, j, n: (i + n) / 4, "divui(addi(y, x), 4)"),
    (lambda b, i, j, n: b.rem(n, b.index(4)), "remui(x, 4)"),
    (lambda b, i, j, n: b.max(i, 0), "y"),
    (lambda b, i, j, n: b.min(i, 9), "y"),
    (lambda b, i, j, n: b.max(i, 9), "9"),
    (lambda b, i, j, n: b.min(i + 20, j), "z"),
    (lambda b, i, j, n: b.max(n, 9), "maxsi(x, 9)"),
    (lambda b, i, j, n: b.min(n, 9), "minsi(x, 9)"),
    (lambda b, i, j, n: b.compare("lt", n, 4), "cmpi slt(x, 4)"),
    (lambda b, i, j, n: b.compare("lt", i, n), "cmpi slt(y, x)"),
    (lambda b, i, j, n: b.compare("lt", b.cast(n, i32), 4), "cmpi slt(index_cast(x):i32, 4)"),
    (lambda b, i, j, n: b.select(b.compare("lt", i, 8), i, j), "y"),
    (lambda b, i, j, n: b.select(b.compare("gt", i, 7), i, j), "z"),
    (lambda b, i, j, n: b.select(b.compare("lt", n, 4), i, j), "select(cmpi slt(x, 4), y, z)"),
    (lambda b, i, j, n: b.when(b.compare("lt", i, 8), lambda: [i], lambda: [j])[0], "y"),
    (lambda b, i, j, n: b.when(b.compare("gt", i, 8), lambda: [i], lambda: [j])[0], "z"),
    (lambda b, i, j, n: b.cast(n, i32) & 3, "andi(index_cast(x):i32, 3)"),
]


@pytest.mark.parametrize("case", range(len(WRITTEN)), ids=lambda at: f"{at} {WRITTEN[at][1]}")
def test_what_is_written(case: int) -> None:
    expression, text = WRITTEN[case]
    assert written(expression(*spaces())) == text


@pytest.mark.parametrize(
    ("how", "decided"),
    [
        # how i, below eight, compares with -1, 0, 7 and 8: True, False, or where i is split
        ("ge", [True, True, 7, False]),
        ("gt", [True, 1, False, False]),
        ("le", [False, 1, True, True]),
        ("lt", [False, False, 7, True]),
        ("eq", [False, 1, 7, False]),
        ("ne", [True, 1, 7, True]),
    ],
)
def test_conditions(how: Comparison, decided: list[bool | int]) -> None:
    b, i, _, _ = spaces()
    found: list[bool | int] = []
    for bound in (-1, 0, 7, 8):
        condition = b.compare(how, i, bound)
        if isinstance(condition, OpenCondition):
            found.append(condition.refinement.size)
            with pytest.raises(Refine):
                _ = condition.ssa
        else:
            assert condition.constant is not None
            found.append(bool(condition.constant))
    assert found == decided


def test_conditions_are_joined() -> None:
    """A decided one decides; of two open ones the first is split first."""
    b, i, j, n = spaces()
    yes, no = b.const(1, i1), b.const(0, i1)
    one, two = b.compare("lt", i, 4), b.compare("lt", j, 1)
    late = b.compare("lt", n, 4)
    for open_ in (one, two):
        assert open_ & yes is open_
        assert yes & open_ is open_
        assert (open_ & no).constant == 0
        assert (no & open_).constant == 0
        assert open_ | no is open_
        assert no | open_ is open_
        assert (open_ | yes).constant == 1
        assert ~open_ is open_
        assert open_ & late is open_
        assert late | open_ is open_
    assert one & two is one
    assert two | one is two
    assert [(a ^ c).constant for a in (yes, no) for c in (yes, no)] == [0, 1, 1, 0]
    assert [(a & c).constant for a in (yes, no) for c in (yes, no)] == [1, 0, 0, 0]
    assert written(late & late) == "andi(cmpi slt(x, 4), cmpi slt(x, 4))"
    assert written(~late) == "xori(cmpi slt(x, 4), -1)"
    assert one.key != two.key


def test_quotients_that_are_no_form_split_the_space() -> None:
    b, i, _, _ = spaces()
    for expression in (lambda: i / 4, lambda: b.rem(i, b.index(4))):
        with pytest.raises(Refine) as raised:
            expression()
        assert (raised.value.refinement.size, raised.value.refinement.periodic) == (4, True)
    with pytest.raises(Refine) as raised:
        _ = (i + 3) / 4
    assert (raised.value.refinement.size, raised.value.refinement.periodic) == (1, False)
    assert written(i * 3 / 2) == "divui(muli(y, 3), 2)"
    with pytest.raises(NotVectorizable, match="a loop of its own"):
        b.reduce([(0, 4)], [], lambda _, carried: carried)


def test_keys_of_indices() -> None:
    _, i, j, n = spaces()
    assert (i + 1).key == (1 + i).key
    assert (i + 1).key != (j + 1).key
    assert isinstance(i + n, AffineIndex)
    assert not isinstance(i - i, AffineIndex)


# What depends on the position of a loop


def memory(*shapes: tuple[int, ...]) -> tuple[SpaceBuilder, list[SSAValue], list[Scalar], list[Loop]]:
    """A builder, buffers of f32, the positions of three loops of four, and the loops."""
    b = SpaceBuilder(Block(arg_types=[*(MemRefType(f32, shape) for shape in shapes), INDEX, INDEX, INDEX]))
    loops = [Loop(4), Loop(4), Loop(4)]
    *buffers, _, _, _ = args = b.block.args
    b.place({loop: b.scalar(arg, INDEX) for loop, arg in zip(loops, args[-3:], strict=True)})
    return b, buffers, [b.affine(Affine(0, {loop: 1})) for loop in loops], loops


def test_addresses_are_recorded() -> None:
    b, (x, y), (i, j, k), loops = memory((8, 10), (8,))
    value = b.load(x, [i * 2, j + 1], f32)
    b.store(value, y, [k])
    assert [[each.stride(loop) for loop in loops] for each in b.accesses] == [[20, 1, 0], [0, 0, 1]]
    assert [each.stored for each in b.accesses] == [False, True]
    assert b.uniform == set()


def test_what_is_read_at_a_loaded_place_is_uniform_along_its_loops() -> None:
    b, (x, y), (i, j, k), loops = memory((4,), (4, 4))
    place = b.cast(b.cast(b.load(x, [i], f32), i32), INDEX)
    assert b.uniform == set()
    b.load(y, [place + j, k], f32)
    assert b.uniform == {loops[0]}
    assert [each.stride(loops[1]) for each in b.accesses] == [0, 4]


def test_numbers_of_positions_are_uniform() -> None:
    b, _, (i, j, _), loops = memory((4,))
    b.cast(i, f32)
    assert b.uniform == {loops[0]}
    place = b.cast(b.cast(j, i32), INDEX)
    _ = (place + 1).ssa
    assert b.uniform == set(loops[:2])


def test_branches_are_uniform_and_what_they_give_depends_on_their_condition() -> None:
    b, (x, y), (i, _, k), loops = memory((4,), (4,))
    value = b.load(x, [i], f32)
    (chosen,) = b.when(b.compare("lt", value, 0), lambda: [value], lambda: [b.const(1, f32)])
    assert b.uniform == {loops[0]}
    b.uniform.clear()
    place = b.cast(b.cast(chosen, i32), INDEX)
    b.load(y, [place], f32)
    assert b.uniform == {loops[0]}
    b.uniform.clear()
    both = value + b.load(x, [k], f32)
    b.load(y, [b.cast(b.cast(both, i32), INDEX)], f32)
    assert b.uniform == {loops[0], loops[2]}


def test_tables_that_are_looked_up_are_not_uniform() -> None:
    for registers, uniform in ((None, 1), ((16, 16), 0)):
        b = SpaceBuilder(Block(arg_types=[MemRefType(i8, [256]), MemRefType(i8, [4]), INDEX]))
        table, numbers, at = b.block.args
        loop = Loop(4)
        b.place({loop: b.scalar(at, INDEX)})
        number = b.load(numbers, [b.affine(Affine(0, {loop: 1}))], i8)
        b.lookup(number, lambda index, b=b, table=table: b.load(table, index, i8), registers)
        assert len(b.uniform) == uniform
        assert len(b.accesses) == 2


def test_tables_in_registers_are_no_accesses() -> None:
    b, (x,), _, _ = memory((8, 8))
    tile = Tile((4,))
    b.load(x, [b.index(0), tile.index(b, b.index(0), {-1: 1})], f32)
    assert b.accesses == []


def test_stores_are_gathered() -> None:
    b, (x,), (i, _, _), _ = memory((4,))
    value = b.const(1, f32)
    found = b.gathered(lambda: b.store(value, x, [i]))
    assert found == [(value, x, [i])]
    assert (b.accesses, effects(b.block)) == ([], [])
    b.store(value, x, [i])
    assert len(effects(b.block)) == len(b.accesses) == 1


def test_words_are_stored_where_tiles_lie() -> None:
    b = SpaceBuilder(Block(arg_types=[MemRefType(i8, [4, 4]), INDEX]))
    buffer, at = b.block.args
    loop, parts = Loop(4), [b.const(1, i8)] * 4
    index = [b.affine(Affine(0, {loop: 1})), b.index(0)]
    b.place({loop: b.scalar(at, INDEX)})
    b.store_words(parts, buffer, index)
    assert effects(b.block) == []
    b.place({loop: Tile((4,)).index(b, b.index(0), {-1: 1})})
    b.store_words(parts, buffer, index)
    assert len(effects(b.block)) == 1
    assert len(b.accesses) == 2


def test_expensive_functions_are_noted() -> None:
    for name, expensive in (("sqrt", False), ("exp", True), ("floor", False)):
        b = SpaceBuilder(block := arguments(f32))
        b.math(name, b.scalar(block.args[0], f32))
        b.math("sqrt", b.scalar(block.args[0], f32))
        assert b.computes_functions == expensive


@pytest.mark.parametrize(
    ("kind", "fuses", "left", "right", "exact"),
    [
        (f32, True, "tile", "tile", True),
        (f32, True, "tile", "one", True),
        (f32, True, "one", "tile", True),
        (f32, True, "one", "one", False),
        (f32, False, "tile", "tile", None),
        (f64, True, "tile", "tile", None),
    ],
)
def test_remainders_of_floats(kind: object, *, fuses: bool, left: str, right: str, exact: bool | None) -> None:
    """On tiles where multiply-adds round once, on scalars anywhere; None: on neither."""
    b = SpaceBuilder(block := arguments(VectorType(kind, [1, 4]), kind))  # pyright: ignore
    b.fuses = fuses
    given = {"tile": b.scalar(block.args[0], kind), "one": b.scalar(block.args[1], kind)}  # pyright: ignore
    if exact is None:
        with pytest.raises(NotVectorizable):
            b.rem(given[left], given[right])
    else:
        assert written(b.rem(given[left], given[right])).startswith("copysign(") == exact
    assert b.computes_functions


def test_remainders_of_integers_are_no_function() -> None:
    b, _, _, n = spaces()
    b.rem(b.cast(n, i32), b.const(3, i32))
    assert not b.computes_functions
