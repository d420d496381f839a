"""The bytes of an executable: little endian, in the order below, what follows a table at the next multiple of 8.

```
header       6 bytes "AOTCVM", u16 version, u32 CRC-32 of all that follows, u32 bytes in all, then u32 each: functions,
             names, constants, instructions, extents, words, bytes of names, bytes of constants, bytes of workspace, 0
functions    u32 name (byte of the names), u32 first instruction, u16 inputs, u16 registers
names        u32 name (byte of the names): what calls have by number
constants    u8 kind (0 tensor, 1 data type, 2 place in the workspace), u8 and u8 DLPack's code and bits,
             u8 dimensions, u32 first extent, u32 first byte (a multiple of 64 in the data), u32 bytes
offsets      u32 first word of an instruction
extents      i64 each: the shapes of the tensors, below 2^32
words        u16 each: the instructions
text         the names, each with a zero byte behind it
data         the constants, at a multiple of 64 of the file
```
`aotc_vm.c` runs it where it lies. A reader believes nothing: the checksum is right, every table is within the bytes,
and every number in a table within what it counts.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from aotc.model.dlpack import DLPACK_TYPES, dtype_of
from aotc.vm.errors import VMError
from aotc.vm.values import Constant, Place, ShapeTuple

MAGIC: Final = b"AOTCVM"
VERSION: Final = 2
_HEADER: Final = struct.Struct("<6sH12I")
_SUMMED: Final = 12
"""Where what the checksum is of begins."""
_FUNCTION: Final = np.dtype("<u4,<u4,<u2,<u2")
_CONSTANT: Final = np.dtype("u1,u1,u1,u1,<u4,<u4,<u4")
_TENSOR: Final = 0
_DTYPE: Final = 1
_PLACE: Final = 2
_TABLE_ALIGNMENT: Final = 8
DATA_ALIGNMENT: Final = 64
MOST_DIMENSIONS: Final = 32
_MOST: Final = (1 << 32) - 1
_NAMES: Final = {described: name for name, described in DLPACK_TYPES.items()}


@dataclass(frozen=True)
class Tables:
    """The content of a file, as values."""

    functions: tuple[tuple[str, int, int, int], ...]
    """Name, first instruction, inputs, registers."""
    names: tuple[str, ...]
    constants: tuple[Constant, ...]
    offsets: tuple[int, ...]
    words: tuple[int, ...]


def write(tables: Tables, workspace: int) -> bytes:
    """The bytes of an executable that needs so many bytes of workspace. Raises VMError for more than 4 GiB."""
    text, places = _text([function[0] for function in tables.functions] + list(tables.names))
    functions = [(places[name], *numbers) for name, *numbers in tables.functions]
    rows: list[tuple[int, ...]] = []
    extents: list[int] = []
    data: list[bytes] = []
    size = 0
    for constant in tables.constants:
        code, bits = DLPACK_TYPES[(constant if isinstance(constant, np.dtype) else constant.dtype).name]
        if isinstance(constant, np.dtype):
            rows.append((_DTYPE, code, bits, 0, 0, 0, 0))
            continue
        kind, start = (_PLACE, constant.offset) if isinstance(constant, Place) else (_TENSOR, size)
        rows.append((kind, code, bits, len(constant.shape), len(extents), start, constant.nbytes))
        extents += constant.shape
        if isinstance(constant, Place):
            continue
        if size + constant.nbytes > _MOST:
            raise VMError("too-large", "the constants are more than 4 GiB", fix="give them to the machine as arguments")
        data.append(_padded(constant.tobytes(), DATA_ALIGNMENT))
        size += len(data[-1])
    names = [places[name] for name in tables.names]
    numbers = ((functions, _FUNCTION), (names, "<u4"), (rows, _CONSTANT), (tables.offsets, "<u4"), (extents, "<i8"))
    tables_of = [np.array(values, dtype).tobytes() for values, dtype in (*numbers, (tables.words, "<u2"))]
    body = b"".join(_padded(each, _TABLE_ALIGNMENT) for each in (*tables_of, text))
    start = _HEADER.size + len(body)
    body += bytes(-start % DATA_ALIGNMENT)
    total = _HEADER.size + len(body) + size
    if total > _MOST:
        fix = "give constants to the machine as arguments"
        raise VMError("too-large", "the executable is more than 4 GiB", fix=fix)
    counts = (len(tables.functions), len(tables.names), len(rows), len(tables.offsets), len(extents))
    header = _HEADER.pack(MAGIC, VERSION, 0, total, *counts, len(tables.words), len(text), size, workspace, 0)
    blob = bytearray().join((header, body, *data))
    struct.pack_into("<I", blob, _SUMMED - 4, _checksum(memoryview(blob)))
    return bytes(blob)


def _checksum(blob: memoryview) -> int:
    return zlib.crc32(blob[_SUMMED:])


def _text(names: Sequence[str]) -> tuple[bytes, dict[str, int]]:
    """All names, each once with a zero behind it, and where each starts."""
    places: dict[str, int] = {}
    text = b""
    for name in dict.fromkeys(names):
        places[name] = len(text)
        text += name.encode() + b"\0"
    return text, places


def _padded(content: bytes, alignment: int) -> bytes:
    return content + bytes(-len(content) % alignment)


# --- reading ---------------------------------------------------------------------------------------------------------


def read(blob: memoryview) -> tuple[Tables, int]:
    """The tables of these bytes, and the bytes of workspace that they say; tensors are views of the bytes.

    Raises VMError where they are none.
    """
    if len(blob) < _HEADER.size or bytes(blob[: len(MAGIC)]) != MAGIC:
        raise VMError("invalid-file", "these bytes are no executable", fix="Executable.save writes one")
    _, version, checksum, total, *counts, workspace, _ = _HEADER.unpack_from(blob)
    if version != VERSION:
        why = f"this aotc runs version {VERSION}"
        raise VMError("unsupported-version", f"the executable is of version {version}", why, "compile the model again")
    if total != len(blob):
        raise VMError("invalid-file", f"the executable has {total} bytes, not {len(blob)}", "it is damaged, or a part")
    if checksum != _checksum(blob):
        raise _damaged("its checksum is another than when it was written")
    functions, names, constants, instructions, extents, words, text_bytes, data_bytes = counts
    tables = _Reader(blob)
    rows = tables.numbers(functions, _FUNCTION)
    called = tables.numbers(names, "<u4")
    described = tables.numbers(constants, _CONSTANT)
    offsets = tables.numbers(instructions, "<u4")
    shapes = tables.numbers(extents, "<i8")
    code = tables.numbers(words, "<u2")
    text = bytes(tables.take(text_bytes))
    tables.align(DATA_ALIGNMENT)
    data = tables.take(data_bytes)
    if tables.position != len(blob):
        raise _damaged(f"{len(blob) - tables.position} bytes follow the constants")
    found = Tables(
        tuple((_name(text, name), start, inputs, registers) for name, start, inputs, registers in rows),
        tuple(_name(text, name) for name in called),
        tuple(_constant(number, row, shapes, data) for number, row in enumerate(described)),
        tuple(offsets),
        tuple(code),
    )
    return found, workspace


class _Reader:
    """Takes tables from bytes, one behind the other."""

    def __init__(self, blob: memoryview) -> None:
        self._blob = blob
        self.position = _HEADER.size

    def take(self, size: int) -> memoryview:
        """The next `size` bytes, and the padding behind them."""
        start, self.position = self.position, self.position + size
        if self.position > len(self._blob):
            raise _damaged(f"a table ends {self.position - len(self._blob)} bytes behind the data")
        return self._blob[start : self.position]

    def align(self, alignment: int) -> None:
        """Go on at a multiple of `alignment`."""
        self.take(-self.position % alignment)

    def numbers(self, count: int, dtype: str | np.dtype[Any]) -> list[Any]:
        """`count` integers, or tuples of them."""
        table = self.take(count * np.dtype(dtype).itemsize)
        self.align(_TABLE_ALIGNMENT)
        return np.frombuffer(table, dtype).tolist()


def _name(text: bytes, start: int) -> str:
    end = text.find(b"\0", start)
    if start > len(text) or end < 0:
        raise _damaged(f"a name starts at byte {start} of {len(text)} and does not end")
    try:
        return text[start:end].decode()
    except UnicodeDecodeError as error:
        raise _damaged(f"the name at byte {start} is no UTF-8") from error


def _constant(number: int, row: tuple[int, ...], shapes: list[int], data: memoryview) -> Constant:
    kind, code, bits, dimensions, extent, start, size = row
    if (code, bits) not in _NAMES or kind not in (_TENSOR, _DTYPE, _PLACE):
        raise _damaged(f"constant {number} is of no kind or data type that there is")
    dtype = dtype_of(_NAMES[code, bits])
    if kind == _DTYPE:
        return dtype
    shape = shapes[extent : extent + dimensions]
    fits = len(shape) == dimensions and all(0 <= n <= _MOST for n in shape) and prod(shape) * dtype.itemsize == size
    if not fits or dimensions > MOST_DIMENSIONS:
        raise _damaged(f"constant {number} has not the shape and the bytes that it says")
    if kind == _PLACE:
        if start % dtype.itemsize:
            raise _damaged(f"constant {number} is at byte {start}, which is no multiple of an element")
        return Place(start, dtype, ShapeTuple(shape))
    if start % DATA_ALIGNMENT or start + size > len(data):
        raise _damaged(f"constant {number} is not within the data, at a multiple of {DATA_ALIGNMENT}")
    array = np.frombuffer(data[start : start + size], np.uint8).view(dtype).reshape(shape)
    array.flags.writeable = False
    return array


def _damaged(why: str) -> VMError:
    return VMError("invalid-file", "the executable is damaged", why, "write it again with Executable.save")
