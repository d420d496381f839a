"""Executables: tables, bytes, listings."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from vm_programs import sealed

from aotc.vm import ExecBuilder, Executable, Place, ShapeTuple, VirtualMachine, VMError, VMFunction, place
from aotc.vm.file_format import VERSION
from aotc.vm.instructions import Call, Kind, Operand, Ret, decode, encode


def example() -> Executable:
    """Two functions with every kind of instruction, operand and constant."""
    ib = ExecBuilder()
    scale = ib.add_constant(np.array([[1.5, np.inf, -0.0]], "float32"))
    kind = ib.add_constant(np.dtype("int8"))
    odd = ib.add_constant(np.arange(4).astype(ml_dtypes.bfloat16))
    empty = ib.add_constant(np.zeros((0, 3), "int64"))
    where = ib.add_constant(place(16, "int32", [2, 1]))
    with ib.function("main", num_inputs=2):
        end = ib.label()
        ib.emit_call("vm.builtin.move", [ib.c(scale)], dst=ib.r(2))
        ib.emit_if(ib.r(0), end)
        ib.emit_call("helper", [ib.r(1), ib.imm(1 << 40)], dst=ib.r(2))
        ib.place(end)
        ib.emit_call("vm.builtin.move", [ib.c(kind)], dst=ib.r(4))
        ib.emit_call("vm.builtin.alloc_storage", [ib.vm_state(), ib.imm(16)], dst=ib.r(4))
        ib.emit_ret(ib.r(2))
    with ib.function("helper", num_inputs=2):
        ib.emit_call("vm.builtin.add", [ib.r(0), ib.r(1)], dst=ib.r(0))
        ib.emit_call("vm.builtin.shape_of", [ib.c(odd)], dst=ib.r(3))
        ib.emit_call("vm.builtin.shape_of", [ib.c(empty)], dst=ib.r(3))
        ib.emit_call("vm.builtin.shape_of", [ib.c(where)], dst=ib.r(3))
        ib.emit_goto(1)
        ib.emit_ret(ib.r(0))
    return ib.get()


def test_g9_the_tables() -> None:
    """G10, G11: functions, interned names, instructions of different lengths that offsets find."""
    executable = example()
    assert executable.global_funcs == (VMFunction("main", 0, 2, 4), VMFunction("helper", 6, 2, 3))
    assert executable.func_names == (
        *("vm.builtin.move", "helper", "vm.builtin.alloc_storage", "vm.builtin.add", "vm.builtin.shape_of"),
    )
    lengths = np.diff((*executable.instr_offset, len(executable.instr_data))).tolist()
    assert lengths == [4, 4, 9, 4, 5, 2, 5, 4, 4, 4, 3, 2]
    assert executable.get_instruction(2) == Call(1, (Operand(Kind.REGISTER, 1), Operand(Kind.IMMEDIATE, 1 << 40)), 2)
    assert executable.get_instruction(11) == Ret(0) and executable.workspace_bytes == 24
    for number in (-1, 12):
        with pytest.raises(IndexError, match="there are 12"):
            executable.get_instruction(number)
    with pytest.raises(FrozenInstanceError):
        executable.func_names = ()  # pyright: ignore[reportAttributeAccessIssue]


def test_g11_names_are_interned() -> None:
    ib = ExecBuilder()
    with ib.function("main", num_inputs=1):
        for _ in range(5):
            ib.emit_call("f", [ib.r(0)])
        ib.emit_ret(ib.r(0))
    assert ib.get().func_names == ("f",)


@pytest.mark.parametrize("value", [0, 1, -1, 4095, -4096, 4096, -4097, 65535, (1 << 63) - 1, -(1 << 63)])
def test_g11_immediates_of_any_size(value: int) -> None:
    call = Call(3, (Operand(Kind.REGISTER, 8191), Operand(Kind.IMMEDIATE, value), Operand(Kind.STATE)), 8191)
    words = encode(call)
    assert decode(words) == call and len(words) == (6 if -4096 <= value < 4096 else 10)


def test_g12_constants_are_tensors_and_data_types() -> None:
    scale, kind, odd, empty, where = example().constants
    assert isinstance(scale, np.ndarray) and scale.tobytes() == np.array([1.5, np.inf, -0.0], "float32").tobytes()
    assert kind == np.dtype("int8") and isinstance(kind, np.dtype)
    assert odd.dtype == ml_dtypes.bfloat16 and isinstance(empty, np.ndarray) and empty.shape == (0, 3)
    assert where == Place(16, np.dtype("int32"), ShapeTuple([2, 1]))
    with pytest.raises(ValueError, match="read-only"):
        scale[0, 0] = 2


def test_g12_a_constant_is_a_copy_and_equal_ones_are_one() -> None:
    ib = ExecBuilder()
    array = np.ones(3, "float32")
    first = ib.add_constant(array)
    array[0] = 7
    assert ib.add_constant(np.ones(3, "float32")) == first
    assert len({first, ib.add_constant(array), ib.add_constant(np.ones(3)), ib.add_constant(np.dtype("float32"))}) == 4


def test_g12_equal_bytes_of_another_type_or_shape_are_another_constant() -> None:
    ib = ExecBuilder()
    zeros = [np.zeros(shape, dtype) for dtype in ("float32", "int32", "uint32") for shape in (4, (2, 2), (4, 1))]
    numbers = [ib.add_constant(each) for each in (*zeros, np.dtype("int8"), np.dtype("uint8"))]
    numbers += [ib.add_constant(place(0, dtype, [4])) for dtype in ("int8", "uint8")]
    assert numbers == list(range(13))
    with ib.function("main"):
        for number, zero in enumerate(zeros):
            ib.emit_call("seen", [ib.c(number)], dst=ib.r(0))
            assert ib.add_constant(zero) == number
        ib.emit_ret(ib.r(0))
    seen: list[np.ndarray] = []
    VirtualMachine(ib.get(), {"seen": seen.append})["main"]()
    assert [(each.dtype, each.shape) for each in seen] == [(each.dtype, each.shape) for each in zeros]


def test_g13_saved_and_loaded_by_another_process(tmp_path: Path) -> None:
    executable = example()
    executable.save(tmp_path / "model.vm")
    assert Executable.load(tmp_path / "model.vm") == executable
    program = (
        "import sys; from aotc.vm import Executable, VirtualMachine\n"
        "vm = VirtualMachine(Executable.load(sys.argv[1]))\n"
        "print(vm['main'](1, 2), vm['main'](0, 2).tolist(), 'xdsl' in sys.modules)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "model.vm")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == f"{(1 << 40) + 2} [[1.5, inf, -0.0]] False"


def test_g13_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"none\.vm.*\[unusable-file\]"):
        Executable.load(tmp_path / "none.vm")
    (tmp_path / "text.vm").write_text("hello")
    with pytest.raises(VMError, match=r"text\.vm.*\[invalid-file\]"):
        Executable.load(tmp_path / "text.vm")


@pytest.mark.parametrize("version", [0, VERSION - 1, VERSION + 1, 255])
def test_g13_another_version_is_refused(version: int) -> None:
    """Older ones, too."""
    blob = bytearray(example().to_bytes())
    assert blob[6] == VERSION
    blob[6] = version
    with pytest.raises(VMError, match=rf"version {version}.*\[unsupported-version\]"):
        Executable.from_bytes(blob)


def test_g13_a_workspace_that_is_not_what_constants_need_is_refused() -> None:
    """Of which a machine takes as much as the file says."""
    ib = ExecBuilder()
    ib.add_constant(place(64, "float32", [2, 3]))
    with ib.function("main", num_inputs=0):
        ib.emit_call("vm.builtin.move", [ib.c(0)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    blob = bytearray(ib.get().to_bytes())
    at = blob.index((88).to_bytes(4, "little"))  # the last number of the header
    assert at == 48
    blob[at] -= 1
    with pytest.raises(VMError, match="invalid-file"):
        Executable.from_bytes(sealed(blob))


def test_g14_statistics() -> None:
    assert example().stats() == (
        "VM executable statistics:\n"
        "  Constant shapes (#5): [[1, 3], int8, [4], [0, 3], [2, 1]]\n"
        "  Globals (#2): [main, helper]\n"
        "  Packed functions (#4): [vm.builtin.move, vm.builtin.alloc_storage, vm.builtin.add, vm.builtin.shape_of]"
    )


def test_g15_the_text_of_the_document() -> None:
    ib = ExecBuilder()
    with ib.function("func0", num_inputs=2):
        ib.emit_call("vm.op.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_call("vm.builtin.move", args=[ib.r(2)], dst=ib.r(3))
        ib.emit_call("vm.builtin.print", args=[ib.r(3)])
        ib.emit_ret(ib.r(3))
    assert ib.get().astext() == (
        "@func0:\n"
        "  call  vm.op.add        in: %0, %1       dst: %2\n"
        "  call  vm.builtin.move  in: %2           dst: %3\n"
        "  call  vm.builtin.print in: %3           dst: void\n"
        "  ret   ret %3"
    )


def test_g15_everything_else_as_text() -> None:
    lines = example().astext().split("\n")
    assert lines[0] == "@main:" and lines[7:9] == ["", "@helper:"]
    assert lines[1:6] == [
        "  call  vm.builtin.move  in: c[0]         dst: %2",
        "  if    %0 else +2",
        "  call  helper           in: %1, i1099511627776 dst: %2",
        "  call  vm.builtin.move  in: c[1]         dst: %3",
        "  call  vm.builtin.alloc_storage in: vm, i16      dst: %3",
    ]
    assert lines[13] == "  goto  +1"
    assert lines[9] == "  call  vm.builtin.add   in: %0, %1       dst: %0", "the first register is one, too"


def test_g16_python_code_rebuilds_an_equal_executable() -> None:
    executable = example()
    names: dict[str, Executable] = {}
    exec(executable.aspython(), {}, names)
    assert names["ex"] == executable and names["ex"].aspython() == executable.aspython()


def test_g16_calls_may_be_put_in_between() -> None:
    """As the document does with `time`: far registers cost nothing, and the result is the same."""
    code = example().aspython()
    line = "    ib.emit_call('vm.builtin.add'"
    assert code.count(line) == 1
    timed = code.replace(line, f"    ib.emit_call('time', dst=ib.r(100))\n{line}")
    names: dict[str, Executable] = {}
    exec(timed, {}, names)
    times: list[int] = []
    assert VirtualMachine(names["ex"], {"time": lambda: times.append(1)})["main"](1, 2) == (1 << 40) + 2
    assert times == [1] and names["ex"].function("helper").register_file_size == 4


@pytest.mark.parametrize(
    "change, wrong",
    [
        ({"global_funcs": (VMFunction("main", 1, 1, 2),)}, "invalid-executable"),
        ({"global_funcs": (VMFunction("main", 0, 3, 2),)}, "invalid-function"),
        ({"global_funcs": (VMFunction("main", 0, 1, 1),)}, r"%1.*\[invalid-function\]"),
        ({"global_funcs": (VMFunction("a", 0, 1, 2), VMFunction("b", 2, 1, 2))}, "invalid-executable"),
        ({"global_funcs": (VMFunction("a", 0, 1, 2), VMFunction("a", 1, 2, 2))}, "duplicate-name"),
        ({"global_funcs": (VMFunction("a b", 0, 1, 2),)}, "invalid-name"),
        ({"func_names": ()}, "invalid-function"),
        ({"func_names": ("f", "f")}, "duplicate-name"),
        ({"instr_offset": (0, 3)}, "invalid-function"),
        ({"instr_offset": (0, 0)}, "invalid-executable"),
        ({"instr_offset": (1, 4)}, "invalid-executable"),
        ({"instr_offset": (0, 6)}, "invalid-executable"),
        ({"instr_data": (1 | 1 << 8, 0, 1, 0, 9, 1)}, "invalid-function"),
        ({"instr_data": (1 | 1 << 8, 0, 1, 5 << 13, 2, 1)}, "invalid-function"),
        ({"instr_data": (1 | 1 << 8, 0, 1, 0, 2 | 1 << 8, 1)}, "invalid-function"),
    ],
)
def test_g11_tables_that_do_not_fit_together_are_refused(change: dict[str, object], wrong: str) -> None:
    ib = ExecBuilder()
    with ib.function("main", num_inputs=1):
        ib.emit_call("f", [ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    executable = ib.get()
    with pytest.raises(VMError, match=wrong):
        replace(executable, **change)  # pyright: ignore[reportArgumentType]
