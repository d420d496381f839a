"""Conditions on operands and attributes of an operation, said once and as its documentation says them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.dtypes import ELEMENT_TYPES, MOST_BITS, is_float, is_narrow_integer
from aotc.dialects.graph.interfaces import GraphOp, ShapeError, element_type_of, shape_of

_CLASSES: Mapping[str, tuple[str, Callable[[Attribute], bool]]] = {
    "float": ("floats", is_float),
    "integer": ("integers", lambda kind: isinstance(kind, IntegerType)),
    "index": ("integers", lambda kind: isinstance(kind, IntegerType) and kind.width.data > 1),
    "byte": ("integers of 8 bits", lambda kind: isinstance(kind, IntegerType) and kind.width.data == 8),
    "narrow": (f"integers of 2 to {MOST_BITS} bits", is_narrow_integer),
}
"""Classes of element types: how messages call them, and which they are."""
_TYPES = {str(kind): kind for kind in ELEMENT_TYPES.values()}


@lru_cache(maxsize=1024)
def _parsed(pattern: str) -> tuple[Sequence[str], str]:
    """The axes of a pattern, and the element type or class of types; none where it names none."""
    *axes, last = pattern.split()
    return (axes, last) if last in _CLASSES or last in _TYPES else ([*axes, last], "")


def expect(op: GraphOp, **operands: str) -> Mapping[str, int]:
    """The extents of operands by name; raises ShapeError unless operands are as patterns say.

    `expect(self, boxes="N B 4 f32", scores="N C B f32", most="1 i64")`: an axis is a number, or a name, which is one
    extent wherever it stands; `..`, with a name before it or none, is any number of axes; extents with a `+` are
    positive. What is last may be an element type, or `float`, `integer`, `index` (any but booleans), `byte`, `narrow`.
    An optional operand that is absent is not looked at.
    """
    known: dict[str, int] = {}
    for name, pattern in operands.items():
        value = getattr(op, name)
        if value is None:
            continue
        axes, kind = _parsed(pattern)
        if not is_of(element_type_of(value), kind) or not _has_shape(value, axes, known):
            raise ShapeError(f"{name} must be {_text(axes, kind, known)}, found {value.type}")
    return known


def is_of(kind: Attribute, name: str) -> bool:
    """Whether an element type is the one of this name, or one of the class of this name; any, where there is none."""
    return not name or (kind == _TYPES[name] if name in _TYPES else _CLASSES[name][1](kind))


def _has_shape(value: SSAValue, axes: Sequence[str], known: dict[str, int]) -> bool:
    """Whether a value has these axes, of which those not `known` become so."""
    shape, found = shape_of(value), dict(known)
    more = len(shape) - len(axes) + 1
    spread = [each for axis in axes for each in (["_" + axis.partition("..")[2]] * more if ".." in axis else [axis])]
    if len(spread) != len(shape):
        return False
    for axis, extent in zip(spread, shape, strict=True):
        name = axis.rstrip("+")
        is_number = name.lstrip("-").isdigit()
        expected = extent if name == "_" else int(name) if is_number else found.setdefault(name, extent)
        if extent != expected or (not extent and name != axis):
            return False
    known |= found
    return True


def _text(axes: Sequence[str], kind: str, known: Mapping[str, int]) -> str:
    """A pattern for a message, with the extents that others have."""
    shape = ", ".join(str(known.get(axis.rstrip("+"), axis.replace("+", " > 0"))) for axis in axes)
    of = f" of {_CLASSES[kind][0] if kind in _CLASSES else kind}" if kind else ""
    return f"{'a tensor' if shape == '..' else f'[{shape}]'}{of}"


def expect_choice(op: GraphOp, name: str, choices: Iterable[str]) -> None:
    """Raise ShapeError unless the property `name`, a string, is one of `choices`."""
    *others, last = choices
    if (found := getattr(op, name).data) not in (*others, last):
        raise ShapeError(f'{name} must be {", ".join(others)} or {last}, found "{found}"')


def expect_within(op: GraphOp, name: str, least: int, most: int | None = None) -> None:
    """Raise ShapeError unless the property `name`, a number, is at least `least` and at most `most`."""
    found = getattr(op, name)
    if found < least or (most is not None and found > most):
        raise ShapeError(
            f"{name} must be {f'at least {least}' if most is None else f'{least} to {most}'}, found {found}"
        )
