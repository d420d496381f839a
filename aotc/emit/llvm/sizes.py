"""How many bytes of an object file are code, constants and variables, and how large each function is."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from aotc.machines.targets import binding

_NOBITS, _SYMTAB = 8, 2
_WRITE, _ALLOC, _EXECUTE = 1, 2, 4
_FUNCTION = 2


@dataclass(frozen=True)
class ObjectSizes:
    """Bytes that a program with this object grows by; `functions` are in the symbol table (ELF only)."""

    text: int
    constants: int
    data: int
    zeroed: int
    """Variables without a value of their own, which cost no flash."""
    functions: dict[str, int] = field(default_factory=dict[str, int])


def object_sizes(image: bytes) -> ObjectSizes:
    """The sizes in an object file: ELF by the flags of its sections, other formats by the sections' names."""
    return _elf(image) if image.startswith(b"\x7fELF") else _other(image)


@dataclass(frozen=True)
class _Section:
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    entry_size: int


def _elf(image: bytes) -> ObjectSizes:
    wide = image[4] == 2
    table, entry = struct.unpack_from("<Q" if wide else "<I", image, 40 if wide else 32)[0], 64 if wide else 40
    (count,) = struct.unpack_from("<H", image, 60 if wide else 48)
    sections: list[_Section] = []
    for position in range(table, table + count * entry, entry):
        _, kind, flags, _, offset, size, link, _, _, entry_size = struct.unpack_from(
            "<IIQQQQIIQQ" if wide else "<10I", image, position
        )
        sections.append(_Section(kind, flags, offset, size, link, entry_size))
    sizes: dict[Literal["text", "constants", "data", "zeroed"], int]
    sizes = {"text": 0, "constants": 0, "data": 0, "zeroed": 0}
    for section in sections:
        if section.flags & _ALLOC:
            sizes[_kind(section)] += section.size
    functions = {
        name: size
        for section in sections
        if section.kind == _SYMTAB
        for name, size in _functions(image, section, sections[section.link], wide)
    }
    return ObjectSizes(sizes["text"], sizes["constants"], sizes["data"], sizes["zeroed"], functions)


def _kind(section: _Section) -> Literal["text", "constants", "data", "zeroed"]:
    if section.flags & _EXECUTE:
        return "text"
    if not section.flags & _WRITE:
        return "constants"
    return "zeroed" if section.kind == _NOBITS else "data"


def _functions(image: bytes, symbols: _Section, names: _Section, wide: bool) -> Iterator[tuple[str, int]]:
    for position in range(symbols.offset, symbols.offset + symbols.size, symbols.entry_size):
        if wide:
            name, info, _, defined, _, size = struct.unpack_from("<IBBHQQ", image, position)
        else:
            name, _, size, info, _, defined = struct.unpack_from("<IIIBBH", image, position)
        if info & 15 == _FUNCTION and defined:
            start = names.offset + name
            yield image[start : image.index(b"\0", start)].decode(), size


_CONSTANTS = ("rodata", "__const", ".rdata", "DATA")
_ZEROED = ("bss",)


def _other(image: bytes) -> ObjectSizes:
    """WebAssembly's one section of data counts as constants, the workspace's zeros too."""
    text = constants = zeroed = 0
    with binding().ObjectFileRef.from_data(image) as file:
        for section in file.sections():
            name, size = section.name().decode("latin-1"), section.size()
            if section.is_text():
                text += size
            elif any(part in name for part in _CONSTANTS) and not name.startswith("reloc"):
                constants += size
            elif any(part in name for part in _ZEROED):
                zeroed += size
    return ObjectSizes(text, constants, 0, zeroed)
