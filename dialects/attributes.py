"""Attributes for plain Python values, and the values of attributes, by their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    BytesAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import AttrParser


def to_attribute(value: object) -> Attribute:
    """The attribute for a plain Python value: ints i64, floats f64, bools i1, strings, sequences of ints or floats."""
    match value:
        case Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case list() | tuple():
            items = cast(Sequence[Any], value)
            if any(isinstance(item, str) for item in items):
                return ArrayAttr([StringAttr(item) for item in items])
            if any(isinstance(item, float) for item in items):
                return DenseArrayBase.from_list(f64, [float(item) for item in items])
            return DenseArrayBase.from_list(i64, [int(item) for item in items])
        case _:
            raise TypeError(f"no attribute for {value!r}")


def attribute_of(value: Any, kind: Any) -> Attribute:
    """The attribute for a value of type `kind`, from which `value_of` reads it.

    As `to_attribute`; mappings are dictionaries, and so are dataclasses, without fields that have their defaults (a
    flag that is False by default is a unit); tuples of numbers are dense arrays, all other sequences arrays.
    """
    if isinstance(value, Attribute):
        return value
    if is_dataclass(kind):
        hints, members = _hints(kind), [(each, getattr(value, each.name)) for each in fields(kind)]
        given = {each.name: found for each, found in members if found != each.default}
        flags = {each.name for each in fields(kind) if each.default is False}
        return DictionaryAttr(
            {name: UnitAttr() if name in flags else attribute_of(given[name], hints[name]) for name in given}
        )
    kinds = get_args(kind)
    match get_origin(kind):
        case origin if origin is Mapping:
            return DictionaryAttr({name: attribute_of(each, kinds[1]) for name, each in value.items()})
        case origin if origin is Sequence or (origin is tuple and kinds[0] not in (int, float)):
            return ArrayAttr([attribute_of(each, kinds[0]) for each in value])
        case _:
            return to_attribute(value)


def value_of(attribute: Attribute | float, kind: Any) -> Any:
    """The value of type `kind`, as `attribute_of` writes it; None where the attribute, or part of it, is of another
    kind."""
    match attribute:
        case BytesAttr() if kind is str:  # what the parser makes of a string that is not ASCII
            return attribute.data.decode()
        case StringAttr() if kind is str:
            return attribute.data
        case IntegerAttr() if kind in (int, bool):
            return kind(attribute.value.data)
        case FloatAttr() if kind is float:
            return attribute.value.data
        case UnitAttr() if kind is bool:
            return True
        case Attribute() if isinstance(kind, type) and issubclass(kind, Attribute):
            return attribute if isinstance(attribute, kind) else None
        case DictionaryAttr() if is_dataclass(kind):
            return _record(attribute.data, kind)
        case _ if isinstance(kind, type):
            return attribute if isinstance(attribute, kind) else None
        case _:
            return _composed(attribute, get_origin(kind), get_args(kind))


def _composed(attribute: Attribute | float, origin: Any, kinds: Sequence[Any]) -> Any:
    """A value of one of several kinds, or one that is made of several values."""
    if origin is UnionType:
        found = (value_of(attribute, each) for each in kinds)
        return next((each for each in found if each not in (None, ())), None)
    if origin is Literal:
        return next((each for each in kinds if each == value_of(attribute, str)), None)
    if origin is Mapping and isinstance(attribute, DictionaryAttr):
        values = {name: value_of(each, kinds[1]) for name, each in attribute.data.items()}
        return None if None in values.values() else values
    if isinstance(attribute, ArrayAttr | DenseArrayBase):
        parts = attribute.data if isinstance(attribute, ArrayAttr) else attribute.get_values()
        items = tuple(value_of(each, kinds[0]) for each in parts)
        return None if None in items else items
    return None


def _record(given: Mapping[str, Attribute], kind: Any) -> Any:
    known = [each.name for each in fields(kind) if each.name in given]
    found = {name: value_of(given[name], _hints(kind)[name]) for name in known}
    needed = {each.name for each in fields(kind) if each.default is MISSING}
    return None if None in found.values() or needed - found.keys() else kind(**found)


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


def nested(attribute: Attribute) -> Iterator[Attribute]:
    """An attribute and, of an array or a dictionary, all that are in it."""
    yield attribute
    if isinstance(attribute, ArrayAttr | DictionaryAttr):
        for each in attribute.data if isinstance(attribute, ArrayAttr) else attribute.data.values():
            yield from nested(each)


def parse_field(parser: AttrParser) -> tuple[str, object]:
    """One of the fields of an attribute: a name alone is True; behind `=` are an integer, a name, or `[integers]`."""
    name = parser.parse_identifier()
    if parser.parse_optional_punctuation("=") is None:
        return name, True
    if (number := parser.parse_optional_integer()) is not None:
        return name, number
    numbers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return name, parser.parse_identifier() if numbers is None else tuple(numbers)
