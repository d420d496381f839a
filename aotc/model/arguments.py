"""Arguments of public functions, checked by their annotations before anything is done with them."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from aotc.errors import Problem, UsageError

Function = TypeVar("Function", bound=Callable[..., Any])


class ArgumentError(UsageError, TypeError):
    """An argument of the wrong kind."""


def checks_kinds(function: Function) -> Function:
    """Have a function refuse arguments that are none of what it says it takes. Annotations with names that are known to
    type checkers alone allow anything."""
    signature = inspect.signature(function)

    @functools.cache
    def hints() -> dict[str, Any]:
        scope = vars(sys.modules[function.__module__])
        return {name: _evaluated(each.annotation, scope) for name, each in signature.parameters.items()}

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        try:
            arguments = signature.bind(*given, **named).arguments
        except TypeError:
            return function(*given, **named)  # which says so by its name
        for name, value in arguments.items():
            match signature.parameters[name].kind:
                case inspect.Parameter.VAR_KEYWORD:
                    pass
                case inspect.Parameter.VAR_POSITIONAL:
                    for each in value:
                        require(name, each, hints()[name])
                case _:
                    require(name, value, hints()[name])
        return function(*given, **named)

    return call  # pyright: ignore[reportReturnType]


def _evaluated(annotation: Any, scope: Mapping[str, Any]) -> Any:
    if annotation == "Source":  # which says more of what it is not
        return Any
    if not isinstance(annotation, str):
        return Any if annotation is inspect.Parameter.empty else annotation
    try:
        return eval(annotation, dict(scope))
    except (NameError, TypeError, AttributeError):
        return Any


def require(name: str, value: object, hint: Any) -> None:
    """Raise ArgumentError where `value`, of the argument `name`, is none of what an annotation says."""
    if (wrong := _misfit(name, value, hint)) is not None:
        name, value, hint = wrong
        shown = repr(value) if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
        raise ArgumentError(Problem("wrong-argument", f"{name} is {shown[:80]}", f"it takes {_said(hint)}"))


_ABSTRACT: Mapping[Any, tuple[type, ...]] = {
    Sequence: (Collection,),
    int: (Integral,),
    float: (Real,),
}
"""Classes that serve as a kind beside its own."""


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) is Annotated:
        return _alternatives(get_args(hint)[0])
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _misfit(name: str, value: object, hint: Any) -> tuple[str, object, Any] | None:
    """The part of a value that is none of its kind: one of its items where the value itself is of the right kind; None
    where all fits."""
    misfit = name, value, hint
    for number, each in enumerate(each for each in _alternatives(hint) if _is_of(value, each)):
        wrong = next((found for item in _items(name, value, each) if (found := _misfit(*item)) is not None), None)
        if wrong is None:
            return None
        misfit = wrong if number == 0 else misfit
    return misfit


def _is_of(value: object, hint: Any) -> bool:
    """Whether a value is of a kind, whatever is in it."""
    if hint is Any or isinstance(hint, TypeVar):
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return any(_is_of(value, type(each)) for each in inner)
    kind = origin or (type(None) if hint is None else hint)
    if kind is bool:
        return is_truth(value)
    if kind is bytes:
        return _is_bytes(value)
    if kind is Sequence and (isinstance(value, str | bytes | Mapping) or getattr(value, "shape", None) == ()):
        return False
    return not isinstance(kind, type) or isinstance(value, _ABSTRACT.get(kind, (kind,)))


def is_truth(value: Any) -> bool:
    """Whether it is a truth value: Python's, or numpy's."""
    return isinstance(value, bool) or (getattr(value, "shape", None) == () and value.dtype.kind == "b")


def _is_bytes(value: object) -> bool:
    """Whether it has bytes in a row, as a mapped file or an array of uint8 does."""
    try:
        view = memoryview(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, BufferError):
        return False
    return view.ndim == view.itemsize == 1


def _items(name: str, value: Any, hint: Any) -> Iterator[tuple[str, object, Any]]:
    """The items of a mapping or sequence: what they are called, and what each is to be."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Mapping:
        for key, each in value.items():
            yield f"a key of {name}", key, inner[0]
            yield f"{name}[{key!r}]", each, inner[1]
    elif origin is Sequence:
        for at, each in enumerate(value):
            yield f"{name}[{at}]", each, inner[0]


def _said(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _said(inner[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_said, inner)))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin is Mapping:
        return f"a mapping of {_said(inner[0])} to {_said(inner[1])}"
    if origin is Sequence:
        return f"a sequence of {_said(inner[0])}"
    kind = origin or hint
    return "None" if kind in (None, type(None)) else "a path" if kind is os.PathLike else getattr(kind, "__name__", "?")
