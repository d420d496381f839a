"""Peers timed in turns: a process each, rounds in alternating order, ratios within a round."""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aotc.errors import AotcError, Problem, UsageError
from aotc.measuring.bench.peers import OTHERS, PEERS
from aotc.pipeline.options import INTERNAL, CompileOptions

OPEN_TIMEOUT = 600.0
_WORKER = (sys.executable, "-P", "-m", "aotc.measuring.bench.worker")
"""The command of the process of a peer."""
_ROOT = Path(__file__).resolve().parents[3]
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Rounds:
    """How much is measured."""

    count: int = 5
    seconds: float = 0.25
    """Of each peer in each round, at least."""
    runs: int = 6
    """Calls of each peer in each round, at least."""

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError("out-of-range", f"--rounds {self.count}", "not 1 or more")


@dataclass
class Result:
    """The time of one peer on one model."""

    peer: str
    version: str | None = None
    error: str | None = None
    """Why there are no times."""
    open_seconds: float | None = None
    """To compile and load it."""
    overhead_seconds: float | None = None
    """Of a call that computes a single element."""
    difference: float | None = None
    """From the outputs of onnxruntime (else of the first peer), relative to their greatest value."""
    rounds: list[float] = field(default_factory=list[float])
    """Median seconds a call of each round."""

    @property
    def seconds(self) -> float:
        """Median of the rounds."""
        return statistics.median(self.rounds)


def ratio(result: Result, reference: Result) -> float:
    """Time of `result` over that of `reference`: the median over the rounds, each of which has its own weather."""
    return statistics.median(a / b for a, b in zip(result.rounds, reference.rounds, strict=True))


def run_peers(
    model: str,
    peers: Sequence[str],
    options: CompileOptions,
    rounds: Rounds,
    *,
    threads: int = 1,
    inputs: str | None = None,
    report: Callable[[str], None] | None = None,
) -> dict[str, Result]:
    """Time `peers` (names of `PEERS`, the first one ours) on a model.

    `inputs` is an npz file; by default values are random and seeded.

    A peer that fails has an `error`. Raises AotcError where the first one does, OSError where there is no such file.
    """
    for path in (model,) if inputs is None else (model, inputs):
        Path(path).open("rb").close()
    results = {name: Result(name) for name in peers}
    with tempfile.TemporaryDirectory(prefix="aotc-") as folder, ExitStack() as stack:
        workers: dict[str, _Worker] = {}

        def give_up(name: str, answer: Mapping[str, Any]) -> None:
            results[name].error = answer["error"]
            workers.pop(name, None)
            if name == peers[0]:
                raise _error_of(answer)

        for name in peers:
            if report is not None:
                report(name)
            place = Path(folder) / name.replace(" ", "_")
            place.mkdir()
            worker = stack.enter_context(_Worker(name, place, threads))
            answer = worker.open(model, options, Path(folder) / "inputs.npz" if inputs is None else Path(inputs))
            if "error" in answer:
                give_up(name, answer)
                continue
            result = results[name]
            result.version, result.open_seconds = answer["version"], answer["open_seconds"]
            result.overhead_seconds = answer["overhead_seconds"]
            workers[name] = worker
        for name, difference in _differences(workers).items():
            results[name].difference = difference
            if difference is None:
                give_up(name, {"error": "its outputs have other sizes than the reference's"})
        for number in range(rounds.count):
            if report is not None:
                report(f"round {number + 1} of {rounds.count}")
            order = list(workers) if number % 2 == 0 else list(workers)[::-1]
            for name in order:
                answer = workers[name].ask(seconds=rounds.seconds, runs=rounds.runs)
                if "error" in answer:
                    give_up(name, answer)
                else:
                    results[name].rounds.append(statistics.median(answer["nanoseconds"]) * 1e-9)
    return results


def installed(names: Sequence[str]) -> list[str]:
    """Those of `names` that are installed."""
    return [name for name in names if PEERS[name].version() is not None]


def parse_peers(text: str) -> list[str]:
    """The peers in "onnxruntime,ncnn", each of which is installed; "all" are all that are. Raises UsageError."""
    if text == "all":
        return installed(list(OTHERS))
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in OTHERS]:
        fix = f"choose from all, {', '.join(OTHERS)}"
        raise UsageError("unknown-choice", f"--against {', '.join(unknown)}", fix=fix)
    if missing := [name for name in names if name not in installed(names)]:
        packages = " ".join(str(PEERS[name].package) for name in missing)
        raise UsageError("missing-tool", f"{', '.join(missing)} is not installed", fix=f"pip install {packages}")
    return names


class _Worker:
    """The process of a peer; as a context it is ended at the end."""

    def __init__(self, peer: str, folder: Path, threads: int) -> None:
        self._peer, self._folder, self._threads = peer, folder, threads
        path = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]  # this package, installed or not
        environment = os.environ | dict.fromkeys(_THREADS, str(threads)) | {"PYTHONPATH": os.pathsep.join(path)}
        self._log = (folder / "log").open("w")
        self._process = subprocess.Popen(
            _WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, env=environment
        )

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()

    @property
    def outputs(self) -> list[np.ndarray[Any, Any]]:
        """Its results."""
        with np.load(self._folder / "outputs.npz") as archive:
            return [archive[name] for name in archive.files]

    def open(self, model: str, options: CompileOptions, inputs: Path) -> dict[str, Any]:
        """Let it open the model."""
        return self.ask(
            OPEN_TIMEOUT,
            peer=self._peer,
            model=str(Path(model).resolve()),
            folder=str(self._folder),
            threads=self._threads,
            options={name: value for name, value in asdict(options).items() if name not in INTERNAL},
            inputs=str(inputs.resolve()),
        )

    def ask(self, timeout: float = 120.0, **request: Any) -> dict[str, Any]:
        """Its answer; an `error` where there is none."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return {"error": "its process ended"}
        if not select.select([self._process.stdout], [], [], timeout)[0]:
            return {"error": f"no answer within {timeout:.0f} s"}
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"error": f"its process ended with {self._process.wait()}"}


def _error_of(answer: Mapping[str, Any]) -> AotcError:
    """The answer of one of our own peers, as it was raised there."""
    problems = [Problem(**each | {"inputs": tuple(each["inputs"])}) for each in answer.get("problems", ())]
    error = AotcError(problems or Problem("failed-tool", answer["error"]))
    error.exit_code = answer.get("exit_code", error.exit_code)
    return error


def _differences(workers: Mapping[str, _Worker]) -> dict[str, float | None]:
    """How far each peer's outputs are from the reference's; None where they have other sizes."""
    reference = workers.get("onnxruntime", next(iter(workers.values()))).outputs
    scale = max((float(np.abs(array).max(initial=0.0)) for array in reference), default=0.0) or 1.0
    found: dict[str, float | None] = {}
    for name, worker in workers.items():
        outputs = worker.outputs
        if [array.size for array in outputs] != [array.size for array in reference]:
            found[name] = None
            continue
        compared = zip(outputs, reference, strict=True)
        gaps = [float(np.abs(a.reshape(b.shape).astype(np.float64) - b).max(initial=0.0)) for a, b in compared]
        found[name] = max(gaps, default=0.0) / scale
    return found
