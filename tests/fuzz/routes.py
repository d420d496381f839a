"""Every way from a model to its outputs: in this process, as a library, as C under sanitizers, on an emulated board."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import aotc
from aotc.dialects.dtypes import numpy_dtype
from aotc.machines import processor
from fuzz.drafts import Specimen
from fuzz.oracle import Array

EMBEDDED = Path(__file__).parents[1] / "embedded"
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
WARNINGS = (
    *("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Wvla", "-Wstrict-prototypes"),
    *("-Wmissing-prototypes", "-Werror"),
)
"""What C for a target without vectors is clean under (docs/abi.md)."""
_SECONDS = 120
_CANARY = 16
"""Bytes behind each output, which must stay as they are."""


class Wrong(Exception):
    """What a route gave is not what it should be."""


@dataclass(frozen=True)
class Route:
    """A name, how often it is tried for one time of another, and how it runs a model."""

    name: str
    weight: float
    run: Callable[[Specimen], dict[str, Array]]


def source(specimen: Specimen) -> bytes:
    """The model's bytes."""
    return specimen.model().SerializeToString()


def _in_process(**options: Any) -> Callable[[Specimen], dict[str, Array]]:
    def run(specimen: Specimen) -> dict[str, Array]:
        model = aotc.compile(source(specimen), dims=specimen.dims(), **options)
        return model(specimen.feed())

    return run


def _library(target: str, **options: Any) -> Callable[[Specimen], dict[str, Array]]:
    def run(specimen: Specimen) -> dict[str, Array]:
        with tempfile.TemporaryDirectory(prefix="aotc-fuzz-") as folder:
            made = aotc.compile_to(
                *(source(specimen), folder), name="m", emit="shared", target=target, dims=specimen.dims(), **options
            )
            return aotc.load(made.files[0])(specimen.feed())

    return run


@dataclass(frozen=True)
class _Output:
    """An output that a compiled model has."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Its bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def _results(folder: Path) -> list[_Output]:
    """The outputs of the model in a folder, counts among them, as its metadata say."""
    found = json.loads((folder / "m.json").read_text())["outputs"]
    return [_Output(each["name"], numpy_dtype(each["dtype"]), tuple(each["shape"])) for each in found]


def main_program(specimen: Specimen, outputs: Sequence[_Output]) -> str:
    """A program that reads every input, runs the model and writes every output."""
    sizes = [array.nbytes for array in specimen.feed().values()]
    results = [each.nbytes for each in outputs]
    buffers = [f"static uint64_t x{k}[{size // 8 + 1}];" for k, size in enumerate(sizes)]
    buffers += [f"static uint64_t y{k}[{(size + _CANARY) // 8 + 1}];" for k, size in enumerate(results)]
    reads = [f"    get(x{k}, {size});" for k, size in enumerate(sizes)]
    reads += [f"    memset(y{k}, 0xa5, sizeof y{k});" for k in range(len(results))]
    arguments = ", ".join(f"(void *){name}" for name in _names(len(sizes), len(results)))
    writes = [f"    put(y{k}, {size + _CANARY});" for k, size in enumerate(results)]
    body = "\n".join([*reads, f"    if (aotc_m_run({arguments}) != 0) return 3;", *writes])
    return "\n".join(
        ['#include "m.h"', "#include <string.h>", *buffers, "int run(void);", "int run(void)", "{", body]
    ) + ("\n    return 0;\n}\n")


def _names(inputs: int, outputs: int) -> list[str]:
    return [*(f"x{k}" for k in range(inputs)), *(f"y{k}" for k in range(outputs))]


_HOSTED = """#include <stdint.h>
#include <stdio.h>
static void get(void *to, size_t size) { if (fread(to, 1, size, stdin) != size) { fputs("short input", stderr); } }
static void put(const void *from, size_t size) { fwrite(from, 1, size, stdout); }
"""
_ON_BOARD = """#include "board.h"
static intptr_t in, out;
static void get(void *to, size_t size) { if (size) board_read(in, to, size); }
static void put(const void *from, size_t size) { board_write(out, from, size); }
"""
_HOSTED_END = "int main(void) { return run(); }\n"
_ON_BOARD_END = """int main(void)
{
    in = board_open("inputs.bin", BOARD_READ);
    out = board_open("outputs.bin", BOARD_WRITE);
    return run();
}
"""


def _inputs(specimen: Specimen) -> bytes:
    return b"".join(np.ascontiguousarray(array).tobytes() for array in specimen.feed().values())


def _read(outputs: Sequence[_Output], data: bytes) -> dict[str, Array]:
    """What a program wrote, by output. Raises Wrong where it wrote behind one."""
    found: dict[str, Array] = {}
    position = 0
    for each in outputs:
        end = position + each.nbytes
        found[each.name] = np.frombuffer(data[position:end], each.dtype).reshape(each.shape)
        if data[end : end + _CANARY] != b"\xa5" * _CANARY:
            raise Wrong(f"{each.name}: {len(data)} bytes of output, something written behind it")
        position = end + _CANARY
    return found


def _c(
    target: str, *flags: str, warnings: tuple[str, ...] = (), **options: Any
) -> Callable[[Specimen], dict[str, Array]]:
    """C for this machine, by gcc with sanitizers, as a program."""

    def run(specimen: Specimen) -> dict[str, Array]:
        with tempfile.TemporaryDirectory(prefix="aotc-fuzz-") as name:
            folder = Path(name)
            aotc.compile_to(source(specimen), folder, name="m", target=target, dims=specimen.dims(), **options)
            outputs = _results(folder)
            (folder / "main.c").write_text(_HOSTED + main_program(specimen, outputs) + _HOSTED_END)
            common = ["gcc", "-ffp-contract=off", *flags, *SANITIZERS]
            _tool([*common, *(warnings or ("-std=c99",)), "-c", "m.c"], folder)
            _tool([*common, "-w", "main.c", "m.o", "-o", "program", "-lm"], folder)
            # addresses are not limited here: the sanitizer reserves terabytes of them
            command = ["sh", "-c", "ulimit -S -v unlimited; exec ./program"]
            return _read(outputs, _tool(command, folder, _inputs(specimen)))

    return run


def _board(name: str) -> Callable[[Specimen], dict[str, Array]]:
    """C for a microcontroller that QEMU emulates."""

    def run(specimen: Specimen) -> dict[str, Array]:
        rig = _rig()
        board = rig.BOARDS[name]
        with tempfile.TemporaryDirectory(prefix="aotc-fuzz-") as place:
            folder = Path(place)
            aotc.compile_to(source(specimen), folder, name="m", target=board.target, dims=specimen.dims(), optimize="s")
            outputs = _results(folder)
            (folder / "main.c").write_text(_ON_BOARD + main_program(specimen, outputs) + _ON_BOARD_END)
            try:
                program = rig.build(
                    *(board, folder), model=[folder / "m.c"], program=[folder / "main.c"], program_flags=["-w"]
                )
                (folder / "inputs.bin").write_bytes(_inputs(specimen))
                rig.run(program)
            except rig.BoardError as error:
                raise Wrong(str(error)[-2000:]) from None
            return _read(outputs, (folder / "outputs.bin").read_bytes())

    return run


def _rig() -> Any:
    if str(EMBEDDED) not in sys.path:
        sys.path.insert(0, str(EMBEDDED))
    import rig

    return rig


def _tool(command: list[str], folder: Path, data: bytes = b"") -> bytes:
    done = subprocess.run(command, cwd=folder, input=data, capture_output=True, timeout=_SECONDS)
    if done.returncode != 0:
        raise Wrong(f"{command[0]}: exit {done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout


DEFAULT = Route("default", 0, _in_process())


@cache
def routes() -> tuple[Route, ...]:
    """The routes that this machine has the tools and the processor for."""
    found = [
        Route("O0", 8, _in_process(optimize="0")),
        Route("O1", 1, _in_process(optimize="1")),
        Route("O3", 2, _in_process(optimize="3")),
        Route("Os", 4, _in_process(optimize="s")),
        Route("strict", 4, _in_process(accuracy="strict")),
        Route("threads", 4, _in_process(threads=3)),
        Route("verify-each", 1, _in_process(verify_each=True)),
        Route("check-indices", 1, _in_process(check_indices=True)),
        Route("check-indices on threads", 1, _in_process(check_indices=True, threads=2)),
    ]
    levels = {"x86-64": "sse2", "x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}
    if sys.platform != "linux":
        return tuple(found)
    found += [Route(f"shared {level}", 0.7, _library(level)) for level, flag in levels.items() if flag in _flags()]
    found.append(Route("packed", 1, _library("host", interface_api="packed", operator_api="cpacked")))
    if shutil.which("gcc"):
        found += [
            Route(f"C {level}", 0.1, _c(level, "-O1", f"-march={level}"))
            for level, flag in levels.items()
            if flag in _flags()
        ]
        plain = _c("rv64gc", "-O1", warnings=WARNINGS)  # C99 without vectors, which any 64-bit compiler takes
        found += [
            Route("C scalar", 0.5, plain),
            Route("C small", 0.5, _c("rv64gc", "-O1", warnings=WARNINGS, optimize="s")),
        ]
    if not _rig().missing_tools() and not os.environ.get("AOTC_FUZZ_NO_BOARDS"):
        found += [Route(f"board {name}", 0.2, _board(name)) for name in ("m4f", "m0")]
    return tuple(found)


@cache
def _flags() -> frozenset[str]:
    """What Linux says that this processor can."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line for line in lines if line.startswith("flags")), "").split()) | {processor.identity()}


def _counted(name: str, outputs: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """An output; of one that comes as long as it may become, what its count says that there is."""
    array = outputs[name]
    if f"{name}_count" not in outputs or array.ndim != len(shape):
        return array
    count = int(outputs[f"{name}_count"])
    fits = [axis for axis, extent in enumerate(shape) if extent == count <= array.shape[axis]]
    axis = next((axis for axis in fits if array.shape[axis] != count), None)
    return array if axis is None else np.take(array, range(count), axis)


def compared(specimen: Specimen, outputs: Mapping[str, Array]) -> None:
    """Raise Wrong where an output is not what onnxruntime computes, within what rounding may change."""
    for name in specimen.outputs:
        expected, actual = specimen.values[name], _counted(name, outputs, specimen.values[name].shape)
        if (actual.dtype, actual.shape) != (expected.array.dtype, expected.shape):
            what = f"{actual.dtype} {actual.shape}, expected {expected.dtype} {expected.shape}"
            raise Wrong(f"{name}: {what}")
        if not actual.size:
            continue
        with np.errstate(invalid="ignore"):
            far = np.abs(actual.astype(np.float64) - expected.array.astype(np.float64))
        worst = np.unravel_index(int(np.nan_to_num(far, nan=np.inf).argmax()), far.shape)
        exact = expected.error == 0 and not np.array_equal(actual, expected.array)
        if exact or not far[worst] <= expected.error:
            place = [int(k) for k in worst]
            raise Wrong(
                f"{name}{place} is {actual[worst]}, expected {expected.array[worst]}; off by {far[worst]:.3g}, "
                f"allowed {expected.error:.3g}"
            )
