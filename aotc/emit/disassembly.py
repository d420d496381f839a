"""Machine code as text: by an objdump that knows the file's machine, else by the package capstone, which knows them all
but for the latest instructions."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from aotc.emit.elf import EXECUTE, FUNCTION, ElfFile, Section, Symbol
from aotc.errors import UsageError

_TOOLS: Final = ("llvm-objdump", "objdump", "arm-none-eabi-objdump", "riscv64-unknown-elf-objdump")


def disassembled(image: bytes, name: str) -> str:
    """The code in an object or a library, function by function; `name` is what the text calls the file.

    Raises UsageError where neither capstone nor an objdump here knows its machine, and what `ElfFile` raises.
    """
    why = "no objdump was found"
    for tool in filter(shutil.which, _TOOLS):
        text, why = _by_objdump(tool, image, name)
        if text is not None:
            return text
    if find_spec("capstone") is not None:
        file = ElfFile(image)
        if (text := _by_capstone(file, name)) is not None:
            return text
        why = f"capstone has no machine {file.machine}"
    what = f"{name} cannot be disassembled, which takes an objdump that knows its machine, or the package capstone"
    fix = "install aotc[disassembly], or binutils or LLVM for the target, or use --emit asm"
    raise UsageError("missing-tool", what, why, fix)


def _by_objdump(tool: str, image: bytes, name: str) -> tuple[str | None, str]:
    """The view of the file by `tool`; None, and why, where it cannot."""
    with tempfile.TemporaryDirectory(prefix="aotc-") as folder:
        (Path(folder) / "code").write_bytes(image)
        command = [tool, "-d", "--no-show-raw-insn", "code"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 0 and "UNKNOWN" not in done.stdout:
        return done.stdout.replace("code:", f"{name}:", 1).strip(), ""
    return None, done.stderr.strip() or f"{tool} does not know the machine"


# --- capstone --------------------------------------------------------------------------------------------------------

_Modes = Callable[[Any, ElfFile], tuple[int, int]]
_RVC = 1
"""Flag of a RISC-V file: its code has instructions of 16 bits."""

_MACHINES: Final[dict[int, _Modes]] = {
    3: lambda c, _: (c.CS_ARCH_X86, c.CS_MODE_32),
    21: lambda c, _: (c.CS_ARCH_PPC, c.CS_MODE_64),
    40: lambda c, _: (c.CS_ARCH_ARM, c.CS_MODE_ARM),
    62: lambda c, _: (c.CS_ARCH_X86, c.CS_MODE_64),
    183: lambda c, _: (c.CS_ARCH_ARM64, c.CS_MODE_ARM),
    243: lambda c, file: (
        c.CS_ARCH_RISCV,
        (c.CS_MODE_RISCV64 if file.wide else c.CS_MODE_RISCV32) | (c.CS_MODE_RISCVC if file.flags & _RVC else 0),
    ),
}
"""By the machine of an ELF header: capstone's architecture and mode."""

_DATA, _THUMB, _CODE = "$d", "$t", ("$a", "$x")
"""Symbols of Arm and RISC-V that say what follows: data, Thumb, or other code."""


def _by_capstone(file: ElfFile, name: str) -> str | None:
    """The code of all sections; None for a machine that capstone does not know."""
    capstone = import_module("capstone")
    if file.machine not in _MACHINES:
        return None
    architecture, mode = _MACHINES[file.machine](capstone, file)
    try:
        decoders = {False: capstone.Cs(architecture, mode)}
        if architecture == capstone.CS_ARCH_ARM:
            decoders[True] = capstone.Cs(architecture, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    except capstone.CsError:  # this build of it has only some architectures
        return None
    for decoder in decoders.values():
        decoder.skipdata = True
    lines = [name + ":"]
    symbols = [*file.symbols()]
    for number, section in enumerate(file.sections):
        if section.flags & EXECUTE and section.size:
            inside = [each for each in symbols if each.section == number]
            lines += ["", f"Disassembly of section {section.name}:", *_section(file, section, inside, decoders)]
    return "\n".join(lines)


def _section(file: ElfFile, section: Section, symbols: list[Symbol], decoders: dict[bool, Any]) -> Iterator[str]:
    """The lines of a section, in which symbols mark where functions begin and what is data."""
    content = file.content(section)
    names: dict[int, str] = {}
    kinds: dict[int, str] = {}
    for each in symbols:
        if each.name.startswith((_DATA, _THUMB, *_CODE)):
            kinds[each.value] = each.name[:2]
        elif each.kind == FUNCTION:
            thumb = True in decoders and each.value & 1
            names.setdefault(each.value - thumb, each.name)
            kinds.setdefault(each.value - thumb, _THUMB if thumb else _CODE[0])
    ends = sorted({*names, *kinds, section.address, section.address + len(content)})
    kind = _CODE[0]
    for start, end in pairwise(ends):
        kind = kinds.get(start, kind)
        if start in names:
            yield f"\n{start:08x} <{names[start]}>:"
        code = content[start - section.address : end - section.address]
        if kind == _DATA:
            yield f"{start:8x}:\t.byte\t{', '.join(f'{byte:#04x}' for byte in code)}"
            continue
        for address, _, mnemonic, operands in decoders[kind == _THUMB].disasm_lite(code, start):
            yield f"{address:8x}:\t{mnemonic}\t{operands}".rstrip()
