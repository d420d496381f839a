"""Executables that nobody can trust: whatever the bytes are, they are refused, or run and do no harm."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pytest
from vm_programs import SUMMED, many_instructions, sealed

from aotc.vm import Allocator, Executable, ShapeTuple, VirtualMachine, VMError


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
    blob = many_instructions().to_bytes()
    assert run(blob, np.zeros((3, 5)), 2) == "ran"
    rng = random.Random(1)
    found = {"refused": 0, "failed": 0, "ran": 0}
    for position, old in enumerate(blob):
        for value in (old ^ 1 << rng.randrange(8), old ^ 0xFF, rng.randrange(256)):
            damaged = bytearray(blob)
            damaged[position] = value
            assert value == old or run(damaged) == "refused"
            damaged = sealed(damaged) if position >= SUMMED else damaged
            found[run(damaged, np.zeros((3, 5)), 2)] += 1
    assert found["refused"] > len(blob) and found["failed"] and found["ran"]


def test_every_prefix_and_more_than_all() -> None:
    blob = many_instructions().to_bytes()
    for size in range(len(blob)):
        assert run(blob[:size]) == "refused"
        assert size < SUMMED or run(sealed(blob[:size])) == "refused"
    assert run(blob + b"\0") == run(sealed(blob + b"\0")) == "refused"


def test_a_flipped_constant_is_found() -> None:
    """Every number in the tables is right then."""
    blob = many_instructions().to_bytes()
    flipped = blob[:-64] + bytes([blob[-64] ^ 1]) + blob[-63:]
    with pytest.raises(VMError, match=r"its checksum is another.*\[invalid-file\]"):
        Executable.from_bytes(flipped)
    assert run(sealed(flipped), np.zeros((3, 5)), 2) == "ran"


@pytest.mark.parametrize("argument", [None, "text", 1.5, -1, 1 << 70, ShapeTuple([1]), np.dtype("f4"), np.zeros(0), {}])
def test_arguments_of_any_kind(argument: Any) -> None:
    blob = many_instructions().to_bytes()
    for arguments in ((argument, 1), (np.zeros((3, 5)), argument), (argument, argument)):
        assert run(blob, *arguments) in ("failed", "ran")


@pytest.mark.parametrize("change", [-64, 64])
def test_a_workspace_of_another_size_is_refused(change: int) -> None:
    """Places would lie behind its end; the machine in C takes the size from the header."""
    blob = bytearray(many_instructions().to_bytes())
    (size,) = struct.unpack_from("<I", blob, 48)
    struct.pack_into("<I", blob, 48, max(size + change, 0))
    with pytest.raises(VMError, match=rf"byte {size}, not {max(size + change, 0)}.*\[invalid-file\]"):
        Executable.from_bytes(sealed(blob))
