"""Constant bytes as an object file, and in a library without a linker that copies them.

Large weights pass through no compiler and no linker: the linker is given a section of zeros, which takes no room in a
file, at an address behind all others; what it links is mapped there, and their bytes come behind its last byte.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, product

from aotc.emit import elf
from aotc.emit.llvm.modules import parsed
from aotc.errors import CompileError
from aotc.machines.targets import Target
from aotc.model.artifacts import Pieces
from aotc.model.files import Binary

_PAGES = 1 << 24
"""The alignment of sections behind all others: more than a page of any machine."""
_STARTUP = 1 << 20
"""More bytes than what the system's compiler links to each library."""


@dataclass(frozen=True)
class DataObject:
    """`size` constant bytes behind a symbol that other files see."""

    symbol: str
    content: Iterable[Binary]
    """Piece by piece, and the same whenever it is read."""
    size: int
    section: str = ".rodata"
    alignment: int = 8

    def image(self, target: Target) -> bytes:
        """The object file. Raises CompileError where a target's are not ELF files."""
        return b"".join((self._head(target, elf.PROGBITS), *self.content))

    def _head(self, target: Target, kind: int) -> bytes:
        """All that comes before the content."""
        like = _empty(target)
        names = dict.fromkeys(("", self.section, ".symtab", ".strtab", ".note.GNU-stack", self.symbol), 0)
        strings = b""
        for name in names:
            names[name] = len(strings)
            strings += name.encode() + b"\0"
        info = elf.GLOBAL << 4 | elf.DATA
        if like.wide:
            symbol = struct.pack(elf.SYMBOL_ROW[True], names[self.symbol], info, 0, 1, 0, self.size)
        else:
            symbol = struct.pack(elf.SYMBOL_ROW[False], names[self.symbol], 0, self.size, info, 0, 1)
        header, row = struct.calcsize(elf.HEADER_ROW[like.wide]), struct.calcsize(elf.SECTION_ROW[like.wide])
        at_symbols = header + 5 * row
        at_names = at_symbols + 2 * len(symbol)
        end = at_names + len(strings)
        start = _up(end, self.alignment)
        sections = (
            (0,) * 10,
            (names[self.section], kind, elf.ALLOC, 0, start, self.size, 0, 0, self.alignment, 0),
            (names[".symtab"], elf.SYMTAB, 0, 0, at_symbols, 2 * len(symbol), 3, 1, 8, len(symbol)),
            (names[".strtab"], elf.STRTAB, 0, 0, at_names, len(strings), 0, 0, 1, 0),
            (names[".note.GNU-stack"], elf.PROGBITS, 0, 0, start, 0, 0, 0, 1, 0),  # the stack holds no code
        )
        ident, relocatable = like.image[:16], 1
        head = struct.pack(
            elf.HEADER_ROW[like.wide],
            *(ident, relocatable, like.machine, 1, 0, 0, header, like.flags, header, 0, 0, row, len(sections), 3),
        )
        rows = (struct.pack(elf.SECTION_ROW[like.wide], *section) for section in sections)
        return b"".join((head, *rows, bytes(len(symbol)), symbol, strings, bytes(start - end)))

    # In a library

    def reserved(self, target: Target) -> bytes:
        """The object file with zeros that take no room in it. Raises CompileError as `image`."""
        return self._head(target, elf.NOBITS)

    def place(self, objects: Sequence[bytes]) -> str:
        """The flag that tells a linker to put the section behind all that is in these objects."""
        sections = (
            section for image in objects for section in elf.ElfFile(image).sections if section.flags & elf.ALLOC
        )
        taken = sum(section.size + section.alignment for section in sections)
        return f"-Wl,--section-start={self.section}={_up(taken + _STARTUP, _PAGES):#x}"

    def behind(self, library: bytes) -> Pieces[Binary] | None:
        """The library that was linked of the reserved object, with the content; None where a linker has not mapped the
        section apart, to be read only."""
        file = elf.ElfFile(library)
        found = [section for section in file.sections if (section.name, section.kind) == (self.section, elf.NOBITS)]
        for section, segment in product(found, file.segments()):
            alone = (segment.address, segment.stored, segment.size) == (section.address, 0, section.size)
            if segment.kind == elf.LOAD and alone and not segment.writable and section.size == self.size:
                return self._at_the_end(file, section, segment)
        return None

    def _at_the_end(self, file: elf.ElfFile, section: elf.Section, segment: elf.Segment) -> Pieces[Binary]:
        offset = _up(len(file.image), max(segment.alignment, 1))
        head = file.moved(section, segment, offset) + bytes(offset - len(file.image))
        return Pieces(lambda: chain((head,), self.content))


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


@lru_cache(maxsize=8)
def _empty(target: Target) -> elf.ElfFile:
    """An object of a target with nothing in it, whose header is that of all others."""
    image = target.machine(0).emit_object(parsed(f'target triple = "{target.triple}"\n'))
    try:
        return elf.ElfFile(image)
    except ValueError as error:
        raise CompileError("unsupported-by-target", f"constants as an object for {target.name}", str(error)) from error
