"""Typed numbers that meanings of instructions, and what stands for them elsewhere, are written over.

A type is a letter and bits: `s` integers with a sign, `u` without, `f` floats, `b1` booleans. Arithmetic is between
numbers of one type, or with a Python number, and wraps. What a computation becomes is decided by the class that it is
evaluated with: numpy's arrays (`evaluation`), C (`emit/c`), or operations of the IR (`passes/loops`, `passes/lower`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar, overload

Arithmetic: TypeAlias = Literal["add", "sub", "mul", "and", "or", "xor", "shl", "shr", "min", "max", "div", "rem"]
Comparison: TypeAlias = Literal["lt", "le", "gt", "ge", "eq", "ne"]
Operation: TypeAlias = Arithmetic | Comparison | Literal["abs", "select", "convert", "reinterpret"]

BOOLEAN = "b1"


def bits_of(dtype: str) -> int:
    """The bits of a type."""
    return int(dtype[1:])


def is_signed(dtype: str) -> bool:
    """Whether it is integers with a sign."""
    return dtype[0] == "s"


class Value(ABC):
    """A number, or many alike, of a type."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    @abstractmethod
    def made(self, name: Operation, dtype: str, *operands: Any) -> Self:
        """The result, of type `dtype`, of an operation on values of this class."""

    @property
    @abstractmethod
    def lanes(self) -> int:
        """How many there are side by side."""

    @abstractmethod
    def number(self, value: float, dtype: str) -> Self:
        """A number as a value of this kind; as many of it as there are of this one."""

    def _like(self, other: Self | float) -> Self:
        return other if isinstance(other, Value) else self.number(other, self.dtype)

    def _arithmetic(self, name: Arithmetic | Comparison, other: Self | float, dtype: str = "") -> Self:
        other = self._like(other)
        assert other.dtype == self.dtype, f"{name} of {self.dtype} and {other.dtype}"
        return self.made(name, dtype or self.dtype, self, other)

    def _compared(self, name: Comparison, other: Self | float) -> Self:
        return self._arithmetic(name, other, BOOLEAN)

    def __add__(self, other: Self | float) -> Self:
        return self._arithmetic("add", other)

    def __sub__(self, other: Self | float) -> Self:
        return self._arithmetic("sub", other)

    def __mul__(self, other: Self | float) -> Self:
        return self._arithmetic("mul", other)

    def divide(self, by: Self | int) -> Self:
        """The quotient of integers, towards zero."""
        return self._arithmetic("div", by)

    def remainder(self, by: Self | int) -> Self:
        """The rest of that division."""
        return self._arithmetic("rem", by)

    def __neg__(self) -> Self:
        return self.number(0, self.dtype) - self

    def __and__(self, other: Self | int) -> Self:
        return self._arithmetic("and", other)

    def __or__(self, other: Self | int) -> Self:
        return self._arithmetic("or", other)

    def __xor__(self, other: Self | int) -> Self:
        return self._arithmetic("xor", other)

    def __lshift__(self, by: Self | int) -> Self:
        return self._arithmetic("shl", by)

    def __rshift__(self, by: Self | int) -> Self:
        """Of integers with a sign arithmetic."""
        return self._arithmetic("shr", by)

    def __abs__(self) -> Self:
        """The least integer stays itself."""
        return self.made("abs", self.dtype, self)

    def __lt__(self, other: Self | float) -> Self:
        return self._compared("lt", other)

    def __le__(self, other: Self | float) -> Self:
        return self._compared("le", other)

    def __gt__(self, other: Self | float) -> Self:
        return self._compared("gt", other)

    def __ge__(self, other: Self | float) -> Self:
        return self._compared("ge", other)

    def equals(self, other: Self | float) -> Self:
        """Whether it is that number."""
        return self._compared("eq", other)

    def differs(self, other: Self | float) -> Self:
        """Whether it is not that number."""
        return self._compared("ne", other)

    def is_nan(self) -> Self:
        """Whether a float is no number."""
        return self.differs(self)

    def least(self, other: Self | float) -> Self:
        """The lesser of two integers."""
        return self._arithmetic("min", other)

    def most(self, other: Self | float) -> Self:
        """The greater of two integers."""
        return self._arithmetic("max", other)

    def select(self, then: Self | float, otherwise: Self) -> Self:
        """One or the other, as this boolean says."""
        return self.made("select", otherwise.dtype, self, otherwise._like(then), otherwise)

    def convert(self, dtype: str) -> Self:
        """The same number as another type; integers keep their low bits, or get more, floats that fit lose what is
        behind the point."""
        return self if dtype == self.dtype else self.made("convert", dtype, self)

    def reinterpret(self, dtype: str) -> Self:
        """The same bits as another type; of many values as more, narrower ones, or fewer, wider ones."""
        return self if dtype == self.dtype else self.made("reinterpret", dtype, self)

    def named(self, name: str) -> Self:
        """The same, by a name where it is printed as a variable."""
        del name
        return self

    def among(self, group: Group[Any]) -> Self:
        """The one of a group whose number this is."""
        raise TypeError(f"{type(self).__name__} does not know its values")

    def shuffle(self, lanes: Sequence[int], other: Any = None) -> Self:
        """These of its lanes, by their places; those of another value are behind its own."""
        raise TypeError(f"{type(self).__name__} is one number")

    def split(self, dtype: str, count: int) -> Sequence[Self]:
        """The numbers of a narrower type that lie side by side in this integer, the first one in its lowest bits."""
        bits = bits_of(dtype)
        return [(self >> bits * place if place else self).convert(dtype) for place in range(count)]

    def saturate(self, dtype: str) -> Self:
        """The nearest number of a narrower type of integers, of one with a sign."""
        low, high = bounds(dtype)
        return self.most(low).least(high).convert(dtype)


def bounds(dtype: str) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    bits = bits_of(dtype)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed(dtype) else (0, (1 << bits) - 1)


V = TypeVar("V", bound=Value)


class Group(Sequence[V], Generic[V]):
    """The values of an operand that are computed with together."""

    def __init__(self, values: Sequence[V]) -> None:
        self._values = values

    @overload
    def __getitem__(self, place: int) -> V: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[V]: ...
    def __getitem__(self, place: int | slice) -> V | Sequence[V]:
        return self._values[place]

    def __len__(self) -> int:
        return len(self._values)

    def each(self, function: Callable[..., V], *others: Group[V]) -> Sequence[V]:
        """The results of a function for each value and those beside it in other groups."""
        return [function(*values) for values in zip(self, *others, strict=True)]


Meaning: TypeAlias = Callable[..., Value | Sequence[Value] | Sequence[Sequence[Value]]]
"""The group of the result, a value, or several, or several behind others; of the same group of each operand, a value,
or a `Group`."""


def products(a: Sequence[V], b: Sequence[V], dtype: str) -> V:
    """The sum of the products of two groups, in a wider type."""
    first, *others = (x.convert(dtype) * y.convert(dtype) for x, y in zip(a, b, strict=True))
    for each in others:
        first = first + each
    return first


def saturated_sum(a: Value, b: Value) -> Value:
    """Of 16 bits."""
    return (a.convert("s32") + b.convert("s32")).saturate("s16")


def packed(signature: str) -> Meaning:
    """The saturated lanes of one operand before those of the other."""
    dtype, _, _ = signature.rpartition(" ")[2].partition("x")
    return lambda *operands: [each.each(lambda value: value.saturate(dtype)) for each in operands]
