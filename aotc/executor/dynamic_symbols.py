"""Facts of a shared library's file before it is loaded: for which machine, the names that it exports or asks for,
and the metadata of its model."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from functools import cache
from mmap import mmap
from pathlib import Path

from aotc.emit.elf import MAGIC, ElfFile
from aotc.errors import UsageError
from aotc.model.conventions import json_symbol

DAMAGED = (struct.error, IndexError, ValueError)
"""The errors of reading a damaged file."""
_KIND = slice(4, 6)
"""Where an ELF file says how wide its numbers are, and in which order their bytes."""
_MACHINE = slice(18, 20)
_MACHINES = {
    3: "x86",
    8: "MIPS",
    20: "PowerPC",
    21: "PowerPC64",
    22: "s390",
    40: "Arm",
    62: "x86-64",
    183: "aarch64",
    243: "RISC-V",
    258: "LoongArch",
}


def require_machine(what: str, image: bytes | mmap) -> None:
    """Raise UsageError for an ELF file whose code is that of another machine than this process."""
    mine, given = _own_header(), image[:20]
    if not mine or given[:4] != mine[:4] or (given[_KIND], given[_MACHINE]) == (mine[_KIND], mine[_MACHINE]):
        return
    why = f"it is for {_machine(given)}, and this process runs on {_machine(mine)}"
    raise UsageError("not-this-machine", f"{what} cannot be loaded", why, "compile the model on this machine")


@cache
def _own_header() -> bytes:
    """How the program of this process begins; nothing where that is not known."""
    try:
        with Path("/proc/self/exe").open("rb") as stream:
            return stream.read(20)
    except OSError:
        return b""


def _machine(header: bytes) -> str:
    number = int.from_bytes(header[_MACHINE], "big" if header[5] == 2 else "little")
    return f"{_MACHINES.get(number, f'machine {number}')} ({64 if header[4] == 2 else 32} bits)"


def dynamic_symbols(image: bytes | mmap) -> list[str]:
    """The names in the dynamic symbol table of an ELF file; of any other file, what in it looks like one.

    Only the table is read, however large the library is. A table that lies about itself has no names.
    """
    if image[:6] != MAGIC + b"\2\1":
        return [found[:-1].decode() for found in re.findall(rb"\baotc_\w+\0", image)]
    try:
        return [symbol.name for symbol in ElfFile(image).dynamic_symbols() if symbol.name]
    except DAMAGED:
        return []


def metadata_symbols(names: Iterable[str]) -> list[str]:
    """Which of these names are those of metadata as text (`aotc_NAME_json`), which libraries that aotc links have."""
    prefix, suffix = json_symbol("\0").split("\0")
    return sorted(name for name in names if name.startswith(prefix) and name.endswith(suffix))


def metadata_text(image: bytes | mmap) -> str | None:
    """The metadata of a model that an ELF file carries (`aotc_NAME_json`), None where it has none: it is not loaded for
    that. Raises ValueError for a file that is damaged, or is no little-endian ELF file."""
    try:
        file = ElfFile(image)
        found = {symbol.name: symbol.value for symbol in file.dynamic_symbols() if symbol.section}
        named = metadata_symbols(found)
        return file.text_at(found[named[0]]) if named else None
    except DAMAGED as error:
        raise ValueError(f"it is damaged, or is no library for a little-endian machine: {error}") from error
