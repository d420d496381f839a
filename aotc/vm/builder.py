"""ExecBuilder: executables, instruction by instruction."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import index
from typing import Any, TypeAlias

import numpy as np

from aotc.vm import instructions
from aotc.vm.errors import UnusedInputWarning, VMError
from aotc.vm.executable import Executable, VMFunction
from aotc.vm.instructions import Call, Goto, If, Instruction, Kind, Operand, Ret
from aotc.vm.values import Constant, frozen_constant


@dataclass(eq=False)
class Label:
    """A place in a function, perhaps not known yet."""

    place: int | None = None


Target: TypeAlias = "Label | int"
"""Where a jump goes: to a label, or so many instructions on from its own."""


@dataclass
class _Jump:
    """A jump to a label, until the function is complete."""

    instruction: Goto | If
    label: Label


class ExecBuilder:
    """Builds an executable:

        ib = ExecBuilder()
        with ib.function("main", num_inputs=1):
            ib.emit_call("vm.add", [ib.r(0), ib.imm(10)], dst=ib.r(1))
            ib.emit_ret(ib.r(1))
        executable = ib.get()

    A function's first registers are its inputs. At the end of its scope it is checked, and its other registers are
    numbered in the order in which they are used, so that r(10000) costs no more than the next one.
    """

    def __init__(self) -> None:
        self._functions: list[VMFunction] = []
        self._names: dict[str, int] = {}
        self._constants: list[Constant] = []
        self._instructions: list[Instruction] = []
        self._open: tuple[str, list[Instruction | _Jump]] | None = None

    # --- operands ---

    def r(self, number: int) -> Operand:
        """Register `number` of the function."""
        return Operand(Kind.REGISTER, _natural(number, "register"))

    def c(self, number: int) -> Operand:
        """Constant `number` of the executable (see `add_constant`)."""
        return Operand(Kind.CONSTANT, _natural(number, "constant"))

    def imm(self, value: int) -> Operand:
        """An integer of 64 bits."""
        return Operand(Kind.IMMEDIATE, index(value))

    def vm_state(self) -> Operand:
        """The state of the machine, which some built-in functions take."""
        return Operand(Kind.STATE)

    def add_constant(self, value: Any) -> int:
        """The number of a tensor, a numpy data type or a Place in the pool of constants, which has equal ones once.

        Raises TypeError for anything else.
        """
        constant = frozen_constant(value)
        for number, other in enumerate(self._constants):
            if _alike(constant, other):
                return number
        self._constants.append(constant)
        return len(self._constants) - 1

    # --- functions ---

    @contextmanager
    def function(self, name: str, num_inputs: int = 0) -> Generator[None]:
        """The scope of a function; what is emitted in it is its body.

        Raises VMError at its end for a register that is read and not written on every way there, a jump out of the
        function, a function that does not end; warns of an input that nothing reads.
        """
        if self._open is not None:
            what = "a function begins within another"
            raise VMError("invalid-function", what, fix=f"end {self._open[0]!r} first", node=name)
        if not instructions.is_name(name):
            raise VMError("invalid-name", f"{name!r} is no name of a function", "names are printable, without blanks")
        if any(function.name == name for function in self._functions):
            raise VMError("duplicate-name", "there is a function of this name already", node=name)
        inputs = _natural(num_inputs, "number of inputs")
        self._open = (name, [])
        try:
            yield
            emitted = self._open[1]
        finally:
            self._open = None
        body = [_resolved(name, each, here) for here, each in enumerate(emitted)]
        if problems := instructions.problems_of(name, body, inputs):
            raise VMError(problems)
        if unread := instructions.unread_inputs(body, inputs):
            what = f"{name}: input {', '.join(f'%{register}' for register in unread)} is not used"
            warnings.warn(what, UnusedInputWarning, stacklevel=3)
        body, registers = _formalized(body, inputs)
        self._functions.append(VMFunction(name, len(self._instructions), inputs, registers))
        self._instructions += body

    # --- instructions ---

    def emit_call(self, name: str, args: Sequence[Any] = (), dst: Operand | None = None) -> None:
        """Call the function `name`, of this executable, of the machine's module, or registered.

        Arguments are operands; a tensor or a data type becomes a constant.
        """
        if not instructions.is_name(name):
            raise VMError("invalid-name", f"{name!r} is no name of a function", "names are printable, without blanks")
        given = tuple(each if isinstance(each, Operand) else self.c(self.add_constant(each)) for each in args)
        destination = None if dst is None else _register(dst, "the destination of a call")
        self._emit(Call(self._names.setdefault(name, len(self._names)), given, destination))

    def emit_ret(self, result: Operand) -> None:
        """Return what is in a register."""
        self._emit(Ret(_register(result, "what a function returns")))

    def emit_goto(self, target: Target) -> None:
        """Go on at `target`."""
        self._jump(Goto, target)

    def emit_if(self, condition: Operand, target: Target) -> None:
        """Go on at `target` where the register holds zero or false, else with the next instruction."""
        register = _register(condition, "a condition")
        self._jump(lambda distance: If(register, distance), target)

    def label(self) -> Label:
        """A label without a place."""
        return Label()

    def place(self, label: Label | None = None) -> Label:
        """Put a label, a new one if none is given, before the next instruction."""
        label = label or Label()
        if label.place is not None:
            raise VMError("invalid-function", "a label has two places")
        label.place = len(self._body())
        return label

    def get(self) -> Executable:
        """The executable. Raises VMError for what functions and constants of each other do not have."""
        if self._open is not None:
            what = "the function is not complete"
            raise VMError("invalid-function", what, fix="leave its scope first", node=self._open[0])
        if not self._functions:
            fix = 'begin with `with ib.function("main", num_inputs=1):`'
            raise VMError("invalid-function", "there is no function", fix=fix)
        offsets: list[int] = []
        words: list[int] = []
        for number, instruction in enumerate(self._instructions):
            offsets.append(len(words))
            try:
                words += instructions.encode(instruction)
            except ValueError as error:
                name = next(each.name for each in reversed(self._functions) if each.start_instr <= number)
                raise VMError("invalid-function", str(error), node=name) from error
        return Executable(
            tuple(self._functions), tuple(self._constants), tuple(self._names), tuple(words), tuple(offsets)
        )

    def _body(self) -> list[Instruction | _Jump]:
        if self._open is None:
            raise VMError("invalid-function", "this is in no function", fix='begin with `with ib.function("main"):`')
        return self._open[1]

    def _emit(self, instruction: Instruction | _Jump) -> None:
        self._body().append(instruction)

    def _jump(self, make: Any, target: Target) -> None:
        self._emit(_Jump(make(0), target) if isinstance(target, Label) else make(index(target)))


def _natural(number: int, what: str) -> int:
    number = index(number)
    if number < 0:
        raise ValueError(f"there is no {what} {number}")
    return number


def _register(operand: Operand, what: str) -> int:
    if not isinstance(operand, Operand) or operand.kind is not Kind.REGISTER:
        raise TypeError(f"{what} is a register, as ib.r(0), not {operand}")
    return operand.value


def _alike(one: Constant, other: Constant) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return type(one) is type(other) and one == other
    return (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()


def _resolved(name: str, instruction: Instruction | _Jump, here: int) -> Instruction:
    if not isinstance(instruction, _Jump):
        return instruction
    if instruction.label.place is None:
        what = f"instruction {here} jumps to a label without a place"
        raise VMError("invalid-function", what, fix="place it", node=name)
    return replace(instruction.instruction, distance=instruction.label.place - here)


def _formalized(body: Sequence[Instruction], num_inputs: int) -> tuple[list[Instruction], int]:
    """The body with registers that are numbered in the order of their first use behind the inputs, and how many
    there are."""
    numbers = {register: register for register in range(num_inputs)}

    def number(register: int) -> int:
        return numbers.setdefault(register, len(numbers))

    renamed: list[Instruction] = []
    for instruction in body:
        for register in instructions.reads(instruction):
            number(register)
        match instruction:
            case Call(_, args, dst):
                given = tuple(
                    Operand(each.kind, number(each.value)) if each.kind is Kind.REGISTER else each for each in args
                )
                renamed.append(replace(instruction, args=given, dst=None if dst is None else number(dst)))
            case Ret() | If():
                renamed.append(replace(instruction, register=number(instruction.register)))
            case Goto():
                renamed.append(instruction)
    return renamed, len(numbers)
