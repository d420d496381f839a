"""Profiles of a model's kernels on this machine: time, arithmetic, share of the processor's peak, ONNX nodes."""

from __future__ import annotations

import ctypes
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from aotc.compiler.checking.recordings import read_inputs
from aotc.compiler.driver import lower
from aotc.compiler.lowering import in_process
from aotc.dialects.aot import contract
from aotc.executor import CompiledModel
from aotc.executor.loading import opened_in_process
from aotc.machines.targets import lookup
from aotc.model.conventions import profile_symbol
from aotc.model.locations import node_names
from aotc.model.model_file import Source
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import CompileOptions

MOST_RUNS = 1000


@dataclass(frozen=True)
class CallProfile:
    """One call of a kernel."""

    symbol: str
    nodes: tuple[str, ...]
    """The ONNX nodes it computes."""
    operations: int
    """Arithmetic operations (`GraphOp.operations`)."""
    dtype: str
    """The element type of what most of them read; empty where there are none."""
    scalar_fallback: str | None
    """Why it is computed by scalar loops on a target with vectors; None where it is not."""
    seconds: float
    """Median over the runs."""

    @property
    def rate(self) -> float:
        """Operations in a second."""
        return self.operations / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Profile:
    """The time of one run of a model, call by call."""

    calls: tuple[CallProfile, ...]
    processor: Processor

    @property
    def seconds(self) -> float:
        """All calls together."""
        return sum(call.seconds for call in self.calls)

    def share_of_peak(self, call: CallProfile) -> float:
        """Of what the processor computes at most of the kernel's element type."""
        return call.rate / self.processor.peak_of(call.dtype)


@dataclass(frozen=True)
class ProfiledModel:
    """A model compiled with `profile`, and its counters."""

    model: CompiledModel
    counters: np.ndarray[Any, np.dtype[np.int64]]
    """Ticks that each call of a kernel has taken so far; then how often each of those in control flow was made."""
    calls: tuple[CallProfile, ...]
    """The calls that the counters stand for; seconds are 0, and operations those of one call."""
    repeated: tuple[bool, ...]
    """Which of the calls are in control flow."""

    def ticks(
        self, step: Callable[[], object], seconds: float, before: Callable[[], object] | None = None
    ) -> list[float]:
        """The median ticks of each call over runs for about `seconds`, after one that does not count.

        `before` is called ahead of each run.
        """
        step()
        runs: list[np.ndarray[Any, np.dtype[np.int64]]] = []
        end = time.perf_counter() + seconds
        while len(runs) < MOST_RUNS and (not runs or time.perf_counter() < end):
            if before is not None:
                before()
            self.counters[:] = 0
            step()
            runs.append(self.counters[: len(self.calls)].copy())
        return [statistics.median(int(value) for value in column) for column in zip(*runs, strict=True)]

    def times(self) -> list[int]:
        """How often each call was made in the last run."""
        counted = iter(self.counters[len(self.calls) :])
        return [int(next(counted)) if repeated else 1 for repeated in self.repeated]


def profile(
    source: Source,
    options: CompileOptions,
    inputs: str | None = None,
    seconds: float = 1.0,
    report: Callable[[str], None] | None = None,
) -> Profile:
    """Profile a model in this process for about `seconds`, on the npz file `inputs` or on seeded random values.

    Raises as `aotc.compile`.
    """
    profiled = compile_profiled(source, options, report)
    if report is not None:
        report("measuring")
    tick = processor().seconds_per_tick
    step = profiled.model.bind(read_inputs(inputs, profiled.model.inputs))
    taken = profiled.ticks(step, seconds)
    calls = tuple(
        replace(call, seconds=ticks * tick, operations=call.operations * times)
        for call, ticks, times in zip(profiled.calls, taken, profiled.times(), strict=True)
    )
    return Profile(calls, processor())


def compile_profiled(
    source: Source, options: CompileOptions, report: Callable[[str], None] | None = None
) -> ProfiledModel:
    """Compile a model in this process with a counter for each call of a kernel. Raises as `aotc.compile`."""
    return load_profiled(lower(source, in_process(replace(options, profile=True)), report))


def load_profiled(compilation: Compilation) -> ProfiledModel:
    """Code of this process from a module that went through all phases with `profile`."""
    calls = _calls(compilation)
    symbol = profile_symbol(compilation.name)
    code = opened_in_process(compilation, [symbol] if calls else [])
    counters = np.zeros(0, np.int64)
    repeated = tuple(contract.is_in_region(call) for call in contract.kernel_calls(compilation.module))
    if calls:
        address = code.find(symbol)
        counters = np.ctypeslib.as_array((ctypes.c_int64 * (len(calls) + sum(repeated))).from_address(address))
    return ProfiledModel(code.model(), counters, calls, repeated)


def _calls(compilation: Compilation) -> tuple[CallProfile, ...]:
    functions = {kernel.sym_name.data: kernel for kernel in contract.kernels(compilation.module)}
    found: list[CallProfile] = []
    for call in contract.kernel_calls(compilation.module):
        symbol = call.callee.string_value()
        operations = contract.OPERATION_COUNT.get(functions[symbol]) or 0
        dtype = contract.OPERATION_TYPE.get(functions[symbol]) or ""
        why = contract.SCALAR_FALLBACK.get(functions[symbol])
        found.append(CallProfile(symbol, tuple(node_names(call.location)), operations, dtype, why, 0.0))
    return tuple(found)


# --- the machine -----------------------------------------------------------------------------------------------------

_STEPS, _UNROLL, _REPEAT = 100_000, 4, 50

_FUSED = "      {to} = math.fma {by}, %half, %half : {tile}"
_SPLIT = "      {to}p = arith.mulf {by}, %half : {tile}\n      {to} = arith.addf {to}p, %half : {tile}"
_MULTIPLY_ADDS = """\
builtin.module attributes {{aot.name = "peak", aot.plan = {{
    peak_bytes = 0, lower_bound_bytes = 0, optimal = true, alignment = 64, order = [], buffers = []}}}} {{
  func.func private @multiply_adds(%x: memref<{size}xf32>, %y: memref<{size}xf32>) attributes {{aot.kernel}} {{
    %first = arith.constant 0 : index
    %step = arith.constant {unroll} : index
    %end = arith.constant {steps} : index
    %start = aot.tile_load %x[%first] {{strides = array<i64: {lanes}, 1>}} : memref<{size}xf32> -> {tile}
    %half = aot.tile_load %x[%first] {{strides = array<i64: 0, 1>}} : memref<{size}xf32> -> {tile}
    %sums = scf.for %i = %first to %end step %step iter_args(%s0 = %start) -> ({tile}) {{
{body}
      scf.yield %s{unroll} : {tile}
    }}
    aot.tile_store %sums, %y[%first] {{strides = array<i64: {lanes}, 1>}} : {tile}, memref<{size}xf32>
    func.return
  }}
  func.func @main(%x: memref<{size}xf32> {{aot.name = "x", aot.dtype = "float32", aot.io = "input"}},
                  %y: memref<{size}xf32> {{aot.name = "y", aot.dtype = "float32", aot.io = "output"}})
      attributes {{aot.entry}} {{
    func.call @multiply_adds(%x, %y) : (memref<{size}xf32>, memref<{size}xf32>) -> ()
    func.return
  }}
}}
"""
"""IR after the phase `loops`: as many sums as leave a few registers free, more than multiply-adds are under way."""


@dataclass(frozen=True)
class Processor:
    """Measurements of one core of this machine."""

    peak: float
    """Operations in a second that it computes at most in f32."""
    seconds_per_tick: float
    """Of `aot.ticks`."""
    narrow: float = 1
    """How many times the peak it computes at most of 8-bit integers, by the instructions for their dot products."""

    def peak_of(self, dtype: str) -> float:
        """Operations in a second that it computes at most on elements of a type: of f32 where it is not 8 bits wide."""
        return self.peak * (self.narrow if dtype in ("int8", "uint8") else 1)


@cache
def processor() -> Processor:
    """Measure this machine with multiply-adds on registers, compiled as kernels are; 20 ms of them."""
    unit = lookup("host").vectors
    lanes, registers = (1, 8) if unit is None else (unit.vector_bytes // 4, unit.registers * 3 // 4)
    size, tile = registers * lanes, f"vector<{registers}x{lanes}xf32>"
    one = _FUSED if unit is not None and unit.fma else _SPLIT
    body = "\n".join(one.format(to=f"%s{n + 1}", by=f"%s{n}", tile=tile) for n in range(_UNROLL))
    text = _MULTIPLY_ADDS.format(size=size, lanes=lanes, tile=tile, steps=_STEPS, unroll=_UNROLL, body=body)
    with tempfile.TemporaryDirectory(prefix="aotc-") as folder:
        path = Path(folder) / "peak.mlir"
        path.write_text(text)
        profiled = compile_profiled(str(path), CompileOptions(start_at="loops"))
    step = profiled.model.bind(np.full(size, 0.5, np.float32))
    step()
    profiled.counters[:] = 0
    times: list[float] = []
    for _ in range(_REPEAT):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    narrow = 1 if unit is None else 4 / unit.dot.least_cycles / unit.tiles.multipliers
    return Processor(2 * size * _STEPS / min(times), sum(times) / int(profiled.counters[0]), narrow)
