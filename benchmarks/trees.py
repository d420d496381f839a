"""Times ensembles of decision trees, one row of features a call, beside ONNX Runtime with one thread.

`python benchmarks/trees.py [--target TARGET] MODEL.onnx ..`: models with one input [rows, features]. The same row again
and again is what processors guess the branches of best; rows that differ are what a program has.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime

import aotc

ROWS = 1000
ROUNDS = 9


def least(calls: list[Callable[[], None]]) -> list[float]:
    """The least time of each in microseconds a row, in turns."""
    found = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for number, call in enumerate(calls):
            start = time.perf_counter()
            call()
            found[number] = min(found[number], (time.perf_counter() - start) / ROWS * 1e6)
    return found


def measure(path: str, target: str) -> str:
    """A row of the table."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    features = int(given.shape[1])
    rows = np.random.default_rng(0).standard_normal([ROWS, 1, features]).astype(np.float32)
    x = rows[0].copy()
    feed = {given.name: x}
    step = aotc.compile(path, target=target, input_shapes={given.name: [1, features]}).bind(feed)

    def same(call: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(ROWS):
                call()

        return run

    def others(call: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for row in rows:
                x[:] = row
                call()

        return run

    def theirs() -> object:
        return session.run(None, feed)

    times = least([same(step), same(theirs), others(step), others(theirs), others(lambda: None)])
    copies = times.pop()
    times[2:] = [each - copies for each in times[2:]]
    ratios = times[0] / times[1], times[2] / times[3]
    cells = [f"{each:.2f}" for each in (*times[:2], ratios[0], *times[2:], ratios[1])]
    return f"| {Path(path).stem} | {' | '.join(cells)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="host")
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx")
    given = parser.parse_args()
    for name in given.models:
        print(measure(name, given.target), flush=True)
