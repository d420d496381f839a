"""ELF files: their sections, and the symbols that these define or ask for.

Whoever reads one of others' expects struct.error, ValueError and IndexError of a damaged one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"\x7fELF"
WRITE, ALLOC, EXECUTE = 1, 2, 4
"""Flags of a section: whether it is variables, whether it is in memory when the program runs, whether it is code."""
NOBITS, SYMTAB, GROUP = 8, 2, 17
"""Kinds of sections: zeros that are not in the file; symbols; sections of which one copy is kept."""
FUNCTION = 2
"""The kind of a symbol that is a function."""
LOCAL = 0
"""The binding of a symbol that no other file sees."""


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
    alignment: int
    entry_size: int


@dataclass(frozen=True)
class Symbol:
    """A symbol that is defined in the section of this number, or is common; that no file defines yet, in 0."""

    name: str
    kind: int
    binding: int
    section: int
    value: int
    size: int


class ElfFile:
    """A little-endian ELF file of 32 or 64 bits. `machine` and `flags` are those of its header."""

    def __init__(self, image: bytes) -> None:
        """Raises ValueError, IndexError or struct.error for a file that is none."""
        if not image.startswith(MAGIC) or image[5] != 1:
            raise ValueError("it is not a little-endian ELF file")
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
            Section(
                self._text(strings + name) if names else "", kind, flags, address, offset, size, link, align, entry_size
            )
            for name, kind, flags, address, offset, size, link, _, align, entry_size in found
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
        return (symbol for symbol in self._symbols() if symbol.section)

    def wanted(self) -> set[str]:
        """The names that the file asks others for."""
        return {symbol.name for symbol in self._symbols() if not symbol.section and symbol.name}

    def offered(self) -> set[str]:
        """The names, weak and common ones too, that the file has for others; without those of groups, which are alike
        in every file (C++'s inline functions)."""
        grouped = {number for section in self.sections if section.kind == GROUP for number in self._members(section)}
        shown = (symbol for symbol in self.symbols() if symbol.binding != LOCAL)
        return {symbol.name for symbol in shown if symbol.section not in grouped}

    def _members(self, group: Section) -> tuple[int, ...]:
        return self._unpacked(f"{group.size // 4}I", group.offset)[1:]

    def _symbols(self) -> Iterator[Symbol]:
        for table in self.sections:
            if table.kind != SYMTAB:
                continue
            names = self.sections[table.link].offset
            for position in range(table.offset, table.offset + table.size, table.entry_size):
                if self.wide:
                    name, info, _, section, value, size = self._unpacked("IBBHQQ", position)
                else:
                    name, value, size, info, _, section = self._unpacked("IIIBBH", position)
                yield Symbol(self._text(names + name), info & 15, info >> 4, section, value, size)
