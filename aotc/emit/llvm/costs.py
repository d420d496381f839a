"""Costs of compiled code: stack frames and calls of each function, read off assembly; bytes of code, constants and
variables in an object.

Frames come from the directives that describe unwinding: EHABI's on Arm, where debug information says the same by CFI's,
CFI's elsewhere (where functions have to be `uwtable` for it). Both follow every change of the stack pointer but two,
for which the instructions are looked at: below a frame pointer the frame is aligned and allocated unseen, and a leaf
function of x86-64 may use the red zone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from aotc.emit.elf import ALLOC, EXECUTE, FUNCTION, MAGIC, NOBITS, WRITE, ElfFile, Section
from aotc.machines.targets import binding

_FUNCTION = re.compile(r"^\s*\.type\s+\"?([\w.$]+)\"?\s*,\s*[@%]function")
_LABEL = re.compile(r"^\"?([\w.$]+)\"?:")
_DATA = re.compile(r"^\s*\.l?comm\s+\"?([\w.$]+)|^\"?([\w.$]+)\"?:", re.MULTILINE)
_END = re.compile(r"^\s*(?:\.size\s+\"?([\w.$]+)|end_function)")
_CALL = re.compile(r"^\s*(?:bl|blx|b|b\.w|call|callq|tail|jal|j|jmp|j[a-z]{1,3})\s+(?!\.L|%|\*)([A-Za-z_][\w.$]*)")
_ADDRESS = re.compile(r"^\s*\.(?:long|word|4byte|8byte|quad|xword)\s+(?!\.L)([A-Za-z_][\w.$]*)")
_REGISTER = re.compile(r"(?:[rxwast]\d+|lr|ip|sp|ra|pc)$")

_SAVE = re.compile(r"^\s*\.(save|vsave)\s+\{(.*)\}")
_PAD = re.compile(r"^\s*\.pad\s+#(\d+)")
_CFA_OFFSET = re.compile(r"^\s*\.cfi_def_cfa(?:_offset\s+|\s+[%\w]+\s*,\s*)(\d+)")
_CFA_ADJUST = re.compile(r"^\s*\.cfi_adjust_cfa_offset\s+(-?\d+)")
_FRAME_POINTER = re.compile(r"^\s*\.(?:setfp\s|cfi_def_cfa_register\s|cfi_def_cfa\s+(?!%?[re]?sp\b|wsp\b))")
_VARIABLE = re.compile(r"^\s*\.cfi_escape\b")

_LOWER = (
    re.compile(r"^\s*subq?\s+\$(\d+), %rsp"),
    re.compile(r"^\s*sub\s+\w+, sp, #(\d+)(, lsl #12)?$"),
    re.compile(r"^\s*addi\s+sp, sp, -(\d+)"),
)
"""Instructions that lower the stack pointer by a constant."""
_PUSH = re.compile(r"^\s*pushq\s")
_ALIGN = re.compile(r"\band[qi]\s+(?:sp, sp, |\$)-(\d+)(?:, %rsp)?$", re.MULTILINE)
_ALIGN_MASK = re.compile(r"\band\s+sp, \w+, #0x([0-9a-f]+)")
_ALIGN_BITS = re.compile(r"\b(?:bfc\s+sp, |mov\s+(\w+), sp\s+(?:bfc\s+\1, |lsrs\s+\1, \1, ))(?:#0, )?#(\d+)")
"""Ways to align the stack pointer: by the negative alignment, by a mask, by clearing its low bits."""
_RED_ZONE = re.compile(r"-(\d+)\(%rsp")
_WASM_FRAME = re.compile(r"global\.get\s+__stack_pointer\s+(?:local\.tee\s+\d+\s+)?i32\.const\s+(\d+)\s+i32\.sub")
_WASM_ALIGN = re.compile(r"i32\.const\s+-(\d+)\s+i32\.and")


@dataclass(frozen=True)
class Frame:
    """A function's own share of the stack in bytes with its return address, None where it is no constant (vectors of a
    length that the machine decides); and what it calls, by symbol."""

    size: int | None
    calls: tuple[str, ...]


def frames(assembly: str) -> dict[str, Frame]:
    """Every function that `assembly` (ELF or WebAssembly) defines; nothing for other formats."""
    functions = {found[1] for line in assembly.splitlines() if (found := _FUNCTION.match(line))}
    data = {name for found in _DATA.findall(assembly) for name in found} - functions
    result: dict[str, Frame] = {}
    name, body = "", list[str]()
    for line in assembly.splitlines():
        if (label := _LABEL.match(line)) and label[1] in functions:
            name, body = label[1], []
        elif name and (end := _END.match(line)) and end[1] in (None, name):
            result[name] = Frame(_size(body), _calls(body, data))
            name = ""
        elif name:
            body.append(line)
    return result


def _calls(body: list[str], data: set[str]) -> tuple[str, ...]:
    """Whom a function calls or jumps to, and whose address is among its literals (Thumb calls through those)."""
    found = {match[1] for line in body if (match := _CALL.match(line) or _ADDRESS.match(line))}
    return tuple(sorted(symbol for symbol in found - data if not _REGISTER.match(symbol)))


def _size(body: list[str]) -> int | None:
    saved = cfa = deepest = below = red_zone = 0
    has_frame_pointer = False
    for line in body:
        if (save := _SAVE.match(line)) is not None:
            saved += (8 if save[1] == "vsave" else 4) * _registers(save[2])
        elif (pad := _PAD.match(line)) is not None:
            saved += int(pad[1])
        elif _VARIABLE.match(line):
            return None
        elif (offset := _CFA_OFFSET.match(line)) is not None:
            cfa = int(offset[1])
        elif (adjustment := _CFA_ADJUST.match(line)) is not None:
            cfa += int(adjustment[1])
        elif has_frame_pointer and not saved:  # EHABI's directives have it all
            below += _lowered(line)
        red_zone = max([red_zone, *(int(bytes_) for bytes_ in _RED_ZONE.findall(line))])
        has_frame_pointer = has_frame_pointer or _FRAME_POINTER.match(line) is not None
        deepest = max(deepest, cfa)
    text = "\n".join(body)
    aligned = _aligned(text) if has_frame_pointer else 0
    return max(saved, deepest) + below + aligned + red_zone + _wasm(text)


def _registers(text: str) -> int:
    """How many registers a list such as `r4, r5, lr` or `d8-d15` has."""
    count = 0
    for register in text.split(","):
        first, _, last = register.strip().partition("-")
        count += int(last[1:]) - int(first[1:]) + 1 if last else 1
    return count


def _lowered(line: str) -> int:
    """By how much an instruction lowers the stack pointer."""
    for pattern in _LOWER:
        if (match := pattern.match(line)) is not None:
            return int(match[1]) << (12 if match.lastindex == 2 else 0)
    return 8 if _PUSH.match(line) else 0


def _aligned(body: str) -> int:
    """By how much aligning the stack pointer lowers it at most."""
    sizes = [int(found) for found in _ALIGN.findall(body)]
    sizes += [(1 << 64) - int(found, 16) for found in _ALIGN_MASK.findall(body)]
    sizes += [1 << int(bits) for _, bits in _ALIGN_BITS.findall(body)]
    return sum(size - 1 for size in sizes)


def _wasm(body: str) -> int:
    """The frame on WebAssembly's stack in linear memory."""
    frame = _WASM_FRAME.search(body)
    if frame is None:
        return 0
    aligned = _WASM_ALIGN.search(body)
    return int(frame[1]) + (int(aligned[1]) - 1 if aligned else 0)


# --- bytes of an object ----------------------------------------------------------------------------------------------


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
