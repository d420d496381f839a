"""Measure the networks of networks.py against every runtime that is installed; writes cpu.md and cpu.json beside this.

    python benchmarks/run.py [--models NAME ...] [--peers NAME ...] [--rounds 7] [--cpu 1] [--output FOLDER]

One core: the processes are bound to it, with real-time priority where that is permitted. `make bench` installs the
peers first.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from networks import MODELS, write
from report import OURS, Results, row, write_report

from aotc.machines.processor import model_name
from aotc.machines.targets import lookup
from aotc.measuring.bench.peers import OTHERS, PEERS
from aotc.measuring.bench.rounds import Rounds, installed, run_peers
from aotc.measuring.profiling import processor
from aotc.pipeline.options import CompileOptions

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS), metavar="NAME")
    parser.add_argument("--peers", nargs="+", default=installed(list(OTHERS)), choices=list(OTHERS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.25, help="of each peer in each round, at least")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the core")
    parser.add_argument("--output", type=Path, default=HERE)
    arguments = parser.parse_args()
    results: Results = {}
    with on_core(arguments.cpu) as real_time, tempfile.TemporaryDirectory(prefix="aotc-") as folder:
        for name in arguments.models:
            model = write(name, Path(folder))
            rounds = Rounds(arguments.rounds, arguments.seconds)
            inputs = _inputs(name, Path(folder))
            results[name] = run_peers(str(model), [*OURS, *arguments.peers], CompileOptions(), rounds, inputs=inputs)
            print(row(name, results[name], arguments.peers), flush=True)
            model.unlink()
    about = _about(arguments, real_time)
    write_report(arguments.output, about, results, arguments.peers)


@contextmanager
def on_core(cpu: int) -> Generator[bool]:
    """Stay on one core meanwhile; whether nothing else interrupts."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield os.sched_getscheduler(0) == os.SCHED_FIFO
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, before)


def _inputs(name: str, folder: Path) -> str | None:
    """Inputs where random ones would not do."""
    if name != "bert_tiny":
        return None
    path = folder / "inputs.npz"
    ids = np.random.default_rng(0).integers(0, 4096, (1, 32))
    np.savez(path, input_ids=ids, attention_mask=np.ones((1, 32), np.int64))
    return str(path)


def _system() -> str:
    """The operating system as it calls itself."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return f"{platform.system()} {platform.release()}"


def _about(arguments: argparse.Namespace, real_time: bool) -> dict[str, Any]:
    """The machine, without its name, and the versions of everything."""
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False).stdout
    return {
        "processor": model_name() or platform.processor() or "unknown",
        "vectors": lookup("host").as_json()["vectors"],
        "peak_gflops": round(processor().peak * 1e-9, 1),
        "system": f"{_system()} on {platform.machine()}",
        "date": datetime.date.today().isoformat(),
        "c_compiler": compiler.splitlines()[0] if compiler else None,
        "real_time_priority": real_time,
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
        "versions": {name: PEERS[name].version() for name in ("aotc", *arguments.peers)},
    }


if __name__ == "__main__":
    main()
