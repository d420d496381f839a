"""The entry as bytecode beside the entry as code: times of models, calls of an empty function, loading.

    chrt -f 1 taskset -c 1 .venv/bin/python benchmarks/bytecode.py MODEL.onnx ..

Both are linked objects, run in turn on the same inputs; their outputs are compared first. What is printed is in
benchmarks/bytecode.md.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import aotc
from aotc.executor import CompiledModel
from aotc.vm import ExecBuilder, Executable, VirtualMachine

RUNTIME = Path(aotc.__file__).parent / "runtime"
CALLS = 1000
PROGRAM = r"""
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>
#include "aotc_vm.h"
static int32_t Empty(void *a, void *b, int32_t n, void *c, void *d, void *e) {
  (void)a; (void)b; (void)n; (void)c; (void)d; (void)e;
  return 0;
}
static double Now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
int main(int argc, char **argv) {
  static uint64_t blob[10000], memory[1000];
  const AOTCFunctionEntry table[] = {{"empty", Empty}, {NULL, NULL}};
  AOTCPackedFunction functions[4];
  AOTCVMValue result;
  AOTCVM vm;
  uint32_t unknown;
  double best = 1e9;
  FILE *stream = fopen(argv[argc - 1], "rb");
  size_t size = fread(blob, 1, sizeof blob, stream);
  if (AOTCVM_Link(blob, size, table, functions, 4, &unknown)) return 1;
  if (AOTCVM_Open(&vm, blob, size, functions, memory, sizeof memory)) return 2;
  for (int i = 0; i < 2000; ++i) {
    double took = Now();
    if (AOTCVM_Call(&vm, 0, NULL, NULL, 0, &result)) return 3;
    took = Now() - took;
    if (took < best) best = took;
  }
  printf("%.9f\n", best);
  return 0;
}
"""


def best(call: Callable[[], object], count: int) -> float:
    """Seconds of the fastest call."""
    found: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def empty_calls(folder: Path) -> None:
    """Calls of an empty packed function a second, by both machines."""
    builder = ExecBuilder()
    with builder.function("main", num_inputs=0):
        builder.emit_call("vm.builtin.move", [builder.imm(0)], dst=builder.r(0))
        for _ in range(CALLS):
            builder.emit_call("empty", [])
        builder.emit_ret(builder.r(0))
    executable = builder.get()
    main = VirtualMachine(executable, {"empty": lambda: None})["main"]
    in_python = best(main, 100)
    executable.save(folder / "calls.vm")
    (folder / "calls.c").write_text(PROGRAM)
    sources = ["calls.c", *(RUNTIME / f"aotc_{name}.c" for name in ("vm", "vm_check", "vm_builtins", "registry"))]
    subprocess.run(["gcc", "-O2", "-std=c99", f"-I{RUNTIME}", *sources, "-o", "calls"], cwd=folder, check=True)
    in_c = float(subprocess.run([folder / "calls", folder / "calls.vm"], capture_output=True, check=True).stdout)
    print(f"empty calls, M a second: C {CALLS / in_c / 1e6:.0f}, Python {CALLS / in_python / 1e6:.1f}")


def feed_of(model: CompiledModel) -> dict[str, np.ndarray]:
    """Normal numbers, and ones for integers."""
    rng = np.random.default_rng(0)
    return {
        each.name: rng.standard_normal(each.shape).astype(each.dtype)
        if each.dtype.startswith("float")
        else np.ones(each.shape, each.dtype)
        for each in model.inputs
    }


def compare(source: Path, folder: Path) -> None:
    """A model by both executors, and how long its executable takes to load."""
    code = aotc.build(source, emit="object", interface_api="packed", operator_api="cpacked").load()
    artifacts = aotc.build(source, emit="object", executor="vm")
    bytecode = artifacts.load()
    feed = feed_of(code)
    for name, value in code(feed).items():
        assert value.tobytes() == bytecode(feed)[name].tobytes(), name
    steps = code.bind(feed), bytecode.bind(feed)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(300):
        for step, found in zip(steps, times, strict=True):
            start = time.perf_counter()
            step()
            found.append(time.perf_counter() - start)
    path = next(each for each in artifacts.write(folder) if each.suffix == ".vm")
    load = best(lambda: Executable.load(path), 20)
    middle, least = ([how(each) * 1e3 for each in times] for how in (statistics.median, min))
    print(
        f"{source.stem}: median ms code {middle[0]:.3f}, bytecode {middle[1]:.3f}, ratio {middle[1] / middle[0]:.4f}; "
        f"least ratio {least[1] / least[0]:.4f}; "
        f"executable {path.stat().st_size:,} bytes, loaded in {load * 1e3:.2f} ms"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="aotc-bytecode.") as scratch:
        empty_calls(Path(scratch))
        for model in sys.argv[1:]:
            compare(Path(model), Path(scratch))
