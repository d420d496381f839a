"""Costs of loading and calling a model from Python beside its code; prints the tables of calls.md.

    chrt -f 1 taskset -c 1 python benchmarks/calls.py [--rounds 60]

The two sides of a comparison take turns in one process. Loading is compared with `dlopen` of the same file under a name
that the dynamic loader has not seen, a call with the entry itself through ctypes, its arguments ready.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from networks import write

import aotc

DATA = Path(__file__).resolve().parents[1] / "tests" / "models" / "data"
LOADED = ("hello_world_int8", "kws_int8", "ic_resnet_float", "mobilenetv2")
CALLED = "hello_world_float"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="aotc-") as name:
        folder = Path(name)
        print("| model | kernels | dlopen, ms | aotc.load, ms | more, ms |\n| --- | ---: | ---: | ---: | ---: |")
        for model in LOADED:
            library = _library(model, folder)
            number = iter(range(rounds + 1))

            def opened(library: Path = library, number: Any = number) -> object:
                link = library.with_name(f"{library.stem}_{next(number)}.so")
                link.symlink_to(library)
                return ctypes.CDLL(str(link))

            kernels = len(aotc.load(library).metadata.kernels)
            took = _in_turns({"dlopen": opened, "load": lambda library=library: aotc.load(library)}, rounds, 1)
            least = [min(took[name]) * 1e3 for name in ("dlopen", "load")]
            middle = [statistics.median(took[name]) * 1e3 for name in ("dlopen", "load")]
            more = f"{least[1] - least[0]:.2f}, {middle[1] - middle[0]:.2f}"
            print(f"| {model} | {kernels} | {least[0]:.2f} | {least[1]:.2f} | {more} |")
        print("\n| call | us |\n| --- | ---: |")
        for call, times in _in_turns(_calls(_library(CALLED, folder)), rounds, 2000).items():
            print(f"| {call} | {min(times) * 1e6:.2f} |")


def _library(name: str, folder: Path) -> Path:
    source = DATA / name / "model.onnx"
    source = source if source.exists() else write(name, folder)
    aotc.compile_to(source, folder / name, name=name, emit="shared")
    return folder / name / f"{name}.so"


def _calls(library: Path) -> Mapping[str, Callable[[], object]]:
    model = aotc.load(library)
    executor, session = model.clone(), aotc.InferenceSession(library)
    x, y = (np.zeros(model.inputs[0].shape, np.float32), np.zeros(model.outputs[0].shape, np.float32))
    name = model.inputs[0].name
    entry = getattr(ctypes.CDLL(str(library)), f"aotc_{library.stem}_run")
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, y)]
    executor.set_input(name, x)
    return {
        "the entry by ctypes": lambda: entry(*pointers),
        "`step()` of `bind`": model.bind({name: x}, outputs={model.outputs[0].name: y}),
        "`executor.run()`": executor.run,
        "`model({name: x})`": lambda: model({name: x}),
        "`session.run(None, {name: x})`": lambda: session.run(None, {name: x}),
    }


def _in_turns(calls: Mapping[str, Callable[[], object]], rounds: int, times: int) -> dict[str, list[float]]:
    """Seconds of one call of each, in every round."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(times):
                call()
            found[name].append((time.perf_counter() - start) / times)
    return found


if __name__ == "__main__":
    main()
