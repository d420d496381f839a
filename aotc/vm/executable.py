"""Executables: functions in bytecode, the names that they call, and constants. Whatever exists has been checked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from aotc.errors import FileError, Problem
from aotc.model.files import write_files
from aotc.vm import instructions
from aotc.vm.errors import VMError
from aotc.vm.file_format import DATA_ALIGNMENT, Tables, read, write
from aotc.vm.instructions import Call, Goto, If, Instruction, Kind, Operand, Ret
from aotc.vm.values import Constant, Place


@dataclass(frozen=True)
class VMFunction:
    """A function of an executable."""

    name: str
    start_instr: int
    """Its first instruction; it ends where the next function starts."""
    num_args: int
    register_file_size: int
    """How many registers a call has; the first are its arguments."""


@dataclass(frozen=True, eq=False)
class Executable:
    """The program of a virtual machine, immutable. Two are equal where all of their bytes are.

    Raises VMError, all problems at once, where the tables do not fit together.
    """

    global_funcs: tuple[VMFunction, ...]
    constants: tuple[Constant, ...]
    """Tensors, which are read-only arrays, data types, and places in the workspace."""
    func_names: tuple[str, ...]
    """The names that calls have by number; those of `global_funcs` among them are calls within the executable."""
    instr_data: tuple[int, ...]
    """The words of all instructions (see instructions.py)."""
    instr_offset: tuple[int, ...]
    """The first word of each instruction."""

    def __post_init__(self) -> None:
        if problems := [*_of_tables(self)] or [*_of_functions(self)]:
            raise VMError(problems)

    def __eq__(self, other: object) -> bool:
        return self.to_bytes() == other.to_bytes() if isinstance(other, Executable) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.global_funcs, self.instr_data))

    def __repr__(self) -> str:
        return f"<Executable: {', '.join(function.name for function in self.global_funcs)}>"

    # --- instructions ---

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """All of them, decoded."""
        ends = (*self.instr_offset[1:], len(self.instr_data))
        return tuple(instructions.decode(self.instr_data[i:j]) for i, j in zip(self.instr_offset, ends, strict=True))

    def get_instruction(self, number: int) -> Instruction:
        """Instruction `number` of the executable, decoded. Raises IndexError."""
        if not 0 <= number < len(self.instr_offset):
            raise IndexError(f"no instruction {number}; there are {len(self.instr_offset)}")
        return self.instructions[number]

    @cached_property
    def workspace_bytes(self) -> int:
        """Memory for the tensors that have a place there."""
        return max((each.offset + each.nbytes for each in self.constants if isinstance(each, Place)), default=0)

    def body(self, function: VMFunction) -> tuple[Instruction, ...]:
        """The instructions of one of the functions."""
        later = [other.start_instr for other in self.global_funcs if other.start_instr > function.start_instr]
        return self.instructions[function.start_instr : min(later, default=len(self.instr_offset))]

    def function(self, name: str) -> VMFunction:
        """The function of a name. Raises KeyError, which says what there is."""
        for function in self.global_funcs:
            if function.name == name:
                return function
        raise KeyError(f"no function {name!r}; there are {', '.join(each.name for each in self.global_funcs)}")

    # --- text ---

    def stats(self) -> str:
        """Shapes of constants, a data type by its name; functions; names that are called; each with their number."""
        own = [function.name for function in self.global_funcs]
        rows = {
            "Constant shapes": [c.name if isinstance(c, np.dtype) else str(list(c.shape)) for c in self.constants],
            "Globals": own,
            "Packed functions": [name for name in self.func_names if name not in own],
        }
        lines = (f"  {title} (#{len(row)}): [{', '.join(row)}]" for title, row in rows.items())
        return "\n".join(("VM executable statistics:", *lines))

    def astext(self) -> str:
        """Every function with its instructions, one a line."""
        lines: list[str] = []
        for function in self.global_funcs:
            lines += [*([""] if lines else []), f"@{function.name}:"]
            lines += [f"  {instruction_text(each, self.func_names)}" for each in self.body(function)]
        return "\n".join(lines)

    def aspython(self) -> str:
        """Python code that makes an equal executable with an ExecBuilder, and leaves it in `ex`."""
        lines = ["from aotc.vm import ExecBuilder, dtype, place, tensor", "", "ib = ExecBuilder()"]
        lines += [f"ib.add_constant({_constant(each)})" for each in self.constants]
        for function in self.global_funcs:
            lines.append(f"with ib.function({function.name!r}, num_inputs={function.num_args}):")
            lines += [f"    ib.{_emit(each, self.func_names)}" for each in self.body(function)]
        return "\n".join((*lines, "ex = ib.get()", ""))

    # --- bytes ---

    def to_bytes(self) -> bytes:
        """The executable as a file has it. Raises VMError for more than 4 GiB."""
        functions = tuple((f.name, f.start_instr, f.num_args, f.register_file_size) for f in self.global_funcs)
        tables = Tables(functions, self.func_names, self.constants, self.instr_offset, self.instr_data)
        return write(tables, self.workspace_bytes)

    @staticmethod
    def from_bytes(blob: bytes | bytearray | memoryview) -> Executable:
        """The executable that `to_bytes` wrote; constants are views of `blob`, or of a copy where it is not at a
        multiple of a cache line, as kernels want them. Raises VMError, whatever the bytes are."""
        tables, workspace = read(_aligned(memoryview(blob)))
        functions = tuple(VMFunction(*row) for row in tables.functions)
        executable = Executable(functions, tables.constants, tables.names, tables.words, tables.offsets)
        if executable.workspace_bytes != workspace:
            why = f"its places end at byte {executable.workspace_bytes}, not {workspace}"
            raise VMError("invalid-file", "the workspace of the executable is not what its constants need", why)
        return executable

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the executable to a file; it is there completely or not at all. Raises OSError."""
        path = Path(path)
        write_files(path.parent, {path.name: self.to_bytes()})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Executable:
        """Read what `save` wrote, on whatever machine. Raises VMError, and OSError where it cannot be read."""
        try:
            with Path(path).open("rb") as stream:
                blob = _memory(os.fstat(stream.fileno()).st_size)
                blob = blob[: stream.readinto(blob)]
        except OSError as error:
            raise FileError("unusable-file", f"{path} cannot be read", error.strerror or str(error)) from error
        try:
            return Executable.from_bytes(blob)
        except VMError as error:
            raise VMError(
                [replace(each, node=": ".join(filter(None, (str(path), each.node)))) for each in error.problems]
            ) from error


# --- checks ----------------------------------------------------------------------------------------------------------


def _of_tables(executable: Executable) -> Iterator[Problem]:
    functions, names, offsets = executable.global_funcs, executable.func_names, executable.instr_offset
    if len(names) > instructions.MOST_NAMES or len(executable.constants) > instructions.MOST_CONSTANTS:
        why = f"at most {instructions.MOST_NAMES} and {instructions.MOST_CONSTANTS}"
        yield Problem("too-large", "there are too many names or constants", why)
    for kind, listed in (("functions", [each.name for each in functions]), ("called names", list(names))):
        if len(set(listed)) != len(listed):
            why = ", ".join(sorted({n for n in listed if listed.count(n) > 1}))
            yield Problem("duplicate-name", f"two {kind} are the same", why)
        for name in listed:
            if not instructions.is_name(name):
                yield Problem("invalid-name", f"{name!r} is no name", "names are printable, without blanks")
    starts = [function.start_instr for function in functions]
    if starts != sorted(set(starts)) or (starts or [0])[0] != 0 or bool(functions) != bool(offsets):
        what = "the functions are not one behind the other"
        yield Problem("invalid-executable", what, f"they start at instructions {starts}")
    if starts and starts[-1] >= len(offsets):
        what = f"{functions[-1].name} starts behind the last of {len(offsets)} instructions"
        yield Problem("invalid-executable", what)
    ends = (*offsets, len(executable.instr_data))
    if ends[0] != 0 or any(start >= end for start, end in pairwise(ends)):
        what = "the offsets of the instructions do not rise from the first word to the last"
        yield Problem("invalid-executable", what)


def _of_functions(executable: Executable) -> Iterator[Problem]:
    arities = {function.name: function.num_args for function in executable.global_funcs}
    for function in executable.global_funcs:
        name, most = function.name, function.register_file_size
        if not function.num_args <= most <= instructions.MOST_REGISTERS:
            yield Problem("invalid-function", f"{most} registers cannot hold {function.num_args} inputs", node=name)
            continue
        try:
            body = executable.body(function)
        except ValueError as error:
            yield Problem("invalid-function", str(error), node=name)
            return
        problems = [p for i, each in enumerate(body) for p in _of_instruction(executable, function, i, each, arities)]
        yield from problems or instructions.problems_of(name, body, function.num_args)


def _of_instruction(
    executable: Executable, function: VMFunction, here: int, instruction: Instruction, arities: dict[str, int]
) -> Iterator[Problem]:
    def problem(what: str, why: str = "", fix: str = "") -> Problem:
        return Problem("invalid-function", f"instruction {here} {what}", why, fix, function.name)

    count = function.register_file_size
    written: Sequence[int | None] = (instruction.dst,) if isinstance(instruction, Call) else ()
    for register in (*instructions.reads(instruction), *written):
        if register is not None and register >= count:
            yield problem(f"has register %{register}; there are {count}")
    if not isinstance(instruction, Call):
        return
    if instruction.function >= len(executable.func_names):
        yield problem(f"calls name {instruction.function} of {len(executable.func_names)}")
        return
    callee, given = executable.func_names[instruction.function], len(instruction.args)
    if (taken := arities.get(callee, given)) != given:
        yield problem(f"calls {callee} with {given} operands; it has {taken} inputs")
    count = len(executable.constants)
    for position, operand in enumerate(instruction.args):
        if operand.kind is Kind.CONSTANT and operand.value >= count:
            what = f"has constant {operand.value} as operand {position} of {callee}"
            yield problem(what, f"there are {count}", "add it with add_constant")


def _aligned(blob: memoryview) -> memoryview:
    """The bytes where they are, or in memory at a multiple of DATA_ALIGNMENT."""
    if not len(blob) or np.frombuffer(blob, np.uint8).ctypes.data % DATA_ALIGNMENT == 0:
        return blob
    copy = _memory(len(blob))
    copy[:] = blob
    return copy


def _memory(size: int) -> memoryview:
    """Bytes at a multiple of DATA_ALIGNMENT."""
    memory = np.empty(size + DATA_ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % DATA_ALIGNMENT
    return memory[start : start + size].data


# --- text -----------------------------------------------------------------------------------------------------------


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
