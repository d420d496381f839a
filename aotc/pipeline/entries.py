"""Entries of options that are given for each of several names: as text of the command line, and as Python has them."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from aotc.errors import UsageError
from aotc.model.conventions import LAYOUTS
from aotc.model.known_tensors import KnownTensor
from aotc.model.limits import Pool

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_OF_POOLS: Final = ("size", "speed", "section")


def parse_size(text: str, option: str) -> int:
    """Bytes from "16K", "1M", "512", which are given with an option; raises UsageError."""
    match = re.fullmatch(r"(\d+)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError("invalid-option", option, "not a size", "write bytes or 16K, 1M, 2G")
    return int(match[1]) * _UNITS[match[2].upper()]


def _size(option: str, size: Any) -> int:
    """A size that was given as an integer of any kind or as its digits; raises UsageError."""
    try:
        return int(size) if isinstance(size, str) else operator.index(size)
    except (TypeError, ValueError):
        raise UsageError("invalid-option", option, f"{size!r} is not an integer") from None


def _rows(option: str, rows: Any) -> int:
    """How many rows come at once at most; raises UsageError."""
    if (found := _size(option, rows)) < 1:
        raise UsageError("out-of-range", option, "not 1 row or more")
    return found


def _layout(option: str, layout: Any) -> str:
    """The name of a layout; raises UsageError."""
    if layout not in LAYOUTS:
        raise UsageError("unknown-choice", option, "no layout", "choose from " + ", ".join(LAYOUTS))
    return str(layout)


def is_pool_name(name: str) -> bool:
    """Whether it can be part of names in C."""
    return re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) is not None


def pool(name: str, given: Any) -> Pool:
    """The pool of this name: of a size, of text as "64K,speed=2,section=.dtcm", or of a mapping with these members.
    Raises UsageError."""
    if isinstance(given, Pool):
        return given
    option = f"--pool {name}={given}"
    if not is_pool_name(name):
        raise UsageError("invalid-name", option, "it is part of names in C: letters, digits and underscores")
    members = dict(given) if isinstance(given, Mapping) else _members(given)
    if unknown := [each for each in members if each not in _OF_POOLS]:
        raise UsageError("invalid-option", option, f"{unknown[0]} is none of {', '.join(_OF_POOLS)}")
    size = members.get("size")
    size = parse_size(size, option) if isinstance(size, str) else _size(option, size)
    if size < 1:
        raise UsageError("out-of-range", option, "not 1 byte or more", "leave it out")
    return Pool(name, size, _speed(option, members.get("speed", 1)), str(members.get("section", "")))


def _members(given: Any) -> dict[str, Any]:
    """The members of "64K,speed=2"; a size may be a number."""
    if not isinstance(given, str):
        return {"size": given}
    size, *others = given.split(",")
    return {"size": size} | {name.strip(): value.strip() for name, _, value in (each.partition("=") for each in others)}


def _speed(option: str, speed: Any) -> float:
    """The cycles that an access takes; raises UsageError."""
    try:
        found = float(speed)
    except (TypeError, ValueError):
        raise UsageError("invalid-option", option, f"the speed {speed!r} is not a number") from None
    if not (math.isfinite(found) and found > 0):
        raise UsageError("out-of-range", option, "the speed, cycles of an access, is not more than 0")
    return found


ENTRIES: Final[dict[str, Callable[[str, Any], Any]]] = {
    "dims": lambda name, size: size if size == "any" else _size(f"--dim {name}={size}", size),
    "input_shapes": lambda name, shape: tuple(_size(f"--input-shape {name}={shape}", size) for size in shape),
    "constants": lambda name, value: (
        value if isinstance(value, str) and value == "any" else KnownTensor.of(value, name)
    ),
    "state": lambda output, source: str(source),
    "stream": lambda name, rows: _rows(f"--stream {name}={rows}", rows),
    "input_layouts": lambda name, layout: _layout(f"--input-layout {name}={layout}", layout),
    "output_layouts": lambda name, layout: _layout(f"--output-layout {name}={layout}", layout),
    "pools": pool,
    "pins": lambda tensor, home: str(home),
}
"""How entries of mappings are read, by field name."""


def parse_dims(items: Sequence[str]) -> dict[str, int]:
    """{"batch": 4} from ["batch=4"]; raises UsageError."""
    result: dict[str, int] = {}
    for item in items:
        name, _, value = item.rpartition("=")
        if not name or not value.isdigit() or int(value) < 1:
            raise UsageError("invalid-option", f"--dim {item}", "not NAME=SIZE with a size of 1 or more")
        result[name] = int(value)
    return result


def parse_states(items: Sequence[str]) -> dict[str, str]:
    """{"h_out": "h_in"} from ["h_out=h_in"]; raises UsageError."""
    result: dict[str, str] = {}
    for item in items:
        output, _, source = item.partition("=")
        if not output or not source:
            raise UsageError("invalid-option", f"--state {item}", "not OUTPUT=INPUT")
        if result.get(output, source) != source:
            why = f"{output} is the next value of {result[output]} already"
            raise UsageError("mismatched-state", f"--state {item}", why)
        result[output] = source
    return result


def parse_streams(items: Sequence[str]) -> dict[str, int]:
    """{"x": 8} from ["x=8"]; raises UsageError."""
    result: dict[str, int] = {}
    for item in items:
        name, _, rows = item.rpartition("=")
        if not name or not rows.isdigit() or int(rows) < 1:
            raise UsageError("invalid-option", f"--stream {item}", "not INPUT=ROWS with 1 row or more")
        result[name] = int(rows)
    return result


def parse_shapes(items: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """{"x": (1, 3, 224, 224)} from ["x=1,3,224,224"]; "x=" is a scalar; raises UsageError."""
    result: dict[str, tuple[int, ...]] = {}
    for item in items:
        name, equals, value = item.rpartition("=")
        sizes = [each.strip() for each in value.split(",")] if value.strip() else []
        if not name or not equals or not all(size.isdigit() for size in sizes):
            raise UsageError("invalid-option", f"--input-shape {item}", "not NAME=SIZE,SIZE,...")
        result[name] = tuple(int(size) for size in sizes)
    return result


def parse_pools(items: Sequence[str]) -> dict[str, Pool]:
    """The pools of ["dtcm=64K,speed=1"]; raises UsageError."""
    result: dict[str, Pool] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageError("invalid-option", f"--pool {item}", "not NAME=SIZE[,speed=N][,section=NAME]")
        if name in result:
            raise UsageError("duplicate-name", f"--pool {item}", f"there is a pool {name} already")
        result[name] = pool(name, value)
    return result


def parse_pins(items: Sequence[str]) -> dict[str, str]:
    """{"conv_1": "dtcm"} from ["conv_1=dtcm"]; raises UsageError."""
    result: dict[str, str] = {}
    for item in items:
        name, _, home = item.rpartition("=")
        if not name:
            raise UsageError("invalid-option", f"--pin {item}", "not TENSOR=POOL")
        if result.get(name, home) != home:
            raise UsageError("duplicate-name", f"--pin {item}", f"{name} is to be in {result[name]} already")
        result[name] = home
    return result


def parse_layouts(option: str, items: Sequence[str]) -> dict[str, str]:
    """{"x": "nhwc"} from ["x=nhwc"]; raises UsageError."""
    result: dict[str, str] = {}
    for item in items:
        name, _, layout = item.rpartition("=")
        if not name:
            raise UsageError("invalid-option", f"--{option} {item}", "not NAME=LAYOUT")
        result[name] = layout
    return result
