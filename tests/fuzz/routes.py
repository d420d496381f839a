"""Every way from a model to its outputs: in this process, as a library, as C under sanitizers, on an emulated board."""

from __future__ import annotations

import dataclasses
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
from aotc.compiler.checking.plan_proof import faults_of
from aotc.compiler.driver import emission, in_process, lower
from aotc.dialects.dtypes import numpy_dtype
from aotc.errors import CompileError
from aotc.executor import compiled_in_process
from aotc.machines import processor
from aotc.model.conventions import CHOICES, RULES, Conventions
from aotc.pipeline.options import ANY_RAM, CompileOptions
from fuzz.drafts import Specimen
from fuzz.oracle import Array

EMBEDDED = Path(__file__).parents[1] / "embedded"
SCALAR = "rv64gc"
"""A target without vectors, of as wide addresses as hosts have."""
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
WARNINGS = (
    *("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Wvla", "-Wstrict-prototypes"),
    *("-Wmissing-prototypes", "-Werror"),
)
"""Warnings that C for a target without vectors is clean under (docs/abi.md)."""
_SECONDS = 3600
"""That a program may run at the longest, however busy the machine is; the case ends sooner."""
_CANARY = 16
"""Bytes behind each output, which must stay as they are."""


class Wrong(Exception):
    """A route gave something else than it should."""


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


def _without_vectors(**options: Any) -> Callable[[Specimen], dict[str, Array]]:
    """As for a processor without vectors, of as wide addresses as this one, so that it runs here."""

    def run(specimen: Specimen) -> dict[str, Array]:
        chosen = in_process(CompileOptions.of(target=SCALAR, dims=specimen.dims(), **options))
        return compiled_in_process(lower(source(specimen), chosen))(specimen.feed())

    return run


def _row_by_row(specimen: Specimen) -> dict[str, Array]:
    rng = np.random.default_rng(specimen.seed + (1 << 42))
    return within_budgets(source(specimen), specimen.feed(), rng, dims=specimen.dims())


def within_budgets(
    model: bytes, feed: Mapping[str, Array], rng: np.random.Generator, **options: Any
) -> dict[str, Array]:
    """The outputs of the fastest program on a processor without vectors. Raises Wrong where the one without a budget
    for RAM or that of the least, or one between or in two memories, gives other bits, takes more than is allowed, or
    has a plan that is not safe."""
    sizes: list[int] = []
    expected: dict[str, Array] = {}
    for budget in (ANY_RAM, (None, "min")[int(rng.integers(2))], "between"):
        ram = int(rng.integers(min(sizes), max(sizes) + 1)) if budget == "between" else budget
        given, said = dict[str, Any](ram=ram), f"--ram {ram}"
        if budget == "between" and rng.integers(2):
            given = {"pools": {"fast": max(min(sizes) // 2, 1), "slow": max(sizes[0], 1)}}  # it has room for all
            said = f"pools {given['pools']}"
        made = emission(model, in_process(CompileOptions.of(target=SCALAR, **given, **options)))
        if faults := faults_of(made.uncompiled):
            raise Wrong(f"{said}: {'; '.join(faults)}")
        sizes.append(made.uncompiled.ram_bytes)
        if "ram" in given and sizes[-1] > (ram if isinstance(ram, int) else sizes[0]):
            raise Wrong(f"{said} takes {sizes[-1]} bytes, and {sizes[0]} where any are allowed")
        found = compiled_in_process(made.compilation)(dict(feed))
        expected = expected or found
        for name, array in found.items():
            if array.tobytes() != expected[name].tobytes():
                raise Wrong(f"{name} with {said} is {array}, of the fastest program {expected[name]}")
    return expected


def by_rows(model: bytes, x: Array, rng: np.random.Generator) -> None:
    """Raise Wrong where a model whose only input x, with its channels last, comes by rows gives other bits than with
    all of it, or has a plan that is not safe; nothing where layers that read it are refused."""
    given: dict[str, Any] = {"target": SCALAR, "input_layouts": {"x": "nhwc"}}
    most, ram = int(rng.integers(1, 6)), (None, "min")[int(rng.integers(0, 2))]
    try:
        chosen = CompileOptions.of(**given, stream={"x": min(most, x.shape[1])}, ram=ram)
        made = emission(model, in_process(chosen))
    except CompileError as error:
        if {problem.id for problem in error.problems} == {"not-by-rows"}:
            return
        raise
    if faults := faults_of(made.uncompiled):
        raise Wrong(f"--stream x={most}: {'; '.join(faults)}")
    expected = compiled_in_process(lower(model, in_process(CompileOptions.of(**given))))({"x": x})
    streamed, found, first = compiled_in_process(made.compilation), None, 0
    while first < x.shape[1]:
        some = x[:, first : first + int(rng.integers(1, most + 1))]
        found, first = streamed.push(some), first + some.shape[1]
    for name, array in expected.items():
        if found is None or array.tobytes() != found[name].tobytes():
            raise Wrong(f"{name} with --stream x={most} is {found and found[name]}, with all rows {array}")


def _open(specimen: Specimen) -> dict[str, Array]:
    """With the first extents of all inputs open until they arrive."""
    names = {value.name for value in specimen.inputs() if value.rank}
    model = aotc.compile(
        source(dataclasses.replace(specimen, symbolic=frozenset(names))),
        dims=dict.fromkeys((f"n_{name}" for name in names), "any"),
    )
    return model(specimen.feed())


def _conventions(specimen: Specimen) -> dict[str, Array]:
    """Some legal choice of how a library is called."""
    rng = np.random.default_rng(specimen.seed + (1 << 41))
    while True:
        picked = {name: str(rng.choice(choices)) for name, choices in CHOICES.items()}
        picked |= {"weights": "embedded", "io": "caller"}  # from elsewhere nothing loads them
        if not any(rule.forbids(Conventions(**picked)) for rule in RULES):  # pyright: ignore[reportArgumentType]
            return _library("host", **picked)(specimen)


STEPS = 3
"""How often a model with a state is called before it is reset, and after."""


def _states(specimen: Specimen) -> dict[str, str]:
    """Which outputs may be which inputs' next values; an output and an input are left."""
    found: dict[str, str] = {}
    feed = specimen.feed()
    for name in specimen.outputs[1:]:
        value = specimen.values[name]
        if value.last or len(found) + 1 >= len(feed):
            continue
        form = value.dtype, value.shape
        free = [n for n, x in feed.items() if (x.dtype.name, x.shape) == form and n not in found.values()]
        if free and not any(np.array_equal(value.array, feed[n]) for n in free):  # that it is itself never changes
            found[name] = free[0]
    return found


def _stream(**options: Any) -> Callable[[Specimen], dict[str, Array]]:
    """Outputs that are of an input's form are kept as its next value; each call is what the model gives without."""

    def run(specimen: Specimen) -> dict[str, Array]:
        data, feed = source(specimen), specimen.feed()
        plain = aotc.compile(data, dims=specimen.dims(), **options)
        state = _states(specimen)
        outputs = plain(feed)
        if not state:
            return outputs
        kept = aotc.compile(data, dims=specimen.dims(), state=state, **options)
        given = {name: array for name, array in feed.items() if name not in state.values()}
        for _ in range(2):
            values = {name: np.zeros_like(feed[name]) for name in state.values()}
            for step in range(STEPS):
                expected, found = plain(feed | values), kept(given)
                for name in found:
                    if found[name].tobytes() != expected[name].tobytes():
                        raise Wrong(f"{name} of call {step}, with the states {state}: {found[name]}, {expected[name]}")
                values = {into: expected[name] for name, into in state.items()}
            kept.reset()  # pyright: ignore[reportAttributeAccessIssue]
        return outputs

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
    """The outputs that a program wrote. Raises Wrong where it wrote behind one."""
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
    import rig  # pyright: ignore[reportMissingImports]

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
        Route("without vectors", 3, _without_vectors()),
        Route("without vectors Os", 1, _without_vectors(optimize="s")),
        Route("row by row", 2, _row_by_row),
        Route("bytecode", 2, _in_process(executor="vm")),
        Route("open shapes", 2, _open),
        Route("stream", 1, _stream()),
        Route("stream O0", 1, _stream(optimize="0")),
        Route("verify-each", 1, _in_process(verify_each=True)),
        Route("check-indices", 1, _in_process(check_indices=True)),
        Route("check-indices on threads", 1, _in_process(check_indices=True, threads=2)),
    ]
    levels = {"x86-64": "sse2", "x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}
    if sys.platform != "linux":
        return tuple(found)
    found += [Route(f"shared {level}", 0.7, _library(level)) for level, flag in levels.items() if flag in _flags()]
    found.append(Route("packed", 1, _library("host", interface_api="packed", operator_api="cpacked")))
    found.append(Route("conventions", 2, _conventions))
    if shutil.which("gcc"):
        found.append(Route("bytecode in C", 0.5, _library("host", executor="vm")))
    if shutil.which("gcc"):
        found += [
            Route(f"C {level}", 0.1, _c(level, "-O1", f"-march={level}"))
            for level, flag in levels.items()
            if flag in _flags()
        ]
        plain = _c(SCALAR, "-O1", warnings=WARNINGS)  # C99 without vectors, which any 64-bit compiler takes
        found += [
            Route("C scalar", 0.5, plain),
            Route("C small", 0.5, _c(SCALAR, "-O1", warnings=WARNINGS, optimize="s")),
        ]
    if not _rig().missing_tools() and not os.environ.get("AOTC_FUZZ_NO_BOARDS"):
        found += [Route(f"board {name}", 0.2, _board(name)) for name in ("m4f", "m0")]
    return tuple(found)


@cache
def _flags() -> frozenset[str]:
    """The features of this processor, by Linux's names."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line for line in lines if line.startswith("flags")), "").split()) | {processor.identity()}


def _counted(name: str, outputs: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """An output; of one with a data-dependent extent, what its count says is valid."""
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
        wide = actual.astype(np.float64), expected.array.astype(np.float64)
        with np.errstate(invalid="ignore"):
            same = (actual == expected.array) | (np.isnan(wide[0]) & np.isnan(wide[1]))
            far = np.where(same, 0, np.abs(wide[0] - wide[1]))
        far[~same & (far == 0)] = 0.5  # integers of 64 bits that floats do not tell apart
        worst = np.unravel_index(int(np.nan_to_num(far, nan=np.inf).argmax()), far.shape)
        if not far[worst] <= expected.error:
            place = [int(k) for k in worst]
            raise Wrong(
                f"{name}{place} is {actual[worst]}, expected {expected.array[worst]}; off by {far[worst]:.3g}, "
                f"allowed {expected.error:.3g}"
            )
