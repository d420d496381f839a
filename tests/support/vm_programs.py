"""Executables for tests of the virtual machines."""

from __future__ import annotations

import zlib

import numpy as np

from aotc.vm import ExecBuilder, Executable, place

SUMMED = 12
"""Where in an executable what its checksum is of begins."""


def sealed(blob: bytes | bytearray) -> bytes:
    """An executable that was changed, with the checksum that it has now: what its other checks find."""
    return bytes(blob[: SUMMED - 4]) + zlib.crc32(blob[SUMMED:]).to_bytes(4, "little") + bytes(blob[SUMMED:])


def many_instructions() -> Executable:
    """Functions with jumps, recursion, shapes, memory and constants."""
    ib = ExecBuilder()
    with ib.function("main", num_inputs=2):
        end = ib.label()
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.imm(2)], dst=ib.r(2))
        ib.emit_call("vm.builtin.match_shape", [ib.r(0), ib.r(2), *map(ib.imm, (1, 0, 1, 1))])
        ib.emit_call("vm.builtin.load_shape", [ib.r(2), ib.imm(1), ib.imm(0)], dst=ib.r(3))
        ib.emit_call("vm.builtin.alloc_storage", [ib.vm_state(), ib.imm(4096)], dst=ib.r(4))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(4), ib.imm(64), ib.r(3), np.dtype("int16")], dst=ib.r(4))
        ib.emit_call("vm.builtin.alloc_view", [ib.imm(2)], dst=ib.r(6))
        ib.emit_call(
            "vm.builtin.view_in",
            [ib.r(6), ib.r(4), *map(ib.imm, (4,)), np.dtype("int8"), *map(ib.imm, (2, 3))],
            dst=ib.r(7),
        )
        ib.emit_call("vm.builtin.match_tensor", [ib.r(7), np.dtype("int8"), ib.imm(2), ib.imm(3)])
        ib.emit_if(ib.r(1), end)
        ib.emit_call("vm.builtin.sub", [ib.r(1), ib.imm(1)], dst=ib.r(1))
        ib.emit_call("main", [ib.r(0), ib.r(1)], dst=ib.r(5))
        ib.emit_ret(ib.r(5))
        ib.place(end)
        ib.emit_call("vm.builtin.shape_of", [np.arange(6, dtype="float32").reshape(2, 3)], dst=ib.r(5))
        ib.emit_call("vm.builtin.shape_of", [place(8, "int16", [4])], dst=ib.r(6))
        ib.emit_call("other", [ib.r(5), ib.imm(1 << 33)], dst=ib.r(5))
        ib.emit_ret(ib.r(4))
    with ib.function("other", num_inputs=2):
        ib.emit_call("vm.builtin.move", [ib.r(0)], dst=ib.r(2))
        ib.emit_call("vm.builtin.less", [ib.r(1), ib.imm(5)], dst=ib.r(3))
        ib.emit_if(ib.r(3), 2)
        ib.emit_goto(1)
        ib.emit_ret(ib.r(2))
    return ib.get()


def emit_fibonacci(ib: ExecBuilder, name: str) -> None:
    """The body of the function `name`, which calls itself: Fibonacci's number of r(0)."""
    more = ib.label()
    ib.emit_call("vm.builtin.less", [ib.r(0), ib.imm(2)], dst=ib.r(1))
    ib.emit_if(ib.r(1), more)
    ib.emit_ret(ib.r(0))
    ib.place(more)
    for register, less in ((1, 1), (2, 2)):
        ib.emit_call("vm.builtin.sub", [ib.r(0), ib.imm(less)], dst=ib.r(register))
        ib.emit_call(name, [ib.r(register)], dst=ib.r(register))
    ib.emit_call("vm.builtin.add", [ib.r(1), ib.r(2)], dst=ib.r(1))
    ib.emit_ret(ib.r(1))
