"""Constant arrays as C initialisers, from numpy in chunks: no list as long as the weights, no formatting per element.

Integers go through a table of strings where they are 8 bits wide; floats are printed with 9 significant digits
(doubles 17), which read back as the same number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from aotc.emit import c_types
from aotc.emit.c_types import BF16, BOOL, F16, F32, F64, CType, dtype_ctype
from aotc.weights import Array

_CHUNK = 1 << 14
"""Elements formatted at once; a multiple of every row length."""


def element_ctype(array: Array) -> CType:
    """The C type of an array's elements."""
    return dtype_ctype(array.dtype.name)


def initializer(array: Array, indent: str = "    ") -> Iterator[str]:
    """The elements of `array`, row-major, as lines of an initialiser, a chunk of lines at a time."""
    ctype = element_ctype(array)
    flat = array.reshape(-1)
    if not flat.size:
        yield f"{indent}0\n"
        return
    row = _row_length(flat, ctype)
    for start in range(0, flat.size, _CHUNK):
        texts = _texts(flat[start : start + _CHUNK], ctype)
        lines = (indent + ", ".join(texts[at : at + row]) for at in range(0, len(texts), row))
        yield ",\n".join(lines) + (",\n" if start + _CHUNK < flat.size else "\n")


def needs_math(array: Array) -> bool:
    """Whether the initialiser spells INFINITY or NAN."""
    return element_ctype(array) in (F32, F64) and not bool(np.isfinite(array).all())


def _row_length(flat: Array, ctype: CType) -> int:
    if ctype in (F32, F64):
        return 8 if ctype == F32 else 4
    return {1: 32, 8: 16, 16: 16, 17: 16, 32: 8, 64: 4}[ctype.bits]


_BYTES: Any = np.array([str(value) for value in range(256)], dtype=object)
_SIGNED_BYTES: Any = np.array([str(value - 256 if value > 127 else value) for value in range(256)], dtype=object)


def _texts(chunk: Array, ctype: CType) -> list[str]:
    """A literal for each element."""
    if ctype in (F32, F64):
        return _float_texts(chunk, ctype)
    if ctype in (F16, BF16):
        return [f"0x{bits:04x}" for bits in chunk.view(np.uint16).tolist()]
    if ctype == BOOL or ctype.bits == 8:
        table = _SIGNED_BYTES if ctype.kind == "signed" else _BYTES
        return table[chunk.view(np.uint8)].tolist()
    return _integer_texts(chunk, ctype)


def _integer_texts(chunk: Array, ctype: CType) -> list[str]:
    numbers = chunk.tolist()
    if ctype.bits < 32 or (min(numbers) > -(2**31) and max(numbers) < 2**31):
        return list(map(str, numbers))
    if ctype.kind == "unsigned":
        return [c_types.unsigned_literal(number, ctype.bits) for number in numbers]
    return [c_types.integer_literal(number) for number in numbers]


def _float_texts(chunk: Array, ctype: CType) -> list[str]:
    """`%.9g` and an `f`; whole numbers need a point, and what is not finite a name."""
    suffix, digits = ("f", 9) if ctype == F32 else ("", 17)
    if not np.isfinite(chunk).all():
        return [c_types.float_literal(float(value), ctype) for value in chunk]
    whole = chunk == np.trunc(chunk)
    formats = np.where(whole, f"%.1f{suffix}", f"%.{digits}g{suffix}")
    return (" ".join(formats.tolist()) % tuple(chunk.tolist())).split(" ")
