"""ExecBuilder: scopes, operands, registers that are checked and numbered."""

from __future__ import annotations

import numpy as np
import pytest

from aotc.vm import ExecBuilder, Executable, UnusedInputWarning, VirtualMachine, VMError
from aotc.vm.instructions import Call, Goto, If, Kind, Operand, Ret


def simple() -> Executable:
    """The second example of the document."""
    ib = ExecBuilder()
    with ib.function("func0", num_inputs=2):
        ib.emit_call("vm.builtin.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_call("vm.builtin.move", args=[ib.r(2)], dst=ib.r(3))
        ib.emit_call("vm.builtin.print", args=[ib.r(3)])
        ib.emit_ret(ib.r(3))
    return ib.get()


def test_g5_every_kind_of_operand_is_kept() -> None:
    """G2, G3: a call with registers, an immediate, a constant, the state, with a destination and without; a return."""
    ib = ExecBuilder()
    number = ib.add_constant(np.arange(4, dtype="float32"))
    with ib.function("main", num_inputs=1):
        ib.emit_call("f", [ib.r(0), ib.imm(-7), ib.c(number), ib.vm_state()], dst=ib.r(1))
        ib.emit_call("g")
        ib.emit_ret(ib.r(1))
    executable = ib.get()
    operands = (
        Operand(Kind.REGISTER, 0),
        Operand(Kind.IMMEDIATE, -7),
        Operand(Kind.CONSTANT, 0),
        Operand(Kind.STATE),
    )
    assert executable.body(executable.function("main")) == (Call(0, operands, 1), Call(1), Ret(1))


def test_g6_the_first_registers_are_the_inputs() -> None:
    ib = ExecBuilder()
    with ib.function("second", num_inputs=2):
        ib.emit_call("vm.builtin.move", [ib.r(0)], dst=ib.r(2))
        ib.emit_ret(ib.r(1))
    vm = VirtualMachine(ib.get())
    assert vm["second"](10, 20) == 20
    with pytest.raises(VMError, match=r"second.*\[mismatched-call\]"):
        vm["second"](10)


def test_g7_a_register_that_nothing_wrote_is_an_error() -> None:
    ib = ExecBuilder()
    wrong = r"main.*instruction 0.*%3.*\[invalid-function\]"
    with pytest.raises(VMError, match=wrong), ib.function("main", num_inputs=2):
        ib.emit_call("vm.builtin.add", [ib.r(0), ib.r(3)], dst=ib.r(2))
        ib.emit_call("vm.builtin.add", [ib.r(1), ib.r(2)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))
    with pytest.raises(VMError, match="invalid-function"):  # nothing of it stays
        ib.get()


def test_g7_a_register_that_one_way_does_not_write_is_an_error() -> None:
    ib = ExecBuilder()
    with pytest.raises(VMError, match=r"instruction 2.*%1.*\[invalid-function\]"), ib.function("main", num_inputs=1):
        skip = ib.label()
        ib.emit_if(ib.r(0), skip)
        ib.emit_call("vm.builtin.move", [ib.r(0)], dst=ib.r(1))
        ib.place(skip)
        ib.emit_ret(ib.r(1))
    with pytest.raises(VMError) as caught, ib.function("main", num_inputs=1):  # each way writes another one
        other, end = ib.label(), ib.label()
        ib.emit_if(ib.r(0), other)
        ib.emit_call("vm.builtin.move", [ib.r(0)], dst=ib.r(1))
        ib.emit_goto(end)
        ib.place(other)
        ib.emit_call("vm.builtin.move", [ib.r(0)], dst=ib.r(2))
        ib.place(end)
        ib.emit_call("vm.builtin.add", [ib.r(1), ib.r(2)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))
    assert [problem.what.split(",")[0] for problem in caught.value.problems] == [
        "instruction 4 reads register %1",
        "instruction 4 reads register %2",
    ]
    with ib.function("loop", num_inputs=1):  # written before the loop, and in it again
        ib.emit_call("vm.builtin.move", [ib.r(0)], dst=ib.r(1))
        head, end = ib.place(), ib.label()
        ib.emit_if(ib.r(1), end)
        ib.emit_call("vm.builtin.sub", [ib.r(1), ib.imm(1)], dst=ib.r(1))
        ib.emit_goto(head)
        ib.place(end)
        ib.emit_ret(ib.r(1))
    assert VirtualMachine(ib.get())["loop"](5) == 0


def test_g7_an_unused_input_is_a_warning() -> None:
    ib = ExecBuilder()
    with pytest.warns(UnusedInputWarning, match="main: input %1 is not used"), ib.function("main", num_inputs=3):
        ib.emit_call("vm.builtin.add", [ib.r(0), ib.r(2)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))
    assert VirtualMachine(ib.get())["main"](1, 2, 3) == 4
    with pytest.warns(UnusedInputWarning, match="none: input %0, %1 is not used"), ib.function("none", num_inputs=2):
        ib.emit_call("vm.builtin.move", [ib.imm(7)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    assert VirtualMachine(ib.get())["none"](1, 2) == 7


def test_g8_registers_are_numbered_in_the_order_of_use() -> None:
    ib = ExecBuilder()
    with ib.function("main", num_inputs=1):
        ib.emit_call("vm.builtin.move", [ib.r(0)], dst=ib.r(10000))
        ib.emit_call("vm.builtin.add", [ib.r(10000), ib.r(0)], dst=ib.r(7))
        ib.emit_if(ib.r(7), 1)
        ib.emit_ret(ib.r(7))
    executable = ib.get()
    assert executable.function("main").register_file_size == 3
    assert [str(each) for each in executable.body(executable.function("main"))][1:] == [
        str(Call(1, (Operand(Kind.REGISTER, 1), Operand(Kind.REGISTER, 0)), 2)),
        str(If(2, 1)),
        str(Ret(2)),
    ]
    assert VirtualMachine(executable)["main"](4) == 8


def test_g4_jumps_to_labels_and_by_distance_are_the_same() -> None:
    def count(by_label: bool) -> Executable:
        ib = ExecBuilder()
        with ib.function("count", num_inputs=2):
            head, end = ib.place(), ib.label()
            ib.emit_if(ib.r(0), end if by_label else 4)
            ib.emit_call("vm.builtin.sub", [ib.r(0), ib.imm(1)], dst=ib.r(0))
            ib.emit_call("vm.builtin.add", [ib.r(1), ib.imm(3)], dst=ib.r(1))
            ib.emit_goto(head if by_label else -3)
            ib.place(end)
            ib.emit_ret(ib.r(1))
        return ib.get()

    executable = count(True)
    assert executable == count(False) and executable.instructions[3] == Goto(-3)
    assert VirtualMachine(executable)["count"](1000, 1) == 3001


@pytest.mark.parametrize("distance", [-2, 1, 2, 1 << 20])
def test_a_jump_out_of_the_function_is_refused(distance: int) -> None:
    ib = ExecBuilder()
    wrong = r"main.*instruction 1.*\[invalid-function\]"
    with pytest.raises(VMError, match=wrong), ib.function("main", num_inputs=1):
        ib.emit_if(ib.r(0), 1)
        ib.emit_goto(distance)


def test_functions_end() -> None:
    ib = ExecBuilder()
    with pytest.raises(VMError, match="invalid-function"), ib.function("main"):
        ib.emit_call("f")
    with pytest.raises(VMError, match="invalid-function"), ib.function("main"):
        pass
    with pytest.raises(VMError, match="invalid-function"), ib.function("main"):
        ib.emit_goto(ib.label())


def test_wrong_uses_say_what_is_wrong() -> None:
    ib = ExecBuilder()
    with pytest.raises(VMError, match="invalid-function"):
        ib.emit_ret(ib.r(0))
    with pytest.raises(ValueError, match="no register -1"):
        ib.r(-1)
    with pytest.raises(TypeError, match="what a function returns is a register"), ib.function("main"):
        ib.emit_ret(ib.imm(1))
    with pytest.raises(VMError, match="invalid-name"), ib.function(""):
        pass
    with pytest.raises(VMError, match="invalid-function"), ib.function("main"):
        ib.place(ib.place())
    with pytest.raises(VMError, match="invalid-function"), ib.function("main"), ib.function("inner"):
        pass
    with pytest.raises(TypeError, match="a constant is a tensor, a data type or a place"):
        ib.add_constant("text")
    with pytest.raises(VMError, match="unsupported-type"):
        ib.add_constant(np.array([object()]))
    with ib.function("main", num_inputs=1):
        ib.emit_ret(ib.r(0))
    with pytest.raises(VMError, match=r"main.*\[duplicate-name\]"), ib.function("main"):
        pass


@pytest.mark.parametrize(
    "operands, dst, wrong",
    [
        ([Operand(Kind.IMMEDIATE, 1 << 63)], None, "invalid-function"),
        ([Operand(Kind.IMMEDIATE)] * 256, None, r"operands.*\[invalid-function\]"),
        ([Operand(Kind.CONSTANT)], None, r"operand 0.*\[invalid-function\]"),
    ],
)
def test_what_words_cannot_hold_is_refused(operands: list[Operand], dst: Operand | None, wrong: str) -> None:
    ib = ExecBuilder()
    with ib.function("main", num_inputs=1):
        ib.emit_call("f", operands, dst)
        ib.emit_ret(ib.r(0))
    with pytest.raises(VMError, match=wrong):
        ib.get()


def test_calls_within_the_executable_have_the_right_number_of_operands() -> None:
    ib = ExecBuilder()
    with ib.function("main", num_inputs=1):
        ib.emit_call("other", [ib.r(0), ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("other", num_inputs=1):
        ib.emit_ret(ib.r(0))
    with pytest.raises(VMError, match=r"main.*instruction 0.*\[invalid-function\]"):
        ib.get()
