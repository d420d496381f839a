"""The names that a shared library exports or asks for, read from its file."""

from __future__ import annotations

import re
import struct
from mmap import mmap

_DYNSYM = 11
_ENTRY = 64


def dynamic_symbols(image: bytes | mmap) -> list[str]:
    """The names in the dynamic symbol table of an ELF file of 64 bits; of any other file, what in it looks like one.

    Only the table is read, however large the library is. A table that lies about itself has no names.
    """
    if image[:6] != b"\x7fELF\x02\x01":
        return [found[:-1].decode() for found in re.findall(rb"\baotc_\w+\0", image)]
    try:
        return _names(image)
    except (struct.error, IndexError):
        return []


def _names(image: bytes | mmap) -> list[str]:
    (table,) = struct.unpack_from("<Q", image, 40)
    entry, count = struct.unpack_from("<HH", image, 58)
    if entry != _ENTRY:
        return []
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, table + number * _ENTRY) for number in range(count)]
    for section in sections:
        if section[1] == _DYNSYM:
            _, _, _, _, start, size, *_ = sections[section[6]]
            return [name.decode(errors="replace") for name in image[start : start + size].split(b"\0") if name]
    return []
