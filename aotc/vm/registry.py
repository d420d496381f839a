"""Functions of Python by the names that bytecode calls them by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, TypeVar, overload

from aotc.vm.checks import is_name
from aotc.vm.errors import VMError

F = TypeVar("F", bound=Callable[..., Any])

_FUNCTIONS: dict[str, Callable[..., Any]] = {}

REGISTERED: Mapping[str, Callable[..., Any]] = MappingProxyType(_FUNCTIONS)
"""Every registered function by name."""


@overload
def register(name: str, *, override: bool = False) -> Callable[[F], F]: ...
@overload
def register(name: str, function: F, *, override: bool = False) -> F: ...
def register(name: str, function: Callable[..., Any] | None = None, *, override: bool = False) -> Any:
    """Have bytecode find a function by name, as a decorator or at once:

        @aotc.vm.register("vm.add")
        def add(a, b):
            return a + b

    Raises VMError where the name is taken, unless `override` says to replace it.
    """
    if not is_name(name):
        raise VMError("invalid-name", f"{name!r} is no name of a function", "names are printable, without blanks")

    def add(function: F) -> F:
        if not callable(function):
            raise TypeError(f"{name} is to be a function, not a {type(function).__name__}")
        if name in _FUNCTIONS and not override:
            raise VMError("duplicate-name", "a function of this name is registered", fix="say override=True", node=name)
        _FUNCTIONS[name] = function
        return function

    return add if function is None else add(function)


def arity_problem(function: Callable[..., Any], given: int) -> str | None:
    """The problem of calling `function` with so many operands; None where there is none, or nobody can know."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # a function of C that does not say
        return None
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    places = [each for each in parameters if each.kind in positional]
    fewest = sum(each.default is Parameter.empty for each in places)
    many = any(each.kind is Parameter.VAR_POSITIONAL for each in parameters)
    if given >= fewest and (many or given <= len(places)):
        return None
    taken = f"{fewest} or more" if many else str(fewest) if fewest == len(places) else f"{fewest} to {len(places)}"
    return f"{given} operands for {taken}"
