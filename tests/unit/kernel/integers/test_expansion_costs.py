"""Costs of expansions: what is counted of them, once, by the operands that it depends on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aotc.machines.expansions.counting import Counted, Counting
from aotc.machines.expansions.permutations import COMPUTED, byte_lookup
from aotc.machines.instructions import INSTRUCTIONS
from aotc.machines.targets import instructions_of, lookup

P = Counting(INSTRUCTIONS, 4)


def _operands() -> tuple[Counted, Counted]:
    return Counted("u8", 16, {"x"}), Counted("u8", 16, {"y"})


def test_each_value_is_counted_once_and_says_what_it_depends_on() -> None:
    x, y = _operands()
    widened = x.reinterpret("u16") & 255
    both = widened + y.reinterpret("u16") * widened
    assert widened.lanes == 8 and both.of == {"x", "y"}
    made = list(both.all())
    assert P.cycles(each for each in made if each.of == {"x"}) == 1 / 4, "no instruction for bits that are read anew"
    assert P.cycles(each for each in made if len(each.of) > 1) == 2 / 4
    assert P.cycles(made) == 3 / 4


def test_numbers_and_operands_are_free_and_shuffles_are_not() -> None:
    x, y = _operands()
    assert P.cycles(x.number(3, "u8").all()) == P.cycles(x.all()) == 0
    assert P.cycles(x.shuffle([0, 1], y).all()) == P.cycles(x.shuffle([0, 1]).all()) == 1 / 4
    assert (x.shuffle([0, 1], y).of, x.shuffle([0, 1]).lanes) == ({"x", "y"}, 2)


def test_units_are_busy_or_no_more_instructions_begin() -> None:
    x, y = _operands()
    shuffled = P.apply("pshufb.128", x, y)
    busy = INSTRUCTIONS["pshufb.128"].cycles
    assert P.cycles(shuffled.all()) == busy > 1 / 4
    assert P.cycles((shuffled + x - y).all()) == 3 / 4 > busy
    assert (shuffled.dtype, shuffled.lanes) == ("u8", 16)


def test_an_addition_becomes_one_with_the_sum_of_neighbours() -> None:
    products, total = Counted("s16", 8, {"x"}), Counted("s32", 4, {"sums"})
    assert P.cycles((total + P.apply("saddlp", products)).all()) == 1 / 4


@pytest.mark.parametrize(
    ("target", "name", "fewest"),
    [
        ("x86-64", "", 0),
        ("x86-64-v2", "pshufb.128", 3),
        ("x86-64-v3", "pshufb.256", 3),
        ("x86-64-v4", "vpermi2w.512", 2),
        ("x86_64-linux-gnu:znver4", "vpermi2b.512", 2),
        ("aarch64", "tbl4", 3),
        ("wasm32-simd128", "i8x16.swizzle", 3),
        ("armv7", "", 0),
    ],
)
def test_functions_that_are_looked_up(target: str, name: str, fewest: int) -> None:
    machine = lookup(target).vectors
    assert machine is not None
    assert (machine.lookup.name, machine.lookup.fewest_operations) == (name, fewest)


def test_a_slower_permutation_looks_up_longer_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    names = instructions_of("aarch64")
    assert byte_lookup.__wrapped__(names, 16, 2).fewest_operations == 3
    for name in ("tbl4", "tbx4"):
        monkeypatch.setitem(INSTRUCTIONS, name, replace(INSTRUCTIONS[name], cycles=9))
    assert byte_lookup.__wrapped__(names, 16, 2).fewest_operations == 5
    assert byte_lookup.__wrapped__(frozenset(), 16, 2) is COMPUTED
