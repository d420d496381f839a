"""The process of one peer and one model: `python -m aotc.measuring.bench.worker`, one JSON object a line in and out.

In: `{"peer", "model", "folder", "threads", "options", "inputs"}` (an npz file, which our own peers write where it is
missing); out: `{"version", "open_seconds", "overhead_seconds"}`, with the outputs in outputs.npz of the folder. Then
for each `{"seconds", "runs"}` a list `{"nanoseconds"}` a call. An error is `{"error"}`, of ours with `{"problems",
"exit_code"}`, and the end.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from aotc.compiler.checking.recordings import read_inputs
from aotc.errors import AotcError
from aotc.measuring.bench.peers import PEERS, Job
from aotc.model.weight_store import npz_bytes
from aotc.pipeline.options import CompileOptions

BATCH = 20_000
"""Nanoseconds; shorter calls are timed several at a time, so that the clock does not count."""


def main() -> None:
    """Serve one peer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer

    def say(**answer: Any) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        step = _open(json.loads(sys.stdin.readline()), say)
        for line in sys.stdin:
            say(nanoseconds=durations(step, **json.loads(line)))
    except AotcError as error:
        say(error=str(error), problems=[asdict(problem) for problem in error.problems], exit_code=error.exit_code)
    except Exception as error:  # whatever a peer raises is its answer
        say(error=f"{type(error).__name__}: {error}"[:500])


def _open(request: dict[str, Any], say: Callable[..., None]) -> Callable[[], object]:
    peer, folder, inputs_file = PEERS[request["peer"]], Path(request["folder"]), Path(request["inputs"])
    options = CompileOptions.of(**request["options"])
    job = Job(Path(request["model"]), folder, request["threads"], options)
    start = time.perf_counter()
    session = peer.open(job)
    opened = time.perf_counter() - start
    if session.model is not None:
        if not inputs_file.exists():
            inputs_file.write_bytes(npz_bytes(read_inputs(None, session.model.inputs)))
        inputs = read_inputs(str(inputs_file), session.model.inputs)
    else:
        with np.load(inputs_file) as archive:
            inputs = {name: archive[name] for name in archive.files}
    outputs = [np.array(output) for output in session.run(inputs)]
    np.savez(folder / "outputs.npz", *outputs)
    step = session.bind(inputs)
    step()
    overhead = _overhead(replace(job, options=CompileOptions(target=options.target)), request["peer"])
    say(version=peer.version(), open_seconds=opened, overhead_seconds=overhead)
    return step


def _overhead(job: Job, name: str) -> float | None:
    """Seconds of a call that computes one element; None where the peer cannot do that."""
    folder = job.folder / "overhead"
    folder.mkdir(exist_ok=True)
    info = [helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, [1, 1]) for each in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one", info[:1], info[1:])
    model = folder / "one.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(model))
    try:
        step = PEERS[name].open(replace(job, model=model, folder=folder)).bind({"x": np.ones((1, 1), np.float32)})
        return min(durations(step, 0.02, 6)) * 1e-9
    except Exception:  # a peer that does not take this model may still take others
        return None


def durations(step: Callable[[], object], seconds: float, runs: int) -> list[float]:
    """Nanoseconds a call, measured for at least `seconds` and `runs` times (but no longer than ten times as long)."""
    clock = time.perf_counter_ns
    start = clock()
    step()
    count = max(1, BATCH // max(clock() - start, 1))
    found: list[float] = []
    begin, calls = clock(), range(count)
    gc.disable()
    try:
        while True:
            start = clock()
            for _ in calls:
                step()
            end = clock()
            found.append((end - start) / count)
            elapsed = (end - begin) * 1e-9
            if (elapsed >= seconds and len(found) >= runs) or elapsed >= 10 * seconds:
                return found
    finally:
        gc.enable()


if __name__ == "__main__":
    main()
