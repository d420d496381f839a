"""ELF files: their sections, and the symbols that these define.

Whoever reads one of others' expects struct.error, ValueError and IndexError of a damaged one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"\x7fELF"
WRITE, ALLOC, EXECUTE = 1, 2, 4
"""Flags of a section: whether it is variables, whether it is in memory when the program runs, whether it is code."""
NOBITS, SYMTAB = 8, 2
"""Kinds of sections: zeros that are not in the file; symbols."""
FUNCTION = 2
"""The kind of a symbol that is a function."""


@dataclass(frozen=True)
class Section:
    """A section: `address` where it runs, which objects do not know; `offset` and `size` in the file."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    entry_size: int


@dataclass(frozen=True)
class Symbol:
    """A symbol that is defined in the section of this number."""

    name: str
    kind: int
    section: int
    value: int
    size: int


class ElfFile:
    """A little-endian ELF file of 32 or 64 bits. `machine` and `flags` are those of its header."""

    def __init__(self, image: bytes) -> None:
        """Raises ValueError, IndexError or struct.error for a file that is none."""
        if not image.startswith(MAGIC) or image[5] != 1:
            raise ValueError("it is no little-endian ELF file")
        self.image = image
        self.wide = image[4] == 2
        (self.machine,) = self._unpacked("H", 18)
        (table,) = self._unpacked("Q" if self.wide else "I", 40 if self.wide else 32)
        (self.flags,) = self._unpacked("I", 48 if self.wide else 36)
        entry = 64 if self.wide else 40
        count, names = self._unpacked("HH", 60 if self.wide else 48)
        found: list[tuple[int, ...]] = [
            self._unpacked("IIQQQQIIQQ" if self.wide else "10I", table + number * entry) for number in range(count)
        ]
        strings = found[names][4] if names else 0
        self.sections = [
            Section(self._text(strings + name) if names else "", kind, flags, address, offset, size, link, entry_size)
            for name, kind, flags, address, offset, size, link, _, _, entry_size in found
        ]

    def _unpacked(self, form: str, position: int) -> tuple[int, ...]:
        return struct.unpack_from("<" + form, self.image, position)

    def _text(self, start: int) -> str:
        return self.image[start : self.image.index(b"\0", start)].decode()

    def content(self, section: Section) -> bytes:
        """The bytes of a section; none where they are zeros that are not in the file."""
        return b"" if section.kind == NOBITS else self.image[section.offset : section.offset + section.size]

    def symbols(self) -> Iterator[Symbol]:
        """What the file defines, in the order of its symbol table."""
        for table in self.sections:
            if table.kind != SYMTAB:
                continue
            names = self.sections[table.link].offset
            for position in range(table.offset, table.offset + table.size, table.entry_size):
                if self.wide:
                    name, info, _, section, value, size = self._unpacked("IBBHQQ", position)
                else:
                    name, value, size, info, _, section = self._unpacked("IIIBBH", position)
                if section:
                    yield Symbol(self._text(names + name), info & 15, section, value, size)
