"""Executables that nobody can trust: whatever the bytes are, they are refused, or run and do no harm."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from aotc.vm import Allocator, ExecBuilder, Executable, ShapeTuple, VirtualMachine, VMError, place


def example() -> Executable:
    """Functions with jumps, recursion, shapes, memory and constants."""
    ib = ExecBuilder()
    with ib.function("main", num_inputs=2):
        end = ib.label()
        ib.emit_call("vm.builtin.alloc_shape_heap", [ib.imm(2)], dst=ib.r(2))
        ib.emit_call("vm.builtin.match_shape", [ib.r(0), ib.r(2), *map(ib.imm, (1, 0, 1, 1))])
        ib.emit_call("vm.builtin.load_shape", [ib.r(2), ib.imm(1), ib.imm(0)], dst=ib.r(3))
        ib.emit_call("vm.builtin.alloc_storage", [ib.vm_state(), ib.imm(4096)], dst=ib.r(4))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(4), ib.imm(64), ib.r(3), np.dtype("int16")], dst=ib.r(4))
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


def run(blob: bytes | bytearray, *arguments: Any) -> str:
    """ "refused", "failed" or "ran"; anything else that happens is a fault."""
    try:
        executable = Executable.from_bytes(blob)
    except VMError:
        return "refused"
    assert Executable.from_bytes(executable.to_bytes()) == executable
    assert executable.stats() and executable.astext() and executable.aspython()
    try:
        limits = [Allocator(limit=1 << 20)]
        vm = VirtualMachine(executable, allocators=limits, most_jumps=100, most_frames=100)
        for function in executable.global_funcs:
            vm[function.name](*arguments[: function.num_args], *[0] * (function.num_args - len(arguments)))
    except VMError:
        return "failed"
    return "ran"


def test_a_byte_changed_at_every_position() -> None:
    blob = example().to_bytes()
    assert run(blob, np.zeros((3, 5)), 2) == "ran"
    rng = random.Random(1)
    found = {"refused": 0, "failed": 0, "ran": 0}
    for position, old in enumerate(blob):
        for value in (old ^ 1 << rng.randrange(8), old ^ 0xFF, rng.randrange(256)):
            damaged = bytearray(blob)
            damaged[position] = value
            found[run(damaged, np.zeros((3, 5)), 2)] += 1
    assert found["refused"] > len(blob) and found["failed"] and found["ran"]


def test_every_prefix_and_more_than_all() -> None:
    blob = example().to_bytes()
    for size in range(len(blob)):
        assert run(blob[:size]) == "refused"
    assert run(blob + b"\0") == "refused"


@pytest.mark.parametrize("argument", [None, "text", 1.5, -1, 1 << 70, ShapeTuple([1]), np.dtype("f4"), np.zeros(0), {}])
def test_arguments_of_any_kind(argument: Any) -> None:
    blob = example().to_bytes()
    for arguments in ((argument, 1), (np.zeros((3, 5)), argument), (argument, argument)):
        assert run(blob, *arguments) in ("failed", "ran")
