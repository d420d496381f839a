"""Executables as text for people, and as Python code that builds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from aotc.vm.instructions import Call, Goto, If, Instruction, Kind, Operand, Ret
from aotc.vm.values import Constant, Place

Body: TypeAlias = "tuple[str, int, Sequence[Instruction]]"
"""The name of a function, how many inputs it has, its instructions."""


def statistics(constants: Sequence[Constant], functions: Sequence[str], packed: Sequence[str]) -> str:
    """Shapes of constants, a data type by its name; functions; packed functions."""
    shown = [each.name if isinstance(each, np.dtype) else str(list(each.shape)) for each in constants]
    return "\n".join(
        (
            "VM executable statistics:",
            f"  Constant shapes (#{len(shown)}): [{', '.join(shown)}]",
            f"  Globals (#{len(functions)}): [{', '.join(functions)}]",
            f"  Packed functions (#{len(packed)}): [{', '.join(packed)}]",
        )
    )


def text(bodies: Sequence[Body], names: Sequence[str]) -> str:
    """Each function behind its name, one instruction a line."""
    return "\n\n".join(
        "\n".join((f"@{name}:", *(f"  {instruction_text(each, names)}" for each in instructions)))
        for name, _, instructions in bodies
    )


def instruction_text(instruction: Instruction, names: Sequence[str]) -> str:
    """One instruction, in columns as wide as usual names."""
    match instruction:
        case Call(function, args, dst):
            given = ", ".join(map(str, args))
            written = "void" if dst is None else f"%{dst}"
            return f"{'call':<6}{names[function]:<16} in: {given:<12} dst: {written}"
        case Ret(register):
            return f"{'ret':<6}ret %{register}"
        case Goto(distance):
            return f"{'goto':<6}{distance:+}"
        case If(register, distance):
            return f"{'if':<6}%{register} else {distance:+}"


def python(bodies: Sequence[Body], names: Sequence[str], constants: Sequence[Constant]) -> str:
    """Code that leaves an equal executable in `ex`."""
    lines = ["from aotc.vm import ExecBuilder, dtype, place, tensor", "", "ib = ExecBuilder()"]
    lines += [f"ib.add_constant({_constant(each)})" for each in constants]
    for name, inputs, instructions in bodies:
        lines.append(f"with ib.function({name!r}, num_inputs={inputs}):")
        lines += [f"    ib.{_emit(each, names)}" for each in instructions]
    return "\n".join((*lines, "ex = ib.get()", ""))


def _emit(instruction: Instruction, names: Sequence[str]) -> str:
    match instruction:
        case Call(function, args, dst):
            given = f", args=[{', '.join(map(_operand, args))}]" if args else ""
            written = "" if dst is None else f", dst=ib.r({dst})"
            return f"emit_call({names[function]!r}{given}{written})"
        case Ret(register):
            return f"emit_ret(ib.r({register}))"
        case Goto(distance):
            return f"emit_goto({distance})"
        case If(register, distance):
            return f"emit_if(ib.r({register}), {distance})"


def _operand(operand: Operand) -> str:
    match operand.kind:
        case Kind.REGISTER:
            return f"ib.r({operand.value})"
        case Kind.CONSTANT:
            return f"ib.c({operand.value})"
        case Kind.IMMEDIATE:
            return f"ib.imm({operand.value})"
        case Kind.STATE:
            return "ib.vm_state()"


def _constant(constant: Constant) -> str:
    if isinstance(constant, np.dtype):
        return f"dtype({constant.name!r})"
    if isinstance(constant, Place):
        return f"place({constant.offset}, {constant.dtype.name!r}, {list(constant.shape)})"
    return f"tensor({constant.dtype.name!r}, {list(constant.shape)}, {constant.tobytes().hex()!r})"
