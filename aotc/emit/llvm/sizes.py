"""How many bytes of an object file are code, constants and variables, and how large each function is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from aotc.emit.elf import ALLOC, EXECUTE, FUNCTION, MAGIC, NOBITS, WRITE, ElfFile, Section
from aotc.machines.targets import binding


@dataclass(frozen=True)
class ObjectSizes:
    """Bytes that a program with this object grows by, where linkers put one section behind the other; `functions` are
    in the symbol table (ELF only)."""

    text: int
    constants: int
    data: int
    zeroed: int
    """Variables without a value of their own, which cost no flash."""
    functions: dict[str, int] = field(default_factory=dict[str, int])

    def __add__(self, other: ObjectSizes) -> ObjectSizes:
        text, constants = self.text + other.text, self.constants + other.constants
        data, zeroed = self.data + other.data, self.zeroed + other.zeroed
        return ObjectSizes(text, constants, data, zeroed, self.functions | other.functions)


def object_sizes(image: bytes) -> ObjectSizes:
    """The sizes in an object file: ELF by the flags of its sections, other formats by the sections' names."""
    return _elf(ElfFile(image)) if image.startswith(MAGIC) else _other(image)


def _elf(file: ElfFile) -> ObjectSizes:
    sizes: dict[Literal["text", "constants", "data", "zeroed"], int]
    sizes = {"text": 0, "constants": 0, "data": 0, "zeroed": 0}
    for section in file.sections:
        if section.flags & ALLOC:
            kind = _kind(section)
            sizes[kind] += -sizes[kind] % max(section.alignment, 1) + section.size
    functions = {each.name: each.size for each in file.symbols() if each.kind == FUNCTION}
    return ObjectSizes(sizes["text"], sizes["constants"], sizes["data"], sizes["zeroed"], functions)


def _kind(section: Section) -> Literal["text", "constants", "data", "zeroed"]:
    if section.flags & EXECUTE:
        return "text"
    if not section.flags & WRITE:
        return "constants"
    return "zeroed" if section.kind == NOBITS else "data"


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
            elif any(piece in name for piece in _CONSTANTS) and not name.startswith("reloc"):
                constants += size
            elif any(piece in name for piece in _ZEROED):
                zeroed += size
    return ObjectSizes(text, constants, 0, zeroed)
