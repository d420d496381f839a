"""One attribute of the contract: its name, and its value as Python has it."""

from __future__ import annotations

from typing import Any, Generic, Protocol, Self, TypeVar, get_args, overload

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute

from aotc.dialects.attributes import attribute_of, value_of
from aotc.errors import CompileError

T = TypeVar("T")


class HasAttributes(Protocol):
    """An operation, or an argument with its attributes."""

    attributes: dict[str, Attribute]


class Field(Generic[T]):
    """A value of type T in the attribute `name`: of an operation with `get` and `set`, or declared in a class as a
    property.

    It is None where the attribute is missing; setting None removes it.
    """

    __orig_class__: Any
    """`Field[T]`, which a field is made with."""

    def __init__(self, name: str, fix: str = "") -> None:
        """`fix` says what gives the attribute to a module without it."""
        self.name, self.fix = name, fix

    def read(self, attribute: Attribute) -> T | None:
        """The value of an attribute, None where the attribute is of another kind."""
        return value_of(attribute, get_args(self.__orig_class__)[0])

    def write(self, value: T) -> Attribute:
        """The attribute for a value."""
        return attribute_of(value, get_args(self.__orig_class__)[0])

    def get(self, holder: HasAttributes) -> T | None:
        """The value. Raises CompileError where the attribute is of another kind."""
        if (attribute := holder.attributes.get(self.name)) is None:
            return None
        if (value := self.read(attribute)) is None:
            raise CompileError("invalid-contract", f"the attribute {self.name} cannot be {attribute}")
        return value

    def require(self, holder: HasAttributes, owner: str = "the module") -> T:
        """The value. Raises CompileError, which names `owner`, where there is none."""
        if (value := self.get(holder)) is None:
            fix = f"; {self.fix}" if self.fix else ""
            raise CompileError("invalid-contract", f"{owner} has no attribute {self.name}{fix}")
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


class Mark:
    """A unit attribute, which is there or not."""

    def __init__(self, name: str) -> None:
        self.name = name

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
