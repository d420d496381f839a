"""Properties of operations: numbers, names and flags, which are attributes in the IR and plain values in Python.

A class declares them as xDSL's `prop_def` does: after `columns = int_prop()`, `op.columns` is an int, and the property
`columns` an `i64`. Attributes recur in every kernel, and xDSL checks each one that is made: equal ones are made once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    I64,
    BoolAttr,
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import opt_prop_def, prop_def

_UNIT = UnitAttr()

# --- attributes ------------------------------------------------------------------------------------------------------


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
def string(text: str) -> StringAttr:
    """`"text"`."""
    return StringAttr(text)


# --- fields of operation classes -------------------------------------------------------------------------------------


class PlainValue(property):
    """A field of an operation class that reads and sets a property as a plain value.

    The class gets the property's definition, from which xDSL parses, prints and verifies it, under a hidden name.
    """

    def __init__(
        self,
        define: Callable[[str], Attribute | None],
        read: Callable[[Any], object],
        make: Callable[[Any], Attribute | None],
    ) -> None:
        """`define` makes the definition of a property's name, `read` a value of its attribute or None, `make` an
        attribute of a value, or None for none."""
        super().__init__()
        self._define, self._read, self.attribute = define, read, make
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        setattr(owner, f"_{name}", self._define(name))

    def __get__(self, op: Operation | None, owner: type | None = None) -> Any:
        return self if op is None else self._read(op.properties.get(self._name))

    def __set__(self, op: Operation, value: object) -> None:
        if (attribute := self.attribute(value)) is None:
            op.properties.pop(self._name, None)
        else:
            op.properties[self._name] = attribute


def _given(attribute: IntegerAttr | FloatAttr) -> int | float:
    return attribute.value.data


def _if_given(attribute: IntegerAttr | FloatAttr | None) -> int | float | None:
    return None if attribute is None else attribute.value.data


def _holds(attribute: BoolAttr | UnitAttr | None) -> bool:
    return attribute is not None and (isinstance(attribute, UnitAttr) or bool(attribute.value.data))


def _optional(kind: Any, make: Callable[[Any], Attribute]) -> Any:
    def made(value: object) -> Attribute | None:
        return None if value is None else make(value)

    return PlainValue(lambda name: opt_prop_def(kind, prop_name=name), _if_given, made)


class Flag(PlainValue):
    """A field that is a bool, whatever attribute says so."""


def _flag(kind: Any, holds: Attribute) -> Any:
    return Flag(lambda name: opt_prop_def(kind, prop_name=name), _holds, lambda value: holds if value else None)


def int_prop(default: int | None = None) -> int:
    """An integer, `i64`, which need not be written where it is the default."""
    given = None if default is None else integer(default)
    return cast(int, PlainValue(lambda name: prop_def(IntegerAttr[I64], given, prop_name=name), _given, integer))


def opt_int_prop() -> int | None:
    """An integer, `i64`, or None."""
    return _optional(IntegerAttr[I64], integer)


def float_prop() -> float:
    """A float, `f64`."""
    return cast(float, PlainValue(lambda name: prop_def(FloatAttr[Float64Type], prop_name=name), _given, _float))


def opt_float_prop() -> float | None:
    """A float, `f64`, or None."""
    return _optional(FloatAttr[Float64Type], _float)


def bool_prop(default: bool | None = None) -> bool:
    """An `i1`, which need not be written where it is the default."""
    given = None if default is None else BoolAttr.from_bool(default)
    return cast(bool, Flag(lambda name: prop_def(BoolAttr, given, prop_name=name), _holds, BoolAttr.from_bool))


def opt_bool_prop() -> bool:
    """An `i1`, absent where it is False."""
    return _flag(BoolAttr, BoolAttr.from_bool(True))


def unit_prop() -> bool:
    """Whether a unit attribute is there."""
    return _flag(UnitAttr, _UNIT)


def _float(value: float) -> FloatAttr[Float64Type]:
    return FloatAttr(value, 64)
