"""Bytecode: instructions as values, and as words of 16 bits.

```
call   1 | number of operands << 8, function, destination or VOID, operand ..
ret    2, register
goto   3, distance (two words)
if     4, register, distance (two words)
```
A distance is counted in instructions from the one that has it, low word first. An operand is its kind in the upper 3
bits of a word and a number in the others; an integer that has more than those 13 bits follows in four words of its own,
lowest first. `aotc_vm.c` reads the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from aotc.errors import Problem


class Opcode(IntEnum):
    """The lower byte of an instruction's first word."""

    CALL = 1
    RET = 2
    GOTO = 3
    IF = 4


class Kind(IntEnum):
    """The kind of an operand."""

    REGISTER = 0
    CONSTANT = 1
    IMMEDIATE = 2
    """A signed integer in the word itself, or LONG, in those behind it."""
    STATE = 3
    """The state of the machine that runs."""


_LONG: Final = 4
_BITS: Final = 13
_MASK: Final = (1 << _BITS) - 1
_SHORT: Final = range(-(1 << _BITS - 1), 1 << _BITS - 1)
_INT64: Final = range(-(1 << 63), 1 << 63)
_DISTANCE: Final = range(-(1 << 31), 1 << 31)

MOST_REGISTERS: Final = 1 << _BITS
MOST_CONSTANTS: Final = 1 << _BITS
MOST_NAMES: Final = 1 << 16
MOST_OPERANDS: Final = 255
VOID: Final = 0xFFFF
"""The destination of a call whose result nobody wants."""


class Operand(NamedTuple):
    """One operand of a call: the number of a register or a constant, or an integer."""

    kind: Kind
    value: int = 0

    def __str__(self) -> str:
        match self.kind:
            case Kind.REGISTER:
                return f"%{self.value}"
            case Kind.CONSTANT:
                return f"c[{self.value}]"
            case Kind.IMMEDIATE:
                return f"i{self.value}"
            case Kind.STATE:
                return "vm"


@dataclass(frozen=True)
class Call:
    """Call the function of name number `function`; what it returns goes to the register `dst`, if there is one."""

    function: int
    args: tuple[Operand, ...] = ()
    dst: int | None = None


@dataclass(frozen=True)
class Ret:
    """Return what is in a register."""

    register: int


@dataclass(frozen=True)
class Goto:
    """Go on `distance` instructions from here."""

    distance: int


@dataclass(frozen=True)
class If:
    """Go on with the next instruction where the register holds true, else `distance` instructions from here."""

    register: int
    distance: int


Instruction: TypeAlias = Call | Ret | Goto | If


def reads(instruction: Instruction) -> tuple[int, ...]:
    """The registers that an instruction reads."""
    match instruction:
        case Call():
            return tuple(operand.value for operand in instruction.args if operand.kind is Kind.REGISTER)
        case Ret() | If():
            return (instruction.register,)
        case Goto():
            return ()


def successors(instruction: Instruction, here: int) -> tuple[int, ...]:
    """Where the instruction at `here` may go on."""
    match instruction:
        case Call():
            return (here + 1,)
        case Ret():
            return ()
        case Goto():
            return (here + instruction.distance,)
        case If():
            return (here + 1, here + instruction.distance)


# --- words -----------------------------------------------------------------------------------------------------------


def encode(instruction: Instruction) -> list[int]:
    """The words of an instruction. Raises ValueError where a number has no room in them."""
    match instruction:
        case Call(function, args, dst):
            count = _within(len(args), MOST_OPERANDS + 1, "operands")
            words = [Opcode.CALL | count << 8, _within(function, MOST_NAMES, "the function")]
            words.append(VOID if dst is None else _within(dst, MOST_REGISTERS, "the destination"))
            return words + [word for operand in args for word in _operand(operand)]
        case Ret(register):
            return [Opcode.RET, _within(register, MOST_REGISTERS, "the register")]
        case Goto(distance):
            return [Opcode.GOTO, *_distance(distance)]
        case If(register, distance):
            return [Opcode.IF, _within(register, MOST_REGISTERS, "the register"), *_distance(distance)]


def _operand(operand: Operand) -> list[int]:
    kind, value = operand
    if kind is Kind.IMMEDIATE and value not in _SHORT:
        if value not in _INT64:
            raise ValueError(f"the immediate {value} is no integer of 64 bits")
        return [_LONG << _BITS, *((value >> shift) & 0xFFFF for shift in (0, 16, 32, 48))]
    if kind is not Kind.IMMEDIATE:
        _within(value, MOST_REGISTERS, f"the {kind.name.lower()}")
    return [kind << _BITS | value & _MASK]


def _distance(distance: int) -> list[int]:
    if distance not in _DISTANCE:
        raise ValueError(f"a jump over {distance} instructions is too far")
    return [distance & 0xFFFF, distance >> 16 & 0xFFFF]


def _within(value: int, end: int, what: str) -> int:
    if not 0 <= value < end:
        raise ValueError(f"{what}: {value} is not within 0 to {end - 1}")
    return value


def decode(words: Sequence[int]) -> Instruction:
    """The instruction that is exactly these words. Raises ValueError."""
    if not words:
        raise ValueError("an instruction has no words")
    code, count = words[0] & 0xFF, words[0] >> 8
    if code == Opcode.CALL:
        if len(words) < 3:
            raise ValueError("a call ends within its first words")
        args = _operands(words[3:], count)
        instruction = Call(words[1], args, None if words[2] == VOID else words[2])
    elif code == Opcode.RET and len(words) == 2:
        instruction = Ret(words[1])
    elif code == Opcode.GOTO and len(words) == 3:
        instruction = Goto(_signed(words[1] | words[2] << 16, 32))
    elif code == Opcode.IF and len(words) == 4:
        instruction = If(words[1], _signed(words[2] | words[3] << 16, 32))
    else:
        raise ValueError(f"no instruction has the code {code} and {len(words)} words")
    if code != Opcode.CALL and count:
        raise ValueError(f"an instruction of code {code} has {count} operands")
    return instruction


def _operands(words: Sequence[int], count: int) -> tuple[Operand, ...]:
    found: list[Operand] = []
    position = 0
    while position < len(words):
        kind, value = words[position] >> _BITS, words[position] & _MASK
        position += 1
        if kind == _LONG and value == 0 and position + 4 <= len(words):
            wide = sum(word << 16 * place for place, word in enumerate(words[position : position + 4]))
            found.append(Operand(Kind.IMMEDIATE, _signed(wide, 64)))
            position += 4
        elif kind == Kind.IMMEDIATE:
            found.append(Operand(Kind.IMMEDIATE, _signed(value, _BITS)))
        elif kind < _LONG and (kind != Kind.STATE or value == 0):
            found.append(Operand(Kind(kind), value))
        else:
            raise ValueError(f"word {position - 1} of the operands, {words[position - 1]:#x}, is none")
    if len(found) != count:
        raise ValueError(f"a call of {count} operands has {len(found)}")
    return tuple(found)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


def is_name(name: str) -> bool:
    """Whether functions can be called so: text that a listing shows as one word."""
    return bool(name) and name.isprintable() and not any(letter.isspace() for letter in name)


def problems_of(name: str, instructions: Sequence[Instruction], num_inputs: int) -> list[Problem]:
    """The problems of a function, an empty list where there is none."""
    if not instructions:
        return [Problem("invalid-function", "the function has no instructions", fix="end it with ret", node=name)]
    if not isinstance(instructions[-1], Ret | Goto):
        what = "the last instruction neither returns nor jumps"
        return [Problem("invalid-function", what, fix="end the function with ret", node=name)]
    return list(_wild_jumps(name, instructions)) or list(_undefined(name, instructions, num_inputs))


def unread_inputs(instructions: Sequence[Instruction], num_inputs: int) -> list[int]:
    """The inputs that no instruction reads."""
    read = {register for instruction in instructions for register in reads(instruction)}
    return [register for register in range(num_inputs) if register not in read]


def _wild_jumps(name: str, instructions: Sequence[Instruction]) -> Iterator[Problem]:
    for here, instruction in enumerate(instructions):
        for target in successors(instruction, here):
            if not 0 <= target < len(instructions):
                what = f"instruction {here} goes on at {target}, which is not in the function"
                yield Problem("invalid-function", what, f"it has {len(instructions)} instructions", node=name)


def _undefined(name: str, instructions: Sequence[Instruction], num_inputs: int) -> Iterator[Problem]:
    """Reads of registers that are not written on every way to them: a forward data-flow analysis on sets of registers,
    bit i of an integer for register i; what no way reaches has all of them."""
    everything = -1
    before = [everything] * len(instructions)
    before[0] = (1 << num_inputs) - 1
    pending = [0]
    while pending:
        here = pending.pop()
        instruction = instructions[here]
        after = before[here]
        if isinstance(instruction, Call) and instruction.dst is not None:
            after |= 1 << instruction.dst
        for target in successors(instruction, here):
            if before[target] & ~after:
                before[target] &= after
                pending.append(target)
    for here, instruction in enumerate(instructions):
        for register in dict.fromkeys(reads(instruction)):
            if not before[here] >> register & 1:
                inputs = f"the function has {num_inputs} input{'' if num_inputs == 1 else 's'}"
                what = f"instruction {here} reads register %{register}, which nothing has written on every way there"
                yield Problem("invalid-function", what, inputs, node=name)
