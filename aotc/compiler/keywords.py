"""Messages for callers from Python: options are keywords there, not flags."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import fields, replace
from re import Match

from aotc.errors import AotcError
from aotc.pipeline.options import CHOICES, KINDS, CompileOptions

_MAPPINGS: dict[str, tuple[str, Callable[[str], str]]] = {
    "dim": ("dims", lambda text: text),
    "input-shape": ("input_shapes", lambda text: f"({text.replace(',', ', ')}{'' if ',' in text else ','})"),
    "constant": ("constants", lambda text: text),
    "state": ("state", lambda text: f'"{text}"'),
}
"""Flags that are given once for each entry of a mapping: the keyword, and how its values are written."""

_ENTRY = re.compile(
    r"--(dim|input-shape|constant|state)(?: ([^\s=:;]+)(?:=(\[[^\]]*\]|[\w,]*,\.\.\.|[^\s;:]*[^\s;:,.]))?)?"
)
_FLAG = re.compile(r"--([a-z]+(?:-[a-z]+)*)(?: ([\w|.-]*[\w-]))?")
_NAMES = frozenset(field.name for field in fields(CompileOptions))


@contextmanager
def in_python_terms() -> Generator[None]:
    """Let errors name the keywords of `compile` and `compile_to` instead of flags of the command."""
    try:
        yield
    except AotcError as error:
        parts = ("what", "why", "fix")
        error.problems = tuple(
            replace(problem, **{part: python_terms(getattr(problem, part)) for part in parts})
            for problem in error.problems
        )
        error.args = ("\n".join(map(str, error.problems)),)
        raise


def python_terms(text: str) -> str:
    """`--dim n=4` as `dims={"n": 4}`, `--interface-api c` as `interface_api="c"`, and so on."""
    return _FLAG.sub(_keyword, _ENTRY.sub(_entry, text))


def _entry(match: Match[str]) -> str:
    keyword, written = _MAPPINGS[match[1]]
    if match[2] is None:
        return keyword
    if match[3] is None:
        return f"{keyword} {match[2]}"
    return f'{keyword}={{"{match[2]}": {written(match[3])}}}'


def _keyword(match: Match[str]) -> str:
    name, value = match[1].replace("-", "_"), match[2]
    if name not in _NAMES:
        return match[0]
    if value is not None and (value.isdigit() or value.isupper()):  # a number, or what stands for one, as N
        return f"{name}={value}"
    if value is not None and (_is_text(name, value) or set(value.split("|")) & set(CHOICES.get(name, ()))):
        return f'{name}="{value}"'
    return name if value is None else f"{name} {value}"


def _is_text(name: str, value: str) -> bool:
    """Whether `value` is one of the option, and not what follows in the message."""
    return name == "target" or (name == "emit" and value in KINDS) or (name == "cc" and "-" in value)
