"""Operations of the math dialect by name, and the functions of the C library's libm that compute the same."""

from __future__ import annotations

from typing import Final

from xdsl.dialects import math
from xdsl.ir import Operation

from aotc.dialects import aot

MATH: Final[dict[str, type[Operation]]] = {
    each.name.removeprefix("math."): each
    for each in vars(math).values()
    if isinstance(each, type) and issubclass(each, Operation) and "name" in vars(each)
}
"""By their names without the dialect's."""

_OTHERS: Final = ("absi", "ctlz", "ctpop", "cttz", "fpowi", "ipowi", "roundeven", "rsqrt")
_RENAMED: Final = {"absf": "fabs", "powf": "pow"}

LIBM: Final[dict[type[Operation], str]] = {aot.FModOp: "fmod"} | {
    kind: _RENAMED.get(name, name) for name, kind in MATH.items() if name not in _OTHERS
}
"""Functions of libm, by their f64 name."""
