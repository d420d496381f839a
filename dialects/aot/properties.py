"""Properties of operations: numbers, names and flags as attributes.

They recur in every kernel, and xDSL checks each attribute that is made: equal ones are made once.
"""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import I64, DenseArrayBase, IndexType, IntegerAttr, IntegerType, StringAttr, UnitAttr, i64

_UNIT = UnitAttr()


def flag(given: bool) -> UnitAttr | None:
    """A unit attribute where something holds; None, which xDSL leaves out, where it does not."""
    return _UNIT if given else None


@lru_cache(maxsize=4096)
def integer(value: int) -> IntegerAttr[I64]:
    """`value : i64`."""
    return IntegerAttr(value, i64)


@lru_cache(maxsize=4096)
def number(value: int, kind: IntegerType | IndexType) -> IntegerAttr:
    """`value : kind`, which it must fit."""
    return IntegerAttr(value, kind)


@lru_cache(maxsize=4096)
def int_array(values: tuple[int, ...]) -> DenseArrayBase[I64]:
    """`array<i64: ..>`."""
    return DenseArrayBase.from_list(i64, values)


@lru_cache(maxsize=4096)
def ints(values: DenseArrayBase[I64]) -> tuple[int, ...]:
    """The numbers of `array<i64: ..>`."""
    return tuple(int(item) for item in values.get_values())


@lru_cache(maxsize=256)
def word(text: str) -> StringAttr:
    """`"text"`."""
    return StringAttr(text)
