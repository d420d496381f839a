"""Memory that LLVM keeps of modules that are optimised, and of libraries that are loaded, when they are gone."""

from __future__ import annotations

import ctypes

from memory import growth

from aotc.emit.llvm.jit import load_object
from aotc.emit.llvm.modules import optimize, parsed, tidy
from aotc.machines.targets import lookup

TEXT = "define i32 @one() {\n  ret i32 1\n}\n"
TIMES = 60


def test_pass_managers_go_with_the_module_that_they_optimised() -> None:
    machine = lookup("host").machine(1)
    assert growth(lambda: optimize(parsed(TEXT), machine, "1"), TIMES) < 8 << 10  # passes and their manager take 48 KiB


def test_what_is_noted_of_runs_of_passes_stays_small() -> None:
    machine = lookup("host").machine()
    assert growth(lambda: tidy(parsed(TEXT), machine), 256) < 512  # a builder for each takes 1.5 KiB


def test_nothing_of_a_library_stays_that_is_gone() -> None:
    machine = lookup("host").machine(1)
    image = machine.emit_object(parsed(TEXT))
    assert growth(lambda: load_object(image, ["one"]).address("one"), TIMES) < 3 << 10  # symbols take 9 KiB


def test_a_library_stays_while_it_is_used() -> None:
    machine = lookup("host").machine(1)
    images = [machine.emit_object(parsed(TEXT.replace("i32 1", f"i32 {number}"))) for number in range(3)]
    libraries = [load_object(image, ["one"]) for image in images]
    del libraries[1]
    results = [ctypes.CFUNCTYPE(ctypes.c_int32)(library.address("one"))() for library in libraries]
    assert results == [0, 2]
