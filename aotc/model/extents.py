"""Extents as expressions of those that a model leaves open: sums of products of symbols, with quotients rounded down.

`Extent.of("n") * 2 + 1` is an extent; what comes to a number is an int. Equal expressions are equal values, because
sums are kept in one order; two that differ may still be equal for every n, so only equality says something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, Union

from aotc.model.labels import Labels

Size: TypeAlias = "int | Extent"
"""A number, or an expression that is none yet."""
Atom: TypeAlias = Union[str, "Quotient"]
Product: TypeAlias = "tuple[Atom, ...]"
"""Factors in order, each as often as it is one; none: 1."""


@dataclass(frozen=True)
class Quotient:
    """`dividend` by a divisor of 1 or more, rounded down."""

    dividend: Extent
    divisor: Size

    def __str__(self) -> str:
        return f"{_factor(self.dividend)}//{_factor(self.divisor)}"


@dataclass(frozen=True)
class Extent:
    """A sum of products of symbols and quotients, with their coefficients, none of which is 0."""

    terms: tuple[tuple[Product, int], ...]

    @staticmethod
    def of(symbol: str) -> Extent:
        """The open dimension of a name; it is 0 or more."""
        return Extent((((symbol,), 1),))

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The names that its value depends on."""
        found: set[str] = set()
        for product, _ in self.terms:
            for atom in product:
                found |= {atom} if isinstance(atom, str) else atom.dividend.symbols | _symbols(atom.divisor)
        return frozenset(found)

    @property
    def is_natural(self) -> bool:
        """Whether it is surely 0 or more: nothing is subtracted."""
        return all(
            coefficient > 0 and all(isinstance(atom, str) or atom.dividend.is_natural for atom in product)
            for product, coefficient in self.terms
        )

    def __add__(self, other: object) -> Size:
        if not isinstance(other, int | Extent):
            return NotImplemented
        return _sum((*self.terms, *_terms(other)))

    __radd__ = __add__

    def __neg__(self) -> Extent:
        return Extent(tuple((product, -coefficient) for product, coefficient in self.terms))

    def __sub__(self, other: object) -> Size:
        return self + -other if isinstance(other, int | Extent) else NotImplemented

    def __rsub__(self, other: object) -> Size:
        return -self + other

    def __mul__(self, other: object) -> Size:
        if not isinstance(other, int | Extent):
            return NotImplemented
        products = [(mine, theirs) for mine in self.terms for theirs in _terms(other)]
        return _sum((_ordered((*a, *b)), x * y) for (a, x), (b, y) in products)

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> Size:
        """Rounded down; the divisor is taken to be 1 or more. Raises ZeroDivisionError."""
        if not isinstance(other, int | Extent):
            return NotImplemented
        return divided(self, other)

    def __rfloordiv__(self, other: object) -> Size:
        return divided(other, self) if isinstance(other, int) else NotImplemented

    def __str__(self) -> str:
        text = ""
        for product, coefficient in self.terms:
            factors = "*".join(_written(atom, len(product) > 1 or abs(coefficient) != 1) for atom in product)
            number = "" if abs(coefficient) == 1 and product else str(abs(coefficient))
            sign = ("-" if coefficient < 0 else "") if not text else (" - " if coefficient < 0 else " + ")
            text += sign + "*".join(filter(None, (number, factors)))
        return text


def product_of(sizes: Iterable[Size]) -> Size:
    """The product of all, 1 of none."""
    result: Size = 1
    for size in sizes:
        result = result * size
    return result


def exact_quotient(dividend: Size, divisor: Size) -> Size | None:
    """The quotient of a division that leaves nothing over, whatever the symbols are; None where that is not seen."""
    if isinstance(dividend, int) and isinstance(divisor, int):
        return dividend // divisor if divisor and dividend % divisor == 0 else None
    if len(_terms(divisor)) != 1:
        return 1 if dividend == divisor else None
    ((factors, number),) = _terms(divisor)
    terms: list[tuple[Product, int]] = []
    for product, coefficient in _terms(dividend):
        rest = list(product)
        for factor in factors:
            if factor not in rest:
                return None
            rest.remove(factor)
        if coefficient % number:
            return None
        terms.append((tuple(rest), coefficient // number))
    return _sum(terms)


def divided(dividend: Size, divisor: Size) -> Size:
    """The quotient rounded down, for a divisor of 1 or more. Raises ZeroDivisionError."""
    if isinstance(dividend, int) and isinstance(divisor, int):
        return dividend // divisor
    if divisor == 0:
        raise ZeroDivisionError
    if (exact := exact_quotient(dividend, divisor)) is not None:
        return exact
    if isinstance(divisor, int) and isinstance(dividend, Extent) and divisor > 0:
        whole = _sum((product, number // divisor) for product, number in dividend.terms)
        rest = _sum((product, number % divisor) for product, number in dividend.terms)
        return whole + _quotient(rest, divisor)
    return _quotient(dividend, divisor)


def _quotient(dividend: Size, divisor: Size) -> Size:
    if isinstance(dividend, int) and isinstance(divisor, int):
        return dividend // divisor
    above = dividend if isinstance(dividend, Extent) else Extent((((), dividend),))
    if isinstance(divisor, int) and len(above.terms) == 1:
        ((product, number),) = above.terms
        inner = product[0] if number == 1 and len(product) == 1 else None
        if isinstance(inner, Quotient) and isinstance(inner.divisor, int):  # a quotient of a quotient is one by both
            return _quotient(inner.dividend, inner.divisor * divisor)
    return Extent((((Quotient(above, divisor),), 1),))


def value_of(size: Size, extents: Mapping[str, int]) -> int:
    """The number that an expression comes to. Raises KeyError for a symbol without a value, ZeroDivisionError."""
    if isinstance(size, int):
        return size
    total = 0
    for product, coefficient in size.terms:
        value = coefficient
        for atom in product:
            if isinstance(atom, str):
                value *= extents[atom]
            else:
                value *= value_of(atom.dividend, extents) // value_of(atom.divisor, extents)
        total += value
    return total


def is_natural(size: Size) -> bool:
    """Whether it is surely 0 or more."""
    return size >= 0 if isinstance(size, int) else size.is_natural


def _terms(size: Size) -> tuple[tuple[Product, int], ...]:
    return size.terms if isinstance(size, Extent) else (((), size),) if size else ()


def _symbols(size: Size) -> frozenset[str]:
    return size.symbols if isinstance(size, Extent) else frozenset()


def _sum(terms: Iterable[tuple[Product, int]]) -> Size:
    gathered: dict[Product, int] = {}
    for product, coefficient in terms:
        gathered[product] = gathered.get(product, 0) + coefficient
    left = sorted(((p, c) for p, c in gathered.items() if c), key=_order)
    if not left:
        return 0
    return left[0][1] if len(left) == 1 and not left[0][0] else Extent(tuple(left))


def _order(term: tuple[Product, int]) -> tuple[int, list[str]]:
    """Products of more factors first, numbers last."""
    return -len(term[0]), [str(atom) for atom in term[0]]


def _ordered(product: Product) -> Product:
    return tuple(sorted(product, key=str))


def _factor(size: Size) -> str:
    text = str(size)
    return f"({text})" if isinstance(size, Extent) and (len(size.terms) > 1 or "//" in text) else text


def _written(atom: Atom, is_factor: bool) -> str:
    return f"({atom})" if is_factor and not isinstance(atom, str) else str(atom)


@dataclass(frozen=True)
class OpenTensor:
    """An input or output whose shape may be open: ONNX name, element type, extents."""

    name: str
    dtype: str
    """Empty where it is not known before the model is compiled."""
    shape: tuple[Size | None, ...] | None
    """Expressions of the open dimensions, which an input has as they are; None is an extent, or a shape, that is not
    known before the model is compiled."""
    labels: Labels = ()
    """As those of a TensorInfo."""

    def __str__(self) -> str:
        extents = "..." if self.shape is None else ", ".join("?" if e is None else str(e) for e in self.shape)
        return f"{self.dtype}[{extents}]"


def unnamed(tensor: str, axis: int) -> str:
    """The name of an open dimension for which the model has none: `x[1]`."""
    return f"{tensor}[{axis}]"
