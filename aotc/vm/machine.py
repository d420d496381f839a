"""The virtual machine: runs executables, in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final, NamedTuple, NoReturn, Protocol, TypeAlias, cast

import numpy as np

from aotc.errors import Problem
from aotc.model.dlpack import from_dlpack
from aotc.vm import builtins
from aotc.vm.errors import OperandError, VMError
from aotc.vm.executable import Executable, VMFunction, instruction_text
from aotc.vm.file_format import DATA_ALIGNMENT
from aotc.vm.instructions import Call, Goto, If, Instruction, Kind, Operand, Ret
from aotc.vm.values import Allocator, Array, Place, VMState

Packed: TypeAlias = Callable[..., Any]


class Module(Protocol):
    """Compiled code that has packed functions, as a CompiledModel is."""

    def packed_functions(self) -> Mapping[str, Packed]:
        """The functions by name; each takes its operands in order."""
        ...


class _Decoded(NamedTuple):
    """An instruction, ready to run: operands are places in a frame, which has the registers, a place for results that
    nobody wants, and whatever else the function's instructions mention."""

    code: int
    what: Any
    fetch: Callable[[list[Any]], tuple[Any, ...]]
    dst: int


class _Code:
    """A function, ready to run."""

    def __init__(self, function: VMFunction, body: Sequence[Instruction]) -> None:
        self.function = function
        self.body = body
        self.frame: list[Any] = [None] * (function.register_file_size + 1)
        self.decoded: list[_Decoded] = []


_PACKED, _OWN, _RET, _GOTO, _IF = range(5)

MOST_FRAMES: Final = 100_000
"""Calls within calls, unless a machine is told otherwise."""


class VirtualMachine:
    """Runs the functions of an executable: `VirtualMachine(executable)["main"](x)`.

    A name that bytecode calls is looked up in the executable, then in `module`, then among the registered functions.
    One call at a time, unless every packed function may run beside others.
    """

    def __init__(
        self,
        executable: Executable,
        module: Mapping[str, Packed] | Module | None = None,
        *,
        allocators: Sequence[Allocator] | None = None,
        most_frames: int = MOST_FRAMES,
        most_jumps: int | None = None,
    ) -> None:
        """`most_jumps` bounds the jumps and calls within the executable of one call, for code that nobody trusts.

        Raises VMError, all problems at once, for names that nobody has and wrong numbers of operands.
        """
        self.executable = executable
        self.state = VMState(tuple(allocators)) if allocators is not None else VMState()
        self._most_frames = most_frames
        self._most_jumps = -1 if most_jumps is None else most_jumps
        self._packed = module if isinstance(module, Mapping) else {} if module is None else module.packed_functions()
        self._workspace = self._new_workspace()
        self._codes = {each.name: _Code(each, executable.body(each)) for each in executable.global_funcs}
        problems: list[Problem] = []
        for code in self._codes.values():
            self._prepare(code, problems)
        if problems:
            raise VMError(problems)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """A function of the executable; it takes tensors (anything with `__array__` or `__dlpack__`), integers, shapes
        and data types. Raises KeyError, which says what there is."""
        return partial(self._call, self._codes[self.executable.function(name).name])

    # --- before it runs ---

    def _new_workspace(self) -> Array:
        """Zeros at a multiple of a cache line, of the first allocator."""
        size = self.executable.workspace_bytes
        if not size:
            return np.zeros(0, np.uint8)
        try:
            memory = self.state.allocators[0].allocate(size + DATA_ALIGNMENT).memory
        except (IndexError, MemoryError) as error:
            raise VMError("too-large", f"there is no workspace of {size:,} bytes", str(error)) from error
        return memory[-memory.ctypes.data % DATA_ALIGNMENT :]

    def _prepare(self, code: _Code, problems: list[Problem]) -> None:
        places: dict[Operand, int] = {}

        def place(operand: Operand) -> int:
            if operand.kind is Kind.REGISTER:
                return operand.value
            if operand not in places:
                places[operand] = len(code.frame)
                code.frame.append(self._value(operand))
            return places[operand]

        void = code.function.register_file_size
        for here, instruction in enumerate(code.body):
            match instruction:
                case Call(function, args, dst):
                    kind, what = self._found(code, here, self.executable.func_names[function], len(args), problems)
                    fetch = _fetching([place(operand) for operand in args])
                    code.decoded.append(_Decoded(kind, what, fetch, void if dst is None else dst))
                case Ret(register):
                    code.decoded.append(_Decoded(_RET, None, _fetching([]), register))
                case Goto(distance):
                    code.decoded.append(_Decoded(_GOTO, here + distance, _fetching([]), void))
                case If(register, distance):
                    code.decoded.append(_Decoded(_IF, here + distance, _fetching([]), register))

    def _value(self, operand: Operand) -> Any:
        match operand.kind:
            case Kind.CONSTANT:
                constant = self.executable.constants[operand.value]
                if not isinstance(constant, Place):
                    return constant
                memory = self._workspace[constant.offset : constant.offset + constant.nbytes]
                return memory.view(constant.dtype).reshape(constant.shape)
            case Kind.STATE:
                return self.state
            case _:
                return operand.value

    def _found(
        self, code: _Code, here: int, name: str, given: int, problems: list[Problem]
    ) -> tuple[int, _Code | Packed | None]:
        if (own := self._codes.get(name)) is not None:
            return _OWN, own
        function = self._packed.get(name) or builtins.REGISTERED.get(name)
        where = self._where(code, here)
        if function is None:
            fix = "register it with aotc.vm.register, or give the machine a module that has it"
            problems.append(Problem("unknown-function", f"there is no function {name}", fix=fix, node=where))
        elif wrong := builtins.arity_problem(function, given):
            problems.append(Problem("mismatched-call", f"{name} is called with {wrong}", node=where))
        return _PACKED, function

    def _where(self, code: _Code, here: int, position: int | None = None) -> str:
        """Function, instruction and perhaps operand, for messages."""
        instruction = code.body[here]
        shown = " ".join(instruction_text(instruction, self.executable.func_names).split())
        where = f"{code.function.name}, instruction {here} ({shown})"
        if position is not None and isinstance(instruction, Call) and position < len(instruction.args):
            where += f", operand {position} ({instruction.args[position]})"
        return where

    # --- running ---

    def _call(self, code: _Code, *arguments: Any) -> Any:
        if len(arguments) != (taken := code.function.num_args):
            raise VMError("mismatched-call", f"it has {taken} inputs, got {len(arguments)}", node=code.function.name)
        return self._run(code, [_as_value(each) for each in arguments])

    def _run(self, code: _Code, arguments: Sequence[Any]) -> Any:
        frame = code.frame.copy()
        frame[: len(arguments)] = arguments
        decoded, here, jumps = code.decoded, 0, self._most_jumps
        callers: list[tuple[_Code, list[Any], int]] = []
        try:
            while True:
                kind, what, fetch, dst = decoded[here]
                if kind == _PACKED:
                    frame[dst] = what(*fetch(frame))
                    here += 1
                    continue
                if kind == _RET:
                    result = frame[dst]
                    if not callers:
                        return result
                    code, frame, here = callers.pop()
                    decoded = code.decoded
                    frame[decoded[here].dst] = result
                    here += 1
                    continue
                if jumps == 0:
                    self._stop(code, here, "jumps and calls", self._most_jumps)
                jumps -= 1
                if kind == _GOTO:
                    here = what
                elif kind == _IF:
                    here = here + 1 if _holds(frame[dst]) else what
                else:
                    given = fetch(frame)
                    if len(callers) >= self._most_frames:
                        self._stop(code, here, "calls within calls", self._most_frames)
                    callers.append((code, frame, here))
                    code = cast("_Code", what)
                    frame = code.frame.copy()
                    frame[: len(given)] = given
                    decoded, here = code.decoded, 0
        except VMError:
            raise
        except OperandError as error:
            raise VMError("failed-call", str(error), node=self._where(code, here, error.position)) from error
        except Exception as error:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise VMError("failed-call", what, node=self._where(code, here)) from error

    def _stop(self, code: _Code, here: int, what: str, most: int) -> NoReturn:
        raise VMError("endless-call", f"more than {most} {what}", node=self._where(code, here))


def _fetching(places: list[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """The slice that takes these elements out of a frame."""
    if not places:
        return lambda frame: ()
    if len(places) == 1:
        (place,) = places
        return lambda frame: (frame[place],)
    return itemgetter(*places)


def _as_value(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument
    if hasattr(argument, "__dlpack__"):
        return from_dlpack(argument)
    return np.asarray(argument) if hasattr(argument, "__array__") and not isinstance(argument, np.dtype) else argument


def _holds(value: Any) -> bool:
    """Whether a condition is true: an integer or boolean, or a tensor of one."""
    return (value if isinstance(value, int) else builtins.read(value)) != 0
