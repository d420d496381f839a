"""One attribute of the contract: its name, and its value as Python has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar, overload

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute

from aotc.dialects import properties
from aotc.errors import CompileError

T = TypeVar("T")


class HasAttributes(Protocol):
    """An operation, or an argument with its attributes."""

    attributes: dict[str, Attribute]


@dataclass(frozen=True)
class Field(Generic[T]):
    """A value in the attribute `name`: of an operation with `get` and `set`, or declared in a class as a property.

    It is None where the attribute is missing; setting None removes it.
    """

    name: str
    read: Callable[[Attribute], T | None]
    """The value of an attribute, None where the attribute is of another kind."""
    write: Callable[[T], Attribute]

    def get(self, holder: HasAttributes) -> T | None:
        """The value. Raises CompileError where the attribute is of another kind."""
        return self.within(holder.attributes)

    def within(self, attributes: Mapping[str, Attribute]) -> T | None:
        """The value in a dictionary of attributes. Raises as `get`."""
        if (attribute := attributes.get(self.name)) is None:
            return None
        if (value := self.read(attribute)) is None:
            raise CompileError("invalid-contract", f"the attribute {self.name} cannot be {attribute}")
        return value

    def require(self, holder: HasAttributes, owner: str, fix: str = "") -> T:
        """The value. Raises CompileError, which names `owner`, where there is none."""
        if (value := self.get(holder)) is None:
            raise CompileError("invalid-contract", f"{owner} has no attribute {self.name}{fix and '; '}{fix}")
        return value

    def set(self, holder: HasAttributes, value: T | None) -> None:
        """Write the value, or remove the attribute."""
        if value is None:
            holder.attributes.pop(self.name, None)
        else:
            holder.attributes[self.name] = self.write(value)

    @overload
    def __get__(self, holder: None, owner: type) -> Self: ...
    @overload
    def __get__(self, holder: HasAttributes, owner: type) -> T | None: ...
    def __get__(self, holder: HasAttributes | None, owner: type) -> Self | T | None:
        return self if holder is None else self.get(holder)

    def __set__(self, holder: HasAttributes, value: T | None) -> None:
        self.set(holder, value)


@dataclass(frozen=True)
class Mark:
    """A unit attribute, which is there or not."""

    name: str

    def on(self, holder: HasAttributes) -> bool:
        """Whether `holder` is marked."""
        return self.name in holder.attributes

    def set(self, holder: HasAttributes, value: bool = True) -> None:
        """Mark `holder`, or remove the mark."""
        if value:
            holder.attributes[self.name] = UnitAttr()
        else:
            holder.attributes.pop(self.name, None)

    @overload
    def __get__(self, holder: None, owner: type) -> Self: ...
    @overload
    def __get__(self, holder: HasAttributes, owner: type) -> bool: ...
    def __get__(self, holder: HasAttributes | None, owner: type) -> Self | bool:
        return self if holder is None else self.on(holder)

    def __set__(self, holder: HasAttributes, value: bool) -> None:
        self.set(holder, value)


# --- kinds of values -------------------------------------------------------------------------------------------------


def text(name: str) -> Field[str]:
    """A string."""
    return Field(name, text_of, StringAttr)


def integer(name: str) -> Field[int]:
    """An i64."""
    return Field(name, integer_of, integer_attribute)


def real(name: str) -> Field[float]:
    """An f64."""
    return Field(name, _real_of, lambda value: FloatAttr(value, f64))


def integers(name: str) -> Field[tuple[int, ...]]:
    """An array of i64."""
    return Field(name, _integers_of, lambda values: DenseArrayBase.from_list(i64, values))


def names_or_numbers(name: str) -> Field[tuple[str, ...] | tuple[int, ...]]:
    """An array of strings, or of i64."""
    return Field(name, _names_or_numbers_of, _names_or_numbers)


def text_of(attribute: Attribute) -> str | None:
    """The string of an attribute that is one."""
    if isinstance(attribute, BytesAttr):  # what the parser makes of a string that is not ASCII
        return attribute.data.decode()
    return attribute.data if isinstance(attribute, StringAttr) else None


def integer_of(attribute: Attribute) -> int | None:
    """The value of an attribute that is an integer."""
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def integer_attribute(value: int) -> IntegerAttr:
    """An i64."""
    return properties.integer(value)


def _real_of(attribute: Attribute) -> float | None:
    return attribute.value.data if isinstance(attribute, FloatAttr) else None


def _integers_of(attribute: Attribute) -> tuple[int, ...] | None:
    return tuple(int(each) for each in attribute.get_values()) if isinstance(attribute, DenseArrayBase) else None


def _names_or_numbers_of(attribute: Attribute) -> tuple[str, ...] | tuple[int, ...] | None:
    parts = attribute.data if isinstance(attribute, ArrayAttr) else ()
    names = tuple(text for each in parts if (text := text_of(each)) is not None)
    numbers = tuple(number for each in parts if (number := integer_of(each)) is not None)
    return next((found for found in (names, numbers) if found and len(found) == len(parts)), None)


def _names_or_numbers(values: tuple[str, ...] | tuple[int, ...]) -> Attribute:
    return ArrayAttr([StringAttr(each) if isinstance(each, str) else integer_attribute(each) for each in values])
