"""What the file of a shared library says before it is loaded: for which machine, and the names that it exports or asks
for."""

from __future__ import annotations

import re
import struct
from functools import cache
from mmap import mmap
from pathlib import Path

from aotc.errors import UsageError

_DYNSYM = 11
_ENTRY = 64
_KIND = slice(4, 6)
"""Where an ELF file says how wide its words are, and in which order their bytes."""
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
