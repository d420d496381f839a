"""The virtual machine in C, under AddressSanitizer and UndefinedBehaviorSanitizer: what Python's computes, it computes;
whatever the bytes are, it refuses them or does no harm."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_runtime import RUNTIME, build
from test_runtime import pytestmark as pytestmark
from vm_programs import SUMMED, emit_fibonacci, many_instructions, sealed

from aotc.vm import ExecBuilder, Executable, ShapeTuple, VirtualMachine, VMError, place
from aotc.vm.file_format import Tables, write

HERE = Path(__file__).parent
SOURCES = [RUNTIME / name for name in ("aotc_vm.c", "aotc_vm_check.c", "aotc_vm_builtins.c", "aotc_registry.c")]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("vm"), HERE / "vm.c", *SOURCES)


def run(
    program: Path, tmp_path: Path, executable: Executable | bytes, name: str, *arguments: int | tuple[int, ...]
) -> str:
    """The output of the machine in C."""
    path = tmp_path / "x.vm"
    path.write_bytes(executable if isinstance(executable, bytes) else executable.to_bytes())
    given = [str(each) if isinstance(each, int) else "x".join(map(str, each)) for each in arguments]
    done = subprocess.run([program, "run", path, name, *given], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def shown(value: Any) -> str:
    """A value as the program prints it."""
    if isinstance(value, ShapeTuple):
        return "shape " + "x".join(map(str, value))
    if isinstance(value, np.ndarray):
        return f"tensor {'x'.join(map(str, value.shape))} {value.tobytes().hex()}"
    return str(value)


def function(emit: Callable[[ExecBuilder], None], num_inputs: int = 0) -> Executable:
    ib = ExecBuilder()
    with ib.function("main", num_inputs=num_inputs):
        emit(ib)
    return ib.get()


def call(name: str, operands: Callable[[ExecBuilder], Sequence[Any]], num_inputs: int = 0) -> Executable:
    def emit(ib: ExecBuilder) -> None:
        ib.emit_call(f"vm.builtin.{name}", operands(ib), dst=ib.r(num_inputs))
        ib.emit_ret(ib.r(num_inputs))

    return function(emit, num_inputs)


def interface() -> Executable:
    """An even number of functions, of which the first calls a builtin: that would be found behind their table."""
    ib = ExecBuilder()
    with ib.function("moves", num_inputs=1):
        again = ib.label()
        ib.emit_call("vm.builtin.move", [ib.imm(4000)], dst=ib.r(1))
        ib.place(again)
        ib.emit_call("vm.builtin.move", [ib.r(0)], dst=ib.r(2))
        ib.emit_call("vm.builtin.sub", [ib.r(1), ib.imm(1)], dst=ib.r(1))
        ib.emit_call("vm.builtin.equal", [ib.r(1), ib.imm(0)], dst=ib.r(3))
        ib.emit_if(ib.r(3), again)
        ib.emit_ret(ib.r(2))
    with ib.function("vm.own", num_inputs=1):
        ib.emit_ret(ib.r(0))
    with ib.function("call", num_inputs=1):
        ib.emit_call("vm.own", [ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("main", num_inputs=1):
        ib.emit_call("vm.own", [ib.r(0)], dst=ib.r(1))
        ib.emit_call("vm.builtin.add", [ib.r(1), ib.imm(1)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("keep"):
        ib.emit_call("two", [np.zeros(1, "int8"), ib.imm(5)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    with ib.function("two", num_inputs=2):
        ib.emit_if(ib.r(0), 1)
        ib.emit_ret(ib.r(1))
    with ib.function("handles"):
        ib.emit_call("vm.builtin.move", [ib.imm(0)], dst=ib.r(0))
        for name in ("xm.f", "vx.f", "vmxf", "vm.f"):
            ib.emit_call(name, dst=ib.r(1))
            ib.emit_call("vm.builtin.add", [ib.r(0), ib.r(1)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    with ib.function("same"):
        ib.emit_call("address", [place(8, "int8", [2])], dst=ib.r(0))
        ib.emit_call("is_address", [ib.r(0)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    return ib.get()


def test_the_interface_and_the_builtins(tmp_path: Path) -> None:
    """Every refusal, and the memory that a call takes to the byte; builtins called as packed functions are."""
    (tmp_path / "x.vm").write_bytes(interface().to_bytes())
    subprocess.run([build(tmp_path, HERE / "machine.c", *SOURCES), tmp_path / "x.vm"], check=True)
    subprocess.run([build(tmp_path, HERE / "builtins.c", *SOURCES)], check=True)


def fibonacci() -> Executable:
    return function(lambda ib: emit_fibonacci(ib, "main"), 1)


def test_g4_recursion_and_jumps(program: Path, tmp_path: Path) -> None:
    assert run(program, tmp_path, fibonacci(), "main", 15) == "610"


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "max", "min", "and", "less", "equal"])
def test_integers_are_those_of_python(name: str, program: Path, tmp_path: Path) -> None:
    numbers = (0, 1, -1, 7, -7, 4095, 4096, -4096, -4097, 1 << 40, (1 << 63) - 1, -(1 << 63))
    rng = random.Random(name)
    for a, b in [(rng.choice(numbers), rng.choice(numbers)) for _ in range(25)]:
        executable = call(name, lambda ib, a=a, b=b: [ib.imm(a), ib.imm(b)])
        expected = "failed -23 0 0" if name == "div" and b == 0 else str(VirtualMachine(executable)["main"]())
        assert run(program, tmp_path, executable, "main") == expected


def shapes() -> Executable:
    """Extents through the heap, a tensor on storage, views, constants of every kind."""

    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.imm(3)], dst=ib.r(1))
        ib.emit_call("vm.builtin.match_shape", [ib.r(0), ib.r(1), *map(ib.imm, (1, 0, 1, 1))])
        ib.emit_call("vm.builtin.shape_of", [ib.r(0)], dst=ib.r(2))
        ib.emit_call("vm.builtin.store_shape", [ib.r(2), ib.r(1), ib.imm(1), ib.imm(2)])
        ib.emit_call("vm.builtin.load_shape", [ib.r(1), ib.imm(2), ib.imm(0)], dst=ib.r(2))
        ib.emit_call("vm.builtin.extent", [ib.r(2), ib.imm(0)], dst=ib.r(3))
        ib.emit_call("vm.builtin.mul", [ib.r(3), ib.imm(3)], dst=ib.r(3))
        ib.emit_call("vm.builtin.make_shape", [ib.r(3), ib.imm(2)], dst=ib.r(2))
        ib.emit_call("vm.builtin.alloc_storage", [ib.vm_state(), ib.imm(400)], dst=ib.r(3))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(3), ib.imm(16), ib.r(2), np.dtype("int16")], dst=ib.r(3))
        ib.emit_call("vm.builtin.view", [ib.r(3), ib.imm(4), np.dtype("int8"), ib.imm(4), ib.imm(13)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))

    return function(emit, 1)


def test_g20_shapes_and_memory(program: Path, tmp_path: Path) -> None:
    expected = VirtualMachine(shapes())["main"](np.zeros((3, 5), "float32"))
    assert run(program, tmp_path, shapes(), "main", (3, 5)) == shown(expected) == f"tensor 4x13 {'00' * 52}"
    assert run(program, tmp_path, shapes(), "main", (3, 5, 2)) == "failed -23 0 1"


def test_a_view_in_a_loop_takes_no_more_memory(program: Path, tmp_path: Path) -> None:
    """Without room of its own each takes some until the call ends."""

    def looping(room: bool) -> Executable:
        def emit(ib: ExecBuilder) -> None:
            again = ib.label()
            ib.emit_call("vm.builtin.alloc_view", [ib.imm(1)], dst=ib.r(2))
            ib.place(again)
            ib.emit_call("vm.builtin.sub", [ib.r(0), ib.imm(1)], dst=ib.r(0))
            ib.emit_call("vm.builtin.mul", [ib.r(0), ib.imm(4)], dst=ib.r(3))
            first = [ib.r(2)] if room else []
            name = "vm.builtin.view_in" if room else "vm.builtin.view"
            ib.emit_call(name, [*first, ib.r(1), ib.r(3), np.dtype("float32"), ib.imm(1)], dst=ib.r(4))
            ib.emit_call("vm.builtin.equal", [ib.r(0), ib.imm(0)], dst=ib.r(3))
            ib.emit_if(ib.r(3), again)
            ib.emit_ret(ib.r(4))

        return function(emit, 2)

    assert run(program, tmp_path, looping(True), "main", 4000, (4000, 1)) == f"tensor 1 {'00' * 4}"
    assert run(program, tmp_path, looping(False), "main", 4000, (4000, 1)).startswith("failed -6 0 ")


def test_tensors_are_matched(program: Path, tmp_path: Path) -> None:
    """Their type and their shape; a view has room for as many dimensions as were asked for."""

    def matching(dtype: str, *extents: int) -> Executable:
        return call("match_tensor", lambda ib: [ib.r(0), np.dtype(dtype), *map(ib.imm, extents)], 1)

    assert run(program, tmp_path, matching("float32", 3, 5), "main", (3, 5)) == "code 4"
    for executable, expected in (
        (matching("int32", 3, 5), "failed -22 0 0"),
        (matching("float64", 3, 5), "failed -22 0 0"),
        (matching("float32", 3, 4), "failed -23 0 0"),
        (matching("float32", 3), "failed -23 0 0"),
        (matching("float32", 3, 5, 1), "failed -23 0 0"),
    ):
        assert run(program, tmp_path, executable, "main", (3, 5)) == expected
    assert run(program, tmp_path, matching("float32", 3, 5), "main", 7) == "failed -22 0 0"
    wrong = call("view_in", lambda ib: [ib.r(0), ib.r(0), ib.imm(0), np.dtype("int8"), ib.imm(1)], 1)
    assert run(program, tmp_path, wrong, "main", (3, 5)) == "failed -22 0 0"

    def other_room(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.alloc_view", [ib.imm(2)], dst=ib.r(1))
        ib.emit_call("vm.builtin.view_in", [ib.r(1), ib.r(0), ib.imm(0), np.dtype("int8"), ib.imm(1)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))

    assert run(program, tmp_path, function(other_room, 1), "main", (3, 5)) == "failed -23 0 1"


def test_integers_are_written(program: Path, tmp_path: Path) -> None:
    """Modulo the bits of the tensor, and never to a constant."""

    def emit(ib: ExecBuilder, kind: str, value: int) -> None:
        ib.emit_call("vm.builtin.move", [place(8, kind, [1, 1])], dst=ib.r(0))
        ib.emit_call("vm.builtin.write", [ib.r(0), ib.imm(value)])
        ib.emit_call("vm.builtin.read", [ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))

    for kind in ("int8", "uint8", "int32", "uint32", "int64", "bool"):
        for value in (0, 5, -3, 300, 1 << 40):
            executable = function(lambda ib, kind=kind, value=value: emit(ib, kind, value))
            expected = VirtualMachine(executable)["main"]()
            assert run(program, tmp_path, executable, "main") == str(expected)
    executable = call("write", lambda ib: [np.array(3), ib.imm(1)])
    assert run(program, tmp_path, executable, "main") == "failed -22 0 0"
    with pytest.raises(VMError, match=r"operand 0.*\[failed-call\]"):
        VirtualMachine(executable)["main"]()


def test_constants_reach_packed_functions(program: Path, tmp_path: Path) -> None:
    """G12: where they lie, with shape and data type; what a function returns of its operands stays."""

    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.move", [np.array([[1.5, 2.5], [3.0, 4.0]], "float32")], dst=ib.r(0))
        ib.emit_call("empty")
        ib.emit_call("vm.builtin.move", [np.arange(3, dtype="int32")], dst=ib.r(1))
        ib.emit_call("sum", [ib.r(0)], dst=ib.r(2))
        ib.emit_call("other", [ib.r(2), np.array([30, 40], "int64")], dst=ib.r(1))
        ib.emit_ret(ib.r(1))

    ib = ExecBuilder()
    with ib.function("main"):
        emit(ib)
    with ib.function("other", num_inputs=2):
        ib.emit_call("vm.builtin.move", [place(64, "int8", [2])], dst=ib.r(2))
        ib.emit_if(ib.r(0), 2)
        ib.emit_ret(ib.r(1))
        ib.emit_ret(ib.r(2))
    assert run(program, tmp_path, ib.get(), "main") == shown(np.array([30, 40], "int64"))


def test_g23_a_users_function_takes_the_machine(program: Path, tmp_path: Path) -> None:
    """G23: as an operand, at its place among the others; what is not a builtin gets the handle of the application."""

    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("vm.builtin.alloc_storage", [ib.vm_state(), ib.imm(48)], dst=ib.r(1))
        ib.emit_call("scratch", [ib.r(0), ib.vm_state()], dst=ib.r(2))
        ib.emit_call("scratch", [ib.r(0), ib.vm_state()], dst=ib.r(2))
        ib.emit_ret(ib.r(2))

    assert run(program, tmp_path, function(emit, 1), "main", 100) == "1048"
    assert run(program, tmp_path, function(emit, 1), "main", 60000) == "failed -6 0 2"


def test_g22_shapes_come_back(program: Path, tmp_path: Path) -> None:
    executable = call("make_shape", lambda ib: [ib.r(0), ib.imm(7)], 1)
    assert run(program, tmp_path, executable, "main", 3) == "shape 3x7"
    for extent in (-1, -3):
        assert run(program, tmp_path, executable, "main", extent) == "failed -23 0 0"


@pytest.mark.parametrize(
    "executable, arguments, expected",
    [
        (function(lambda ib: ib.emit_goto(0)), (), "failed -24 0 0"),
        (call("shape_of", lambda ib: [ib.r(0)], 1), (3,), "failed -22 0 0"),
        (call("shape_of", lambda ib: [ib.r(0)], 1), (), "failed -21 0 0"),
        (call("alloc_shape_heap", lambda ib: [ib.imm(60000)]), (), "failed -6 0 0"),
        (call("alloc_shape_heap", lambda ib: [ib.imm(1 << 40)]), (), "failed -23 0 0"),
        (call("alloc_storage", lambda ib: [ib.vm_state(), ib.imm((1 << 63) - 1)]), (), "failed -6 0 0"),
        (call("alloc_storage", lambda ib: [ib.vm_state(), ib.imm(1), ib.imm(1)]), (), "failed -23 0 0"),
        (call("read", lambda ib: [ib.r(0)], 1), ((1, 1),), "failed -22 0 0"),
        (call("load_shape", lambda ib: [ib.r(0)], 1), ((3, 5),), "failed -22 0 0"),
        (call("print", lambda ib: [ib.r(0)], 1), (3,), "refused -9 0"),
    ],
)
def test_errors_are_statuses(
    executable: Executable, arguments: tuple[Any, ...], expected: str, program: Path, tmp_path: Path
) -> None:
    """With the function and the instruction; nobody has `vm.builtin.print` here."""
    assert run(program, tmp_path, executable, "main", *arguments) == expected


def test_a_recursion_without_end_ends(program: Path, tmp_path: Path) -> None:
    def emit(ib: ExecBuilder) -> None:
        ib.emit_call("main", [ib.r(0)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))

    assert run(program, tmp_path, function(emit, 1), "main", 3) == "failed -6 0 0"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_byte_changed_at_every_position(seed: int, program: Path, tmp_path: Path) -> None:
    """Each of 3 values, and every prefix; with arguments of wrong types too."""
    path, found = tmp_path / "x.vm", np.zeros(3, int)
    for executable in (many_instructions(), fibonacci(), shapes()):
        path.write_bytes(executable.to_bytes())
        done = subprocess.run([program, "damage", path, str(seed)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found += (counts := [int(word) for word in done.stdout.split()[::2]])
        assert sum(counts) == 3 * len(path.read_bytes()) and counts[0]
    assert found.all(), "refused, failed, run"


ONLY_PYTHON = ("is no name", "no UTF-8", "are the same", "nothing has written", "is not what its constants need")
"""Damage that does no harm in C: there a register that nothing has written holds nothing, and names are bytes."""


def _numbers(blob: bytes) -> Iterator[tuple[int, int, set[int]]]:
    """The numbers in an executable: of each its place, its bytes, and others that it may be: its neighbours, the ends
    of its type, and what is within or just beyond one of the counts. Data types are left out, of which numpy has
    fewer."""
    counts = struct.unpack_from("<9I", blob, 16)
    sizes = zip(counts, (12, 4, 16, 4, 8, 2, 1), ("IIHH", "I", "BxbBIII", "I", "q", "H", "B"), strict=False)
    fields = [(12 + 4 * each, "I") for each in range(11)]
    place = 56
    for count, size, kinds in sizes:
        for row in range(count):
            fields += [
                (place + row * size + struct.calcsize("<" + kinds[:each]), kinds[each])
                for each in range(len(kinds))
                if kinds[each] != "x"
            ]
        place += -(-count * size // 8) * 8
    for at, kind in fields:
        width = struct.calcsize(kind)
        value, most = int.from_bytes(blob[at : at + width], "little"), (1 << 8 * width) - 1
        others = {value - 1, value + 1, 0, 1, most, most >> 1, most - 1, 33}
        if kind == "I":
            others |= {count + each for count in counts for each in (-1, 0, 1)}
        if kind == "H":
            others |= {value & 0xFF00 | code for code in range(6)} | {value & 0x1FFF | kind << 13 for kind in range(8)}
            others |= {kind << 13 | each for each in (1, counts[1], counts[2]) for kind in range(8)}
        if kind == "b":
            others = {0}
        if kind == "q":
            others |= {value + (1 << 32), 1 << 32, 1 << 63, (1 << 32) - 1}
        yield at, width, {each for each in others if 0 <= each <= most and each != value}


@pytest.mark.parametrize("empty", [False, True])
def test_both_machines_refuse_each_wrong_number(empty: bool, program: Path, tmp_path: Path) -> None:
    executable = call("move", lambda ib: [np.zeros((0, 3), "int8")]) if empty else many_instructions()
    blob = executable.to_bytes()
    variants: list[bytes] = []
    wanted: list[str] = []
    """Answers of the check that are right: both, where Python alone refuses."""
    for at, width, others in _numbers(blob):
        for value in sorted(others):
            variants.append(sealed(blob[:at] + value.to_bytes(width, "little") + blob[at + width :]))
            try:
                Executable.from_bytes(variants[-1])
                wanted.append("1")
            except VMError as error:
                wanted.append("01" if any(word in str(error) for word in ONLY_PYTHON) else "0")
    (tmp_path / "all").write_bytes(b"".join(variants))
    done = subprocess.run([program, "each", tmp_path / "all", str(len(blob))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    different = [
        (next(place for place in range(12, len(blob)) if variant[place] != blob[place]), variant)
        for variant, found, each in zip(variants, done.stdout, wanted, strict=True)
        if found not in each
    ]
    assert not different
    assert "1" in done.stdout and "0" in done.stdout


RET, RECALL = (2, 0), (1, 0, 0xFFFF)
"""Instructions: return register 0, call the first name for nothing."""


@pytest.mark.parametrize(
    "instructions, fits",
    [
        ([], True),
        ([RET], True),
        ([(2,)], False),
        ([(2, 0, 0)], False),
        ([(2, 8192)], False),
        ([RECALL, RET], True),
        ([RECALL], False),
        ([(0xFF01, 0), RET], False),
        ([(0xFF01, 0, 0xFFFF, 4 << 13), RET], False),
        ([(4, 0, 0, 0), RET], True),
        ([(4, 0, 0, 0)], False),
        ([(4, 0, 0), RET], False),
        ([(4, 0, 0, 0, 0), RET], False),
        ([(3, 1, 0), (3, 0xFFFF, 0xFFFF)], True),
        ([(3, 1, 0), (3, 0xFFFE, 0xFFFF)], False),
        ([(3, 1, 0), (3, 1, 0)], False),
        ([(3, 0), RET], False),
        ([(3, 0, 0, 0), RET], False),
    ],
)
def test_instructions_are_whole_and_within_their_function(
    instructions: list[tuple[int, ...]], fits: bool, program: Path, tmp_path: Path
) -> None:
    offsets = tuple(sum(map(len, instructions[:each])) for each in range(len(instructions)))
    functions = (("f", 0, 0, 8192),) if instructions else ()
    tables = Tables(functions, ("g",) if instructions else (), (), offsets, tuple(chain.from_iterable(instructions)))
    assert accepted(tables, program, tmp_path) == fits


@pytest.mark.parametrize(
    "functions, names, fits",
    [
        ([("f", 0, 2, 2)], 0, True),
        ([("f", 0, 2, 1)], 0, False),
        ([("f", 0, 0, 8192)], 0, True),
        ([("f", 0, 0, 8193)], 0, False),
        ([("f", 0, 0, 1), ("g", 1, 0, 1)], 0, True),
        ([("f", 0, 0, 1), ("g", 9, 0, 1)], 0, False),
        ([("f", each, 0, 1) for each in range(65533)], 0, True),
        ([("f", each, 0, 1) for each in range(65534)], 0, False),
        ([("f", 0, 0, 1)], 65534, True),
        ([("f", 0, 0, 1)], 65535, False),
    ],
    ids=range(10),
)
def test_functions_and_names_have_numbers(
    functions: list[tuple[str, int, int, int]], names: int, fits: bool, program: Path, tmp_path: Path
) -> None:
    offsets = tuple(range(0, 2 * len(functions), 2))
    tables = Tables(tuple(functions), ("g",) * names, (np.ones(3, "int8"),), offsets, RET * len(functions))
    assert accepted(tables, program, tmp_path) == fits


@pytest.mark.parametrize("dimensions, fits", [(32, True), (33, False)])
def test_constants_have_no_more_dimensions_than_there_are(
    dimensions: int, fits: bool, program: Path, tmp_path: Path
) -> None:
    tables = Tables((), (), (place(0, "int8", [1] * dimensions),), (), ())
    assert accepted(tables, program, tmp_path) == fits


def accepted(tables: Tables, program: Path, tmp_path: Path) -> bool:
    """Whether the check accepts an executable of these tables."""
    blob = write(tables, 64)
    (tmp_path / "one").write_bytes(blob)
    done = subprocess.run([program, "each", tmp_path / "one", str(len(blob))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout == "1"


def test_both_machines_refuse_the_same_tables(program: Path, tmp_path: Path) -> None:
    """Damaged executables that C runs Python accepts, but for names and registers that nothing wrote."""
    blob = fibonacci().to_bytes()
    rng = random.Random(3)
    accepted = 0
    for _ in range(150):
        damaged = bytearray(blob)
        damaged[position := rng.randrange(len(blob))] = rng.randrange(256)
        damaged = sealed(damaged) if position >= SUMMED else damaged
        refused_by_c = run(program, tmp_path, bytes(damaged), "main", 3).startswith("refused -20")
        try:
            Executable.from_bytes(damaged)
            accepted += 1
            assert not refused_by_c
        except VMError as error:
            assert refused_by_c or any(word in str(error) for word in ONLY_PYTHON), error
    assert accepted
