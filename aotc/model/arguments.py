"""Arguments of public functions, checked by their annotations before anything is done with them."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence, Set
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
    if not _fits(value, hint):
        shown = repr(value) if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
        raise ArgumentError(Problem("wrong-argument", f"{name} is {shown[:80]}", f"it takes {_said(hint)}"))


_ABSTRACT: Mapping[Any, tuple[type, ...]] = {
    Sequence: (Sequence, Set),
    int: (Integral,),
    float: (Real,),
    bytes: (bytes, bytearray, memoryview),
}
"""Classes that serve as a kind beside its own."""


def _fits(value: object, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if origin is Annotated:
        return _fits(value, inner[0])
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return isinstance(value, tuple({type(each) for each in inner}))
    kind = origin or (type(None) if hint is None else hint)
    if not isinstance(kind, type):
        return True
    if not isinstance(value, _ABSTRACT.get(kind, (kind,))) or (kind is Sequence and isinstance(value, str | bytes)):
        return False
    if kind is Mapping:
        return all(_fits(key, inner[0]) and _fits(each, inner[1]) for key, each in value.items())  # pyright: ignore
    return kind is not Sequence or not inner or all(_fits(each, inner[0]) for each in value)  # pyright: ignore


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
