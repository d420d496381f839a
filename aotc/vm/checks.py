"""Invariants of every function, whoever wrote it: jumps stay in it, it ends, nothing is read before it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aotc.errors import Problem
from aotc.vm.instructions import Call, Goto, Instruction, Ret, reads, successors


def is_name(name: str) -> bool:
    """Whether functions can be called so: text that a listing shows as one name."""
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
