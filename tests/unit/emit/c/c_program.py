"""Compile IR of the `interface` phase through the C emitter and gcc, and run it on numpy arrays.

The code is built with the warnings that generated C must be clean under, and with undefined behaviour trapped; it runs
in a process of its own, so that a trap fails one test.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe

from aotc.emit.c.source import CSource
from aotc.model.weight_store import Array, WeightStore
from aotc.passes.loops.select_instructions import SelectInstructionsPass

WARNINGS = (
    *("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Wvla"),
    *("-Wstrict-prototypes", "-Wmissing-prototypes", "-Werror"),
)
_SANITIZE = ["-fsanitize=undefined", "-fno-sanitize-recover=undefined"]

_RUNNER = """
import ctypes, sys

library, memory = ctypes.CDLL(sys.argv[1]), {}

def pointer(name):
    if name not in memory:
        with open(name, "rb") as file:
            data = file.read()
        room = ctypes.create_string_buffer(len(data) + 64)
        start = -(-ctypes.addressof(room) // 64) * 64
        ctypes.memmove(start, data, len(data))
        memory[name] = room, start, len(data)
    return ctypes.c_void_p(memory[name][1])

for call in sys.argv[2:]:
    symbol, *names = call.split(",")
    getattr(library, symbol)(*map(pointer, names))
for name, (_, start, size) in memory.items():
    with open(name, "wb") as file:
        file.write(ctypes.string_at(start, size))
"""
"""Arrays are files of their names, which it reads and writes; it needs no package, most of the time of a start."""


def parse(text: str) -> ModuleOp:
    """A verified module from text."""
    ctx = Context()
    for name, load in Universe.get_multiverse().all_dialects.items():
        ctx.register_dialect(name, load)
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module


def printed(module: ModuleOp, store: WeightStore | None = None, freestanding: bool = False) -> str:
    """The C source of a module."""
    return "".join(CSource(module, store or WeightStore(), freestanding=freestanding).text())


def source(text: str, store: WeightStore | None = None, freestanding: bool = False) -> str:
    """The C source of a module from text, whose instructions are selected for any target."""
    module = parse(text)
    SelectInstructionsPass().apply(Context(), module)
    return printed(module, store, freestanding)


@lru_cache(maxsize=4)
def source_once(text: str) -> str:
    """The same, made once for several compilers."""
    return source(text)


def run(
    folder: Path,
    c: str | Sequence[str],
    arrays: Mapping[str, Array],
    calls: Sequence[tuple[str, ...]],
    flags: Sequence[str] = ("-Og",),
    compiler: str = "gcc",
) -> dict[str, Array]:
    """The arrays after `calls`, (symbol, array names...) each; with -march=native without traps, which take minutes.

    `c` is one unit or several.
    """
    units = [folder / f"unit{number}.c" for number in range(1 if isinstance(c, str) else len(c))]
    for unit, text in zip(units, [c] if isinstance(c, str) else c, strict=True):
        unit.write_text(text)
    library = folder / "unit.so"
    command = [compiler, *WARNINGS, *flags, *([] if "-march=native" in flags else _SANITIZE)]
    subprocess.run([*command, "-shared", "-fPIC", *map(str, units), "-o", str(library), "-lm"], check=True)
    for name, array in arrays.items():
        (folder / name).write_bytes(array.tobytes())
    program = [sys.executable, "-IS", "-c", _RUNNER, str(library), *(",".join(call) for call in calls)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return {
        name: np.frombuffer(bytearray((folder / name).read_bytes()), array.dtype).reshape(array.shape)
        for name, array in arrays.items()
    }


def elementwise(
    symbol: str, body: str, inputs: Sequence[str], output: str, count: int, lanes: int | None = None
) -> str:
    """A function `symbol(x0*, x1*, .., out*)` over `count` elements; `body` computes %r : output from %x0, %x1.

    With `lanes` these are vectors of so many, which `count` is a multiple of.
    """
    named = [(f"x{i}", kind) for i, kind in enumerate(inputs)]
    memory = {kind: f"memref<{count}x{kind}>" for kind in (*inputs, output)}
    arguments = "".join(f"%{name}_p: !aot.ptr<{kind}> {{aot.readonly, aot.noalias}}, " for name, kind in named)
    buffers = [
        f"%{name}_b = aot.buffer %{name}_p : !aot.ptr<{kind}> to {memory[kind]}"
        for name, kind in (*named, ("out", output))
    ]
    if lanes is None:
        loads = [f"%{name} = memref.load %{name}_b[%i] : {memory[kind]}" for name, kind in named]
        store = f"memref.store %r, %out_b[%i] : {memory[output]}"
    else:
        place = "[%i] {strides = array<i64: 1>}"
        loads = [
            f"%{name} = aot.tile_load %{name}_b{place} : {memory[kind]} -> vector<{lanes}x{kind}>"
            for name, kind in named
        ]
        store = f"aot.tile_store %r, %out_b{place} : vector<{lanes}x{output}>, {memory[output]}"
    before, inside = ("\n".join(lines) for lines in (buffers, [*loads, body, store]))
    return f"""
  func.func @{symbol}({arguments}%out_p: !aot.ptr<{output}> {{aot.noalias}}) -> i32 {{
    %c0 = arith.constant 0 : index
    %step = arith.constant {lanes or 1} : index
    %n = arith.constant {count} : index
    {before}
    scf.for %i = %c0 to %n step %step {{
      {inside}
    }}
    %done = arith.constant 0 : i32
    func.return %done : i32
  }}
"""
