"""Names in generated C say what a function or a macro does, in words of C, of IEEE 754 and of vector programming."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from aotc.emit.c.definitions.helpers import HELPERS
from aotc.emit.c.definitions.instructions import FUNCTIONS
from aotc.emit.c.definitions.macros import prologue
from aotc.emit.c.definitions.operations import OPERATIONS

TYPES = {"f16", "bf16", "f32", "f64", "i32", "i64", "s8", "s16", "u8", "u16", "float", "double"}
LIBRARY = {"abs", "ceil", "copysign", "exp", "floor", "fma", "roundeven", "sqrt", "tanh", "trunc"}
"""Functions of libm, with and without the suffix of float."""
TERMS = {"ceildiv", "ceildivu", "floordiv", "max", "maximum", "maxnum", "min", "minimum", "minnum"}
"""Of MLIR and IEEE 754; some with a width behind them."""
WORDS = {
    *(
        "accumulate",
        "bits",
        "gather",
        "in",
        "keep",
        "load",
        "odd",
        "of",
        "opaque",
        "register",
        "round",
        "scatter",
        "pick",
    ),
    *("select", "splat", "store", "to"),
    *("add", "complement", "dot", "even", "narrow", "pair", "product", "run", "set", "widen", "word"),
    *("half", "high", "low", "saturate"),
    *("above", "aligned", "alone", "below", "integers", "lane", "lanes", "near", "rescaled", "sum"),
    *("s", "u", "ss", "su", "us", "uu"),  # signs of the factors of a dot product, or of what is widened
}
KNOWN = TYPES | LIBRARY | {f"{name}f" for name in LIBRARY | TERMS} | TERMS | WORDS


def _unknown(names: Iterable[str]) -> list[str]:
    return [
        name
        for name in names
        if not all(word in KNOWN or re.sub(r"\d+$", "", word) in TERMS for word in name.split("_"))
    ]


def test_helpers_are_named_by_words() -> None:
    """But those that have the names of processors' instructions; others than functions are conditions."""
    functions = [name for name in HELPERS.keys() - FUNCTIONS if not re.fullmatch("AOTC_[A-Z]+", name)]
    assert all(name.startswith("aotc_") for name in functions)
    assert not _unknown(name.removeprefix("aotc_") for name in functions)


def test_macros_are_named_by_words() -> None:
    assert not _unknown(OPERATIONS)


@pytest.mark.parametrize("name", OPERATIONS)
def test_macros_are_defined_by_their_names(name: str) -> None:
    result = "u16" if name.endswith("f16") else "f32"
    assert f"#define aotc_{name}_{result}x4(" in prologue([f"aotc_{name}_{result}x4(v0)"]).text
