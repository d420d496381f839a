"""Arithmetic on scalars as kernels have it: which operations are written, and what is folded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from kernels.evaluated import evaluated
from kernels.written import arguments, effects, written
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, Block

from aotc.dialects.aot.contract import NONPOSITIVE
from aotc.dialects.builder import INDEX, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES, Array, numpy_dtype
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.builders.scalar_builder import binary, conversion, predicate

Expression: TypeAlias = Callable[[LoopBuilder, Scalar, Scalar], Scalar]

U8, U16, U32, U64 = (ELEMENT_TYPES[f"uint{bits}"] for bits in (8, 16, 32, 64))
F16, BF16 = ELEMENT_TYPES["float16"], ELEMENT_TYPES["bfloat16"]


def scalars(*kinds: Attribute) -> tuple[LoopBuilder, list[Scalar]]:
    """A builder of a block with an argument of each type."""
    block = arguments(*kinds)
    b = LoopBuilder(block)
    return b, [b.scalar(arg, kind) for arg, kind in zip(block.args, kinds, strict=True)]


WRITTEN: list[tuple[Attribute, Expression, str]] = [
    # sums and products
    (i32, lambda b, x, y: x + y, "addi(x, y)"),
    (i32, lambda b, x, y: x + 0, "x"),
    (i32, lambda b, x, y: 0 + x, "x"),
    (i32, lambda b, x, y: x + 1, "addi(x, 1)"),
    (i32, lambda b, x, y: 1 + x, "addi(1, x)"),
    (f32, lambda b, x, y: x + 0, "addf(x, 0.0)"),
    (f32, lambda b, x, y: 0 + x, "addf(0.0, x)"),
    (i32, lambda b, x, y: x - y, "subi(x, y)"),
    (i32, lambda b, x, y: x - 0, "x"),
    (i32, lambda b, x, y: x - 1, "subi(x, 1)"),
    (i32, lambda b, x, y: 0 - x, "subi(0, x)"),
    (f32, lambda b, x, y: x - 0, "subf(x, 0.0)"),
    (i32, lambda b, x, y: x * y, "muli(x, y)"),
    (i32, lambda b, x, y: x * 1, "x"),
    (i32, lambda b, x, y: 1 * x, "x"),
    (i32, lambda b, x, y: x * 0, "0"),
    (i32, lambda b, x, y: 0 * x, "0"),
    (i32, lambda b, x, y: x * 2, "muli(x, 2)"),
    (i32, lambda b, x, y: 2 * x, "muli(2, x)"),
    (f32, lambda b, x, y: x * 1, "mulf(x, 1.0)"),
    (f32, lambda b, x, y: x * 0, "mulf(x, 0.0)"),
    # constants of one type are folded, and wrap
    (i8, lambda b, x, y: b.const(100, i8) + 100, "-56"),
    (U8, lambda b, x, y: b.const(5, U8) - 6, "-1"),
    (i8, lambda b, x, y: b.const(64, i8) * 4, "0"),
    (INDEX, lambda b, x, y: b.index(2**40) * 2**30, str(2**70)),
    (f32, lambda b, x, y: b.const(1.5, f32) + 2, "addf(1.5, 2.0)"),
    (f32, lambda b, x, y: b.const(1.5, f32) - 2, "subf(1.5, 2.0)"),
    (f32, lambda b, x, y: b.const(1.5, f32) * 2, "mulf(1.5, 2.0)"),
    # quotients and remainders
    (i32, lambda b, x, y: x / y, "divsi(x, y)"),
    (U32, lambda b, x, y: x / y, "divui(x, y)"),
    (i1, lambda b, x, y: x / y, "divui(x, y)"),
    (INDEX, lambda b, x, y: x / y, "divui(x, y)"),
    (f32, lambda b, x, y: x / y, "divf(x, y)"),
    (i32, lambda b, x, y: x / 1, "x"),
    (i32, lambda b, x, y: x / 2, "divsi(x, 2)"),
    (f32, lambda b, x, y: x / 1, "divf(x, 1.0)"),
    (i32, lambda b, x, y: b.const(-7, i32) / 2, "-3"),
    (i32, lambda b, x, y: b.const(0, i32) / -2, "0"),
    (i32, lambda b, x, y: b.const(5, i32) / 0, "divsi(5, 0)"),
    (f32, lambda b, x, y: b.const(7, f32) / 2, "divf(7.0, 2.0)"),
    (i32, lambda b, x, y: b.rem(x, y), "remsi(x, y)"),
    (U32, lambda b, x, y: b.rem(x, y), "remui(x, y)"),
    (INDEX, lambda b, x, y: b.rem(x, y), "remui(x, y)"),
    (f32, lambda b, x, y: b.rem(x, y), "fmod(x, y)"),
    (i32, lambda b, x, y: b.rem(x, b.const(1, i32)), "0"),
    (i32, lambda b, x, y: b.rem(x, b.const(2, i32)), "remsi(x, 2)"),
    (f32, lambda b, x, y: b.rem(x, b.const(1, f32)), "fmod(x, 1.0)"),
    (i32, lambda b, x, y: b.rem(b.const(-7, i32), b.const(2, i32)), "-1"),
    (i32, lambda b, x, y: b.rem(b.const(7, i32), b.const(-2, i32)), "1"),
    (i32, lambda b, x, y: b.rem(b.const(5, i32), b.const(0, i32)), "remsi(5, 0)"),
    # signs
    (i32, lambda b, x, y: -x, "subi(0, x)"),
    (f32, lambda b, x, y: -x, "negf(x)"),
    (f32, lambda b, x, y: -b.const(0.0, f32), "-0.0"),
    (i32, lambda b, x, y: -b.const(3, i32), "-3"),
    (i32, lambda b, x, y: b.abs(x), "maxsi(x, subi(0, x))"),
    (U32, lambda b, x, y: b.abs(x), "x"),
    (f32, lambda b, x, y: b.abs(x), "absf(x)"),
    # bits
    (i32, lambda b, x, y: x & y, "andi(x, y)"),
    (i32, lambda b, x, y: x | 4, "ori(x, 4)"),
    (i32, lambda b, x, y: ~x, "xori(x, -1)"),
    (i32, lambda b, x, y: b.shift_left(x, y), "shli(x, y)"),
    (i32, lambda b, x, y: b.shift_right(x, y), "shrsi(x, y)"),
    (U32, lambda b, x, y: b.shift_right(x, y), "shrui(x, y)"),
    (i32, lambda b, x, y: b.bitcast(x, U32), "x"),
    (i32, lambda b, x, y: b.bitcast(x, f32), "bitcast(x):f32"),
    (i32, lambda b, x, y: b.from_bits(x), "bitcast(x):f32"),
    # extremes
    (i32, lambda b, x, y: b.max(x, y), "maxsi(x, y)"),
    (i32, lambda b, x, y: b.min(x, y), "minsi(x, y)"),
    (U32, lambda b, x, y: b.max(x, y), "maxui(x, y)"),
    (U32, lambda b, x, y: b.min(x, y), "minui(x, y)"),
    (f32, lambda b, x, y: b.max(x, y), "maximumf(x, y)"),
    (f32, lambda b, x, y: b.min(x, y), "minimumf(x, y)"),
    (i32, lambda b, x, y: b.max(x, 3), "maxsi(x, 3)"),
    (f32, lambda b, x, y: b.max(x, 3), "select(cmpf olt(x, 3.0), 3.0, x)"),
    (f32, lambda b, x, y: b.min(x, 3), "select(cmpf ogt(x, 3.0), 3.0, x)"),
    (f32, lambda b, x, y: b.max(x, float("nan")), "maximumf(x, nan)"),
    (i32, lambda b, x, y: b.max(b.const(2, i32), 5), "5"),
    (i32, lambda b, x, y: b.min(b.const(2, i32), 5), "2"),
    # comparisons
    (i32, lambda b, x, y: b.compare("lt", x, y), "cmpi slt(x, y)"),
    (U32, lambda b, x, y: b.compare("lt", x, y), "cmpi ult(x, y)"),
    (INDEX, lambda b, x, y: b.compare("ge", x, y), "cmpi sge(x, y)"),
    (i32, lambda b, x, y: b.compare("eq", x, y), "cmpi eq(x, y)"),
    (U32, lambda b, x, y: b.compare("ne", x, y), "cmpi ne(x, y)"),
    (f32, lambda b, x, y: b.compare("lt", x, y), "cmpf olt(x, y)"),
    (f32, lambda b, x, y: b.compare("eq", x, y), "cmpf oeq(x, y)"),
    (f32, lambda b, x, y: b.compare("ne", x, y), "cmpf une(x, y)"),
    # powers
    (f32, lambda b, x, y: b.pow(x, y), "powf(x, y)"),
    (f32, lambda b, x, y: b.pow(x, b.const(2, f32)), "mulf(x, x)"),
    (f32, lambda b, x, y: b.pow(x, b.const(3, f32)), "mulf(mulf(x, x), x)"),
    (f32, lambda b, x, y: b.pow(x, b.const(4, f32)), "powf(x, 4.0)"),
    # conversions
    (i32, lambda b, x, y: b.cast(x, i32), "x"),
    (i1, lambda b, x, y: b.cast(x, i1), "x"),
    (i32, lambda b, x, y: b.cast(x, i1), "cmpi ne(x, 0)"),
    (f32, lambda b, x, y: b.cast(x, i1), "cmpf une(x, 0.0)"),
    (f32, lambda b, x, y: b.cast(x, f64), "extf(x):f64"),
    (f64, lambda b, x, y: b.cast(x, f32), "truncf(x):f32"),
    (f32, lambda b, x, y: b.cast(x, F16), "extf(truncf(x):f16):f32"),
    (f64, lambda b, x, y: b.cast(x, BF16), "extf(truncf(truncf(x):f32):bf16):f32"),
    (f32, lambda b, x, y: b.cast(x, i32), "fptosi(x):i32"),
    (f32, lambda b, x, y: b.cast(x, U32), "fptoui(x):i32"),
    (i32, lambda b, x, y: b.cast(x, f32), "sitofp(x):f32"),
    (U32, lambda b, x, y: b.cast(x, f32), "uitofp(x):f32"),
    (i1, lambda b, x, y: b.cast(x, f32), "uitofp(x):f32"),
    (i32, lambda b, x, y: b.cast(x, i64), "extsi(x):i64"),
    (U32, lambda b, x, y: b.cast(x, i64), "extui(x):i64"),
    (i32, lambda b, x, y: b.cast(x, i8), "trunci(x):i8"),
    (i32, lambda b, x, y: b.cast(x, U32), "x"),
    (i32, lambda b, x, y: b.cast(x, INDEX), "index_cast(x):index"),
    (U32, lambda b, x, y: b.cast(x, INDEX), "index_cast(extui(x):i64):index"),
    (f32, lambda b, x, y: b.cast(x, INDEX), "index_cast(fptosi(x):i32):index"),
    (INDEX, lambda b, x, y: b.cast(x, f32), "sitofp(index_cast(x):i32):f32"),
    (INDEX, lambda b, x, y: b.cast(x, i64), "index_cast(x):i64"),
    (INDEX, lambda b, x, y: b.cast(x, INDEX), "x"),
    (i32, lambda b, x, y: b.cast(b.const(3, i32), f32), "3.0"),
    (f32, lambda b, x, y: b.cast(b.const(0.1, f32), f64), "extf(0.10000000149011612):f64"),
    (f32, lambda b, x, y: b.cast(b.const(2.5, f32), i32), "fptosi(2.5):i32"),
    (i32, lambda b, x, y: b.cast(b.const(3, i32), i64), "extsi(3):i64"),
    (i32, lambda b, x, y: b.convert(x, i8), "trunci(x):i8"),
    (f32, lambda b, x, y: b.convert(x, f64), "extf(x):f64"),
    (f32, lambda b, x, y: b.convert(x, i1), "cmpf une(x, 0.0)"),
    (f32, lambda b, x, y: b.rounded(x), "fptosi(roundeven(x)):i32"),
]


@pytest.mark.parametrize("case", range(len(WRITTEN)), ids=lambda at: f"{WRITTEN[at][0]} {WRITTEN[at][2]}")
def test_what_is_written(case: int) -> None:
    kind, expression, text = WRITTEN[case]
    b, (x, y) = scalars(kind, kind)
    assert written(expression(b, x, y)) == text


def test_indices_that_were_numbers_are_used_as_such() -> None:
    b, (x, place) = scalars(i64, INDEX)
    number = Scalar(b, i64, x.value, index=place)
    assert written(b.cast(number, INDEX)) == "y"
    assert written(b.cast(number, i32)) == "trunci(x):i32"


def test_places_below_a_constant_divide_into_nothing() -> None:
    """The index of a loop to 5 by 5 is no multiple; by 4 it is divided."""
    b, (n,) = scalars(INDEX)
    found: list[str] = []

    def look(i: Scalar) -> None:
        found.extend(written(each) for each in (i / 5, b.rem(i, b.index(5)), i / 4, b.rem(i, b.index(4)), i / n))

    inside = ["0", "?", "divui(?, 4)", "remui(?, 4)", "divui(?, x)"]
    outside = ["divui(?, 5)", "remui(?, 5)", *inside[2:]]
    b.sequential_range(0, 5, 1, look)
    b.parallel_range(0, 5, 1, look)
    assert found == inside * 2
    del found[:]
    b.sequential_range(-1, 5, 1, look)
    b.parallel_range(-1, 5, 1, look)
    b.sequential_range(n, 5, 1, look)
    b.sequential_range(0, n, 1, look)
    assert found == outside * 4


FLOATS = np.array(
    [
        *(0.0, -0.0, 0.4, -0.6, 1.5, -2.5, 100.7, -129.0, 255.5, 300.0, 32767.5, -40000.0, 70000.0, np.nan, np.inf),
        *(-np.inf, 2.0**31 - 128, 2.0**31, -(2.0**31), 3e9, -3e9, 2.0**32, 2.0**62, 2.0**63, 1.2e19, -1e19, 1e30),
    ],
    np.float32,
)


def as_x86_converts(values: Array, bits: int, kept: int, unsigned: bool) -> list[int]:
    """Through an integer of `bits`, of which the low `kept` remain."""
    least, found = -(2 ** (bits - 1)), list[int]()
    for value in values.tolist():
        big = unsigned and value >= -least
        left = value + least if big else value
        whole = int(left) if least < left < -least else least
        found.append(((whole ^ least) if big else whole) % 2**kept)
    return found


@pytest.mark.parametrize("source", [f32, f64], ids=str)
@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_every_float_has_an_integer(name: str, source: Attribute) -> None:
    b, (x,) = scalars(source)
    assert x.value is not None
    kind = np.dtype(name)
    bits = kind.itemsize * 8
    values = FLOATS.astype(numpy_dtype(source))
    found = evaluated(b.convert(x, ELEMENT_TYPES[name]).ssa, {x.value: values})
    wide = max(32, bits)
    expected = as_x86_converts(values, wide, bits, kind.kind == "u" and bits == wide)
    assert found.view(f"uint{bits}").tolist() == expected


def test_predicates_and_conversions() -> None:
    assert [predicate("ne", kind) for kind in (f32, i32, U32)] == ["une", "ne", "ne"]
    assert [predicate("gt", kind) for kind in (f32, i32, U32)] == ["ogt", "sgt", "ugt"]
    assert conversion(i32, U32) is None
    assert conversion(i16, i32) == "extsi"


def test_constants_are_shared_and_in_front() -> None:
    b, (x,) = scalars(f32)
    total = x + x
    values = [(0.0, f32), (-0.0, f32), (0, i32), (1, i1), (3, i1), (300, i8), (float("nan"), f32)]
    made = [b.materialize(*each) for each in values]
    assert made == [b.materialize(*each) for each in values]
    assert [written(each) for each in made] == ["0.0", "-0.0", "0", "-1", "-1", "44", "nan"]
    ops = list(total.ssa.owner.parent.ops)  # pyright: ignore
    assert [isinstance(op, arith.ConstantOp) for op in ops] == [True] * (len(ops) - 1) + [False]
    assert ops[:-1] == list(dict.fromkeys(each.owner for each in made))
    empty = Block()
    LoopBuilder(empty).materialize(7, i64)
    assert len(empty.ops) == 1


def test_conditions_are_checked_where_that_is_asked_for() -> None:
    b, (x,) = scalars(i32)
    b.guard(lambda: b.compare("lt", x, 4))
    assert not effects(b.block)
    b.guards = True
    b.guard(lambda: b.compare("lt", x, 4))
    assert effects(b.block) == ["require(cmpi slt(x, 4))"]


def test_exponentials_of_what_is_not_positive_are_marked() -> None:
    b, (x,) = scalars(f32)
    plain, marked = b.math("exp", x), b.exp_of_nonpositive(x)
    assert [NONPOSITIVE.on(each.ssa.owner) for each in (plain, marked)] == [False, True]  # pyright: ignore


def test_operations_have_the_properties_that_xdsl_gives_them() -> None:
    block = arguments(i32, i32)
    assert binary(arith.AddiOp, *block.args).properties == arith.AddiOp(*block.args).properties != {}
