"""Constant arrays as C initialisers, from numpy in chunks: no list as long as the weights, no formatting per element.

Integers go through a table of strings where they are 8 bits wide; floats are printed with 9 significant digits
(doubles 17), which read back as the same number. Where code is GNU C anyway, long arrays are string literals of their
bytes: GCC has a tree node for each number, and takes minutes and gigabytes for ten million of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from aotc.emit.c.syntax.c_types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    CType,
    dtype_ctype,
    float_literal,
    integer_literal,
    unsigned_literal,
)
from aotc.model.weight_store import Array

LONG = 1 << 12
"""Bytes from which on an array may be a string literal."""
_CHUNK = 1 << 14
"""Elements formatted at once; a multiple of every row length."""
_LINE = 36
"""Bytes on a line of a string literal."""


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


def definition(head: str, name: str, array: Array, as_bytes: bool) -> Iterator[str]:
    """The definition of the constant variable `name`; `head` is what stands before its type.

    `as_bytes`: a union whose member `values` is the array.
    """
    ctype = element_ctype(array)
    if not as_bytes:
        yield f"{head} {ctype.declare(name)}[{max(1, array.size)}] = {{\n"
        yield from initializer(array)
        yield "};\n"
        return
    yield f"{head} union {{\n    unsigned char bytes[{array.nbytes + 1}];\n"
    yield f"    {ctype.declare('values')}[{array.size}];\n}} {name} = {{\n"
    yield from string_literal(array)
    yield "};\n"


def string_literal(array: Array) -> Iterator[str]:
    """The bytes of `array`, row-major and little-endian, as lines of a string literal, a chunk of lines at a time."""
    little = array.reshape(-1).astype(array.dtype.newbyteorder("<"), copy=False)
    data = little.view(np.uint8)
    for start in range(0, data.size, _LINE * _CHUNK):
        chunk = data[start : start + _LINE * _CHUNK]
        whole = chunk.size // _LINE * _LINE
        for rows in (chunk[:whole].reshape(-1, _LINE), chunk[None, whole:]):
            if rows.size:
                yield _quoted(rows)


def _quoted(rows: Array) -> str:
    """A string literal of each row of bytes."""
    count, length = rows.shape
    width = 4 * length
    text = np.empty((count, width + 8), np.uint8)
    text[:, :5] = np.frombuffer(b'    "', np.uint8)
    text[:, 5 : 5 + width] = _ESCAPES[rows].view(np.uint8).reshape(count, width)
    text[:, 5 + width :] = np.frombuffer(b'"\n\0', np.uint8)
    return text[text != 0].tobytes().decode("ascii")


def _escape(value: int) -> bytes:
    """A byte in a string literal: itself, or three octal digits, after which any digit may follow."""
    return bytes([value]) if 32 <= value < 127 and chr(value) not in '"\\?' else b"\\%03o" % value


_ESCAPES: Any = np.array([_escape(value) for value in range(256)], "S4").view(np.uint32)


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
        return [unsigned_literal(number, ctype.bits) for number in numbers]
    return [integer_literal(number) for number in numbers]


def _float_texts(chunk: Array, ctype: CType) -> list[str]:
    """`%.9g` and an `f`; whole numbers need a point, and what is not finite a name."""
    suffix, digits = ("f", 9) if ctype == F32 else ("", 17)
    if not np.isfinite(chunk).all():
        return [float_literal(float(value), ctype) for value in chunk]
    whole = chunk == np.trunc(chunk)
    formats = np.where(whole, f"%.1f{suffix}", f"%.{digits}g{suffix}")
    return (" ".join(formats.tolist()) % tuple(chunk.tolist())).split(" ")
