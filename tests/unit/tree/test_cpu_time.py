"""The cost of a test is counted with the processes that it starts, whether they have ended or not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cpu_time

SPENT = 0.2
"""Seconds of processor time that each test takes, or a process that comes from it."""
TESTS = f"""
import subprocess, sys, time

CODE = "import time\\nwhile time.process_time() < {SPENT}: pass\\nprint(flush=True)\\ninput()"

def start():
    process = subprocess.Popen([sys.executable, "-IS", "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process

def test_nothing(): pass

def test_itself():
    end = time.process_time() + {SPENT}
    while time.process_time() < end: pass

def test_ended():
    start().communicate(b"end\\n")

def test_running():
    globals()["kept"] = start()

def test_nothing_more(): pass

def test_end():
    kept.communicate(b"end\\n")
"""


def test_seconds_of_tests(tmp_path: Path) -> None:
    (tmp_path / "test_costs.py").write_text(TESTS)
    found, environment = tmp_path / "found.tsv", os.environ | {"PYTHONPATH": str(Path(cpu_time.__file__).parent)}
    command = [sys.executable, "-m", "pytest", "-p", "cpu_time", "-p", "no:cacheprovider", "--cpu-time", "2"]
    command += ["--cpu-time-file", str(found), "test_costs.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    lines = (line.split("\t") for line in found.read_text().splitlines())
    seconds = {name.rpartition("::")[2]: float(value) for value, name in lines}
    costly = {"test_itself", "test_ended", "test_running"}
    tests = {name for name in seconds if name.startswith("test_")}
    assert {name for name in tests if seconds[name] >= SPENT - 0.02} == costly  # ticks of those that run
    assert abs(sum(seconds[name] for name in tests) - seconds["all tests"]) < 0.01
    assert done.stdout.count("test_costs.py::") >= 4 and "outside of tests" in done.stdout
