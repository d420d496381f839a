"""Facts of a function for `plan-memory` and `bufferize`: storages, the bytes that calls touch, and what they refuse."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import MemRefType, ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from aotc.compiler.lowering import new_context
from aotc.dialects.aot.contract import Io
from aotc.passes.memory.bufferize import BufferizePass
from aotc.passes.memory.entry_program import EntryBlock
from aotc.passes.memory.planner.plan import plan_memory
from aotc.passes.memory.planner.program import Access, Program, Role, Storage

KERNELS = """
func.func private @one(%0: memref<12xf32>, %1: memref<12xf32>) attributes {aot.kernel, aot.in_place = [[0]]} {
  func.return
}
func.func private @half(%0: memref<12xf32>, %1: memref<6xf32>) attributes {aot.kernel, aot.in_place = [[0]]} {
  func.return
}
func.func private @word(%0: memref<12xf32>, %1: memref<12xi32>) attributes {aot.kernel, aot.in_place = [[0]]} {
  func.return
}
func.func private @two(%0: memref<6xf32>, %1: memref<6xf32>, %2: memref<6xf32>)
    attributes {aot.kernel, aot.in_place = [[0], []]} {
  func.return
}
func.func private @whole(%0: memref<12xf32>, %1: memref<12xf32>, %2: memref<12xf32>)
    attributes {aot.kernel, aot.in_place = [[0], []]} {
  func.return
}
func.func private @both(%0: memref<12xf32>, %1: memref<12xf32>, %2: memref<12xf32>)
    attributes {aot.kernel, aot.in_place = [[0]]} {
  func.return
}
func.func private @part(%0: memref<6xf32>, %1: memref<6xf32>) attributes {aot.kernel, aot.in_place = [[0]]} {
  func.return
}
func.func private @grown(%0: memref<6xf32>, %1: memref<12xf32>) attributes {aot.kernel, aot.in_place = [[0]]} {
  func.return
}
func.func private @counted(%0: memref<12xf32>, %1: index, %2: memref<12xf32>)
    attributes {aot.kernel, aot.in_place = [[0]]} {
  func.return
}
"""


def _module(text: str) -> ModuleOp:
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def _program(body: str) -> Program:
    """The program of an entry with three buffers of 12 floats, %a, %b and %c, and the halves of each."""
    head = "".join(
        f"%{name} = memref.alloc() : memref<12xf32>\n"
        + "".join(
            f"%{name}{half} = memref.reinterpret_cast %{name} to offset: [{6 * half}], sizes: [6], strides: [1]"
            " : memref<12xf32> to memref<6xf32>\n"
            for half in (0, 1)
        )
        for name in "abc"
    )
    module = _module(f"{KERNELS}func.func @main() attributes {{aot.entry}} {{\n{head}{body}\nfunc.return\n}}")
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    block = EntryBlock(functions["main"].body.block, functions)
    block.read(lambda program: plan_memory(program, schedule="given"))
    return block.program


F12, F6 = "memref<12xf32>", "memref<6xf32>"


def test_offsets_are_of_elements() -> None:
    (task,) = _program(f"func.call @half(%a, %b1) : ({F12}, {F6}) -> ()").tasks
    assert (task.reads, task.writes) == ((Access(0, 0, 48),), (Access(1, 24, 48),))


def test_what_is_no_kernel_may_write_all_that_it_is_given() -> None:
    (task,) = _program(f'"memref.copy"(%a, %b) : ({F12}, {F12}) -> ()').tasks
    assert task.reads == task.writes and len(task.writes) == 2


def test_a_kernel_of_a_number_may_write_all_that_it_is_given() -> None:
    call = f"func.call @counted(%a, %n, %b) : ({F12}, index, {F12}) -> ()"
    (task,) = _program(f"%n = arith.constant 1 : index\n{call}").tasks
    assert task.reads == task.writes and len(task.writes) == 2


_MOVING = """%n = arith.constant 1 : index
%m = memref.reinterpret_cast %a to offset: [%n], sizes: [6], strides: [1] : memref<12xf32> to memref<6xf32>
"""
_INNER = "%v = memref.reinterpret_cast %m to offset: [0], sizes: [3], strides: [1] : memref<6xf32> to memref<3xf32>\n"


@pytest.mark.parametrize(
    "body, kind",
    [
        (
            "%v = memref.reinterpret_cast %a to offset: [0], sizes: [3], strides: [2]"
            " : memref<12xf32> to memref<3xf32, strided<[2]>>",
            "memref<3xf32, strided<[2]>>",
        ),
        ('%v = "memref.cast"(%a) : (memref<12xf32>) -> memref<12xf32>', F12),
        (_MOVING.replace("%m", "%v"), F6),
        (f"{_MOVING}{_INNER}", "memref<3xf32>"),
        (f"{_MOVING}%t = arith.constant true\nscf.if %t {{\n{_INNER}", "memref<3xf32>"),
    ],
)
def test_what_is_seen_at_an_unknown_place_may_be_all(body: str, kind: str) -> None:
    """Gaps, other views, places that are known when it runs, and what is seen of these, be it in a branch."""
    end = "\n} else {\n}" if "{" in body else ""
    (task,) = _program(f'{body}\n"memref.copy"(%v, %v) : ({kind}, {kind}) -> (){end}').tasks
    assert task.reads[0] == Access(0, 0, 48)


def test_an_operation_stays_for_one_of_its_results() -> None:
    add = "%s, %o = arith.addui_extended %t, %t : i1, i1"
    branch = f"scf.if %s {{\nfunc.call @one(%a, %b) : ({F12}, {F12}) -> ()\n}} else {{\n}}"
    assert len(_program(f"%t = arith.constant true\n{add}\n{branch}").tasks) == 1


def test_control_flow_that_writes_stays_though_nothing_reads_its_result() -> None:
    call = f"func.call @one(%a, %b) : ({F12}, {F12}) -> ()"
    ends = f"scf.if %t -> (i1) {{\n{call}\nscf.yield %t : i1\n}} else {{\nscf.yield %t : i1\n}}"
    assert len(_program(f"%t = arith.constant true\n%r = {ends}").tasks) == 1


@pytest.mark.parametrize(
    ("io", "inside", "role", "from_start", "to_end"),
    [
        ("input", False, Role.FIXED, False, False),
        ("output", False, Role.OUTPUT, False, False),
        ("input", True, Role.ARENA, True, False),
        ("output", True, Role.ARENA, False, True),
        ("state", False, Role.STATE, False, False),
        ("state", True, Role.STATE, False, False),
    ],
)
def test_tensors_of_the_entry_have_an_owner(io: Io, inside: bool, role: Role, from_start: bool, to_end: bool) -> None:
    argument = Block(arg_types=[MemRefType(f32, [12])]).args[0]
    block = EntryBlock(Block(), {})
    block.add_tensor(argument, io, inside=inside)
    assert block.storages == [Storage(48, role, "f32", from_start, to_end)]


def test_an_empty_tensor_has_an_address_of_its_own() -> None:
    copy = '"memref.copy"(%e, %e) : (memref<0xf32>, memref<0xf32>) -> ()'
    program = _program(f"%e = memref.alloc() : memref<0xf32>\n{copy}")
    assert program.storages[-1].size == 1


@pytest.mark.parametrize(
    "call, pairs",
    [
        (f"@one(%a, %b) : ({F12}, {F12})", ((1, 0),)),
        (f"@whole(%a, %b, %c) : ({F12}, {F12}, {F12})", ((1, 0),)),
        (f"@whole(%a, %b, %a) : ({F12}, {F12}, {F12})", ()),  # the operand's buffer is written, too
        (f"@whole(%a, %b, %b) : ({F12}, {F12}, {F12})", ()),  # both results are in one buffer
        (f"@two(%a0, %b0, %c0) : ({F6}, {F6}, {F6})", ()),  # parts of buffers
        (f"@half(%a, %b0) : ({F12}, {F6})", ()),
        (f"@both(%a, %b, %c) : ({F12}, {F12}, {F12})", ((2, 0),)),
        (f"@both(%a, %a, %c) : ({F12}, {F12}, {F12})", ()),  # the other operand is there, too
        (f"@grown(%a0, %b) : ({F6}, {F12})", ()),
        (f"@part(%a0, %s) : ({F6}, {F6})", ()),
    ],
)
def test_a_result_takes_over_whole_buffers_that_nothing_else_needs(call: str, pairs: tuple[object, ...]) -> None:
    (task,) = _program(f"%s = memref.alloc() : memref<6xf32>\nfunc.call {call} -> ()").tasks
    assert task.in_place == pairs


def test_a_result_of_another_type_takes_over_nothing() -> None:
    body = "%i = memref.alloc() : memref<12xi32>\nfunc.call @word(%a, %i) : (memref<12xf32>, memref<12xi32>) -> ()"
    (task,) = _program(body).tasks
    assert task.in_place == ()


@pytest.mark.parametrize(
    "body, why",
    [
        ("%1 = graph.relu %x : (T) -> T\nfunc.return %1, %1 : T, T", "an output is not a separate result of a kernel"),
        (
            "%1 = func.call @f(%x) : (T) -> T\nfunc.return %1, %1 : T, T",
            "an output is not a separate result of a kernel",
        ),
        (
            "%1 = graph.relu %x : (T) -> T\n%2 = func.call @f(%1) : (T) -> T\n%3 = func.call @f(%1) : (T) -> T\n"
            "func.return %2, %3 : T, T",
            "graph.relu is not a call of a kernel",
        ),
        (
            "%1 = func.call @f(%x) : (T) -> T\n%2 = graph.concat %1, %1 {axis = 0} : (T, T) -> U\n"
            "%3 = func.call @g(%2) : (U) -> T\n%4 = func.call @g(%2) : (U) -> T\nfunc.return %3, %4 : T, T",
            "a part of a concatenation has another place",
        ),
    ],
)
def test_what_outline_kernels_should_have_done_is_refused(body: str, why: str) -> None:
    text = "func.func private @f(T) -> T\nfunc.func private @g(U) -> T\n"
    text += f"func.func @main(%x: T) -> (T, T) attributes {{aot.entry}} {{\n{body}\n}}"
    module = _module(text.replace("T", "tensor<2x4xf32>").replace("U", "tensor<4x4xf32>"))
    with pytest.raises(PassFailedException, match=why):
        BufferizePass().apply(new_context(), module)
