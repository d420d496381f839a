"""ELF files: their sections, and the symbols that these define or ask for.

Whoever reads one of others' expects struct.error, ValueError and IndexError of a damaged one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap

MAGIC = b"\x7fELF"
WRITE, ALLOC, EXECUTE = 1, 2, 4
"""Flags of a section: whether it is variables, whether it is in memory when the program runs, whether it is code."""
PROGBITS, NOBITS, SYMTAB, STRTAB, DYNSYM, GROUP = 1, 8, 2, 3, 11, 17
"""Kinds of sections: bytes of the program; zeros that are not in the file; symbols; names; symbols for the dynamic
loader; sections of which one copy is kept."""
LOAD, WRITABLE = 1, 2
"""The kind of a segment that is mapped into memory, and its flag if it is written to."""
DATA, FUNCTION = 1, 2
"""Kinds of symbols."""
LOCAL, GLOBAL = 0, 1
"""Bindings of symbols: no other file sees it, or all do."""

HEADER_ROW = {True: "<16sHHIQQQIHHHHHH", False: "<16sHHIIIIIHHHHHH"}
SECTION_ROW = {True: "<IIQQQQIIQQ", False: "<10I"}
SYMBOL_ROW = {True: "<IBBHQQ", False: "<IIIBBH"}
_SEGMENT_ROW = {True: "<IIQQQQQQ", False: "<8I"}
"""How structures lie in files of 64 bits, and of 32."""


@dataclass(frozen=True)
class Section:
    """A section: `address` where it runs, which objects do not know; `offset` and `size` in the file, which
    describes it at `row`."""

    row: int
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
class Segment:
    """A segment that a loader maps: `size` bytes of memory at `address`, the first `stored` of them from `offset` of
    the file. `row` is where the file describes it."""

    row: int
    kind: int
    writable: bool
    offset: int
    address: int
    stored: int
    size: int
    alignment: int


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

    def __init__(self, image: bytes | mmap) -> None:
        """Raises ValueError, IndexError or struct.error for a file that is none."""
        if image[: len(MAGIC)] != MAGIC or image[5] != 1:
            raise ValueError("it is not a little-endian ELF file")
        self.image = image
        self.wide = image[4] == 2
        (self.machine,) = self._unpacked("H", 18)
        (table,) = self._unpacked("Q" if self.wide else "I", 40 if self.wide else 32)
        (self.flags,) = self._unpacked("I", 48 if self.wide else 36)
        count, names = self._unpacked("HH", 60 if self.wide else 48)
        form = SECTION_ROW[self.wide]
        rows = [table + number * struct.calcsize(form) for number in range(count)]
        found: list[tuple[int, ...]] = [struct.unpack_from(form, self.image, row) for row in rows]
        strings = found[names][4] if names else 0
        self.sections = [
            Section(row, self._text(strings + name) if names else "", kind, flags, address, offset, size, link, *last)
            for row, (name, kind, flags, address, offset, size, link, _, *last) in zip(rows, found, strict=True)
        ]

    def _unpacked(self, form: str, position: int) -> tuple[int, ...]:
        return struct.unpack_from("<" + form, self.image, position)

    def _text(self, start: int) -> str:
        if (end := self.image.find(b"\0", start)) < 0:
            raise ValueError(f"a name at byte {start} does not end")
        return self.image[start:end].decode()

    def segments(self) -> Iterator[Segment]:
        """Segments that are mapped where the file is loaded; objects have none."""
        (table,) = self._unpacked("Q" if self.wide else "I", 32 if self.wide else 28)
        size, count = self._unpacked("HH", 54 if self.wide else 42)
        for row in range(table, table + count * size, size):
            found = struct.unpack_from(_SEGMENT_ROW[self.wide], self.image, row)
            order = (0, 1, 2, 3, 5, 6, 7) if self.wide else (0, 6, 1, 2, 4, 5, 7)
            kind, flags, offset, address, stored, memory, align = (found[at] for at in order)
            yield Segment(row, kind, bool(flags & 2), offset, address, stored, memory, align)

    def moved(self, section: Section, segment: Segment, offset: int) -> bytes:
        """The file where a section of zeros, all that is in its segment, is bytes at this offset instead."""
        image = bytearray(self.image)
        row = list(struct.unpack_from(SECTION_ROW[self.wide], image, section.row))
        row[1], row[4] = PROGBITS, offset
        struct.pack_into(SECTION_ROW[self.wide], image, section.row, *row)
        row = list(struct.unpack_from(_SEGMENT_ROW[self.wide], image, segment.row))
        at, stored = (2, 5) if self.wide else (1, 4)
        row[at], row[stored] = offset, segment.size
        struct.pack_into(_SEGMENT_ROW[self.wide], image, segment.row, *row)
        return bytes(image)

    def content(self, section: Section) -> bytes:
        """The bytes of a section; none where they are zeros that are not in the file."""
        return b"" if section.kind == NOBITS else self.image[section.offset : section.offset + section.size]

    def symbols(self) -> Iterator[Symbol]:
        """Symbols that the file defines, in the order of its symbol table."""
        return (symbol for symbol in self._symbols() if symbol.section)

    def dynamic_symbols(self) -> Iterator[Symbol]:
        """The symbols that a library exports, and in section 0 those that it asks for."""
        return self._symbols(DYNSYM)

    def text_at(self, address: int) -> str:
        """The text that begins at an address of a library, up to a zero byte."""
        for segment in self.segments():
            if segment.kind == LOAD and 0 <= (within := address - segment.address) < segment.stored:
                return self._text(segment.offset + within)
        raise ValueError(f"nothing of the file is at the address {address:#x}")

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

    def _symbols(self, kind: int = SYMTAB) -> Iterator[Symbol]:
        for table in self.sections:
            if table.kind != kind:
                continue
            if table.entry_size != struct.calcsize(SYMBOL_ROW[self.wide]):
                raise ValueError(f"a symbol of {table.name} has {table.entry_size} bytes")
            names = self.sections[table.link].offset
            for position in range(table.offset, table.offset + table.size, table.entry_size):
                row = struct.unpack_from(SYMBOL_ROW[self.wide], self.image, position)
                if self.wide:
                    name, info, _, section, value, size = row
                else:
                    name, value, size, info, _, section = row
                yield Symbol(self._text(names + name), info & 15, info >> 4, section, value, size)
